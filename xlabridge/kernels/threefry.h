// Random bits by Threefry-2x32, for each kind of processor.
#ifndef XLARUN_THREEFRY_H
#define XLARUN_THREEFRY_H

#include <stdint.h>

// The words of the counters (0, 0) to (0, draws - 1) under each key: a and b [keys, draws], or [draws, keys] where keys
// are last; where b is NULL, a has the exclusive or of both, or, if normal is set, the float32 that random.Normal makes
// of it. The plain variant makes none: without FMA it would round in another way than XLA.
typedef void xb_threefry_words(const uint32_t *hi, const uint32_t *lo, int64_t keys, int64_t draws, int keys_last,
                               int normal, uint32_t *a, uint32_t *b);

// The hashes of n counters (x0, x1) under keys (k0, k1).
typedef void xb_threefry_hashes(const uint32_t *k0, const uint32_t *k1, const uint32_t *x0, const uint32_t *x1,
                                int64_t n, uint32_t *a, uint32_t *b);

xb_threefry_words xb_threefry_plain;
xb_threefry_hashes xb_hashes_plain;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
xb_threefry_words xb_threefry_avx2, xb_threefry_avx512;
xb_threefry_hashes xb_hashes_avx2, xb_hashes_avx512;
#endif

#endif
