package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"xlarun/internal/network"
)

// Nodes of a history. Workers are the nodes from firstWorker on.
const (
	coordinator = iota
	database
	firstWorker
	workers = 4
	nodes   = firstWorker + workers
)

// fault is something that happens to nodes for a time.
type fault struct {
	Kind     *kind
	At, For  time.Duration // after the start
	Node, To int           // To: the other end of a link
	Link     network.Link
	Shift    time.Duration // of a clock
}

func (f fault) String() string {
	name := func(node int) string {
		switch node {
		case coordinator:
			return "the coordinator"
		case database:
			return "the database"
		}
		return fmt.Sprintf("worker %d", node-firstWorker)
	}
	text := fmt.Sprintf("%5d to %5d ms: %s, %s", f.At.Milliseconds(), (f.At + f.For).Milliseconds(), f.Kind.name,
		name(f.Node))
	switch {
	case f.Link != (network.Link{}):
		text += fmt.Sprintf(" and %s, %+v", name(f.To), f.Link)
	case f.Shift != 0:
		text += fmt.Sprintf(" by %v", f.Shift)
	}
	return text
}

// draw draws faults.
type draw struct {
	*rand.Rand
	lease  time.Duration
	server bool // it has the database, or a file
}

func (d draw) between(low, high time.Duration) time.Duration {
	return low + time.Duration(d.Int64N(int64(high-low)))
}

func (d draw) worker() int { return firstWorker + d.IntN(workers) }

// either returns a coordinator or a worker.
func (d draw) either() int {
	if d.IntN(3) == 0 {
		return coordinator
	}
	return d.worker()
}

// faults returns faults within a time, in their order.
func (d draw) faults(n int, within time.Duration) (all []fault) {
	for len(all) < n {
		f := fault{At: d.between(0, within), For: d.between(d.lease/10, d.lease/2), Node: coordinator, To: d.worker()}
		if d.server && d.IntN(4) == 0 {
			f.To = database
		}
		f.Kind = kinds[d.IntN(len(kinds))]
		f.Kind.draw(d, &f)
		if f.Node == database && !d.server {
			continue
		}
		f.For = min(f.For, within-f.At+d.lease/2)
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b fault) int { return int(a.At - b.At) })
	return all
}
