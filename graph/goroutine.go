//go:build amd64 || arm64

package graph

// goroutineID tells the goroutines that run apart: it is the address of the runtime's descriptor of the caller's.
// Another one may get it once this one has ended.
func goroutineID() uint64
