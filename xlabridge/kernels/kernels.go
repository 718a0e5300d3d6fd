// Package kernels holds the C functions that compiled programs on the CPU call by name. Package graph and the packages
// of algorithms name them (graph.Kernel), this package implements them, and xlabridge registers them with a plugin.
//
// A kernel with instruction sets is a dispatcher NAME.c, a header NAME_block.h with the work, and a file NAME_SET.c for
// each set that includes it. Widest (vectors.h) selects the set.
//
// Builds for the race detector, which does not look into C, are not optimized. They compile in a fifth of the time.
package kernels

/*
#cgo CFLAGS: -O3 -g0 -Wall -Wno-psabi
#cgo race CFLAGS: -O0
#cgo linux LDFLAGS: -lm
#include "ffi.h"
#include "sparse.h"
#include "narrowdot.h"
*/
import "C"

import (
	"slices"
	"sync"
	"unsafe"

	_ "xlarun/third_party/pjrt" // the C files include its headers
)

// Kernel is an XLA FFI handler (xf_handler of third_party/pjrt/ffi_abi.h) for programs on the CPU.
type Kernel struct {
	Name    string         // the Target of a graph.Kernel
	Source  string         // its C file
	Sets    []string       // the instruction sets that it is built for; nil means the compiler's default
	Handler unsafe.Pointer // the C function
}

var (
	avx2   = []string{"plain", "avx2"}
	avx512 = []string{"plain", "avx2", "avx512"}
	tiles  = []string{"plain", "avx512", "amx"}
)

// All lists the kernels.
var All = []Kernel{
	{"xlarun_reverse", "reverse.c", nil, unsafe.Pointer(C.xb_reverse)},
	{"xlarun_transpose", "transpose.c", nil, unsafe.Pointer(C.xb_transpose)},
	{"xlarun_cumulative", "cumulative.c", nil, unsafe.Pointer(C.xb_cumulative)},
	{"xlarun_top_k", "topk.c", nil, unsafe.Pointer(C.xb_top_k)},
	{"xlarun_search_sorted", "search.c", nil, unsafe.Pointer(C.xb_search_sorted)},
	{"xlarun_small_dots", "smalldot.c", avx512, unsafe.Pointer(C.xb_small_dots_call)},
	{"xlarun_sort", "sort.c", nil, unsafe.Pointer(C.xb_sort)},
	{"xlarun_threefry", "threefry.c", avx512, unsafe.Pointer(C.xb_threefry)},
	{"xlarun_hash", "threefry.c", avx512, unsafe.Pointer(C.xb_hash)},
	{"xlarun_gather", "gather.c", nil, unsafe.Pointer(C.xb_gather)},
	{"xlarun_after", "after.c", nil, unsafe.Pointer(C.xb_after)},
	{"xlarun_unset", "unset.c", nil, unsafe.Pointer(C.xb_unset)},
	{"xlarun_apart", "unset.c", nil, unsafe.Pointer(C.xb_unset)},
	{"xlarun_take", "take.c", avx2, unsafe.Pointer(C.xb_take)},
	{"xlarun_write", "writes.c", avx2, unsafe.Pointer(C.xb_write)},
	{"xlarun_scatter", "writes.c", avx2, unsafe.Pointer(C.xb_scatter)},
	{"xlarun_cholesky", "linalg.c", avx512, unsafe.Pointer(C.xb_cholesky)},
	{"xlarun_triangular_solve", "linalg.c", avx512, unsafe.Pointer(C.xb_triangular_solve)},
	{"xlarun_lu", "linalg.c", avx512, unsafe.Pointer(C.xb_lu)},
	{"xlarun_qr", "linalg.c", avx512, unsafe.Pointer(C.xb_qr)},
	{"xlarun_eigh", "eigh.c", avx2, unsafe.Pointer(C.xb_eigh)},
	{"xlarun_eig", "eig.c", nil, unsafe.Pointer(C.xb_eig)},
	{"xlarun_low_rank", "lowrank.c", avx2, unsafe.Pointer(C.xb_low_rank)},
	{"xlarun_sparse_dot", "sparsedot.c", avx512, unsafe.Pointer(C.xb_sparse_dot)},
	{"xlarun_sparse_outer", "sparsedot.c", avx512, unsafe.Pointer(C.xb_sparse_outer)},
	{"xlarun_bf16_dot", "narrowdot.c", tiles, unsafe.Pointer(C.xb_bf16_dot)},
	{"xlarun_int8_dot", "narrowdot.c", tiles, unsafe.Pointer(C.xb_int8_dot)},
	{"xlarun_bf16_conv", "narrowdot_conv.c", nil, unsafe.Pointer(C.xb_bf16_conv)},
	{"xlarun_recurrence", "along_steps.c", avx2, unsafe.Pointer(C.xb_recurrence)},
	{"xlarun_integrate_fire", "along_steps.c", avx2, unsafe.Pointer(C.xb_integrate_fire)},
	{"xlarun_conv_images", "convimages.c", avx512, unsafe.Pointer(C.xb_conv_images)},
	{"xlarun_conv_images_input", "convimages.c", avx512, unsafe.Pointer(C.xb_conv_images_input)},
	{"xlarun_conv_images_weights", "convimages.c", avx512, unsafe.Pointer(C.xb_conv_images_weights)},
	{"xlarun_tree_backup", "treesearch.c", avx2, unsafe.Pointer(C.xb_tree_backup)},
	{"xlarun_tape", "tape.c", avx512, unsafe.Pointer(C.xb_tape_call)},
	{"xlarun_count", "count.c", nil, unsafe.Pointer(C.xb_count)},
	{"xlarun_permute", "permute.c", nil, unsafe.Pointer(C.xb_permute)},
	{"xlarun_sparse", "sparse.c", avx512, unsafe.Pointer(C.xs_handler)},
	{"xlarun_sparse_bf16", "sparse.c", avx512, unsafe.Pointer(C.xs_bf16_handler)},
	{"xlarun_sparse_index", "sparse_index.c", nil, unsafe.Pointer(C.xs_index_handler)},
}

