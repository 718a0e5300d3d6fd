// Products of bytes with VNNI. Its instruction multiplies bytes without a sign by bytes with one. If neither operand
// has bytes without a sign, 128 is added to the right one's, and 128 times the sum of the left one's row is subtracted.
// The instruction adds modulo 2^32 as int32 does, so results are exact in any order.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v4,avx512vnni,prefer-vector-width=512")
#pragma GCC optimize 2  // as fast as with 3, and compiles in three quarters of the time
#include <immintrin.h>

#include "narrowdot_int8.h"
#include "narrowdot.h"

#define GROUP 4
#define NUMBER int32_t
#define NUMBERS __m512i
#define LINE __m512i

enum { SIGNS, NO_SIGN };  // whether the left operand's bytes have signs

static int32_t sum_of(const int8_t *x, int64_t n) {
  __m512i ones = _mm512_set1_epi8(1), sum = _mm512_setzero_si512();
  for (; n >= 64; n -= 64, x += 64) sum = _mm512_dpbusd_epi32(sum, ones, _mm512_loadu_si512(x));
  if (n > 0) sum = _mm512_dpbusd_epi32(sum, ones, _mm512_maskz_loadu_epi8(((__mmask64)1 << n) - 1, x));
  return _mm512_reduce_add_epi32(sum);
}

static inline int32_t begin_row(const xb_dot_block *b, int64_t row, const int kind) {
  if (kind == NO_SIGN) return 0;
  if (b->rows_at == NULL) return -128 * sum_of((const int8_t *)b->left + row * INNER, b->inner);
  int32_t sum = 0;
  for (int64_t p = 0; p < b->pieces; p++)
    sum += sum_of((const int8_t *)b->left + b->rows_at[row] + b->piece_at[p], b->piece_size[p]);
  return -128 * sum;
}

static inline __m512i begin_sums(bool first_piece, int32_t first, const int32_t *sums) {
  __m512i sum = _mm512_set1_epi32(first);
  return first_piece ? sum : _mm512_add_epi32(sum, _mm512_loadu_si512(sums));
}

static inline __m512i line_of(const int8_t *right, const int kind) {
  __m512i line = _mm512_loadu_si512(right);
  return kind == NO_SIGN ? line : _mm512_xor_si512(line, _mm512_set1_epi8(-128));
}

static inline __m512i products(__m512i sum, int32_t group, __m512i line, const int kind) {
  __m512i all = _mm512_set1_epi32(group);
  return kind == NO_SIGN ? _mm512_dpbusd_epi32(sum, all, line) : _mm512_dpbusd_epi32(sum, line, all);
}

static inline bool halves(const xb_dot_block *b) { return false; }

static inline void put_half(const xb_dot_block *b, int64_t at, __mmask16 there, __m512i sum) {}

static inline void put(const xb_dot_block *b, int64_t at, __mmask16 there, __m512i sum) {
  _mm512_mask_storeu_epi32((int32_t *)b->out + at, there, sum);
}

#include "narrowdot_rows.h"

STRIPS(packed, SIGNS, false)
STRIPS(packed_no_sign, NO_SIGN, false)
STRIPS(in_place, SIGNS, true)
STRIPS(in_place_no_sign, NO_SIGN, true)

static void product(const xb_dot_block *b) {
  if (b->no_sign) b->rows_at != NULL ? in_place_no_sign(b) : packed_no_sign(b);
  else b->rows_at != NULL ? in_place(b) : packed(b);
}

const xb_dot xb_int8_dot_avx512 = {"avx512_vnni", GROUP, true, product, lines, groups, turn};
#endif
