package xlabridge

/*
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

// xb_keep_memory tells whether all was taken.
static int xb_keep_memory(int direct, int kept, int arenas) {
#ifdef __GLIBC__
	return mallopt(M_MMAP_THRESHOLD, direct) && mallopt(M_TRIM_THRESHOLD, kept) && mallopt(M_ARENA_MAX, arenas);
#else
	return 1;
#endif
}
*/
import "C"

import (
	"os"
	"runtime"
	"strings"
	"sync"
)

const (
	// directMemory is the size from which an allocation goes to the kernel: the largest that glibc takes on 64 bits.
	directMemory = 32 << 20
	// keptMemory is how much freed memory the C library may keep for what is allocated next.
	keptMemory = 256 << 20
	// arenaCores is how many cores share one of the C library's arenas.
	arenaCores = 16
)

// keepMemory stops glibc from giving the memory of every call back to the kernel: a program's temporaries and results
// are freed after each call, and to map, clear and unmap them again takes a third of the time of programs with tens of
// megabytes of them. Goroutines call from any thread, and dropped results are freed by another: were each thread's arena its own, as
// by default, what is freed in one would not be found in the next. Whoever has tuned glibc themselves is left alone.
var keepMemory = sync.OnceValue(func() bool {
	tuned := strings.Contains(os.Getenv("GLIBC_TUNABLES"), "glibc.malloc.")
	for _, name := range []string{"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_MAX_", "MALLOC_ARENA_MAX"} {
		tuned = tuned || os.Getenv(name) != ""
	}
	return tuned || C.xb_keep_memory(directMemory, keptMemory, C.int(1+runtime.NumCPU()/arenaCores)) != 0
})
