#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v3")
#define RECURRENCE xb_recurrence_avx2
#define FIRE xb_fire_avx2
#define W 8
#include "along_steps_block.h"
#endif
