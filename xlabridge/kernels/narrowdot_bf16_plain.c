// Products of bfloat16 with tiles in plain C.
#include "narrowdot.h"

#include <string.h>

#define ELEMENT uint16_t
#include "narrowdot_plain.h"

static float number(uint16_t half) {
  uint32_t word = (uint32_t)half << 16;
  float f;
  memcpy(&f, &word, sizeof f);
  return f;
}

static void results(const xb_dot_block *b, int64_t at, const float *sums, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    if (b->half) ((uint16_t *)b->out)[at + i] = xb_rounded(sums[i]);
    else ((float *)b->out)[at + i] = sums[i];
  }
}

static void dot(tile *c, const tile *a, const tile *b) {
  float sums[16][16];
  memcpy(sums, c, sizeof sums);
  for (int m = 0; m < 16; m++)
    for (int k = 0; k < 16; k++) {
      uint32_t x = a->words[m][k];
      for (int n = 0; n < 16; n++) {
        uint32_t y = b->words[k][n];
        sums[m][n] += number((uint16_t)x) * number((uint16_t)y);
        sums[m][n] += number((uint16_t)(x >> 16)) * number((uint16_t)(y >> 16));
      }
    }
  memcpy(c, sums, sizeof sums);
}

#define SUM float
#define NAME xb_bf16_dot_plain
#define LABEL "plain"
#define LINE_FUNCTIONS lines, groups, turn
#define DOT(c, x, y) dot(&tiles[c], &tiles[x], &tiles[y])
#include "narrowdot_tiles.h"
