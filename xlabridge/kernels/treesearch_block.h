// A file includes this with NAME, the name of the function. Actions are taken eight at a time; a block's padding counts
// for nothing.
#include <float.h>
#include <math.h>
#include <string.h>

#include "treesearch.h"

enum { W = XB_BLOCK_LANES };
typedef float vec __attribute__((vector_size(4 * W), may_alias, aligned(4)));
typedef int32_t ints __attribute__((vector_size(4 * W), may_alias, aligned(4)));

static const ints lane = {0, 1, 2, 3, 4, 5, 6, 7};

static inline vec all(float x) { return (vec){0} + x; }
static inline vec pick(ints where, vec yes, vec no) { return (vec)((where & (ints)yes) | (~where & (ints)no)); }
// Of two of which one is NaN, NaN is the larger and the smaller.
static inline vec larger(vec x, vec y) { return pick((x > y) | (x != x), x, y); }
static inline vec smaller(vec x, vec y) { return pick((x < y) | (x != x), x, y); }
static inline float larger_one(float x, float y) { return x > y || x != x ? x : y; }
static inline float smaller_one(float x, float y) { return x < y || x != x ? x : y; }
// Gives what is NaN or -Inf the least finite number: an action that may be played is before one that may not.
static inline vec numbered(vec x) { return pick(x >= all(-FLT_MAX), x, all(-FLT_MAX)); }
static inline vec at(const float *x, int64_t i) { return *(const vec *)(x + i); }

static inline float sum_of(vec x) { return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7])); }
static inline float max_of(vec x) {
  float m = x[0];
  for (int k = 1; k < W; k++) m = larger_one(x[k], m);
  return m;
}
static inline float min_of(vec x) { return -max_of(-x); }

// exp for x up to 0: a polynomial between -ln 2 / 2 and ln 2 / 2, scaled by a power of two.
static inline vec expv(vec x) {
  ints none = x < all(-87.3f);
  vec k = x * all(1.44269504f) - all(0.5f);
  ints n =
      __builtin_convertvector(pick(none, all(0), k), ints);  // towards 0: the nearest whole number of a negative one
  vec whole = __builtin_convertvector(n, vec);
  vec r = x - whole * all(0.693359375f) + whole * all(2.12194440e-4f);
  vec p = all(1.9875691500e-4f);
  p = p * r + all(1.3981999507e-3f);
  p = p * r + all(8.3334519073e-3f);
  p = p * r + all(4.1665795894e-2f);
  p = p * r + all(1.6666665459e-1f);
  p = p * r + all(5.0000001201e-1f);
  p = p * r * r + r + all(1);
  return pick(none, all(0), (vec)((ints)p + (n << 23)));
}

static inline float *block(const xb_tree *t, float *row, int k) { return row + XB_HEADS + k * t->padded; }

// Softmax over actions; in and out may be the same.
static void softmax(const xb_tree *t, const float *in, float *out) {
  vec most = all(-INFINITY), sum = all(0);
  for (int64_t i = 0; i < t->padded; i += W) most = larger(at(in, i), most);
  float m = max_of(most);
  for (int64_t i = 0; i < t->padded; i += W) {
    vec e = expv(at(in, i) - all(m));
    *(vec *)(out + i) = e;
    sum += e;
  }
  vec by = all(sum_of(sum));
  for (int64_t i = 0; i < t->padded; i += W) *(vec *)(out + i) = at(out, i) / by;
}

