package bench

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/plan"
)

// againstWorkloads are the workloads, SUITE/NAME, that both revisions run unless others are named. Each takes some
// seconds; together they have a row of each table of docs/explanation/performance.md.
var againstWorkloads = []string{
	"evolve/episodes", "neuro/breakout", "neuro/cmaes", "large/low-rank", "large/openes-1m", "spiking/dynamics-fast",
	"spiking/dynamics-mechanistic", "ppo/ppo-agents", "selfplay/selfplay-14-gumbel", "selfplay/selfplay-step",
	"grad/mlp", "grad/cnn-start-warm", "half/dot-1024-bf16", "half/cnn-bf16", "generic/batchmm", "generic/histogram",
	"study/trials",
}

// leftOut is the error of a workload that the other revision does not have.
type leftOut struct{ why string }

func (e leftOut) Error() string { return e.why }

// workloadOf returns the workload that is called SUITE/NAME.
func (h *host) workloadOf(name string, o Options) (s Suite, w Workload, err error) {
	suite, rest, _ := strings.Cut(name, "/")
	i := slices.IndexFunc(h.suites, func(s Suite) bool { return s.Name == suite })
	if i < 0 {
		return s, w, noWorkload(name, each(h.suites, func(s Suite) string { return s.Name + "/…" }))
	}
	found, err := choose([]string{rest}, h.suites[i].Workloads(o))
	if err != nil {
		return s, w, err
	}
	return h.suites[i], found[0], nil
}

// againstBench returns a bench that runs workloads by another xlarun-bench.
func (a *against) againstBench(o Options, program string) *bench {
	h := *a.host
	h.process = func(ctx context.Context, b console.BackendFlags, cache string, args ...string) (*exec.Cmd, error) {
		return a.process(ctx, program, b, cache, args...)
	}
	f := flags{repeats: 1, limit: 10 * time.Minute, tune: plan.TuneOff}
	f.Backend = "cpu"
	return &bench{host: &h, flags: f, options: o}
}

// workloadRound runs a workload by both programs in turn, once. Time is CPU time where it is known.
func (a *against) workloadRound(ctx context.Context, name string, p programs) (r round, err error) {
	o := Options{Tune: plan.TuneOff, Size: neurobench.SizeOn(time.Now())}
	suite, w, err := a.workloadOf(name, o)
	if err != nil {
		return r, err
	}
	ours, base := a.againstBench(o, p.oursBench), a.againstBench(o, p.baseBench)
	if w.Start != steady {
		ours.flags.repeats = turnsOfRepeat
	}
	defer func() {
		for _, f := range slices.Concat(ours.cleanup, base.cleanup) {
			f()
		}
	}()
	revision := &Peer{Name: a.flags.revision, Other: true}
	rows, err := ours.time(ctx, &job{suite: suite, workload: w}, []*side{{start: ours.ours(suite, w)},
		{peer: revision, start: base.ours(suite, w)}})
	if err != nil {
		return r, err
	}
	row := rows[0]
	if row.Failed != "" {
		return r, leftOut{fmt.Sprintf("%s cannot run it: %s", a.flags.revision, row.Failed)}
	}
	r = round{time: 1 / *row.Ratio, clock: 1 / *row.Ratio, compile: 1, memory: 1, ours: row.Ours,
		base: *row.PeerSeconds}
	if row.ProcessorRatio > 0 {
		r.time, r.ours, r.base = 1/row.ProcessorRatio, row.Processor, row.Processor*row.ProcessorRatio
	}
	if row.CompileRatio > 0 {
		r.compile = 1 / row.CompileRatio
	}
	if row.PeakBytes > 0 && row.PeerPeakBytes > 0 {
		r.memory = float64(row.PeakBytes) / float64(row.PeerPeakBytes)
	}
	return r, nil
}
