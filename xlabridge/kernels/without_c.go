//go:build !cgo

package kernels

// A program that was built without C has no kernels and loads no plugin: its programs run on the interpreter. The
// functions of this package answer for it.

// Counters is the number of counters of the process that programs can add to.
const Counters = 0

// Counted returns 0: no program runs that counts.
func Counted(int32) int64 { return 0 }

// SparseSets returns nil.
func SparseSets() []string { return nil }

// UseSparseSet does nothing.
func UseSparseSet(int) {}

// BF16Sets returns nil.
func BF16Sets() []string { return nil }

// UseBF16Set does nothing.
func UseBF16Set(int) {}

// SparseIndexSize returns 0: an index is for the kernel.
func SparseIndexSize(_, _, _ int, _ bool) int { return 0 }
