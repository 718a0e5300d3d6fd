#define NAME xb_combine_plain
#include "writes_block.h"
