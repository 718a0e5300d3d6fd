package bench

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"text/tabwriter"

	"xlarun/cmd/xlarun/bench/parallelbench"
	"xlarun/cmd/xlarun/console"
)

// table prints what sides took.
func (b *parallelBench) table(runs []parallelRuns, base string) error {
	t := tabwriter.NewWriter(b.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "SIDE\tALL OF IT\tITS TRIALS\tPROCESSOR TIME\tSPEED-UP\tCOMPUTING PROCESSES\tTHREADS OF ONE\tOF ALL\tMEMORY OF ONE\tITS SHARE\tOF ALL\tOTHERS' CORES\tUSED OF THE REST")
	first := 0.
	for _, r := range runs {
		if r.Name == base {
			first = r.work()
		}
	}
	for _, r := range runs {
		speed := "-"
		if first > 0 {
			speed = fmt.Sprintf("%.2f", first/r.work())
		}
		middle := func(what func(taken) int64) string {
			x := int64(r.of(func(t taken) float64 { return float64(what(t)) }))
			return bytesText(&x)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.0f\t%.0f\t%.0f\t%s\t%s\t%s\t%.1f\t%.0f %%\n", r.Name, console.ShortTime(r.seconds()), console.ShortTime(r.work()), console.ShortTime(r.processor()), speed,
			r.of(func(t taken) float64 { return float64(t.Workers) }), r.of(func(t taken) float64 { return float64(t.Threads) }), r.of(func(t taken) float64 { return float64(t.AllOf) }),
			middle(func(t taken) int64 { return t.RSS }), middle(func(t taken) int64 { return t.PSS }), middle(func(t taken) int64 { return t.TotalPSS }),
			r.of(func(t taken) float64 { return t.Others }), r.of(func(t taken) float64 { return 100 * t.ofFree() }))
	}
	return t.Flush()
}

// named is the side of that name.
func namedRuns(runs []parallelRuns, name string) parallelRuns {
	for _, r := range runs {
		if r.Name == name {
			return r
		}
	}
	return parallelRuns{}
}

// library runs the same trials with and without libraries.
func (b *parallelBench) library(ctx context.Context) error {
	tiers := b.tiers[:1]
	if !b.flags.quick {
		tiers = b.tiers[:min(2, len(b.tiers))]
	}
	for _, tier := range tiers {
		trials := more(b, 24, 12)
		if err := b.warm(ctx, tier, 1); err != nil {
			return err
		}
		fmt.Fprintf(b.Out, "%s, %d trials\n", tier, trials)
		sides := []parallelSide{evolveStudy{tier, trials, 1, 1, "tpe", false}.side(ctx, b, "ours, 1 worker"), evolveStudy{tier, trials, cores(), 1, "tpe", false}.side(ctx, b, "ours")}
		peers := []string{"optuna", "threads", "pool", "joblib", "ray"}
		if b.peers != nil {
			for _, mode := range append([]string{"loop"}, peers...) {
				sides = append(sides, parallelSide{mode, b.peerJob(ctx, "parallel_trials.py", 1, trialsJob(mode, cores(), trials, "cartpole", tier)), peerWork})
			}
		}
		runs, err := b.inTurn(ctx, b.flags.repeats, sides)
		if err != nil {
			return err
		}
		if err := b.table(runs, "ours, 1 worker"); err != nil {
			return err
		}
		b.found["library-"+tier.Name] = runs
		b.beside("two-workers-"+tier.Name, namedRuns(runs, "ours"), "one worker", namedRuns(runs, "ours, 1 worker"), neededOfTwo)
		if b.peers == nil {
			continue
		}
		alone := namedRuns(runs, "optuna")
		var own []float64
		for _, run := range alone.Runs {
			said, err := readPeer(run.out[0])
			if err != nil {
				return err
			}
			own = append(own, said.Own/float64(trials))
		}
		fmt.Fprintf(b.Out, "Optuna's own part of a trial is %s of processor time; speed-ups over its one after the other:", console.ShortTime(parallelbench.Median(own)))
		b.found["library-"+tier.Name+"-own-seconds"] = parallelbench.Median(own)
		for _, mode := range peers[1:] {
			fmt.Fprintf(b.Out, " %s %.2f", mode, alone.work()/namedRuns(runs, mode).work())
		}
		fmt.Fprintln(b.Out)
		for _, mode := range peers {
			b.beside("library-"+tier.Name+"-"+mode, namedRuns(runs, "ours"), peerNames[mode], namedRuns(runs, mode), 1)
		}
	}
	return nil
}

