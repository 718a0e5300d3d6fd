package faults

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kind is a kind of faults.
type kind struct {
	name string
	draw func(d draw, f *fault) // what it happens to, beside the usual coordinator
	// begin and end let a fault happen to a node.
	begin, end func(h *history, n *node, f fault)
	// said is what a node writes when such a fault does something; nil: end, or the history, sees it.
	said *regexp.Regexp

	faults, seen atomic.Int64 // that began, and that did something, in all histories
}

// kinds are all kinds of faults, with what shows that they do something. Seeds give numbers of rows.
var kinds = []*kind{
	// kill -9; then it starts anew. The process has ended by it.
	{name: "killed", draw: func(d draw, f *fault) { f.Node = d.either() },
		begin: func(h *history, n *node, f fault) {
			n.down++
			if h.kill(f.Node) {
				f.Kind.seen.Add(1)
			}
		},
		end: func(h *history, n *node, f fault) {
			n.down--
			h.start(f.Node)
		}},
	// For longer than a lease. The process says that it stood still.
	{name: "suspended", said: regexp.MustCompile(stoodStill),
		draw: func(d draw, f *fault) { f.Node, f.For = d.either(), d.between(d.lease*11/10, d.lease*3/2) },
		begin: func(_ *history, n *node, _ fault) {
			if n.suspended++; n.over != nil {
				_ = n.cmd.Process.Signal(syscall.SIGSTOP)
			}
		},
		end: func(_ *history, n *node, _ fault) {
			if n.suspended = max(n.suspended-1, 0); n.suspended == 0 && n.over != nil {
				_ = n.cmd.Process.Signal(syscall.SIGCONT)
			}
		}},
	partition,
	// What two nodes send arrives late.
	{name: "slow", begin: (*history).beginLink, end: (*history).endLink, draw: func(d draw, f *fault) {
		f.For, f.Link.Delay = d.between(d.lease/4, d.lease), d.between(time.Millisecond, d.lease/8)
	}},
	// Part of what two nodes send is lost.
	{name: "lossy", begin: (*history).beginLink, end: (*history).endLink, draw: func(d draw, f *fault) {
		f.For, f.Link.Loss = d.between(d.lease/4, d.lease), .02+.3*d.Float64()
	}},
	// Forward or back; at the end it is right again. The process says that its clock was set.
	{name: "clock set", said: regexp.MustCompile(clockJumped),
		draw: func(d draw, f *fault) {
			f.Node = d.either()
			f.Shift = []time.Duration{time.Second, d.lease, time.Hour, 400 * 24 * time.Hour}[d.IntN(4)]
			if d.IntN(2) == 0 {
				f.Shift = -f.Shift
			}
		},
		begin: func(_ *history, n *node, f fault) { n.clock.set(f.Shift) },
		end:   func(_ *history, n *node, _ fault) { n.clock.set(0) }},
	// Of the coordinator, with a database in a file, or of the database's server. A process says that it is full.
	{name: "full disk", said: regexp.MustCompile("(?i)no space left|disk is full|disk full"),
		draw: func(d draw, f *fault) {
			if d.server && d.IntN(2) == 0 {
				f.Node = database
			}
		},
		begin: func(h *history, _ *node, f fault) {
			disk := h.diskOf(f.Node)
			disk.full++
			disk.fill()
		},
		end: func(h *history, _ *node, f fault) { h.diskOf(f.Node).free(h.t) }},
	// Of the database: it ends as after a crash, and starts. Its server has ended when the fault does.
	{name: "restart", draw: func(_ draw, f *fault) { f.Node = database },
		begin: func(h *history, n *node, _ fault) {
			if n.down++; n.down == 1 {
				require.NoError(h.t, h.postgres.Down())
			}
		},
		end: func(h *history, n *node, f fault) {
			n.down--
			if h.postgres.Ended() {
				f.Kind.seen.Add(1)
			}
		}},
	// The link of two nodes carries 100 KB/s.
	{name: "narrow", begin: (*history).beginLink, end: (*history).endLink, draw: func(d draw, f *fault) {
		f.For, f.Link.Rate = d.between(d.lease/4, d.lease), 100e3
	}},
	moved,
	// The worker is killed; for a time one of another version is in its place, and is refused.
	{name: "version", said: regexp.MustCompile("this worker is xlarun another, the study is served by"),
		draw: func(d draw, f *fault) { f.Node = d.worker() },
		begin: func(h *history, n *node, f fault) {
			n.others++
			n.args.Version = "another"
			h.kill(f.Node)
			h.start(f.Node)
		},
		end: func(h *history, n *node, f fault) {
			if n.others--; n.others == 0 {
				n.args.Version = ""
				h.kill(f.Node)
				h.start(f.Node)
			}
		}},
}

// partition: between two nodes nothing arrives. As of all links, one was given packets meanwhile.
var partition = &kind{name: "partition", begin: (*history).beginLink, end: (*history).endLink,
	draw: func(d draw, f *fault) { f.For, f.Link.Cut = d.between(d.lease/10, d.lease*3/2), true }}

// moved: the coordinator is killed; it starts anew at another address, and decides there.
var moved = &kind{name: "moved", draw: func(draw, *fault) {},
	begin: func(h *history, n *node, f fault) {
		n.args.Listen, n.elsewhere = n.elsewhere, n.args.Listen
		n.down++
		h.kill(f.Node)
	},
	end: func(h *history, n *node, f fault) {
		n.down--
		h.start(f.Node)
		if n.over != nil {
			h.away = append(h.away, n.cmd.Process.Pid)
		}
	}}

func (h *history) beginLink(_ *node, f fault) {
	h.met[f] = h.net.Met(f.Node, f.To)
	h.links[[2]int{f.Node, f.To}] = append(h.links[[2]int{f.Node, f.To}], f.Link)
	h.setLink(f.Node, f.To)
}

func (h *history) endLink(_ *node, f fault) {
	if h.net.Met(f.Node, f.To) > h.met[f] {
		f.Kind.seen.Add(1)
	}
	key := [2]int{f.Node, f.To}
	i := slices.Index(h.links[key], f.Link)
	h.links[key] = slices.Delete(h.links[key], i, i+1)
	h.setLink(f.Node, f.To)
}

// readEffects notes what a node has said.
func readEffects(text string) {
	for _, k := range kinds {
		if k.said != nil {
			k.seen.Add(int64(len(k.said.FindAllString(text, -1))))
		}
	}
}

// enough is how many faults of a kind do something at least once.
const enough = 20

// checkEffects fails if faults of a kind did nothing. Only the long form has enough faults of each kind: the short form
// checks nothing here.
func checkEffects(t *testing.T) {
	var all []string
	for _, k := range kinds {
		faults, seen := k.faults.Load(), k.seen.Load()
		all = append(all, fmt.Sprintf("%s %d/%d", k.name, seen, faults))
		assert.False(t, faults >= enough && seen == 0, "%d faults of the kind %s did nothing", faults, k.name)
	}
	t.Log("seen/faults: " + strings.Join(all, ", "))
}
