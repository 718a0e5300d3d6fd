#include "plain.h"
#define NAME xb_combine_plain
#include "writes_block.h"
