#include "plain.h"
#define threefry xb_threefry_plain
#define hashes xb_hashes_plain
#define W 4
#include "threefry_block.h"
