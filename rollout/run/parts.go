package run

import (
	"sync/atomic"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// Counting is a Run whose programs count the parts of a round that they have begun.
type Counting interface {
	// Parts returns what counts the parts of the next round, or nil. It is called before Step.
	Parts() *Parts
}

// Parts counts the parts of a round, such as tiles, while its program runs. A nil *Parts counts nothing.
type Parts struct {
	name    string // "tiles"
	total   int64
	devices int64
	counter *xlabridge.Counter
	begun   atomic.Int64 // the counter's value when the round began
}

// NewParts returns what counts a round of total parts on a number of devices. Each device computes one part after the
// other.
func NewParts(name string, total, devices int) *Parts {
	return &Parts{name: name, total: int64(total), devices: int64(devices), counter: xlabridge.NewCounter()}
}

// Input returns the counter for graph.Counted, an input of the program, which calls it with the number of each part;
// nil if nothing is counted.
func (p *Parts) Input() *graph.Array {
	if p == nil {
		return nil
	}
	return p.counter.Input()
}

// Begin says that a round begins.
func (p *Parts) Begin() {
	if p != nil {
		p.begun.Store(p.counter.Value())
	}
}

// Begun returns how many parts of this round the devices have begun.
func (p *Parts) Begun() int64 {
	if p == nil {
		return 0
	}
	return p.counter.Value() - p.begun.Load()
}

// Done returns how many parts of the round are done at least, of how many, and what they are. The part that a device
// computes now is not done. It may be called while the round runs. total is 0 if there is nothing to tell before the
// end: nothing is counted, as on devices that cannot, or no device has two parts.
func (p *Parts) Done() (done, total int64, name string) {
	begun := p.Begun()
	if begun == 0 || p.total <= p.devices {
		return 0, 0, ""
	}
	return max(0, min(p.total, begun-p.devices)), p.total, p.name
}

// Close gives the counter back.
func (p *Parts) Close() {
	if p != nil {
		p.counter.Close()
	}
}
