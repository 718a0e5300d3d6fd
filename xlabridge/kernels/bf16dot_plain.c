// Tiles in plain C, so that what is done with them can be tested on every processor.
#include "bf16dot.h"

#include <string.h>

typedef struct {
  uint32_t words[16][16];
} tile;

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

static void load(tile *t, const void *from, int64_t bytes) {
  for (int i = 0; i < 16; i++) memcpy(t->words[i], (const char *)from + i * bytes, sizeof t->words[i]);
}

static void store(const tile *t, void *to, int64_t bytes) {
  for (int i = 0; i < 16; i++) memcpy((char *)to + i * bytes, t->words[i], sizeof t->words[i]);
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

static void lines(const uint16_t *x, int64_t n, const int64_t *rows, const xb_places *inner, uint16_t *to) {
  for (int64_t i = 0; i < n; i++, to += INNER)
    for (int64_t k = 0; k < inner->n; k++) to[k] = x[rows[i] + inner->at[k]];
}

static void pairs(const uint16_t *x, int64_t n, const xb_places *inner, int64_t filled, uint16_t *to) {
  for (int64_t k = 0; k < filled; k += 2, to += 2 * PANEL)
    for (int64_t i = 0; i < PANEL; i++)
      for (int64_t p = 0; p < 2; p++) to[2 * i + p] = i < n && k + p < inner->n ? x[i + inner->at[k + p]] : 0;
}

static void turn(const uint32_t *from, int64_t from_line, uint32_t *to, int64_t to_line) {
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++) to[j * to_line + i] = from[i * from_line + j];
}

#define NAME xb_bf16_dot_plain
#define LABEL "plain"
#define LINE_FUNCTIONS lines, pairs, turn
#define TILES tile tiles[8] = {0};
#define OPEN
#define CLOSE
#define ZERO(t) memset(&tiles[t], 0, sizeof tiles[t])
#define LOAD(t, from, bytes) load(&tiles[t], from, bytes)
#define STORE(t, to, bytes) store(&tiles[t], to, bytes)
#define DOT(c, a, b) dot(&tiles[c], &tiles[a], &tiles[b])
#include "bf16dot_tiles.h"
