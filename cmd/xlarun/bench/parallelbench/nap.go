package parallelbench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Durations are the seconds of n trials whose mean is `mean` and whose logarithms have the standard deviation `spread`: the same for the same arguments, so
// that all sides have the same trials.
func Durations(n int, mean, spread float64) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	all, sum := make([]float64, n), 0.
	for i := range all {
		all[i] = math.Exp(spread * r.NormFloat64())
		sum += all[i]
	}
	for i := range all {
		all[i] *= mean * float64(n) / sum
	}
	return all
}

// nap is a kind of run that sleeps: trials of it take no core, so that many workers on few cores show what it costs to coordinate them.
type nap struct {
	run.Common
	Which  int     `set:"which"`
	Trials int     `set:"naps" min:"1"`
	Mean   float64 `set:"mean"`   // seconds
	Spread float64 `set:"spread"` // of their logarithms

	log *napLog
}

func (n *nap) Title() string      { return "nap" }
func (n *nap) Last() int64        { return 1 }
func (n *nap) Board() []run.Row   { return nil }
func (n *nap) Measures() []string { return []string{"slept"} }
func (n *nap) asleep() float64    { return Durations(n.Trials, n.Mean, n.Spread)[n.Which] }
func (n *nap) Start(xlabridge.Backend) (run.Run, error) {
	if n.Which < 0 || n.Which >= n.Trials {
		return nil, fmt.Errorf("there are %d naps, and none with the number %d", n.Trials, n.Which)
	}
	return &napping{nap: n, begun: n.log.now()}, nil
}

type napping struct {
	*nap
	begun time.Duration
}

// Step sleeps.
func (n *napping) Step() (run.Metrics, error) {
	d := n.asleep()
	time.Sleep(time.Duration(d * float64(time.Second)))
	n.log.add(n.begun)
	return run.Metrics{Step: 1, Values: []run.Value{{Name: "slept", Number: d}}}, nil
}
func (n *napping) Snapshot() (run.Snapshot, error) {
	return run.Snapshot{Arrays: map[string]*graph.Array{}}, nil
}
func (n *napping) Restore(run.Snapshot) error { return nil }
func (n *napping) Profile() run.Profile       { return run.Profile{} }
func (n *napping) Close() error               { return nil }

// napLog is when the trials of a process began and ended, by its clock.
type napLog struct {
	mu          sync.Mutex
	zero        time.Time
	first, last time.Duration
	asleep      time.Duration
	trials      int
}

func (l *napLog) now() time.Duration { return time.Since(l.zero) }

func (l *napLog) add(begun time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := l.now()
	if l.trials == 0 || begun < l.first {
		l.first = begun
	}
	l.last = max(l.last, end)
	l.asleep += end - begun
	l.trials++
}

// naps makes runs that sleep.
type naps struct{ log *napLog }

// Resolve implements studies.Runs.
func (r naps) Resolve(kind string, values map[string]any) (run.Experiment, error) {
	if kind != napKind {
		return nil, fmt.Errorf("there is no kind %q", kind)
	}
	n := &nap{log: r.log}
	return n, settings.Values(values).Apply(n, napKind, "")
}

// Backend implements studies.Runs: there is none.
func (naps) Backend(context.Context, run.Experiment) (xlabridge.Backend, error) { return nil, nil }

const napKind = "nap"
