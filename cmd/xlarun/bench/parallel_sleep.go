package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"text/tabwriter"
	"time"

	"xlarun/cmd/xlarun/bench/parallelbench"
	"xlarun/cmd/xlarun/console"
)

// napped is a study of sleeping trials that was run.
type napped struct {
	parallelbench.Naps   `json:"study"`
	parallelbench.Worked `json:"worked"`
	// Coordinator is the processor time of its process, start included.
	Coordinator float64 `json:"coordinator_seconds"`
	Efficient   float64 `json:"efficiency"`
	Lost        float64 `json:"lost_seconds"` // of a worker's time, for each trial
	Rate        float64 `json:"rate"`         // trials a second
}

// naps runs one, again where others stopped it.
func (b *parallelBench) naps(ctx context.Context, n parallelbench.Naps) (r napped, err error) {
	for try := range tries {
		w := parallelbench.NewWatch()
		r, err = b.napsOnce(ctx, n)
		_, stopped := w.End()
		if err != nil || stopped.Seconds() < .02*r.Span {
			return r, err
		}
		if try < tries-1 {
			fmt.Fprintf(b.Out, "  others stopped everything for %.1f s: it is repeated\n", stopped.Seconds())
		}
	}
	b.aside("note: %d sleeping workers were stopped by others in each of %d tries", n.Workers, tries)
	return r, nil
}

func (b *parallelBench) napsOnce(ctx context.Context, n parallelbench.Naps) (r napped, err error) {
	n.Folder = b.file("naps")
	if err := os.MkdirAll(n.Folder, 0o777); err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	part := func(role string) (*exec.Cmd, error) {
		text, err := json.Marshal(struct {
			Role string
			parallelbench.Naps
		}{role, n})
		return exec.CommandContext(ctx, b.self, "bench", "parallel", "--part", string(text)), err
	}
	serve, err := part("serve")
	if err != nil {
		return r, err
	}
	out, err := serve.StdoutPipe()
	if err != nil {
		return r, err
	}
	serve.Stderr = b.Err
	if err := serve.Start(); err != nil {
		return r, err
	}
	ended := false
	defer func() {
		if !ended {
			_ = serve.Process.Kill()
			_ = serve.Wait()
		}
	}()
	lines := bufio.NewReader(out)
	answer := func(v any) error {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("the coordinator of sleeping trials ended: %w", err)
		}
		return json.Unmarshal(line, v)
	}
	var at struct{ Address string }
	if err := answer(&at); err != nil {
		return r, err
	}
	n.Address = at.Address
	work, err := part("work")
	if err != nil {
		return r, err
	}
	text, err := outputOf(work)
	if err != nil {
		return r, err
	}
	var served parallelbench.Served
	if err := answer(&served); err != nil {
		return r, err
	}
	ended = true
	if err := serve.Wait(); err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(text), &r.Worked); err != nil {
		return r, err
	}
	r.Naps, r.Coordinator, r.Efficient, r.Lost = n, served.Processor, r.Worked.Efficiency(n.Workers), r.Worked.Lost(n.Workers)
	r.Rate = float64(n.Trials) / r.Span
	return r, nil
}

// optunaNaps are Optuna's threads with the same trials.
func (b *parallelBench) peerNaps(ctx context.Context, mode, storage string, n parallelbench.Naps) (r napped, err error) {
	job := map[string]any{"mode": mode, "workers": n.Workers, "trials": n.Trials, "storage": storage, "objective": "nap", "durations": parallelbench.Durations(n.Trials, n.Mean, n.Spread)}
	t, err := b.measure(ctx, b.peerJob(ctx, "parallel_trials.py", 1, job))
	if err != nil {
		return r, err
	}
	p, err := readPeer(t.out[0])
	r.Naps, r.Worked = n, parallelbench.Worked{Span: p.Seconds, Asleep: p.Busy, Trials: n.Trials, Processor: t.Processor}
	r.Efficient, r.Lost, r.Rate = r.Worked.Efficiency(n.Workers), r.Worked.Lost(n.Workers), float64(n.Trials)/p.Seconds
	return r, err
}

// middleOf is the run with the median of what is lost.
func middleOf(runs []napped) napped {
	m := parallelbench.Median(each(runs, func(r napped) float64 { return r.Lost }))
	best := runs[0]
	for _, r := range runs {
		if (r.Lost-m)*(r.Lost-m) < (best.Lost-m)*(best.Lost-m) {
			best = r
		}
	}
	return best
}

