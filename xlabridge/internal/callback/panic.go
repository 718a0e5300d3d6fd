// Package callback runs functions of Go that programs call: callbacks that watch (graph.RegisterCallback), and
// functions of the host. The plugin calls them on its threads, where neither a panic nor the end of a goroutine may
// unwind, and where subnormal numbers are zero.
package callback

import (
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"strconv"
	"sync"
)

// Panic is the value that a program's call panics with after a callback (graph.RegisterCallback) panicked. The
// callback ran on a thread of the plugin, so its stack is not the caller's. If the callback panicked with a
// *graph.Error, the call returns that as its error.
type Panic struct {
	Value any    // of the callback's panic
	Stack []byte // of the callback
}

// Error implements error. Go prints it if the panic is not recovered.
func (p *Panic) Error() string {
	return fmt.Sprintf("xlabridge: a callback panicked: %v\n\nThe callback's stack:\n%s", p.Value, p.Stack)
}

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// panics holds the panics that have not yet reached the caller. XLA passes only text to the caller, so the text
// has the panic's number.
var panics = struct {
	sync.Mutex
	pending map[uint64]*Panic
	number  uint64
}{pending: map[uint64]*Panic{}}

// mostPanics is the largest number of panics that are kept. All replicas of a program may panic, but XLA passes
// one error to the caller.
const mostPanics = 256

var panicText = regexp.MustCompile(`callback panic (\d+) of this process`)

// InGoroutine calls f in a new goroutine: neither a panic nor runtime.Goexit (a test's FailNow) may unwind through the
// plugin's frames. It keeps a panic for PanicOf. ended is the error if f ends the goroutine.
func InGoroutine(ended string, f func() error) (err error) {
	err = errors.New(ended)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				err = keepPanic(&Panic{v, debug.Stack()})
			}
		}()
		err = f()
	}()
	<-done
	return err
}

func keepPanic(p *Panic) error {
	w := &panics
	w.Lock()
	defer w.Unlock()
	w.number++
	w.pending[w.number] = p
	delete(w.pending, w.number-mostPanics)
	return fmt.Errorf("callback panic %d of this process", w.number)
}

// Pending is the number of panics that have not yet reached the caller.
func Pending() int {
	panics.Lock()
	defer panics.Unlock()
	return len(panics.pending)
}

// PanicOf returns the panic whose number is in an error of a call, or nil.
func PanicOf(err error) *Panic {
	if err == nil {
		return nil
	}
	m := panicText.FindStringSubmatch(err.Error())
	if m == nil {
		return nil
	}
	number, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil {
		return nil
	}
	w := &panics
	w.Lock()
	defer w.Unlock()
	p := w.pending[number]
	delete(w.pending, number)
	return p
}
