// The kernel xlarun_tape: a program of instructions over registers of lanes, one lane a member (graph/scalars).
// In: vectors [members…, width] of f32 or f64, perhaps pred[members…], the code s32[], the numbers f64[].
// Out: vectors of the same members and type. Where a pred is false, they are 0, and nothing is computed.
//
// A lane's results do not depend on the other lanes. Each instruction rounds as IEEE 754 says. Whether denormal numbers
// are zero is left to the caller; in XLA's threads they are.
#include "tape.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ffi.h"
#include "vectors.h"

enum { WIDEST = 64 };  // bytes of a vector, and what registers are aligned to

#define WORDS(name, words) words,
static const char *const words_of[] = {XB_TAPE_OPS(WORDS)};

// sound reports whether the instructions read and write registers and numbers that there are, whether their blocks lie
// in each other, and whether each WHILE lists what its iterations read before they write it. Bit d of a register's
// writes and reads is of the loop in d blocks: whether an iteration has written it, and whether one reads it before.
static bool sound(const xb_tape *t, int64_t numbers, uint8_t *writes, uint8_t *reads) {
  int64_t readable = t->values + t->constants, rows = 0;
  int64_t ends[XB_TAPE_DEPTH], trips[XB_TAPE_DEPTH];  // of blocks; -1: it is a loop
  int depth = 0;
  for (int64_t at = 0; at < t->words;) {
    const int32_t *c = t->code + at;
    if (*c < 0 || *c >= XB_TAPE_COUNT) return false;
    int64_t left = t->words - at, next = 1;
    for (const char *w = words_of[*c]; *w; w++, next++) {
      if (next >= left || c[next] < 0 || (*w == 'o' && c[next] >= t->values) || (*w == 'x' && c[next] >= readable))
        return false;
      if (*w == 'x') reads[c[next]] |= ~writes[c[next]];
    }
    at += next;
    switch (*c) {
    case XB_DOT:
      if (c[2] < 1 || 2 * (int64_t)c[2] > left - next) return false;
      for (int64_t k = 0; k < c[2]; k++) {
        int32_t x = c[next + 2 * k], y = c[next + 2 * k + 1];
        if (x < 0) x = ~x;
        if (x >= readable || y >= readable || y < (k == 0 ? -1 : 0)) return false;
        reads[x] |= ~writes[x];
        if (y >= 0) reads[y] |= ~writes[y];
      }
      at += 2 * (int64_t)c[2];
      break;
    case XB_LOOP:
      if (depth == XB_TAPE_DEPTH || c[1] < 1) return false;
      for (int64_t r = 0; r < readable; r++) writes[r] &= ~(1 << depth), reads[r] &= ~(1 << depth);
      ends[depth] = -1, trips[depth++] = c[1];
      break;
    case XB_SKIP:
      if (depth == XB_TAPE_DEPTH || c[2] > t->words - at) return false;
      ends[depth++] = at + c[2];
      break;
    case XB_WHILE:
      if (depth == 0 || c[3] > c[2] || c[2] > left - next) return false;
      for (int64_t k = 0; k < c[2]; k++) {
        if (c[next + k] < 0 || c[next + k] >= (k < c[3] ? t->values : readable)) return false;
        reads[c[next + k]] &= ~(1 << (depth - 1));
      }
      for (int64_t r = 0; r < readable; r++)
        if (reads[r] >> (depth - 1) & 1) return false;
      at += c[2];  // falls through
    case XB_NEXT:
      if (depth == 0 || ends[--depth] >= 0) return false;
      break;
    case XB_ROW:
      if (depth == 0 || ends[depth - 1] >= 0) return false;
      rows = c[2] + (int64_t)c[3] * (trips[depth - 1] - 1) + 1;
      if (rows > numbers) return false;
      break;
    }
    if (*words_of[*c] == 'o') writes[c[1]] = UINT8_MAX;
    while (depth > 0 && ends[depth - 1] >= 0 && ends[depth - 1] <= at)
      if (ends[--depth] != at) return false;
  }
  return depth == 0;
}

