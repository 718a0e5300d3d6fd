#define NAME xb_low_rank_plain
#define W 4
#include "lowrank_block.h"
