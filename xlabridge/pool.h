#ifndef XLABRIDGE_POOL_H
#define XLABRIDGE_POOL_H

#include <stddef.h>

// xb_pool_open gives the shared library that an address lies in a pool for its large allocations; see pool.go. It tells whether it has it now.
int xb_pool_open(const void *address);

// xb_pool_count counts the blocks that are in use, their bytes, and the bytes that are kept for what comes next.
void xb_pool_count(size_t *blocks, size_t *used, size_t *kept);

#endif
