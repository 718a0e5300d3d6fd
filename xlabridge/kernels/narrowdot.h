// Products of matrices of narrow numbers, block by block: of bfloat16 with float32 sums, of bytes with int32 sums.
#ifndef XLARUN_NARROWDOT_H
#define XLARUN_NARROWDOT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// A block has at most LINES rows and LINES columns, and INNER elements of the contracted axis. Results depend on INNER
// alone: sums over the contracted axis are taken in pieces of INNER, in order. A word of 4 bytes has a group of
// elements: two of bfloat16 or four bytes.
enum { LINES = 256, INNER = 512, PANEL = 32 };

// The left operand's block is left[rows][INNER]. The right one's is in panels of PANEL columns:
//
//   right[columns / PANEL][inner / group][PANEL][group]
//
// A group of elements of the contracted axis lies side by side. Both have zeros where the axes are filled up.
typedef struct {
  int64_t rows, columns, inner;
  const void *left, *right;
  // NULL: left is packed. Else row i begins at left + rows_at[i], where the operand has it. The elements of piece p of
  // a row begin at piece_at[p], and are piece_size[p], a multiple of a group.
  const int64_t *rows_at;
  const int64_t *piece_at;
  const int64_t *piece_size;
  int64_t pieces;
  // [LINES][LINES], float32 or int32: sums of the pieces before. Not used if this piece is the first and the last.
  void *sums;
  // Whether this piece is the first, and the last.
  bool first, last;
  // Whether results of bfloat16 are bfloat16.
  bool half;
  // Whether bytes of the left operand have no sign. Those of the right one have one.
  bool no_sign;
  // Results of the last piece, float32, bfloat16 or int32.
  void *out;
  // Where the results of each row are.
  const int64_t *at;
} xb_dot_block;

// Where elements lie, by their number. Pieces lie side by side: piece p are the elements from begin[p] to begin[p + 1].
typedef struct {
  int64_t n, pieces;
  int64_t at[INNER], begin[INNER + 1];
} xb_places;

// A set of functions for one kind of processor.
typedef struct {
  const char *name;
  int inner;    // the contracted axis is filled up to a multiple of it
  bool direct;  // whether the product takes rows as they lie
  void (*product)(const xb_dot_block *b);
  // to[i][k] = x[rows[i] + inner[k]], in lines of INNER.
  void (*lines)(const void *x, int64_t n, const int64_t *rows, const xb_places *inner, void *to);
  // to[k / group][i][k % group] = x[i + inner[k]] for i < n, in lines of PANEL groups, for k < filled: behind inner are
  // zeros.
  void (*groups)(const void *x, int64_t n, const xb_places *inner, int64_t filled, void *to);
  // to[j][i] = from[i][j], 16 x 16 words; lines are so many words long.
  void (*turn)(const uint32_t *from, int64_t from_line, uint32_t *to, int64_t to_line);
} xb_dot;

extern const xb_dot xb_bf16_dot_plain, xb_int8_dot_plain;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
extern const xb_dot xb_bf16_dot_avx512, xb_bf16_dot_amx, xb_int8_dot_avx512, xb_int8_dot_amx;
#endif

// xb_rounded is the nearest bfloat16, of two the even one.
static inline uint16_t xb_rounded(float f) {
  uint32_t word;
  memcpy(&word, &f, sizeof word);
  if (f != f) return (uint16_t)(word >> 16 | 0x40);
  return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

// The sets that this processor runs for a type of elements, the least first; the last is used. xb_narrow_use picks
// another one, for tests: -1 goes back.
typedef enum { XB_BF16, XB_INT8, XB_NARROW_TYPES } xb_narrow;
int xb_narrow_sets(xb_narrow type);
void xb_narrow_use(xb_narrow type, int set);
const char *xb_narrow_name(xb_narrow type, int set);

// xb_narrow_set is the one that is used.
const xb_dot *xb_narrow_set(xb_narrow type);

#endif
