#define NAME xb_conv_plain
#define W 4
#define MOST 5
#include "convimages_block.h"
