//go:build !cgo

package kernels

import "unsafe"

// A program that was built without C has no kernels and loads no plugin: its programs run on the interpreter. The
// functions of this package answer for it.

// Counters is the number of counters of the process that programs can add to.
const Counters = 0

// Counted returns 0: no program runs that counts.
func Counted(int32) int64 { return 0 }

// Register does nothing: kernels are for plugins.
func Register(string, unsafe.Pointer) {}

// VectorSets returns nil.
func VectorSets() []string { return nil }

// UseSparseSet does nothing.
func UseSparseSet(int) {}

// UseTapeSet does nothing.
func UseTapeSet(int) {}

// Narrow is a type of elements whose products have a kernel.
type Narrow int

// The types.
const (
	BF16 Narrow = iota
	Int8
)

// NarrowSets returns nil.
func NarrowSets(Narrow) []string { return nil }

// UseNarrowSet does nothing.
func UseNarrowSet(Narrow, int) {}

// SparseIndexSize returns 0: an index is for the kernel.
func SparseIndexSize(_, _, _ int, _ bool) int { return 0 }
