package xlabridge

/*
#include "pool.h"
*/
import "C"

import "unsafe"

// The plugin's CPU client allocates a program's results and temporaries with posix_memalign, anew for each call. From
// the C library's heap that goes wrong in two ways. A result of some kilobytes that is kept is allocated in the room
// that the last call's temporaries left, splits it, and the next call's temporaries go elsewhere; results that wait for
// Go's collector leave holes of many sizes, which the next ones do not fit. Memory grows, and what is written next is
// never what the caches still hold.
//
// So allocations from 64 KiB to 256 MiB of a CPU plugin come out of a pool with a list of free blocks for each size,
// the last freed first: beside glibc's heap the programs of bench jax with large temporaries and results peak at 10 to
// 30 % less, at the same speed or better (docs/notes/language-speed.md), and programs whose temporaries are larger than
// what glibc keeps are spared the faults of fresh pages in each call, a third of the time of ppo on Breakout. The
// plugin's own calls of the C library are led there, by the entries of its table of imported functions; nothing else in
// the process is touched. Where that cannot be done, or whoever runs the program has tuned glibc (see keptMemory), all
// stays as it was.

// openPool gives the library that an address lies in the pool. It tells whether that could be done.
func openPool(address unsafe.Pointer) bool { return keptMemory() && C.xb_pool_open(address) != 0 }

// pooled is what the pool holds: blocks in use, their bytes, and the bytes kept for what comes next.
func pooled() (blocks, used, kept int64) {
	var b, u, k C.size_t
	C.xb_pool_count(&b, &u, &k)
	return int64(b), int64(u), int64(k)
}
