#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <stdbool.h>
#pragma GCC target("arch=x86-64-v3")
#define NAME xb_tree_backup_avx2
#include "treesearch_block.h"
#endif
