// The work on one block of examples. A file includes this once, with BLOCK set to the function's name, W to the lanes
// of the processor's vectors (4, 8 or 16: wider ones than it has go through memory), BF16 defined where units hold
// bfloat16, and, where the processor is to have more than the least, a target for the whole file: vectors are lowered
// to instructions before a function's own target clones are made.
#include "sparse_types.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define N (LANES / W)  // vectors of a block

typedef float vec __attribute__((vector_size(4 * W), may_alias));
typedef int32_t ivec __attribute__((vector_size(4 * W), may_alias));
typedef uint32_t uvec __attribute__((vector_size(4 * W), may_alias));

typedef struct {
  vec v[N];
} block;  // of one unit, as it is computed with

#define EACH for (int i_ = 0; i_ < N; i_++)
#define I i_

INLINE vec splat(float f) { return f - (vec){}; }

INLINE vec choose(ivec mask, vec yes, vec no) { return (vec)((mask & (ivec)yes) | (~mask & (ivec)no)); }

// exp for x <= 0: 2^n * p(r), with the polynomial of Cephes' expf.
INLINE vec expv(vec x) {
  x = choose(x < splat(-87), splat(-87), x);
  vec z = x * splat(1.44269504088896341f) - splat(0.5f);
  ivec n = __builtin_convertvector(z, ivec);  // towards zero, which is up for these
  vec f = __builtin_convertvector(n, vec);
  vec r = x - f * splat(0.693359375f) + f * splat(2.12194440e-4f);
  vec p = splat(1.9875691500e-4f);
  p = p * r + splat(1.3981999507e-3f);
  p = p * r + splat(8.3334519073e-3f);
  p = p * r + splat(4.1665795894e-2f);
  p = p * r + splat(1.6666665459e-1f);
  p = p * r + splat(5.0000001201e-1f);
  p = p * r * r + r + splat(1);
  return p * (vec)((n + 127) << 23);
}

// get reads the block of the unit that an index counts as `at`, put writes that of unit i.
#ifdef BF16
INLINE block get(const void *base, uint32_t at) {
  const uvec *from = (const uvec *)((const char *)base + at);
  block b;
  for (int i = 0; i < N / 2; i++) b.v[i] = (vec)(from[i] << 16), b.v[N / 2 + i] = (vec)(from[i] & 0xffff0000u);
  return b;
}

// Rounded to the nearest, to the even one of two.
INLINE uvec rounded(vec x) {
  uvec u = (uvec)x;
  return u + 0x7fffu + ((u >> 16) & 1u);
}

INLINE void put(void *base, int i, block b) {
  uvec *to = (uvec *)((char *)base + (size_t)i * UNIT);
  for (int j = 0; j < N / 2; j++) to[j] = (rounded(b.v[j]) >> 16) | (rounded(b.v[N / 2 + j]) & 0xffff0000u);
}
#else
INLINE block get(const void *base, uint32_t at) { return *(const block *)((const char *)base + 2 * (size_t)at); }

INLINE void put(void *base, int i, block b) { ((block *)base)[i] = b; }
#endif

#define ADD(s, weight, unit) \
  do { \
    vec w_ = splat(weight); \
    block x_ = unit; \
    EACH s.v[I] += w_ * x_.v[I]; \
  } while (0)

// Sums are kept in as many chains as there are registers for.
#define CHAINS (W == 16 ? 4 : W == 8 ? 2 : 1)

// forward computes out = in * w, with negative values cut off where the layer is hidden. sums takes the outputs while
// they are not whole; where the layer is not hidden, they stay there and out is not written.
INLINE void forward(const xs_layer *l, const void *in, block *sums, void *out, int hidden) {
  const uint32_t *col = l->col;
  const float *w = l->w;
  for (int p = 0; p < l->pieces; p++) {
    const int32_t *off = l->off + p * l->outputs;
    for (int o = 0; o < l->outputs; o++) {
      block s0 = {}, s1 = {}, s2 = {}, s3 = {};
      if (p > 0) s0 = sums[o];
      int k = off[o], end = off[o + 1];
      if (CHAINS > 1) {
        for (; k + CHAINS <= end; k += CHAINS) {
          ADD(s0, w[k], get(in, col[k]));
          ADD(s1, w[k + 1], get(in, col[k + 1]));
          if (CHAINS < 4) continue;
          ADD(s2, w[k + 2], get(in, col[k + 2]));
          ADD(s3, w[k + 3], get(in, col[k + 3]));
        }
      }
      for (; k < end; k++) ADD(s0, w[k], get(in, col[k]));
      if (CHAINS > 1) EACH s0.v[I] = (s0.v[I] + s1.v[I]) + (s2.v[I] + s3.v[I]);
      if (hidden && p + 1 == l->pieces) {
        EACH s0.v[I] = choose(s0.v[I] > splat(0), s0.v[I], splat(0));
        put(out, o, s0);
      } else {
        sums[o] = s0;
      }
    }
  }
}

