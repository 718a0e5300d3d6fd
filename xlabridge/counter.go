package xlabridge

import (
	"sync"

	"xlarun/graph"
	"xlarun/xlabridge/kernels"
)

// Counter counts how often running programs pass a place, graph.Counted. The host may read it while they run. Programs
// that have it as an input add to it, on all devices. Several goroutines may use it.
type Counter struct {
	number int32
	start  int64 // of the count in the process
	once   sync.Once
}

// noCounter is a number for graph.Counted with which nothing is counted. Counters beyond the last one of the process
// have this number, and stay 0.
const noCounter int32 = -1

// counterNumbers are the numbers that no counter has: those given back, and from next on those never taken.
var counterNumbers = struct {
	sync.Mutex
	free []int32
	next int32
}{}

// NewCounter returns a counter at 0. Close gives it back.
func NewCounter() *Counter {
	c := &Counter{number: noCounter}
	n := &counterNumbers
	n.Lock()
	defer n.Unlock()
	switch {
	case len(n.free) > 0:
		c.number, n.free = n.free[len(n.free)-1], n.free[:len(n.free)-1]
	case n.next < kernels.Counters:
		c.number, n.next = n.next, n.next+1
	}
	c.start = kernels.Counted(c.number)
	return c
}

// Input returns the counter's number, i32[], for graph.Counted. It should be an input of the program: a constant would
// change the key of the compiled program in the cache. With a nil counter's nothing is counted.
func (c *Counter) Input() *graph.Array {
	if c == nil {
		return graph.Of(noCounter)
	}
	return graph.Of(c.number)
}

// Value returns how often programs have passed.
func (c *Counter) Value() int64 { return kernels.Counted(c.number) - c.start }

// Close gives the counter back, when no program that has it runs any more.
func (c *Counter) Close() {
	c.once.Do(func() {
		if c.number == noCounter {
			return
		}
		n := &counterNumbers
		n.Lock()
		defer n.Unlock()
		n.free = append(n.free, c.number)
	})
}
