// Package network connects processes of a test by links that can be slow, lose data or be cut: in network namespaces
// where the machine allows them, by relays of TCP connections otherwise.
package network

import (
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Link is the connection between two nodes, the same in both directions.
type Link struct {
	Delay time.Duration // each way
	Loss  float64       // share of the packets that are lost, in [0, 1]
	Cut   bool          // nothing arrives, and nobody is told
	Rate  float64       // bytes a second; 0: any number
}

// time returns how long the link takes to send so many bytes.
func (l Link) time(bytes int) time.Duration {
	if l.Rate == 0 {
		return 0
	}
	return time.Duration(float64(bytes) / l.Rate * float64(time.Second))
}

// dropped reports whether a packet is lost.
func (l Link) dropped() bool { return l.Cut || l.Loss > 0 && rand.Float64() < l.Loss }

// linkState is a link, which may change.
type linkState struct {
	mu      sync.Mutex
	link    Link
	met     int           // what the link was given while it was not perfect
	changed chan struct{} // closed by the next change
}

// take is get for what the link is given.
func (s *linkState) take() Link {
	link, _ := s.get()
	if link != (Link{}) {
		s.mu.Lock()
		s.met++
		s.mu.Unlock()
	}
	return link
}

// taken returns how much the link was given while it was not perfect.
func (s *linkState) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.met
}

func (s *linkState) get() (Link, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.link, s.changed
}

func (s *linkState) set(l Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link = l
	if s.changed != nil {
		close(s.changed)
	}
	s.changed = nil
}

// packet is data on its way.
type packet struct {
	due  time.Time // when it arrives
	data []byte
}

// sleepUntil waits until a time. The runtime of Go waits for timers in whole milliseconds if nothing else runs, so that
// time.Sleep alone would make a delay of 0.2 ms one of 1 ms.
func sleepUntil(at time.Time) {
	const rest = 2 * time.Millisecond
	time.Sleep(time.Until(at) - rest)
	if d := time.Until(at); d > 0 {
		t := unix.NsecToTimespec(int64(d))
		_ = unix.Nanosleep(&t, nil) // a signal may end it early
	}
}
