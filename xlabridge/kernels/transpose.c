// The transposes of matrices.
#include <stdbool.h>
#include <string.h>

#include "ffi.h"

// Squares of 4 by 4 numbers are transposed in registers. The squares of a block of 16 by 16 numbers follow each other,
// so that cache lines are read and written whole.
enum { SQUARE = 4, BLOCK = 16 };

typedef float four __attribute__((vector_size(16), aligned(4)));

#ifdef __clang__
#define MIX(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
typedef int32_t places __attribute__((vector_size(16)));
#define MIX(a, b, i, j, k, l) __builtin_shuffle(a, b, (places){i, j, k, l})
#endif

static inline void transpose_square(const float *from, int64_t columns, float *to, int64_t rows) {
  four a = *(const four *)from, b = *(const four *)(from + columns);
  four c = *(const four *)(from + 2 * columns), d = *(const four *)(from + 3 * columns);
  four ab = MIX(a, b, 0, 4, 1, 5), AB = MIX(a, b, 2, 6, 3, 7), cd = MIX(c, d, 0, 4, 1, 5), CD = MIX(c, d, 2, 6, 3, 7);
  *(four *)to = MIX(ab, cd, 0, 1, 4, 5);
  *(four *)(to + rows) = MIX(ab, cd, 2, 3, 6, 7);
  *(four *)(to + 2 * rows) = MIX(AB, CD, 0, 1, 4, 5);
  *(four *)(to + 3 * rows) = MIX(AB, CD, 2, 3, 6, 7);
}

static void transpose(const float *from, int64_t rows, int64_t columns, float *to) {
  for (int64_t i = 0; i < rows; i += BLOCK)
    for (int64_t j = 0; j < columns; j += BLOCK) {
      if (rows - i >= BLOCK && columns - j >= BLOCK) {
        // By way of an array of its own: rows that are a power of two apart share their places in the cache.
        float block[BLOCK * BLOCK];
        for (int64_t r = 0; r < BLOCK; r += SQUARE)
          for (int64_t c = 0; c < BLOCK; c += SQUARE)
            transpose_square(from + (i + r) * columns + j + c, columns, block + c * BLOCK + r, BLOCK);
        for (int64_t c = 0; c < BLOCK; c++) memcpy(to + (j + c) * rows + i, block + c * BLOCK, sizeof(float) * BLOCK);
        continue;
      }
      int64_t row_end = i + BLOCK < rows ? i + BLOCK : rows, column_end = j + BLOCK < columns ? j + BLOCK : columns;
      // The ends of the rows and columns that whole squares cover.
      int64_t square_rows = (row_end - i) / SQUARE * SQUARE + i,
              square_columns = (column_end - j) / SQUARE * SQUARE + j;
      for (int64_t c = j; c < square_columns; c += SQUARE)
        for (int64_t r = i; r < square_rows; r += SQUARE)
          transpose_square(from + r * columns + c, columns, to + c * rows + r, rows);
      for (int64_t c = j; c < column_end; c++)
        for (int64_t r = c < square_columns ? square_rows : i; r < row_end; r++)
          to[c * rows + r] = from[r * columns + c];
    }
}

xf_error *xb_transpose(xf_frame *frame) {
  static const char wrong[] = "xlarun_transpose takes float32, int32 or uint32[n, a, b] and gives [n, b, a]";
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != 1 || frame->results.size != 1) return xf_fail(frame, XF_INVALID_ARGUMENT, wrong);
  const xf_buffer *in = frame->args.values[0], *out = frame->results.values[0];
  bool known = in->dtype == XF_F32 || in->dtype == XF_S32 || in->dtype == XF_U32;
  if (!known || in->rank != 3 || out->dtype != in->dtype || out->rank != 3 || in->dims[0] != out->dims[0] ||
      in->dims[1] != out->dims[2] || in->dims[2] != out->dims[1])
    return xf_fail(frame, XF_INVALID_ARGUMENT, wrong);
  int64_t rows = in->dims[1], columns = in->dims[2];
  for (int64_t n = 0; n < in->dims[0]; n++)
    transpose((const float *)in->data + n * rows * columns, rows, columns, (float *)out->data + n * rows * columns);
  return NULL;
}
