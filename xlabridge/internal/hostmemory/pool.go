package hostmemory

/*
#include "pool.h"
*/
import "C"

import "unsafe"

// The plugin's CPU client allocates a program's results and temporaries with posix_memalign in each call. On the C
// library's heap, memory then grows for two reasons. A small result that is kept takes a part of the space of the last
// call's temporaries, so the next call's temporaries need new space. And results that wait for Go's garbage collector
// leave holes of many sizes, which later results do not fit. New data is also never in memory that is still in the
// processor's caches.
//
// So a CPU plugin's allocations from 64 KiB to 256 MiB come from a pool. It has a list of free blocks for each size,
// and reuses the last freed block first. The programs of bench jax with large temporaries and results then use 10 to 30
// % less memory at their peak than with glibc's heap (docs/notes/language-speed.md). Without the pool pairwise takes
// 27.8 ms for 18.0, tournament 1.40 for 0.71, and the peak of softmax is 250 MB for 148, that of ppo on Breakout 155
// for 129. If the temporaries are larger than the memory that glibc keeps, the pool also avoids page faults in each
// call, which are a third of the time of ppo on Breakout.
//
// The pool replaces the C functions in the plugin's table of imported functions, and changes nothing else in the
// process. If that is impossible, or the user has tuned glibc (see Kept), the plugin uses the C library's heap.

// OpenPool replaces the allocator of the library that contains an address by the pool. It reports whether it did.
func OpenPool(address unsafe.Pointer) bool { return Kept() && C.xb_pool_open(address) != 0 }

// Pooled returns the number of blocks in use, their bytes, and the bytes of free blocks.
func Pooled() (blocks, used, kept int64) {
	var b, u, k C.size_t
	C.xb_pool_count(&b, &u, &k)
	return int64(b), int64(u), int64(k)
}
