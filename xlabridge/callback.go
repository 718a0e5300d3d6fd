package xlabridge

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strconv"
	"sync"

	"xlarun/graph"
)

// CallbackPanic is what a call of a program panics with when a callback (graph.RegisterCallback) did: the callback ran
// on a thread of the plugin, whose stack is not the caller's. A *graph.Error is returned as the call's error instead.
type CallbackPanic struct {
	Value any    // what the callback panicked with
	Stack []byte // where it did
}

// Error implements error: Go prints it for a panic that nobody recovers.
func (p *CallbackPanic) Error() string {
	return fmt.Sprintf("xlabridge: a callback panicked: %v\n\nThe callback's stack:\n%s", p.Value, p.Stack)
}

// Unwrap is the value, where that is an error.
func (p *CallbackPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// callbackPanics are the panics on their way from the plugin's thread to the caller. XLA passes on nothing but text, so
// the text names them by number.
var callbackPanics = struct {
	sync.Mutex
	waiting map[uint64]*CallbackPanic
	number  uint64
}{waiting: map[uint64]*CallbackPanic{}}

// mostCallbackPanics bounds those that wait: of the replicas of a program all may panic, but XLA passes on one error.
const mostCallbackPanics = 256

var callbackPanicText = regexp.MustCompile(`callback panic (\d+) of this process`)

// runDebug is graph.RunDebug, with a panic of the user's kept for callbackPanicOf. It runs in a goroutine of its own:
// neither a panic nor runtime.Goexit (a test's FailNow) may unwind through the frames of the plugin below.
func runDebug(c debugCall) (err error) {
	err = fmt.Errorf("a callback ended its goroutine (runtime.Goexit, as FailNow of a test does): return from it, " +
		"or panic")
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				err = keepCallbackPanic(&CallbackPanic{v, debug.Stack()})
			}
		}()
		err = graph.RunDebug(c.message, c.values)
	}()
	<-done
	return err
}

func keepCallbackPanic(p *CallbackPanic) error {
	w := &callbackPanics
	w.Lock()
	defer w.Unlock()
	w.number++
	w.waiting[w.number] = p
	delete(w.waiting, w.number-mostCallbackPanics)
	return fmt.Errorf("callback panic %d of this process", w.number)
}

// callbackPanicOf is the panic that an error of a call tells of, nil if it tells of none.
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
	p := w.waiting[number]
	delete(w.waiting, number)
	return p
}