// The values of a node's actions, as they are put beside the policy's numbers: into scratch.
static void transformed(const xb_tree *t, float *row) {
  const float *counts = block(t, row, XB_COUNTS), *values = block(t, row, XB_VALUES), *prior = block(t, row, XB_PRIOR);
  float *out = t->scratch;
  int kind = (int)t->settings[XB_TRANSFORM];
  if (kind == XB_BY_MIN_MAX) {
    vec low = all(t->settings[XB_LEAST]), by = all(t->settings[XB_GREATEST] - t->settings[XB_LEAST]);
    for (int64_t i = 0; i < t->padded; i += W)
      *(vec *)(out + i) = (pick(at(counts, i) > all(0), at(values, i), low) - low) / by;
    return;
  }
  vec low = all(INFINITY), high = all(-INFINITY), visits = all(0), most = all(0), sum = all(0), expected = all(0);
  ints open = {0};  // actions that were not tried
  for (int64_t i = 0; i < t->padded; i += W) {
    vec n = at(counts, i), q = at(values, i);
    ints tried = n > all(0);
    low = smaller(pick(tried, q, low), low), high = larger(pick(tried, q, high), high);
    visits += n, most = larger(n, most);
    open |= ~tried & ((lane + (int32_t)i) < (int32_t)t->actions);
    if (kind == XB_BY_MIXED_VALUE) {
      vec p = pick(tried, larger(at(prior, i), all(FLT_MIN)), all(0));
      sum += p, expected += p * pick(tried, q, all(0));
    }
  }
  float least = min_of(low), greatest = max_of(high), all_visits = sum_of(visits), missing, scale = 1;
  if (kind == XB_BY_MIXED_VALUE) {
    bool none = true;
    for (int k = 0; k < W; k++) none = none && !open[k];
    float p = sum_of(sum);
    missing = (row[XB_RAW] + all_visits * (p != 0 ? sum_of(expected) / p : 0)) / (all_visits + 1);
    if (!none) least = smaller_one(missing, least), greatest = larger_one(missing, greatest);
    scale = (50.f + max_of(most)) * .1f;
  } else {
    float own = row[XB_VALUE];
    least = smaller_one(own, least), greatest = larger_one(own, greatest);
    missing = least;
  }
  float by = greatest - least;
  if (by < 1e-8f) by = 1e-8f;
  for (int64_t i = 0; i < t->padded; i += W)
    *(vec *)(out + i) = (pick(at(counts, i) > all(0), at(values, i), all(missing)) - all(least)) / all(by) * all(scale);
}

// The best of the scores that give computes for eight actions from i on; of equals the first.
#define BEST(score) \
  do { \
    vec top = all(-INFINITY); \
    ints where = lane; \
    for (int64_t i = 0; i < t->padded; i += W) { \
      vec s = (score); \
      ints id = lane + (int32_t)i; \
      ints better = (s > top) & (id < (int32_t)t->actions); \
      top = pick(better, s, top); \
      where = (better & id) | (~better & where); \
    } \
    best = where[0]; \
    float m = top[0]; \
    for (int k = 1; k < W; k++) \
      if (top[k] > m || (top[k] == m && where[k] < best)) m = top[k], best = where[k]; \
  } while (0)

// Reads eight numbers of an array of so many as there are actions, which is not padded.
static inline vec part(const xb_tree *t, const float *x, int64_t i) {
  vec v = {0};
  if (i + W <= t->actions) return at(x, i);
  memcpy(&v, x + i, (size_t)(t->actions - i) * sizeof(float));
  return v;
}

