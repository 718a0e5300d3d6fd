package bench

import (
	"context"
	"time"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/xlabridge"
)

// Suite is a table of workloads that one command times.
type Suite struct {
	Name    string
	Aliases []string // further names of its command
	What    string
	// Turn is the time for which a side runs before the next side's turn.
	Turn    time.Duration
	Devices int // of our processes; 0: what --devices says
	// Summary adds numbers that follow from several rows, such as gains. nil: there are none.
	Summary   func(table []row) []row
	Workloads func(Options) []Workload
}

// Workload is a computation of ours and of peers. Each side is a process that starts with an empty cache, compiles, and
// then runs as often as it is asked to.
type Workload struct {
	Name string
	What string  // what is computed and timed
	Work float64 // units of Unit in the timed part, for the rate; 0: no rate
	Unit string
	// Flops is the float32 operations of a run; 0: not known. They give the share of what the cores do at most.
	Flops float64
	// Same is the relative tolerance between the checks of both sides; 0: they are not compared.
	Same float64
	// Start chooses what is timed: runs, or the start of a process to its first result.
	Start startKind
	// Explicit workloads run only if they are named, or as the peer of another workload.
	Explicit bool
	Open     openRunner
	Script   Peer // instead of Open: ours is a script, too, which uses our Python package. It needs --peers.
	Peers    []Peer
	There    There
}

// There is what another program reports of the same step of a journey, on another machine: a rate, or a gain over the
// workload before. Without a Gain the gain is the ratio of both rates.
type There struct{ Rate, Gain float64 }

type startKind int

const (
	steady    startKind = iota // runs are timed, not starts
	coldStart                  // with an empty cache of programs
	warmStart                  // with the programs of an earlier start in the cache
)

// Peer is a program for the same computation. Exactly one of Script, Source and Workload is set.
type Peer struct {
	Name     string
	Script   string // of third_party/peers, in Python
	Source   string // of third_party/peers, in C
	Defines  []string
	Workload string // one of ours, of the same suite
	Args     []string
	// Other: it does not compute the same numbers, so checks are not compared.
	Other bool
	// Limit: no program of this kind is faster, so that the ratio is the share of its speed that ours reaches.
	Limit   bool
	Package string // of requirements.txt; "": Name
	JAX     bool   // it runs on JAX
}

// Options say how workloads of ours are run.
type Options struct {
	Devices int
	Tune    string          // as for evolve
	Size    neurobench.Size // of the suite neuro's classic control
}

// openRunner compiles a workload and makes its Runner.
type openRunner = func(ctx context.Context, h *host, b xlabridge.Backend, o Options) (*Runner, error)

// Runner is a workload of ours that is compiled.
type Runner = neurobench.Runner
