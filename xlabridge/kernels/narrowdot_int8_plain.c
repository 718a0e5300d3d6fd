// Products of bytes with tiles in plain C.
#define ELEMENT int8_t
#include "narrowdot_plain.h"

static void results(const xb_dot_block *b, int64_t at, const int32_t *sums, int64_t n) {
  memcpy((int32_t *)b->out + at, sums, (size_t)n * sizeof *sums);
}

static void dot(tile *c, const tile *a, const tile *b, bool no_sign) {
  for (int m = 0; m < 16; m++)
    for (int k = 0; k < 16; k++)
      for (int n = 0; n < 16; n++)
        for (int p = 0; p < 4; p++) {
          uint8_t x = (uint8_t)(a->words[m][k] >> 8 * p);
          int8_t y = (int8_t)(b->words[k][n] >> 8 * p);
          c->words[m][n] += (uint32_t)((no_sign ? x : (int8_t)x) * y);
        }
}

#define SUM int32_t
#define NAME xb_int8_dot_plain
#define LABEL "plain"
#define LINE_FUNCTIONS lines, groups, turn
#define DOT(c, x, y) dot(&tiles[c], &tiles[x], &tiles[y], b->no_sign)
#include "narrowdot_tiles.h"
