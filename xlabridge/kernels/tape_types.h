// A file includes this with SET, the set's name, BYTES, those of a vector, and FMA32, FMA64, SQRT32 and SQRT64. It
// makes the set's functions of both types.
#include <math.h>
#include <stdbool.h>

#include "tape.h"

// The parts of half a turn, the coefficients of (sin r - r)/r³ in r² within a quarter of a turn from the highest
// power down, and the number whose sum with another one rounds that. The first coefficients are those of
// graph/ops_unary_trig.go, the second ones Taylor's. The sum of the parts is exact enough for numbers up to far; the
// library computes those of larger ones.
static const float parts32[] = {0x1.921fb6p+1f, -0x1.777a5cp-24f, -0x1.ee59dap-49f};
static const float sine32[] = {2.605780537e-6f, -1.980960224e-4f, 8.333066478e-3f, -1.666665971e-1f};
static const float rounder32 = 0x1.8p23f, far32 = 8192;
static const double parts64[] = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53, -0x1.f1976b7ed8fbcp-109};
static const double sine64[] = {
    1.0 / 51090942171709440000.0, -1.0 / 121645100408832000.0, 1.0 / 355687428096000.0, -1.0 / 1307674368000.0,
    1.0 / 6227020800.0,           -1.0 / 39916800.0,           1.0 / 362880.0,          -1.0 / 5040.0,
    1.0 / 120.0,                  -1.0 / 6.0};
static const double rounder64 = 0x1.8p52, far64 = 0x1p26;
#define SIN32 sinf
#define COS32 cosf
#define SIN64 sin
#define COS64 cos

// T is the type of a lane, and SIZE its bits. SIZED(x) is the x of the type.
#define JOIN(x, y) x##y
#define JOINED(x, y) JOIN(x, y)
#define SIZED(x) JOINED(x, SIZE)
#define FMA SIZED(FMA)
#define SQRT SIZED(SQRT)
#define BITS JOINED(SIZED(int), _t)
#define W (8 * BYTES / SIZE)  // lanes of a vector

// OF(v, x) is the x for registers of v vectors, and NAMED(x) the one for those of V.
#define NAME(size, v, x, set) xb_tape_f##size##_##x##v##_##set
#define EXPANDED(size, v, x, set) NAME(size, v, x, set)
#define OF(v, x) EXPANDED(SIZE, v, x, SET)
#define NAMED(x) OF(V, x)

#define SIZE 32
#define T float
#include "tape_widths.h"
#undef SIZE
#undef T
#define SIZE 64
#define T double
#include "tape_widths.h"