// coordinationRow is one number of workers.
type coordinationRow struct {
	Workers int    `json:"workers"`
	Ours    napped `json:"ours"`
	Trivial napped `json:"ours_trivial"` // trials that do nothing
	// Optuna's threads, with its RDB storage in SQLite and in memory.
	SQLite *napped `json:"optuna_sqlite,omitempty"`
	Memory *napped `json:"optuna_memory,omitempty"`
}

// napLength are the seconds of a sleeping trial in coordination.
const napLength = .1

// coordination measures what a trial costs beside its own time.
func (b *parallelBench) coordination(ctx context.Context) error {
	counts := more(b, []int{1, 2, 4, 8, 16, 32, 64}, []int{1, 4, 16, 64})
	var rows []coordinationRow
	for _, workers := range counts {
		n := parallelbench.Naps{Workers: workers, Trials: max(more(b, 40, 20), more(b, 10, 6)*workers), Mean: napLength, Window: 4 * workers}
		trivial := n
		trivial.Mean, trivial.Trials = 0, more(b, 2000, 600)
		rounds := make([][]napped, 4)
		for range b.flags.repeats {
			for i, run := range []func() (napped, error){
				func() (napped, error) { return b.naps(ctx, n) }, func() (napped, error) { return b.naps(ctx, trivial) },
				func() (napped, error) { return b.peerNaps(ctx, "threads", "sqlite", n) }, func() (napped, error) { return b.peerNaps(ctx, "threads", "memory", n) },
			} {
				if i > 1 && b.peers == nil {
					continue
				}
				r, err := run()
				if err != nil {
					return err
				}
				rounds[i] = append(rounds[i], r)
			}
		}
		row := coordinationRow{Workers: workers, Ours: middleOf(rounds[0]), Trivial: middleOf(rounds[1])}
		if b.peers != nil {
			x, y := middleOf(rounds[2]), middleOf(rounds[3])
			row.SQLite, row.Memory = &x, &y
			b.against(fmt.Sprintf("coordination-%d-workers", workers), row.Ours.Span/float64(n.Trials), "Optuna, threads, SQLite", x.Span/float64(n.Trials), 1)
		}
		rows = append(rows, row)
		fmt.Fprintf(b.Out, "  %d workers: %.1f ms lost a trial of %g ms, %.0f trivial trials a second\n", workers, row.Ours.Lost*1e3, napLength*1e3, row.Trivial.Rate)
	}
	b.found["coordination"] = rows
	t := tabwriter.NewWriter(b.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "WORKERS\tLOST A TRIAL\tPART OF THE TIME WITH A TRIAL\tCOORDINATOR'S PROCESSOR TIME A TRIAL\tWORKERS'\tTRIVIAL TRIALS/S\tOPTUNA SQLITE, LOST\tIN MEMORY, LOST")
	var at []parallelbench.CostAt
	for _, r := range rows {
		theirs, memory := "-", "-"
		if r.SQLite != nil {
			theirs, memory = console.ShortTime(r.SQLite.Lost), console.ShortTime(r.Memory.Lost)
		}
		fmt.Fprintf(t, "%d\t%s\t%.3f\t%s\t%s\t%.0f\t%s\t%s\n", r.Workers, console.ShortTime(r.Ours.Lost), r.Ours.Efficient, console.ShortTime(r.Ours.Coordinator/float64(r.Ours.Naps.Trials)),
			console.ShortTime(r.Ours.Worked.Processor/float64(r.Ours.Naps.Trials)), r.Trivial.Rate, theirs, memory)
		at = append(at, parallelbench.CostAt{Workers: r.Workers, Lost: r.Ours.Lost})
	}
	if err := t.Flush(); err != nil {
		return err
	}
	cost, err := parallelbench.FitCost(at)
	if err != nil {
		return err
	}
	b.cost = &cost
	fmt.Fprintf(b.Out, "fitted: a trial loses %s, and %s more for each other worker, and %s for each pair of workers (coordinator and all workers share %d cores here)\n",
		console.ShortTime(cost.Fixed), console.ShortTime(cost.Serial), console.ShortTime(cost.Pair), cores())
	b.found["coordination_cost"] = cost
	return nil
}
