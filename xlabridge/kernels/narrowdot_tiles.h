// The product of a block with tiles of 16 rows of 64 bytes. A file includes this with NAME, the name of the set, LABEL,
// what users call it, TILES, what declares tiles, if anything, and the operations on tiles, whose numbers are
// constants:
//   OPEN and CLOSE, before the first of them and behind the last,
//   ZERO(t), LOAD(t, from, bytes), STORE(t, to, bytes), with the bytes from one row to the next,
//   DOT(c, x, y): c[m][n] += the product of group k of x[m] and group n of y[k], for all k, of the block b;
// with ELEMENT and SUM, the types of elements and of sums, with results, which writes n sums of a row, and with
// LINE_FUNCTIONS, the other functions of the set.
#include "narrowdot.h"

// Rows of a tile and words of a row, the bytes of a word, its elements.
enum { TILE = 16, WORD = 4, GROUP = WORD / sizeof(ELEMENT) };

// Tiles 0 to 3 are sums, those of two rows of tiles; 4 and 5 of the left operand, 6 and 7 of the right one.
static void product(const xb_dot_block *b) {
  TILES
  OPEN;
  for (int64_t row = 0; row < b->rows; row += 2 * TILE) {
    bool tall = b->rows - row > TILE;
    for (int64_t column = 0; column < b->columns; column += PANEL) {
      bool wide = b->columns - column > TILE;
      const ELEMENT *left = (const ELEMENT *)b->left + row * INNER,
                    *right = (const ELEMENT *)b->right + column * b->inner;
      SUM *sums = (SUM *)b->sums + row * LINES + column, ends[2 * TILE][PANEL];
      if (b->first) {
        ZERO(0);
        if (wide) ZERO(1);
        if (tall) ZERO(2);
        if (tall && wide) ZERO(3);
      } else {
        LOAD(0, sums, LINES * WORD);
        if (wide) LOAD(1, sums + TILE, LINES * WORD);
        if (tall) LOAD(2, sums + TILE * LINES, LINES * WORD);
        if (tall && wide) LOAD(3, sums + TILE * LINES + TILE, LINES * WORD);
      }
      for (int64_t k = 0; k < b->inner; k += GROUP * TILE, left += GROUP * TILE, right += GROUP * TILE * PANEL) {
        LOAD(4, left, INNER * sizeof(ELEMENT));
        LOAD(6, right, PANEL * WORD);
        DOT(0, 4, 6);
        if (wide) {
          LOAD(7, right + GROUP * TILE, PANEL * WORD);
          DOT(1, 4, 7);
        }
        if (tall) {
          LOAD(5, left + TILE * INNER, INNER * sizeof(ELEMENT));
          DOT(2, 5, 6);
          if (wide) DOT(3, 5, 7);
        }
      }
      SUM *to = b->last ? ends[0] : sums;
      int64_t line = b->last ? PANEL : LINES;
      STORE(0, to, line * WORD);
      if (wide) STORE(1, to + TILE, line * WORD);
      if (tall) STORE(2, to + TILE * line, line * WORD);
      if (tall && wide) STORE(3, to + TILE * line + TILE, line * WORD);
      if (!b->last) continue;
      int64_t n = b->columns - column < PANEL ? b->columns - column : PANEL;
      for (int64_t i = 0; i < 2 * TILE && row + i < b->rows; i++) results(b, b->at[row + i] + column, ends[i], n);
    }
  }
  CLOSE;
}

const xb_dot NAME = {LABEL, GROUP *TILE, false, product, LINE_FUNCTIONS};