// neededOfTwo is the speed-up that two workers on two cores are to have.
const neededOfTwo = 1.9

var peerNames = map[string]string{"optuna": "Optuna", "threads": "Optuna, threads", "pool": "process pool", "joblib": "joblib", "ray": "Ray"}

// trialsJob is what parallel_trials.py is told.
func trialsJob(mode string, workers, trials int, objective string, t parallelbench.Tier) map[string]any {
	return map[string]any{"mode": mode, "workers": workers, "trials": trials, "storage": "memory", "objective": objective,
		"population": t.Population, "generations": t.Generations, "seeds": t.Seeds, "steps": parallelSteps}
}

// nested runs two processes at a time with more and more threads each.
func (b *parallelBench) nested(ctx context.Context) error {
	tier := parallelbench.Tiers()[2] // unscaled: a shorter run is mostly its start
	fmt.Fprintf(b.Out, "ours: two runs of one seed at a time, %s; %d cores\n", tier, cores())
	var sides []parallelSide
	label := func(n int) string {
		if n == 0 {
			return "unlimited"
		}
		return fmt.Sprint(n)
	}
	counts := []int{1, 2, 8, 0}
	for _, n := range counts {
		if _, err := outputOf(b.evolveRun(ctx, tier, 0, n)); err != nil { // its program is compiled
			return err
		}
		sides = append(sides, parallelSide{name: "ours, threads " + label(n), make: func() ([]*exec.Cmd, error) {
			return []*exec.Cmd{b.evolveRun(ctx, tier, 0, n), b.evolveRun(ctx, tier, 1, n)}, nil
		}})
	}
	if b.peers != nil {
		small := b.tiers[0]
		small.Seeds = 1
		for _, n := range counts {
			sides = append(sides, parallelSide{"pool, threads " + label(n), b.peerJob(ctx, "parallel_trials.py", n, trialsJob("pool", cores(), more(b, 8, 2), "covariance", small)), peerWork})
		}
	}
	runs, err := b.inTurn(ctx, b.flags.repeats, sides)
	if err != nil {
		return err
	}
	if err := b.table(runs, ""); err != nil {
		return err
	}
	b.found["nested"] = runs
	for _, side := range []string{"ours", "pool"} {
		if b.peers == nil && side == "pool" {
			continue
		}
		one := namedRuns(runs, side+", threads 1")
		for _, n := range counts[1:] {
			r := namedRuns(runs, side+", threads "+label(n))
			fmt.Fprintf(b.Out, "%s: %s threads a process take %.2f times the time and %.2f times the processor time of 1\n", side, label(n), r.work()/one.work(), r.processor()/one.processor())
			b.beside("nested-"+side+"-threads-"+label(n), one, side+", "+label(n)+" threads", r, 1)
		}
	}
	path, err := evolveStudy{tier, 2, 2, 8, "random", false}.spec(b)
	if err != nil {
		return err
	}
	if _, err := outputOf(exec.CommandContext(ctx, b.self, "study", "run", path)); err != nil {
		fmt.Fprintf(b.Out, "a study of 2 workers with 8 threads each is refused: %s\n", strings.TrimSuffix(err.Error(), ": exit status 2"))
	}
	return nil
}
