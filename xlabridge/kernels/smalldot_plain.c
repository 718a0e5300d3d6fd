#define NAME xb_small_dots_plain
#define W 4
#include "smalldot_block.h"
