// Package hostmemory decides where large arrays of CPU programs lie, when freed memory goes back to the kernel, and how
// often Go's collector runs. Each file is one setting. Its head says what the setting gains: it was turned off alone,
// and CPU time and peak memory were measured (smallest of 3, in turn, two busy cores of an AMD EPYC).
package hostmemory

// Without the settings of this file there is no pool and no return of memory either. Tournament then takes 2.08 ms for
// 0.71, and pairwise 31.3 for 18.0. The peak of softmax is 333 MB for 148, and that of ppo on Breakout 206 for 129.

/*
#cgo CFLAGS: -O3 -g0 -Wall
#cgo linux LDFLAGS: -ldl
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

// Larger allocations come directly from the kernel. This is the largest value that glibc allows on 64 bits.
#define DIRECT_MEMORY (32 << 20)
// The freed memory that the C library may keep for later allocations.
#define KEPT_MEMORY (512 << 20)
// The size of the chunks that the C library keeps unmerged in fast bins: none. The plugin frees so many small ones that
// merging them, again and again, takes a twelfth of a start.
#define FAST_BINS 0
// The number of cores that share an arena of the C library.
#define ARENA_CORES 16

static int kept = 0;

static int memory_kept(void) { return kept; }

// Runs before any thread has allocated memory: a thread keeps the arena that it already has, and such an arena unmaps
// memory that is freed.
__attribute__((constructor)) static void keep_memory(void) {
#ifdef __GLIBC__
	static const char *own[] = {"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_",
		"MALLOC_MMAP_MAX_", "MALLOC_ARENA_MAX"};
	const char *tunables = getenv("GLIBC_TUNABLES");
	int tuned = tunables && strstr(tunables, "glibc.malloc.");
	for (size_t i = 0; i < sizeof own / sizeof *own; i++) tuned |= getenv(own[i]) && *getenv(own[i]);
	if (tuned) return;
	kept = mallopt(M_MMAP_THRESHOLD, DIRECT_MEMORY) && mallopt(M_TRIM_THRESHOLD, KEPT_MEMORY) &&
		mallopt(M_ARENA_MAX, 1 + (int)sysconf(_SC_NPROCESSORS_ONLN) / ARENA_CORES) && mallopt(M_MXFAST, FAST_BINS);
#endif
}
*/
import "C"

// DirectMemory is the size from which the C library takes the memory of an allocation from the kernel, and gives it
// back at once.
const DirectMemory = C.DIRECT_MEMORY

// Kept tells whether the C library keeps freed memory. A program's temporaries and results are freed after each
// call. Mapping, clearing and unmapping them again takes a third of the time of programs with tens of megabytes of
// them.
//
// Threads share arenas. Goroutines call from any thread, and another thread frees dropped results. By default each
// thread has an arena of its own, and does not find memory that was freed in another one. If the user has tuned glibc,
// nothing is changed.
func Kept() bool { return C.memory_kept() != 0 }
