package hostmemory

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
	"unsafe"
)

// Opening the plugin maps 65 MB of its file, nearly all for what LLVM initializes once. Compiling maps as much, and
// leaves free memory in the C library's heap, where arrays do not use it: they come from the pool. Giving it back takes
// a millisecond or two, and the next compilation takes five to ten more, to map the pages again. So after compiling the
// heap is given back at once, and the plugin's code when arrays begin to need the memory, or a second later. Without
// it the peak of softmax is 262 MB for 148, of ppo on Breakout 189 for 129, of a warm start of evolve 140 for 120.

// ReturnBefore is the growth of arrays and temporaries, in bytes, before which what compiling has left is given back.
const ReturnBefore = 8 << 20

// ReturnAfter is the time from the last compilation until what it has left is given back. Tests change it.
var ReturnAfter = time.Second

// leftover is the code that compiling has left in memory.
var leftover struct {
	code  atomic.Pointer[byte] // an address in the library that compiled; nil if nothing is left
	limit atomic.Int64         // bytes of all buffers from which on it is given back

	sync.Mutex
	timer *time.Timer // set where code is
}

// Left reports whether compiling has left code in memory.
func Left() bool { return leftover.code.Load() != nil }

// Return gives the free memory of the heap, and the code of the library that contains an address, back to the kernel. A
// ReturnLater before it has nothing left to do. If the user has tuned glibc, nothing is given back.
func Return(code unsafe.Pointer) {
	leftover.Lock()
	if leftover.code.CompareAndSwap((*byte)(code), nil) {
		leftover.timer.Stop()
	}
	leftover.Unlock()
	unmap(code)
}

func unmap(code unsafe.Pointer) {
	if Kept() {
		C.xb_return_memory()
		C.xb_unmap_code(code)
	}
}

// ReturnLater gives the heap of a compilation back, and the compiler's code later: the next compilation maps it again.
func ReturnLater(code unsafe.Pointer) {
	if !Kept() {
		return
	}
	C.xb_return_memory()
	leftover.Lock()
	defer leftover.Unlock()
	if leftover.timer != nil {
		leftover.timer.Stop()
	}
	leftover.limit.Store(Buffers.Held() + ReturnBefore)
	if other := leftover.code.Swap((*byte)(code)); other != nil && other != (*byte)(code) {
		unmap(unsafe.Pointer(other))
	}
	leftover.timer = time.AfterFunc(ReturnAfter, returnLeftover)
}

// returnLeftover gives back what compiling has left, if anything.
func returnLeftover() {
	if code := leftover.code.Swap(nil); code != nil {
		unmap(unsafe.Pointer(code))
	}
}

// ReturnFor gives back what compiling has left if buffers of so many bytes in all need the memory.
func ReturnFor(held int64) {
	if Left() && held >= leftover.limit.Load() {
		returnLeftover()
	}
}
