// A file includes this with SET, the set's name, BYTES, those of a vector, and FMA32, FMA64, SQRT32 and SQRT64. It
// makes the set's functions of both types.
#include <math.h>
#include <stdbool.h>

#include "tape.h"

// The parts of half a turn, the coefficients of (sin r - r)/r³ in r² within a quarter of a turn from the highest
// power down, and the number whose sum with another one rounds that. The first coefficients are those of
// graph/ops_unary_trig.go, the second ones Taylor's. FAR is how far the parts reach.
static const float parts32[] = {0x1.921fb6p+1f, -0x1.777a5cp-24f, -0x1.ee59dap-49f};
static const float sine32[] = {2.605780537e-6f, -1.980960224e-4f, 8.333066478e-3f, -1.666665971e-1f};
static const double parts64[] = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53, -0x1.f1976b7ed8fbcp-109};
static const double sine64[] = {
    1.0 / 51090942171709440000.0, -1.0 / 121645100408832000.0, 1.0 / 355687428096000.0, -1.0 / 1307674368000.0,
    1.0 / 6227020800.0,           -1.0 / 39916800.0,           1.0 / 362880.0,          -1.0 / 5040.0,
    1.0 / 120.0,                  -1.0 / 6.0};

#define FMA FMA32
#define SQRT SQRT32
#define HALF_TURN parts32
#define SINE sine32
#define ROUNDER 0x1.8p23f
#define FAR 8192
#define LIBRARY_SIN sinf
#define LIBRARY_COS cosf
#define T float
#define BITS int32_t
#define W (BYTES / 4)
#define TYPE f32
#include "tape_widths.h"
#undef TYPE
#undef FMA
#undef SQRT
#undef HALF_TURN
#undef SINE
#undef ROUNDER
#undef FAR
#undef LIBRARY_SIN
#undef LIBRARY_COS
#undef T
#undef BITS
#undef W

#define FMA FMA64
#define SQRT SQRT64
#define HALF_TURN parts64
#define SINE sine64
#define ROUNDER 0x1.8p52
#define FAR 0x1p26
#define LIBRARY_SIN sin
#define LIBRARY_COS cos
#define T double
#define BITS int64_t
#define W (BYTES / 8)
#define TYPE f64
#include "tape_widths.h"
#undef TYPE
