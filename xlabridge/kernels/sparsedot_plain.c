#define OUTER xb_sparse_outer_plain
#define NAME xb_sparse_dot_plain
#define W 4
#include "sparsedot_block.h"