// FOLDi(x, y) adds lanes i apart crosswise: pairs of x's, then pairs of y's, within groups of 2 * i lanes.
#define SHUFFLE __builtin_shufflevector
#if W == 16
#define FOLD1(x, y) \
  (SHUFFLE(x, y, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30) + \
   SHUFFLE(x, y, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31))
#define FOLD2(x, y) \
  (SHUFFLE(x, y, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) + \
   SHUFFLE(x, y, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
#define FOLD4(x, y) \
  (SHUFFLE(x, y, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27) + \
   SHUFFLE(x, y, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31))
#define FOLD8(x, y) \
  (SHUFFLE(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) + \
   SHUFFLE(x, y, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
#elif W == 8
#define FOLD1(x, y) (SHUFFLE(x, y, 0, 8, 2, 10, 4, 12, 6, 14) + SHUFFLE(x, y, 1, 9, 3, 11, 5, 13, 7, 15))
#define FOLD2(x, y) (SHUFFLE(x, y, 0, 1, 8, 9, 4, 5, 12, 13) + SHUFFLE(x, y, 2, 3, 10, 11, 6, 7, 14, 15))
#define FOLD4(x, y) (SHUFFLE(x, y, 0, 1, 2, 3, 8, 9, 10, 11) + SHUFFLE(x, y, 4, 5, 6, 7, 12, 13, 14, 15))
#else
#define FOLD1(x, y) (SHUFFLE(x, y, 0, 4, 2, 6) + SHUFFLE(x, y, 1, 5, 3, 7))
#define FOLD2(x, y) (SHUFFLE(x, y, 0, 1, 4, 5) + SHUFFLE(x, y, 2, 3, 6, 7))
#endif
#define FOUR(i) FOLD2(FOLD1(P(i), P(i + 1)), FOLD1(P(i + 2), P(i + 3)))

INLINE vec product(const xs_layer *l, int k, const void *in, const void *delta) {
  block x = get(in, l->col[k]), d = get(delta, l->row[k]);
  vec s = x.v[0] * d.v[0];
  for (int i = 1; i < N; i++) s += x.v[i] * d.v[i];
  return s;
}

// gradients adds sum over the examples of in * delta to g, or sets it where it is fresh, W connections at a time: their
// sums are folded into one vector, so that no connection pays for a sum across lanes of its own.
INLINE void gradients(const xs_layer *l, const void *in, const void *delta, int fresh) {
  int k = 0;
#define P(i) product(l, k + i, in, delta)
  for (; k + W <= l->n; k += W) {
#if W == 16
    vec h0 = FOLD4(FOUR(0), FOUR(4)), h1 = FOLD4(FOUR(8), FOUR(12)), sums = FOLD8(h0, h1);
#elif W == 8
    vec sums = FOLD4(FOUR(0), FOUR(4));
#else
    vec sums = FOUR(0);
#endif
    if (!fresh) {
      vec old;
      memcpy(&old, l->g + k, sizeof old);
      sums += old;
    }
    memcpy(l->g + k, &sums, sizeof sums);
  }
  for (; k < l->n; k++) {
    vec v = P(0);
    float s = 0;
    for (int i = 0; i < W; i++) s += v[i];
    l->g[k] = (fresh ? 0 : l->g[k]) + s;
  }
#undef P
}

// backward computes the deltas of the layer's inputs, whose values are act: each gathers over its own connections.
INLINE void backward(const xs_layer *l, const void *delta, const void *act, void *to) {
  const int32_t *by = l->by;
  const uint32_t *out = l->out;
  for (int i = 0; i < l->inputs; i++) {
    block s0 = {}, s1 = {};
    int j = l->from[i], end = l->from[i + 1];
    if (CHAINS > 1) {
      for (; j + 2 <= end; j += 2) {
        ADD(s0, l->w[by[j]], get(delta, out[j]));
        ADD(s1, l->w[by[j + 1]], get(delta, out[j + 1]));
      }
    }
    for (; j < end; j++) ADD(s0, l->w[by[j]], get(delta, out[j]));
    if (CHAINS > 1) EACH s0.v[I] += s1.v[I];
    block x = get(act, (uint32_t)i * UNIT);
    EACH s0.v[I] = choose(x.v[I] > splat(0), s0.v[I], splat(0));
    put(to, i, s0);
  }
}

// softmax turns W lanes of logits, a block apart, into deltas, in place, and adds up the losses and the right answers.
// Lanes whose label is below 0 get deltas of 0.
INLINE void softmax(vec *v, int classes, const int32_t *labels, float *stats) {
  ivec y;
  memcpy(&y, labels, sizeof y);
  vec top = v[0];
  for (int c = 1; c < classes; c++) top = choose(v[c * N] > top, v[c * N], top);
  vec sum = splat(0), own = splat(0);
  ivec first = y - y + classes, valid = ~(y >> 31);  // (y >= 0 stops gcc 12)
  for (int c = 0; c < classes; c++) {
    vec x = v[c * N];
    ivec here = y == c;
    ivec found = (x == top) & (first == classes);
    first = (found & c) | (~found & first);
    vec shifted = x - top;
    own = choose(here, shifted, own);
    vec e = expv(shifted);
    sum += e;
    v[c * N] = e;
  }
  vec inverse = splat(1) / sum;
  for (int c = 0; c < classes; c++) {
    vec d = v[c * N] * inverse - choose(y == c, splat(1), splat(0));
    v[c * N] = choose(valid, d, splat(0));
  }
  for (int i = 0; i < W; i++) {
    if (y[i] < 0) continue;
    stats[0] += logf(sum[i]) - own[i];
    stats[1] += first[i] == y[i];
  }
}

// load turns pixels into what the inputs hold. Loops over lanes, which the compiler makes vectors of, are faster here
// than what it makes of vectors of bytes.
INLINE void load(const uint8_t *x, int lanes, int at, int inputs, void *out) {
  for (int i = 0; i < inputs; i++) {
    const uint8_t *from = x + (size_t)i * lanes + at;
#ifdef BF16
    uint32_t *to = (uint32_t *)((char *)out + (size_t)i * UNIT);
    for (int j = 0; j < LANES / 2; j++) {
      union {
        float f;
        uint32_t u;
      } a = {from[j] * (1.f / 255)}, b = {from[LANES / 2 + j] * (1.f / 255)};
      a.u += 0x7fff + ((a.u >> 16) & 1);
      b.u += 0x7fff + ((b.u >> 16) & 1);
      to[j] = (a.u >> 16) | (b.u & 0xffff0000u);
    }
#else
    float *to = (float *)((block *)out + i);
    for (int j = 0; j < LANES; j++) to[j] = from[j] * (1.f / 255);
#endif
  }
}

void BLOCK(int count, const xs_layer *layers, const uint8_t *x, const int32_t *labels, int lanes, int at, int fresh,
           const xs_work *work, float *stats) {
  load(x, lanes, at, layers[0].inputs, work->values[0]);
  for (int l = 0; l < count; l++) {
    int hidden = l + 1 < count;
    void *out = hidden ? work->values[l + 1] : NULL;
#ifdef BF16
    block *sums = hidden ? work->sums : work->logits;
#else
    block *sums = hidden ? out : work->logits;
#endif
    forward(&layers[l], work->values[l], sums, out, hidden);
  }
  int classes = layers[count - 1].outputs;
  for (int i = 0; i < N; i++) softmax((vec *)work->logits + i, classes, labels + at + i * W, stats);
  if (layers[0].g == NULL) return;
#ifdef BF16
  for (int c = 0; c < classes; c++) put(work->deltas[count], c, ((block *)work->logits)[c]);
#endif
  for (int l = count - 1; l >= 0; l--) {
    gradients(&layers[l], work->values[l], work->deltas[l + 1], fresh);
    if (l > 0) backward(&layers[l], work->deltas[l + 1], work->values[l], work->deltas[l]);
  }
}
