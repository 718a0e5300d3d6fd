#include "plain.h"
#define threefry xb_threefry_plain
#define W 4
#include "threefry_block.h"