// registered are the kernels of other packages.
var registered struct {
	sync.Mutex
	list []Kernel
}

// Register registers a C function under a name for graph.CustomCall. handler is an XLA FFI handler (xf_handler of
// third_party/pjrt/ffi_abi.h) for programs on the CPU. Call it from an init function, before any plugin is opened.
func Register(name string, handler unsafe.Pointer) {
	registered.Lock()
	defer registered.Unlock()
	registered.list = append(registered.list, Kernel{Name: name, Handler: handler})
}

// Registered returns the kernels that a plugin learns of when it is opened: All, and those of Register.
func Registered() []Kernel {
	registered.Lock()
	defer registered.Unlock()
	return slices.Concat(All, registered.list)
}

// Counters is the number of counters of the process that programs can add to. Their numbers begin with 0.
const Counters = C.XB_COUNTERS

// Counted returns a counter: how often programs have called xlarun_count with its number. Other numbers count nothing.
func Counted(counter int32) int64 { return int64(C.xb_counted(C.int32_t(counter))) }

// VectorSets returns the sets of avx512 that this processor runs, the least first: kernels use the last by default.
func VectorSets() []string { return avx512[:int(C.xs_paths())] }

// UseSparseSet makes the xlarun_sparse kernels of the process use a set. -1 restores the default.
func UseSparseSet(set int) { C.xs_use(C.int(set)) }

// UseTapeSet makes the xlarun_tape kernels of the process use a set. -1 restores the default.
func UseTapeSet(set int) { C.xb_tape_use(C.int(set)) }

// Narrow is a type of elements whose products have a kernel.
type Narrow int

// The types. Products of Int8 are those of an array of int8 or uint8 and one of int8.
const (
	BF16 Narrow = C.XB_BF16
	Int8 Narrow = C.XB_INT8
)

// NarrowSets returns the instruction sets for products of a type that this processor runs: "plain", which is for tests,
// and "avx512_bf16" or "avx512_vnni", and "amx", where it has them. By default the last is used.
func NarrowSets(t Narrow) (names []string) {
	for set := range int(C.xb_narrow_sets(C.xb_narrow(t))) {
		names = append(names, C.GoString(C.xb_narrow_name(C.xb_narrow(t), C.int(set))))
	}
	return names
}

// UseNarrowSet makes the products of a type of the process use a set. -1 restores the default.
func UseNarrowSet(t Narrow, set int) { C.xb_narrow_use(C.xb_narrow(t), C.int(set)) }

// SparseIndexSize returns the length of the index that xlarun_sparse_index makes of a layer.
func SparseIndexSize(inputs, outputs, connections int, first bool) int {
	isFirst := C.int(0)
	if first {
		isFirst = 1
	}
	return int(C.xs_index_size(C.int(inputs), C.int(outputs), C.int64_t(connections), isFirst))
}
