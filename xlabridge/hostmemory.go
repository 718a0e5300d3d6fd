package xlabridge

/*
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static int xb_keep_memory(int bytes) {
#ifdef __GLIBC__
	return mallopt(M_MMAP_THRESHOLD, bytes) && mallopt(M_TRIM_THRESHOLD, bytes);
#else
	return 0;
#endif
}
*/
import "C"

import (
	"os"
	"strings"
	"sync"
)

// keptMemory is how much freed memory the C library may keep for what is allocated next, and the size from which an
// allocation goes to the kernel directly.
const keptMemory = 1 << 30

// keepMemory stops glibc from giving the memory of every call back to the kernel: a program's temporaries and results
// are freed after each call, and to map, clear and unmap them again takes a third of the time of programs with tens of
// megabytes of them. Whoever has tuned glibc themselves is left alone.
var keepMemory = sync.OnceFunc(func() {
	tuned := strings.Contains(os.Getenv("GLIBC_TUNABLES"), "glibc.malloc.")
	for _, name := range []string{"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_MAX_"} {
		tuned = tuned || os.Getenv(name) != ""
	}
	if !tuned {
		C.xb_keep_memory(keptMemory)
	}
})
