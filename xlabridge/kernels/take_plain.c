#define NAME xb_take_plain
#include "take_block.h"
