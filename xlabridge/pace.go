package xlabridge

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Go's garbage collector frees a buffer when its Go value is unreachable. But the collector runs by the size of Go's
// heap, in which a buffer takes about a hundred bytes. A loop over a program with results of a megabyte would hold
// gigabytes before the next collection, in pages that the kernel must map and clear. So buffers are counted as if they
// were in Go's heap: when their bytes have doubled since the last collection, within bounds, the next one starts in the
// background.

const (
	// leastGrowth and mostGrowth bound the growth in bytes that starts a collection. A collection takes 2 to 5 ms of
	// processor time, as much as a call of some programs, and the programs' threads wait for it.
	leastGrowth, mostGrowth = 32 << 20, 64 << 20
	// collectEvery bounds the cost of collections: the pause between two is at least this multiple of the time of the
	// last one, except if the bytes exceed the limit by slack. If they exceed it by twice slack, because the machine
	// is busy, the caller waits for the end of the collection: a few large results are a gigabyte.
	collectEvery = 3
	slack        = 16 << 20
)

// ballast takes memory, once, that counts as live in Go's heap. The collector starts when the heap has doubled, and the
// heap is small where tracing allocates tens of megabytes: without it, a warm start of evolve has twice the collections
// and takes a sixth more processor time. Nobody touches it, so it takes no memory of the machine.
var ballast = sync.OnceValue(func() []byte { return make([]byte, 8<<20) })

// pace decides when to collect. Times are nanoseconds since started.
type pace struct {
	held     atomic.Int64 // bytes of all buffers
	least    atomic.Int64 // smallest held since the last collection, which frees buffers one by one
	next     atomic.Int64 // earliest time of the next collection
	busy     atomic.Bool
	finished atomic.Pointer[chan struct{}] // closed at the end of the last collection
	started  time.Time
}

// buffers counts the buffers of all clients.
var buffers = pace{started: time.Now()}

// add counts a new buffer, and starts a collection if it is time for one.
func (p *pace) add(bytes int64) {
	held, least := p.held.Add(bytes), p.least.Load()
	returnFor(held)
	limit := least + min(max(least, leastGrowth), mostGrowth)
	if bytes == 0 || held < limit || held < limit+slack && int64(time.Since(p.started)) < p.next.Load() {
		return
	}
	if p.busy.CompareAndSwap(false, true) {
		finished := make(chan struct{})
		p.finished.Store(&finished)
		go p.collect(finished)
	}
	if finished := p.finished.Load(); held >= limit+2*slack && finished != nil {
		<-*finished
	}
}

// free counts a buffer that the garbage collector has freed.
func (p *pace) free(bytes int64) {
	held := p.held.Add(-bytes)
	for least := p.least.Load(); held < least && !p.least.CompareAndSwap(least, held); least = p.least.Load() {
	}
}

// giveBack counts a buffer that the program has freed. It does not lower `least`: otherwise a loop that frees its large
// results would start a collection after each.
func (p *pace) giveBack(bytes int64) { p.held.Add(-bytes) }

// exchange counts a call that consumed some bytes and created others as one change. So a donated state that is returned
// in each round does not count as growth.
func (p *pace) exchange(consumed, created int64) {
	if created >= consumed {
		p.add(created - consumed)
	} else {
		p.free(consumed - created)
	}
}

// collect runs a collection and its cleanups, and sets the limits for the next.
func (p *pace) collect(finished chan struct{}) {
	defer close(finished)
	defer p.busy.Store(false)
	began := time.Now()
	last := new([32]byte) // cleaned up at about the same time as the buffers
	done := make(chan struct{})
	runtime.AddCleanup(last, func(done chan struct{}) { close(done) }, done)
	runtime.GC()
	took := time.Since(began)
	select {
	case <-done:
	case <-time.After(10 * time.Millisecond):
	}
	p.least.Store(p.held.Load())
	p.next.Store(int64(time.Since(p.started) + collectEvery*took))
}
