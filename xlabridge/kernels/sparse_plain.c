#define BLOCK xs_block_plain
#define W 4
#include "sparse_block.h"
