#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
#define threefry xb_threefry_avx512
#define hashes xb_hashes_avx512
#define W 16
#include "threefry_block.h"
#endif
