#include "plain.h"
#include <stdbool.h>
#define NAME xb_tree_backup_plain
#include "treesearch_block.h"
