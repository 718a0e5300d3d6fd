// The sets of functions for products of narrow numbers that this processor runs.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "narrowdot.h"
#include "vectors.h"

static const xb_dot *const sets[XB_NARROW_TYPES][3] = {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    {&xb_bf16_dot_plain, &xb_bf16_dot_avx512, &xb_bf16_dot_amx},
    {&xb_int8_dot_plain, &xb_int8_dot_avx512, &xb_int8_dot_amx},
#else
    {&xb_bf16_dot_plain},
    {&xb_int8_dot_plain},
#endif
};

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
enum { AMX_BF16 = 1 << 22, AMX_TILES = 1 << 24, AMX_INT8 = 1 << 25 };

// amx tells whether the processor has tiles and products of a type, and the system lets the process use them.
static bool amx(unsigned type) {
#ifdef __linux__
  enum { ASK = 0x1023, TILE_DATA = 18 };
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & type) || !(d & AMX_TILES)) return false;
  return syscall(SYS_arch_prctl, ASK, TILE_DATA) == 0;
#else
  return false;
#endif
}
#endif

static int widest[XB_NARROW_TYPES];

static void find(void) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (xb_widest_vectors() < XB_AVX512) return;
  if (__builtin_cpu_supports("avx512bf16")) widest[XB_BF16] = amx(AMX_BF16) ? 2 : 1;
  if (__builtin_cpu_supports("avx512vnni")) widest[XB_INT8] = amx(AMX_INT8) ? 2 : 1;
#endif
}

int xb_narrow_sets(xb_narrow type) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find);
  return widest[type] + 1;
}

static atomic_int used[XB_NARROW_TYPES] = {-1, -1};

void xb_narrow_use(xb_narrow type, int set) { used[type] = set < xb_narrow_sets(type) ? set : -1; }

const char *xb_narrow_name(xb_narrow type, int set) { return sets[type][set]->name; }

const xb_dot *xb_narrow_set(xb_narrow type) {
  int set = used[type];
  return sets[type][set < 0 ? xb_narrow_sets(type) - 1 : set];
}
