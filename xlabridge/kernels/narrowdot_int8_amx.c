#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v4,amx-tile,amx-int8,prefer-vector-width=512")
#include <immintrin.h>

#include "narrowdot_int8.h"
#include "narrowdot.h"
#include "narrowdot_amx.h"

static void results(const xb_dot_block *b, int64_t at, const int32_t *sums, int64_t n) {
  memcpy((int32_t *)b->out + at, sums, (size_t)n * sizeof *sums);
}

#define SUM int32_t
#define NAME xb_int8_dot_amx
#define LABEL "amx"
#define LINE_FUNCTIONS lines, groups, turn
#define DOT(c, x, y) \
  do { \
    if (b->no_sign) _tile_dpbusd(c, x, y); \
    else _tile_dpbssd(c, x, y); \
  } while (0)
#include "narrowdot_tiles.h"
#endif
