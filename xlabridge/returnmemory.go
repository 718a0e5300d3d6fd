package xlabridge

/*
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <link.h>
#include <malloc.h>
#endif

// xb_return_memory gives the free memory of the C library's heap back to the kernel.
static void xb_return_memory(void) {
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

// xb_unmap_code lets go of the pages of code and constants of the library that contains an address. They are those of
// its file, so the next use of a page maps it again from the page cache. Segments that are written to are kept.
static void xb_unmap_code(const void *address) {
#if defined(__linux__) && defined(__GLIBC__)
	Dl_info info;
	struct link_map *object = NULL;
	if (dladdr1(address, &info, (void **)&object, RTLD_DL_LINKMAP) == 0 || object == NULL) return;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), base = (uintptr_t)info.dli_fbase;
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)base;
	const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(base + header->e_phoff);
	for (const ElfW(Dyn) *d = object->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_TEXTREL) return; // the loader wrote into the code
	}
	for (int i = 0; i < header->e_phnum; i++, segment++) {
		if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
		uintptr_t from = (object->l_addr + segment->p_vaddr) / page * page;
		uintptr_t to = (object->l_addr + segment->p_vaddr + segment->p_filesz) / page * page;
		if (to > from) madvise((void *)from, to - from, MADV_DONTNEED);
	}
#endif
}
*/
import "C"

import (
	"sync"
	"sync/atomic"
	"time"
)

// ReturnMemory gives memory back to the kernel that opening the plugin, compiling or loading a program needed once.
// Opening maps 65 MB of the plugin's file, nearly all for what LLVM initialises once. Compiling maps as much, and
// leaves free memory in the C library's heap, where arrays do not use it: they come from the pool. It takes a
// millisecond or two, and the next compilation takes five to ten more, to map the pages again. Open calls it. After
// compiling, the heap is given back at once, and the plugin's code when arrays begin to need the memory, or a second
// later; a call in between leaves nothing to give back then. If the user has tuned glibc, it does nothing.
func (c *Client) ReturnMemory() {
	leftover.Lock()
	if leftover.library.CompareAndSwap(c.lib, nil) {
		leftover.timer.Stop()
	}
	leftover.Unlock()
	c.lib.returnMemory()
}

func (l *library) returnMemory() {
	if l.cpuTable == nil || !keptMemory() {
		return
	}
	C.xb_return_memory()
	C.xb_unmap_code(l.cpuTable)
}

// returnBefore is the growth of arrays and temporaries, in bytes, before which what compiling has left is given back.
const returnBefore = 8 << 20

// returnAfter is the time from the last compilation until what it has left is given back. Tests change it.
var returnAfter = time.Second

// leftover is the code that compiling has left in memory.
var leftover struct {
	library atomic.Pointer[library] // the one that compiled; nil if nothing is left
	limit   atomic.Int64            // bytes of all buffers from which on it is given back

	sync.Mutex
	timer *time.Timer // set where library is
}

// returnLater gives the heap of a compilation back, and the plugin's code later: the next compilation maps it again.
func (l *library) returnLater() {
	if l.cpuTable == nil || !keptMemory() {
		return
	}
	C.xb_return_memory()
	leftover.Lock()
	defer leftover.Unlock()
	if leftover.timer != nil {
		leftover.timer.Stop()
	}
	leftover.limit.Store(buffers.held.Load() + returnBefore)
	if other := leftover.library.Swap(l); other != nil && other != l {
		other.returnMemory()
	}
	leftover.timer = time.AfterFunc(returnAfter, returnLeftover)
}

// returnLeftover gives back what compiling has left, if anything.
func returnLeftover() {
	if l := leftover.library.Swap(nil); l != nil {
		l.returnMemory()
	}
}

// returnFor calls returnLeftover if buffers of so many bytes in all need the memory.
func returnFor(held int64) {
	if leftover.library.Load() != nil && held >= leftover.limit.Load() {
		returnLeftover()
	}
}

// returnForRun is returnFor before a run of a program.
func (e *Executable) returnForRun() {
	if leftover.library.Load() == nil {
		return
	}
	e.needsOnce.Do(func() {
		if m, err := memoryOf(e.inner); err == nil {
			e.needs = (m.Outputs + m.Temporaries) * int64(e.replicas)
		}
	})
	returnFor(buffers.held.Load() + e.needs)
}
