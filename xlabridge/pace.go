package xlabridge

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A buffer's memory belongs to the Go value that stands for it, and Go's garbage collector finds out when nobody refers
// to that any more. But the collector paces itself by Go's own heap, of which a buffer is some hundred bytes: a loop
// over a program with results of a megabyte holds gigabytes of them before the next collection, each in pages that the
// kernel has to map and clear first. So buffers are counted as if they lay in Go's heap: where the bytes that are held
// have doubled since the last collection, within bounds, the next one begins, in the background, while programs run.

const (
	// leastGrowth and mostGrowth bound how many bytes more than after the last collection start the next: a collection
	// costs 2 to 5 ms of processor time, as much as some programs' call, and the programs' threads wait for it.
	leastGrowth, mostGrowth = 32 << 20, 64 << 20
	// collectEvery bounds what collections cost: one begins only after so many times the time that the last one took,
	// unless slack more is held than starts one. Where the collection cannot keep up, on a machine that is busy with
	// something else, whoever would hold twice slack more waits for its end: of large results a few are a gigabyte.
	collectEvery = 3
	slack        = 16 << 20
)

// pace decides when to collect. Its times are nanoseconds since started.
type pace struct {
	held    atomic.Int64 // bytes of buffers that are not freed
	least   atomic.Int64 // the least that was held since the last collection: what is freed after it comes bit by bit
	next    atomic.Int64 // when to collect at the earliest
	busy    atomic.Bool
	over    atomic.Pointer[chan struct{}] // closed at the end of the last collection that began
	started time.Time
}

// buffers are those of all clients.
var buffers = pace{started: time.Now()}

// add counts a new buffer, and starts a collection where it is time for one.
func (p *pace) add(bytes int64) {
	held, least := p.held.Add(bytes), p.least.Load()
	limit := least + min(max(least, leastGrowth), mostGrowth)
	if bytes == 0 || held < limit || held < limit+slack && int64(time.Since(p.started)) < p.next.Load() {
		return
	}
	if p.busy.CompareAndSwap(false, true) {
		over := make(chan struct{})
		p.over.Store(&over)
		go p.collect(over)
	}
	if over := p.over.Load(); held >= limit+2*slack && over != nil {
		<-*over
	}
}

// free counts a buffer that is gone, since nobody referred to it any more.
func (p *pace) free(bytes int64) {
	held := p.held.Add(-bytes)
	for least := p.least.Load(); held < least && !p.least.CompareAndSwap(least, held); least = p.least.Load() {
	}
}

// giveBack counts a buffer that was freed on purpose. It says nothing of how much the program holds when it is left to
// itself, so that a loop which frees its large results starts no collection after each.
func (p *pace) giveBack(bytes int64) { p.held.Add(-bytes) }

// turn counts a call that took some buffers along and made others, as one change: a state that is donated and comes
// back, round after round, is no growth.
func (p *pace) turn(gone, come int64) {
	if come >= gone {
		p.add(come - gone)
	} else {
		p.free(gone - come)
	}
}

// collect runs a collection and what it cleans up, and sets the pace of the next.
func (p *pace) collect(over chan struct{}) {
	defer close(over)
	defer p.busy.Store(false)
	began := time.Now()
	last := new([32]byte) // cleaned up about when the buffers are
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
