#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v3")
#define threefry xb_threefry_avx2
#define hashes xb_hashes_avx2
#define W 8
#include "threefry_block.h"
#endif
