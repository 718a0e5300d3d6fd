// tape_types.h includes this for each type. It makes the functions for registers of 1, 2, 4 and 8 vectors.
#define V 1
#define NARROWER NULL
#include "tape_lanes.h"
#define V 2
#define NARROWER NULL
#include "tape_lanes.h"
#define V 4
#define NARROWER OF(2, code)
#include "tape_lanes.h"
#define V 8
#define NARROWER OF(2, code)
#include "tape_lanes.h"
