//go:build !amd64 && !arm64

package graph

import (
	"bytes"
	"runtime"
	"strconv"
)

func returnAddresses(*[stackDepth]uintptr) {} // none: every stack is searched

// goroutineID reads the id that the runtime prints in front of every stack trace.
func goroutineID() uint64 {
	var buf [64]byte
	b := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	id, err := strconv.ParseUint(string(b[:max(0, bytes.IndexByte(b, ' '))]), 10, 64)
	if err != nil {
		panic("graph: cannot read the goroutine id from " + string(b))
	}
	return id
}
