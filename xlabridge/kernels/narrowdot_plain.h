// Tiles and copies of elements in plain C, so that what is done with tiles can be tested on every processor. A file
// includes this with ELEMENT, the type of elements.
#ifndef XLARUN_NARROWDOT_PLAIN_H
#define XLARUN_NARROWDOT_PLAIN_H

#include <string.h>

#include "narrowdot.h"

typedef struct {
  uint32_t words[16][16];
} tile;

static void load(tile *t, const void *from, int64_t bytes) {
  for (int i = 0; i < 16; i++) memcpy(t->words[i], (const char *)from + i * bytes, sizeof t->words[i]);
}

static void store(const tile *t, void *to, int64_t bytes) {
  for (int i = 0; i < 16; i++) memcpy((char *)to + i * bytes, t->words[i], sizeof t->words[i]);
}

static void lines(const void *from, int64_t n, const int64_t *rows, const xb_places *inner, void *packed) {
  const ELEMENT *x = from;
  ELEMENT *to = packed;
  for (int64_t i = 0; i < n; i++, to += INNER)
    for (int64_t k = 0; k < inner->n; k++) to[k] = x[rows[i] + inner->at[k]];
}

static void groups(const void *from, int64_t n, const xb_places *inner, int64_t filled, void *packed) {
  enum { GROUP = 4 / sizeof(ELEMENT) };
  const ELEMENT *x = from;
  ELEMENT *to = packed;
  for (int64_t k = 0; k < filled; k += GROUP, to += GROUP * PANEL)
    for (int64_t i = 0; i < PANEL; i++)
      for (int64_t p = 0; p < GROUP; p++) to[GROUP * i + p] = i < n && k + p < inner->n ? x[i + inner->at[k + p]] : 0;
}

static void turn(const uint32_t *from, int64_t from_line, uint32_t *to, int64_t to_line) {
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++) to[j * to_line + i] = from[i * from_line + j];
}

#define TILES tile tiles[8] = {0};
#define OPEN
#define CLOSE
#define ZERO(t) memset(&tiles[t], 0, sizeof tiles[t])
#define LOAD(t, from, bytes) load(&tiles[t], from, bytes)
#define STORE(t, to, bytes) store(&tiles[t], to, bytes)

#endif
