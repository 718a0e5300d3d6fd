// Package network connects processes of a test by links that can be slow, lose data or be cut: in network namespaces
// where the machine allows them, by relays of TCP connections otherwise.
package network

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Link is the connection between two nodes, the same in both directions.
type Link struct {
	Delay time.Duration // each way
	Loss  float64       // share of the packets that are lost, in [0, 1]
	Cut   bool          // nothing arrives, and nobody is told
}

// dropped reports whether a packet is lost.
func (l Link) dropped() bool { return l.Cut || l.Loss > 0 && rand.Float64() < l.Loss }

// changing is a link that changes.
type changing struct {
	mu      sync.Mutex
	link    Link
	changed chan struct{} // closed by the next change
}

func (c *changing) get() (Link, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.link, c.changed
}

func (c *changing) set(l Link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link = l
	if c.changed != nil {
		close(c.changed)
	}
	c.changed = nil
}

// piece is data on its way.
type piece struct {
	due  time.Time // when it arrives
	data []byte
}