static int64_t choose(const xb_tree *t, float *row, bool root) {
  const float *counts = block(t, row, XB_COUNTS), *prior = block(t, row, XB_PRIOR), *logits = block(t, row, XB_LOGITS);
  float *values = t->scratch;
  int64_t best = 0;
  transformed(t, row);
  if (t->settings[XB_IS_GUMBEL] == 0) {
    float visits = row[XB_VISITS], base = t->settings[XB_BASE];
    float c = sqrtf(visits) * (t->settings[XB_INIT] + logf((visits + (base + 1)) / base));
#define PUCT \
  numbered(at(values, i) + all(c) * at(prior, i) / (at(counts, i) + all(1)) + all(1e-7f) * part(t, t->noise, i))
    if (root) BEST(pick(part(t, t->closed, i) > all(0), all(-INFINITY), PUCT));
    else BEST(PUCT);
    return best;
  }
  if (!root) {
    vec sum = all(0);
    for (int64_t i = 0; i < t->padded; i += W) {
      sum += at(counts, i);
      *(vec *)(values + i) =
          pick((lane + (int32_t)i) < (int32_t)t->actions, at(values, i) + at(logits, i), all(-INFINITY));
    }
    softmax(t, values, values);
    vec by = all(1 + sum_of(sum));
    BEST(numbered(at(values, i) - at(counts, i) / by));
    return best;
  }
  vec most = all(-INFINITY);
  for (int64_t i = 0; i < t->padded; i += W) most = larger(at(logits, i), most);
  vec wanted = all(t->considered), highest = all(max_of(most));
  BEST(pick((at(counts, i) - part(t, t->before, i) == wanted) & ~(part(t, t->closed, i) > all(0)),
            numbered(larger(part(t, t->noise, i) + (at(logits, i) - highest) + at(values, i), all(-1e9f))),
            all(-INFINITY)));
  return best;
}

// Writes where the best line of play from a node ends, and into the root the row that is evaluated next.
static void lead(const xb_tree *t, float *row, int64_t node) {
  int64_t best = choose(t, row, node == 0);
  float child = block(t, row, XB_CHILDREN)[best];
  if (child >= 0 && row[XB_DEPTH] + 1 < t->settings[XB_MAX_DEPTH]) {
    const float *below = t->rows + (int64_t)child * t->width;
    row[XB_LEAF] = below[XB_LEAF], row[XB_LEAF_ACTION] = below[XB_LEAF_ACTION], row[XB_SLOT] = below[XB_SLOT];
  } else {
    row[XB_LEAF] = (float)node, row[XB_LEAF_ACTION] = (float)best, row[XB_SLOT] = child;
  }
  if (node == 0 && row[XB_SLOT] < 0) row[XB_SLOT] = row[XB_USED];
}

void NAME(const xb_tree *t) {
  float *root = t->rows;
  int64_t parent = t->parent, action = t->action, slot = t->next;
  float *above = t->rows + parent * t->width;
  if (slot < t->nodes) {
    float *row = t->rows + slot * t->width, *logits = block(t, row, XB_LOGITS);
    if (slot >= t->used) {
      memset(row, 0, sizeof(float) * (size_t)t->width);
      for (int64_t i = 0; i < t->padded; i++) block(t, row, XB_CHILDREN)[i] = -1;
      block(t, above, XB_CHILDREN)[action] = (float)slot;
      root[XB_USED]++;
    }
    memcpy(logits, t->logits, sizeof(float) * (size_t)t->actions);
    for (int64_t i = t->actions; i < t->padded; i++) logits[i] = -INFINITY;
    softmax(t, logits, block(t, row, XB_PRIOR));
    row[XB_VISITS]++;
    row[XB_VALUE] = row[XB_RAW] = t->value;
    row[XB_REWARD] = t->reward, row[XB_DISCOUNT] = t->discount;
    row[XB_PARENT] = (float)parent, row[XB_ACTION] = (float)action, row[XB_DEPTH] = above[XB_DEPTH] + 1;
    lead(t, row, slot);
  }
  float found = t->value, reward = t->reward, discount = t->discount, value = t->value;
  for (int64_t node = parent;;) {
    float *row = t->rows + node * t->width;
    found = reward + discount * found;
    row[XB_VALUE] = (row[XB_VALUE] * row[XB_VISITS] + found) / (row[XB_VISITS] + 1);
    row[XB_VISITS]++;
    block(t, row, XB_COUNTS)[action]++;
    block(t, row, XB_VALUES)[action] = reward + discount * value;
    lead(t, row, node);
    if (node == 0) break;
    value = row[XB_VALUE], reward = row[XB_REWARD], discount = row[XB_DISCOUNT];
    action = (int64_t)row[XB_ACTION], node = (int64_t)row[XB_PARENT];
  }
}
