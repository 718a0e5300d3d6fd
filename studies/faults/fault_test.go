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

// Kinds of faults.
const (
	killed     = "killed"    // kill -9; then it starts anew
	suspended  = "suspended" // for longer than a lease
	partition  = "partition" // between two nodes nothing arrives
	slow       = "slow"      // what two nodes send arrives late
	narrow     = "narrow"    // the link of two nodes carries 100 KB/s
	lossy      = "lossy"     // part of what two nodes send is lost
	clockSet   = "clock set" // forward or back; at the end it is right again
	fullDisk   = "full disk" // of the coordinator, with a database in a file, or of the database's server
	restart    = "restart"   // of the database: it ends as after a crash, and starts
	moved      = "moved"     // the coordinator is killed; it starts anew at another address
	version    = "version"   // the worker is killed; for a time one of another version is in its place
	faultKinds = 11
)

// fault is something that happens to nodes for a time.
type fault struct {
	Kind     string
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
	text := fmt.Sprintf("%5d to %5d ms: %s, %s", f.At.Milliseconds(), (f.At + f.For).Milliseconds(), f.Kind,
		name(f.Node))
	switch f.Kind {
	case partition, narrow:
		text += " and " + name(f.To)
	case slow:
		text += fmt.Sprintf(" and %s, %v each way", name(f.To), f.Link.Delay)
	case lossy:
		text += fmt.Sprintf(" and %s, %.0f %%", name(f.To), 100*f.Link.Loss)
	case clockSet:
		text += fmt.Sprintf(" by %v", f.Shift)
	}
	return text
}

// faultsOf returns faults within a time, in their order. A server has the database, or a file.
func faultsOf(random *rand.Rand, n int, within, lease time.Duration, server bool) (all []fault) {
	between := func(low, high time.Duration) time.Duration {
		return low + time.Duration(random.Int64N(int64(high-low)))
	}
	worker := func() int { return firstWorker + random.IntN(workers) }
	either := func() int { // a coordinator or a worker
		if random.IntN(3) == 0 {
			return coordinator
		}
		return worker()
	}
	for len(all) < n {
		f := fault{At: between(0, within), For: between(lease/10, lease/2), Node: coordinator, To: worker()}
		if server && random.IntN(4) == 0 {
			f.To = database
		}
		switch random.IntN(faultKinds) {
		case 0:
			f.Kind, f.Node = killed, either()
		case 1:
			f.Kind, f.Node, f.For = suspended, either(), between(lease*11/10, lease*3/2)
		case 2:
			f.Kind, f.For = partition, between(lease/10, lease*3/2)
		case 3:
			f.Kind, f.For, f.Link.Delay = slow, between(lease/4, lease), between(time.Millisecond, lease/8)
		case 4:
			f.Kind, f.For, f.Link.Loss = lossy, between(lease/4, lease), .02+.3*random.Float64()
		case 5:
			f.Kind, f.Node = clockSet, either()
			f.Shift = []time.Duration{time.Second, lease, time.Hour, 400 * 24 * time.Hour}[random.IntN(4)]
			if random.IntN(2) == 0 {
				f.Shift = -f.Shift
			}
		case 6:
			if f.Kind = fullDisk; server && random.IntN(2) == 0 {
				f.Node = database
			}
		case 7:
			if f.Kind, f.Node = restart, database; !server {
				continue
			}
		case 8:
			f.Kind, f.For = narrow, between(lease/4, lease)
			f.Link.Rate = 100e3
		case 9:
			f.Kind = moved
		case 10:
			f.Kind, f.Node = version, worker()
		}
		f.For = min(f.For, within-f.At+lease/2)
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b fault) int { return int(a.At - b.At) })
	return all
}
