#ifndef XLABRIDGE_POOL_H
#define XLABRIDGE_POOL_H

#include <stddef.h>

// xb_pool_open makes the large allocations of the shared library that contains an address come from the pool; see
// pool.go. It returns whether they do.
int xb_pool_open(const void *address);

// xb_pool_count counts the blocks in use, their bytes, and the bytes of free blocks.
void xb_pool_count(size_t *blocks, size_t *used, size_t *kept);

#endif
