package xlabridge

import (
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"strconv"
	"sync"
)

// CallbackPanic is the value that a program's call panics with after a callback (graph.RegisterCallback) panicked. The
// callback ran on a thread of the plugin, so its stack is not the caller's. If the callback panicked with a
// *graph.Error, the call returns that as its error.
type CallbackPanic struct {
	Value any    // of the callback's panic
	Stack []byte // of the callback
}

// Error implements error. Go prints it if the panic is not recovered.
func (p *CallbackPanic) Error() string {
	return fmt.Sprintf("xlabridge: a callback panicked: %v\n\nThe callback's stack:\n%s", p.Value, p.Stack)
}

// Unwrap returns the value if it is an error.
func (p *CallbackPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// callbackPanics holds the panics that have not yet reached the caller. XLA passes only text to the caller, so the text
// has the panic's number.
var callbackPanics = struct {
	sync.Mutex
	pending map[uint64]*CallbackPanic
	number  uint64
}{pending: map[uint64]*CallbackPanic{}}

// mostCallbackPanics is the largest number of panics that are kept. All replicas of a program may panic, but XLA passes
// one error to the caller.
const mostCallbackPanics = 256

var callbackPanicText = regexp.MustCompile(`callback panic (\d+) of this process`)

// inGoroutine calls f in a new goroutine: neither a panic nor runtime.Goexit (a test's FailNow) may unwind through the
// plugin's frames. It keeps a panic for callbackPanicOf. ended is the error if f ends the goroutine.
func inGoroutine(ended string, f func() error) (err error) {
	err = errors.New(ended)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				err = keepCallbackPanic(&CallbackPanic{v, debug.Stack()})
			}
		}()
		err = f()
	}()
	<-done
	return err
}

func keepCallbackPanic(p *CallbackPanic) error {
	w := &callbackPanics
	w.Lock()
	defer w.Unlock()
	w.number++
	w.pending[w.number] = p
	delete(w.pending, w.number-mostCallbackPanics)
	return fmt.Errorf("callback panic %d of this process", w.number)
}

// callbackPanicOf returns the panic whose number is in an error of a call, or nil.
func callbackPanicOf(err error) *CallbackPanic {
	if err == nil {
		return nil
	}
	m := callbackPanicText.FindStringSubmatch(err.Error())
	if m == nil {
		return nil
	}
	number, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil {
		return nil
	}
	w := &callbackPanics
	w.Lock()
	defer w.Unlock()
	p := w.pending[number]
	delete(w.pending, number)
	return p
}
