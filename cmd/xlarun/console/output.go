package console

import (
	"io"
	"sync"
)

// Output is the stdout of a command line. It keeps the first error of a write, so that a command whose text was not
// written fails, and no command has to check each line.
type Output struct {
	To io.Writer

	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (o *Output) Write(b []byte) (int, error) {
	n, err := o.To.Write(b)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

// Fd is the file descriptor of what it writes to, as that of a file is; the largest number if it is no file.
func (o *Output) Fd() uintptr {
	if f, ok := o.To.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// Failed returns the first error of a write.
func (o *Output) Failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
