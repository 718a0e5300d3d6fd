#define NAME xb_eigh_plain
#define W 2
#include "eigh_block.h"
