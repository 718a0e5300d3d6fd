#define BF16
#define BLOCK xs_block_bf16_plain
#define W 4
#include "sparse_block.h"
