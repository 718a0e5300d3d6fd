#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v3")
#define NAME xb_combine_avx2
#include "writes_block.h"

#include "lanes_avx2.h"

// BLOCK updates at a time are transposed.
enum { BLOCK = 64 };

#define BITS(F, a, b) _mm256_castsi256_ps(F(_mm256_castps_si256(a), _mm256_castps_si256(b)))

// As FLOAT_ORDER: of the minima of both orders all bits.
static inline __m256 least(__m256 a, __m256 b) { return _mm256_or_ps(_mm256_min_ps(a, b), _mm256_min_ps(b, a)); }

static inline __m256 most(__m256 a, __m256 b) {
  const __m256 sign = _mm256_set1_ps(-0.f);
  return _mm256_xor_ps(least(_mm256_xor_ps(a, sign), _mm256_xor_ps(b, sign)), sign);
}

#define COLUMNS(NAME, VALUE) \
  static void NAME(void *restrict to, int64_t n, int64_t to_stride, const void *restrict from, int64_t count, \
                   int64_t from_stride, const int32_t *restrict index, void *restrict columns) { \
    float *x = columns, y[BLOCK * LANES]; \
    to_columns(to, to_stride, n, x); \
    for (int64_t i = 0; i < count; i += BLOCK) { \
      int64_t part = count - i < BLOCK ? count - i : BLOCK; \
      to_columns((const float *)from + i, from_stride, part, y); \
      for (int64_t j = 0; j < part; j++) { \
        if ((uint32_t)index[i + j] >= n) continue; \
        float *place = x + (int64_t)index[i + j] * LANES; \
        __m256 a = _mm256_loadu_ps(place), b = _mm256_loadu_ps(y + j * LANES); \
        (void)a; \
        _mm256_storeu_ps(place, VALUE); \
      } \
    } \
    to_rows(x, n, to, to_stride); \
  }

COLUMNS(set, b)
COLUMNS(sum_f32, _mm256_add_ps(a, b))
COLUMNS(prod_f32, _mm256_mul_ps(a, b))
COLUMNS(max_f32, most(a, b))
COLUMNS(min_f32, least(a, b))
COLUMNS(sum_32, BITS(_mm256_add_epi32, a, b))
COLUMNS(prod_32, BITS(_mm256_mullo_epi32, a, b))
COLUMNS(max_s32, BITS(_mm256_max_epi32, a, b))
COLUMNS(min_s32, BITS(_mm256_min_epi32, a, b))
COLUMNS(max_u32, BITS(_mm256_max_epu32, a, b))
COLUMNS(min_u32, BITS(_mm256_min_epu32, a, b))

xb_columns *xb_columns_avx2(int64_t kind, int dtype, int64_t width) {
  if (kind == SET) return width == sizeof(float) ? set : NULL;
  if (kind < SET || kind > MIN) return NULL;
  switch (dtype) {
  case XF_F32:
    return (xb_columns *[]){sum_f32, prod_f32, max_f32, min_f32}[kind - SUM];
  case XF_S32:
    return (xb_columns *[]){sum_32, prod_32, max_s32, min_s32}[kind - SUM];
  case XF_U32:
    return (xb_columns *[]){sum_32, prod_32, max_u32, min_u32}[kind - SUM];
  }
  return NULL;
}
#endif
