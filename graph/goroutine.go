//go:build amd64 || arm64

package graph

// goroutineID tells the goroutines that run apart: it is the address of the runtime's descriptor of the caller's.
// Another one may get it once this one has ended.
func goroutineID() uint64

// returnAddresses fills in the nearest return addresses of the caller's stack, along its frame pointers. It stays
// within the stack, and stops at a frame that is not above the last one, as below a callback from C. It is assembly
// since a stack may move between two instructions of Go.
//
//go:noescape
func returnAddresses(to *[stackDepth]uintptr)