static uint64_t mix(uint64_t x, uint64_t y) {
  unsigned __int128 product = (unsigned __int128)(x ^ y) * 0x9e3779b97f4a7c15;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

// hash returns a hash of a tape's words and of how many numbers it has, never 0: in eight lanes, which the processor
// computes side by side. Changes of several words do not cancel out, as they would in sums.
static uint64_t hash(const int32_t *words, int64_t n, int64_t numbers) {
  uint64_t lanes[8], block[8] = {0}, all = (uint64_t)n ^ (uint64_t)numbers << 32;
  for (int i = 0; i < 8; i++) lanes[i] = 0xa0761d6478bd642f * (uint64_t)(i + 1);
  for (int64_t k = 0; k < n; k += 16) {
    memcpy(block, words + k, n - k >= 16 ? sizeof block : (size_t)(n - k) * 4);
    for (int i = 0; i < 8; i++) lanes[i] = mix(lanes[i], block[i]);
  }
  for (int i = 0; i < 8; i++) all = mix(all, lanes[i]);
  return all | 1;
}

// Hashes of tapes that were found sound; 0: none. The check takes up to as long as a step of one member.
static uint64_t hashes[64];

static int chosen = -1;

void xb_tape_use(int set) { __atomic_store_n(&chosen, set, __ATOMIC_RELAXED); }

// choose returns the function for a type and members, and the bytes of a register with narrower ones.
static xb_tape_run *choose(int dtype, int64_t members, size_t *bytes) {
  static xb_tape_run *const runs[][2][4] = {
      [XB_PLAIN] = {{XB_TAPE_RUNS(f32, plain)}, {XB_TAPE_RUNS(f64, plain)}},
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
      [XB_AVX2] = {{XB_TAPE_RUNS(f32, avx2)}, {XB_TAPE_RUNS(f64, avx2)}},
      [XB_AVX512] = {{XB_TAPE_RUNS(f32, avx512)}, {XB_TAPE_RUNS(f64, avx512)}},
#endif
  };
  static const int vector[] = {[XB_PLAIN] = 16, [XB_AVX2] = 32, [XB_AVX512] = 64};
  int set = __atomic_load_n(&chosen, __ATOMIC_RELAXED), width = 0;
  if (set < 0 || set > (int)xb_widest_vectors()) set = xb_widest_vectors();
  while (width < 3 && members > vector[set] << width >> (dtype == XF_F32 ? 2 : 3)) width++;
  *bytes = (size_t)vector[set] << (width + 1);
  return runs[set][dtype == XF_F64][width];
}

// vectors reads the arrays of n vectors into v and their widths into sum, and checks that their members are as many.
static bool vectors(xf_buffer **arrays, int64_t n, int dtype, xb_tape_vector *v, int64_t *members, int64_t *sum) {
  *sum = 0;
  for (int64_t k = 0; k < n; k++) {
    const xf_buffer *b = arrays[k];
    if (b->dtype != dtype || b->rank < 1) return false;
    int64_t all = 1;
    for (int64_t i = 0; i < b->rank - 1; i++) all *= b->dims[i];
    if (*members < 0) *members = all;
    if (all != *members) return false;
    v[k] = (xb_tape_vector){b->data, b->dims[b->rank - 1]};
    *sum += v[k].width;
  }
  return true;
}

xf_error *xb_tape_call(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t ins = frame->args.size - 2, results = frame->results.size;
  if (ins < 1 || results < 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_tape takes vectors, a tape and its numbers, and gives vectors");
  xf_buffer **in = (xf_buffer **)frame->args.values, **out = (xf_buffer **)frame->results.values;
  const xf_buffer *code = in[ins], *numbers = in[ins + 1], *only = NULL;
  if (ins > 1 && in[ins - 1]->dtype == XF_PRED) only = in[--ins];
  xb_tape_vector *v = malloc(sizeof *v * (size_t)(ins + results));
  if (!v) return xf_fail(frame, XF_RESOURCE_EXHAUSTED, "xlarun_tape has no memory for so many vectors");
  xb_tape t = {.ins = ins, .results = results, .in = v, .out = v + ins, .members = -1};
  int64_t given, wanted;
  int dtype = in[0]->dtype;
  bool right = (dtype == XF_F32 || dtype == XF_F64) && code->dtype == XF_S32 && code->rank == 1 &&
               numbers->dtype == XF_F64 && numbers->rank == 1 && vectors(in, ins, dtype, v, &t.members, &given) &&
               vectors(out, results, dtype, v + ins, &t.members, &wanted);
  int64_t all = 1;
  for (int64_t i = 0; only && i < only->rank; i++) all *= only->dims[i];
  right = right && (!only || all == t.members);
  if (!right) {
    free(v);
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_tape got arrays of wrong shapes or types");
  }
  const int32_t *words = code->data;
  int64_t n = code->dims[0] - XB_TAPE_HEAD;
  right = n >= 0 && words[2] >= 0 && words[2] + wanted <= n && words[0] >= given && words[0] - given <= words[2] &&
          words[1] >= 0 && words[1] <= numbers->dims[0];
  if (right) {
    t.code = words + XB_TAPE_HEAD, t.outs = t.code + words[2];
    t.values = words[0], t.constants = words[1], t.words = words[2], t.numbers = numbers->data;
    for (int64_t k = 0; k < wanted; k++)
      right = right && t.outs[k] >= 0 && t.outs[k] < t.values + t.constants;
    uint64_t number = hash(words, code->dims[0], numbers->dims[0]), *slot = hashes + (number >> 58);
    if (right && __atomic_load_n(slot, __ATOMIC_RELAXED) != number) {
      size_t registers = (size_t)(t.values + t.constants);
      uint8_t *bits = calloc(2, registers);
      right = bits && sound(&t, numbers->dims[0], bits, bits + registers);
      free(bits);
      if (right) __atomic_store_n(slot, number, __ATOMIC_RELAXED);
    }
  }
  if (!right) {
    free(v);
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_tape got a tape that is damaged or for vectors of other widths");
  }
  int64_t *which = malloc(sizeof *which * (size_t)(t.members + 1)), left = 0;
  for (int64_t m = 0; which && m < t.members; m++)
    if (!only || ((const bool *)only->data)[m]) which[left++] = m;
  for (int64_t k = 0; left < t.members && k < results; k++)
    memset(t.out[k].data, 0, (size_t)(t.members * t.out[k].width) * (dtype == XF_F32 ? 4 : 8));
  size_t bytes;
  choose(dtype, left, &bytes);
  void *registers = aligned_alloc(WIDEST, ((size_t)(t.values + t.constants) * bytes / WIDEST + 1) * WIDEST);
  for (t.which = which, t.members = left; registers && which && t.members > 0;) {
    int64_t ran = choose(dtype, t.members, &bytes)(&t, registers);
    t.which += ran, t.members -= ran;
  }
  free(registers);
  free(which);
  free(v);
  if (!registers || !which)
    return xf_fail(frame, XF_RESOURCE_EXHAUSTED, "xlarun_tape has no memory for the tape's registers");
  return NULL;
}
