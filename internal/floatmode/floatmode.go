// Package floatmode finds threads of the Go runtime that compute with another floating-point mode than Go expects. XLA
// sets the mode of its threads so that numbers below the least normal one count as zero. A Go thread that begins on
// such a thread inherits the mode for good.
package floatmode

import (
	"math"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
)

// Flushed returns the number of threads of this process that run Go code and take numbers below the least normal one
// for zero. It occupies as many threads as there are.
func Flushed() int {
	threads := pprof.Lookup("threadcreate").Count() + 4
	var flushed atomic.Int64
	var occupied, done sync.WaitGroup
	occupied.Add(threads)
	for range threads {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			occupied.Done()
			occupied.Wait() // all have a thread of their own
			if half(math.Float32frombits(2)) == 0 {
				flushed.Add(1)
			}
		})
	}
	done.Wait()
	return int(flushed.Load())
}

var calls atomic.Int64

// Sampled is Flushed in the first, second, fourth, eighth call and so on, and 0 in the others: each Flushed leaves four
// threads more, and takes as long as there are threads.
func Sampled() int {
	if n := calls.Add(1); n&(n-1) != 0 {
		return 0
	}
	return Flushed()
}

//go:noinline
func half(x float32) float32 { return x * .5 }
