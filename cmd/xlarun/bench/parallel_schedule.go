package bench

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"text/tabwriter"

	"xlarun/cmd/xlarun/bench/parallelbench"
	"xlarun/cmd/xlarun/console"
)

// scheduledRow is one way to hand out the same trials.
type scheduledRow struct {
	Workers   int     `json:"workers"`
	How       string  `json:"how"`
	Seconds   float64 `json:"seconds"`
	Efficient float64 `json:"efficiency"`
	Computed  bool    `json:"computed,omitempty"` // arithmetic on the trials' lengths, not measured
}

// unevenness is the standard deviation of the logarithms of trials' lengths: the longest of a hundred takes some ten times the median.
const unevenness = .8

// scheduling hands trials of uneven length out in several ways.
func (b *parallelBench) scheduling(ctx context.Context) error {
	var rows []scheduledRow
	for _, workers := range more(b, []int{2, 8, 32}, []int{8}) {
		n := parallelbench.Naps{Workers: workers, Trials: 8 * workers, Mean: more(b, .25, .15), Spread: unevenness}
		lengths := parallelbench.Durations(n.Trials, n.Mean, n.Spread)
		total := n.Mean * float64(n.Trials)
		for _, c := range []struct {
			how  string
			span float64
		}{{"shares dealt out beforehand", shares(lengths, workers)}, {"batches of as many as workers", batches(lengths, workers)}, {"one queue", queued(lengths, workers)}} {
			rows = append(rows, scheduledRow{workers, c.how, c.span, total / c.span / float64(workers), true})
		}
		measured := func(how string, run func() (napped, error)) (napped, error) {
			var all []napped
			for range b.flags.repeats {
				r, err := run()
				if err != nil {
					return r, err
				}
				all = append(all, r)
			}
			r := middleOf(all)
			rows = append(rows, scheduledRow{Workers: workers, How: how, Seconds: r.Span, Efficient: r.Efficient})
			fmt.Fprintf(b.Out, "  %d workers, %s: %.2f s\n", workers, how, r.Span)
			return r, nil
		}
		var ours napped
		for _, factor := range []int{1, 2, 4, 8} {
			one := n
			one.Window = factor * workers
			r, err := measured(fmt.Sprintf("ours, window %d x workers", factor), func() (napped, error) { return b.naps(ctx, one) })
			if err != nil {
				return err
			}
			if factor == 4 {
				ours = r
			}
		}
		if b.peers == nil {
			continue
		}
		for _, mode := range []string{"threads", "pool", "pool-batch", "joblib", "ray"} {
			if mode == "ray" && workers > 8 { // its workers take longer to start than all of the trials
				continue
			}
			r, err := measured(mode, func() (napped, error) { return b.peerNaps(ctx, mode, "memory", n) })
			if err != nil {
				return err
			}
			b.against(fmt.Sprintf("scheduling-%d-workers-%s", workers, mode), ours.Span, mode, r.Span, 0)
		}
	}
	b.found["scheduling"] = rows
	t := tabwriter.NewWriter(b.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "WORKERS\tHOW\tALL OF IT\tPART OF THE TIME WITH A TRIAL\t")
	for _, r := range rows {
		how := r.How
		if r.Computed {
			how += " (computed)"
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%.3f\t\n", r.Workers, how, console.ShortTime(r.Seconds), r.Efficient)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return b.central(ctx)
}

// central compares a coordinator of two workers with two studies that know nothing of each other.
func (b *parallelBench) central(ctx context.Context) error {
	tier, trials := b.tiers[0], more(b, 24, 16)
	if err := b.warm(ctx, tier, 1); err != nil {
		return err
	}
	both := evolveStudy{tier, trials, cores(), 1, "random", false}
	half := evolveStudy{tier, trials / cores(), 1, 1, "random", false}
	runs, err := b.inTurn(ctx, b.flags.repeats, []parallelSide{both.side(ctx, b, "one study"), {name: "two studies", make: func() (cmds []*exec.Cmd, err error) {
		for range cores() {
			cmd, err := half.command(ctx, b)
			if err != nil {
				return nil, err
			}
			cmds = append(cmds, cmd)
		}
		return cmds, nil
	}}})
	if err != nil {
		return err
	}
	b.found["central"] = runs
	one, two := namedRuns(runs, "one study"), namedRuns(runs, "two studies")
	fmt.Fprintf(b.Out, "%s, %d trials: one study with %d workers %.2f s (%.2f s of processor time), a study of its own for each %.2f s (%.2f s)\n", tier, trials, cores(), one.seconds(), one.processor(), two.seconds(), two.processor())
	b.beside("central-"+tier.Name, one, "a study a worker", two, 0)
	return b.table(runs, "")
}

// shares is when the last of the workers is done that have been given every so many-th trial beforehand.
func shares(lengths []float64, workers int) float64 {
	load := make([]float64, workers)
	for i, d := range lengths {
		load[i%workers] += d
	}
	return slices.Max(load)
}

// batches is when all are done where the next trials begin when all before them have ended.
func batches(lengths []float64, workers int) (sum float64) {
	for batch := range slices.Chunk(lengths, workers) {
		sum += slices.Max(batch)
	}
	return sum
}

// queued is when all are done where each worker takes the next as soon as it can.
func queued(lengths []float64, workers int) float64 {
	free := make([]float64, workers)
	end := 0.
	for _, d := range lengths {
		first := 0
		for i := range free {
			if free[i] < free[first] {
				first = i
			}
		}
		free[first] += d
		end = math.Max(end, free[first])
	}
	return end
}
