#include "plain.h"
#define linalg_f32 xb_linalg_f32_plain
#define linalg_f64 xb_linalg_f64_plain
#define T float
#define W 4
#define NAME(x) x##_f32
#include "linalg_block.h"
#undef T
#undef W
#undef NAME
#define T double
#define W 2
#define NAME(x) x##_f64
#include "linalg_block.h"
