#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v3")
#define NAME xb_combine_avx2
#include "writes_block.h"

#include "lanes_avx2.h"

// BLOCK updates at a time are transposed.
enum { BLOCK = 64 };

#define ORDER_OF(F) (lanes) F((signed_lanes)a, (signed_lanes)b)

// As FLOAT_ORDER: of the minima of both orders all bits.
static inline lanes least(lanes a, lanes b) {
  return (lanes)((words_of_lanes)__builtin_ia32_minps256(a, b) | (words_of_lanes)__builtin_ia32_minps256(b, a));
}

static inline lanes most(lanes a, lanes b) { return -least(-a, -b); }

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
        lanes a = *(lanes_at *)place, b = *(lanes_at *)(y + j * LANES); \
        (void)a; \
        *(lanes_at *)place = VALUE; \
      } \
    } \
    to_rows(x, n, to, to_stride); \
  }

COLUMNS(set, b)
COLUMNS(sum_f32, a + b)
COLUMNS(prod_f32, a *b)
COLUMNS(max_f32, most(a, b))
COLUMNS(min_f32, least(a, b))
COLUMNS(sum_32, (lanes)((words_of_lanes)a + (words_of_lanes)b))
COLUMNS(prod_32, (lanes)((words_of_lanes)a * (words_of_lanes)b))
COLUMNS(max_s32, ORDER_OF(__builtin_ia32_pmaxsd256))
COLUMNS(min_s32, ORDER_OF(__builtin_ia32_pminsd256))
COLUMNS(max_u32, ORDER_OF(__builtin_ia32_pmaxud256))
COLUMNS(min_u32, ORDER_OF(__builtin_ia32_pminud256))

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
