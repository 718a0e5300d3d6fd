// A file includes this with TYPE and what tape_lanes.h needs for it. It makes the functions for registers of 1, 2, 4
// and 8 vectors.
#define PASTE(type, v, x, set) xb_tape_##type##_##x##v##_##set
#define PASTED(type, v, x, set) PASTE(type, v, x, set)
#define OF(v, x) PASTED(TYPE, v, x, SET)
#define NAMED(x) OF(V, x)

#define V 1
#define NARROWER
#include "tape_lanes.h"
#undef V
#undef NARROWER
#define V 2
#define NARROWER {1, OF(1, code)},
#include "tape_lanes.h"
#undef V
#undef NARROWER
#define V 4
#define NARROWER {1, OF(1, code)}, {2, OF(2, code)},
#include "tape_lanes.h"
#undef V
#undef NARROWER
#define V 8
#define NARROWER {1, OF(1, code)}, {2, OF(2, code)}, {4, OF(4, code)},
#include "tape_lanes.h"
#undef V
#undef NARROWER

#undef PASTE
#undef PASTED
#undef OF
#undef NAMED
