package run

import (
	"sync/atomic"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// PartCounter counts the parts of a round, such as tiles, while its program runs. A nil *PartCounter counts nothing.
type PartCounter struct {
	name    string // "tiles"
	total   int64
	devices int64
	counter *xlabridge.Counter    // nil: the round's own parts are not counted
	start   atomic.Int64          // the counter's value when the round began
	stage   atomic.Pointer[stage] // nil: the round computes its own parts
}

// stage is work of a round that another program does, such as a validation.
type stage struct {
	name        string
	done, total int64
}

// NewStageCounter returns a counter of stages only.
func NewStageCounter() *PartCounter { return &PartCounter{} }

// NewPartCounter returns a counter of a round of total parts on a number of devices, each of which computes one part
// after the other.
func NewPartCounter(name string, total, devices int) *PartCounter {
	return &PartCounter{name: name, total: int64(total), devices: int64(devices), counter: xlabridge.NewCounter()}
}

// Input returns the counter for graph.Counted, which the program calls with the number of each part. It is an input of
// the program; nil if nothing is counted.
func (c *PartCounter) Input() *graph.Array {
	if c == nil || c.counter == nil {
		return nil
	}
	return c.counter.Input()
}

// Begin says that a round begins.
func (c *PartCounter) Begin() {
	if c == nil {
		return
	}
	c.stage.Store(nil)
	if c.counter != nil {
		c.start.Store(c.counter.Value())
	}
}

// Stage says how many parts of a stage of the round are done, and what they are: "episodes of the validation". It lasts
// until the next round begins.
func (c *PartCounter) Stage(name string, done, total int) {
	if c != nil {
		c.stage.Store(&stage{name, int64(done), int64(total)})
	}
}

// Begun returns how many parts of this round the devices have begun.
func (c *PartCounter) Begun() int64 {
	if c == nil || c.counter == nil {
		return 0
	}
	return c.counter.Value() - c.start.Load()
}

// Done returns how many parts of the round are done at least, of how many, and what they are. The part that a device
// computes now is not done. It may be called while the round runs. total is 0 if there is nothing to tell before the
// end: nothing is counted, as on devices that cannot, or no device has two parts.
func (c *PartCounter) Done() (done, total int64, name string) {
	if c == nil {
		return 0, 0, ""
	}
	if s := c.stage.Load(); s != nil {
		return s.done, s.total, s.name
	}
	begun := c.Begun()
	if begun == 0 || c.total <= c.devices {
		return 0, 0, ""
	}
	return max(0, min(c.total, begun-c.devices)), c.total, c.name
}

// Close gives the counter back.
func (c *PartCounter) Close() {
	if c != nil && c.counter != nil {
		c.counter.Close()
	}
}
