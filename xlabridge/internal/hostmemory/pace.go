package hostmemory

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
// background. Without it softmax takes 23.1 ms for 12.8, and its peak is 335 MB for 116.

const (
	// leastGrowth and mostGrowth bound the growth in bytes that starts a collection. A collection takes 2 to 5 ms of
	// CPU time, as much as a call of some programs, and the programs' threads wait for it.
	leastGrowth, mostGrowth = 32 << 20, 64 << 20
	// collectEvery bounds the cost of collections: the pause between two is at least this multiple of the time of the
	// last one, except if the bytes exceed the limit by slack. If they exceed it by twice slack, because the machine
	// is busy, the caller waits for the end of the collection: a few large results are a gigabyte.
	collectEvery = 3
	slack        = 16 << 20
)

// Ballast takes memory, once, that counts as live in Go's heap. The collector starts when the heap has doubled, and the
// heap is small where tracing allocates tens of megabytes: without it, a warm start of evolve has five collections
// instead of one, and takes a sixth more CPU time. Nobody touches it, so it takes no memory of the machine.
var Ballast = sync.OnceValue(func() []byte { return make([]byte, 16<<20) })

// Pace decides when to collect. Times are nanoseconds since started.
type Pace struct {
	held     atomic.Int64 // bytes of all buffers
	least    atomic.Int64 // smallest held since the last collection, which frees buffers one by one
	next     atomic.Int64 // earliest time of the next collection
	busy     atomic.Bool
	finished atomic.Pointer[chan struct{}] // closed at the end of the last collection
	started  time.Time
}

// Buffers counts the buffers of all clients.
var Buffers = Pace{started: time.Now()}

// Add counts a new buffer, and starts a collection if it is time for one.
func (p *Pace) Add(bytes int64) {
	held, least := p.held.Add(bytes), p.least.Load()
	ReturnFor(held)
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

// Free counts a buffer that the garbage collector has freed.
func (p *Pace) Free(bytes int64) {
	held := p.held.Add(-bytes)
	for least := p.least.Load(); held < least && !p.least.CompareAndSwap(least, held); least = p.least.Load() {
	}
}

// GiveBack counts a buffer that the program has freed. It does not lower `least`: otherwise a loop that frees its large
// results would start a collection after each.
func (p *Pace) GiveBack(bytes int64) { p.held.Add(-bytes) }

// Exchange counts a call that consumed some bytes and created others as one change. So a donated state that is returned
// in each round does not count as growth.
func (p *Pace) Exchange(consumed, created int64) {
	if created >= consumed {
		p.Add(created - consumed)
	} else {
		p.Free(consumed - created)
	}
}

// Held is the bytes of all buffers.
func (p *Pace) Held() int64 { return p.held.Load() }

// collect runs a collection and its cleanups, and sets the limits for the next.
func (p *Pace) collect(finished chan struct{}) {
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
