package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
	"xlarun/rollout/plan"
	"xlarun/rollout/ppo"
	"xlarun/xlabridge"
)

// stages are the steps a second of a pipeline on a GPU that was tuned in eight stages, from the first to the last.
var stages = []float64{50, 500, 3000, 8000, 15000, 20000, 27000, 29000}

// rung is a way to train, each without one of the ways of the rungs before it to lose time.
type rung struct {
	name, what string
	slow       ppo.Slowly
	host       hostWork
}

// hostWork is what the host does slowly.
type hostWork struct {
	interpreted bool // every operation is a call from the host
	stepwise    bool // a transfer a step
	cold        bool // compiling counts
	synchronous bool // the whole state and the metrics are written and synced after every update
	full        bool // f32 in place of half
}

var rungs = []rung{
	{"interpreted", "op by op from the host (the reference interpreter)", ppo.Slowly{}, hostWork{interpreted: true}},
	{"stepwise", "vectorised, compiled, one transfer a step", ppo.Slowly{Branching: true, Unfused: true}, hostWork{stepwise: true, cold: true, synchronous: true, full: true}},
	{"one-program", "an update is one program", ppo.Slowly{Branching: true, Unfused: true}, hostWork{cold: true, synchronous: true, full: true}},
	{"warm", "the clock starts behind a warm-up", ppo.Slowly{Branching: true, Unfused: true}, hostWork{synchronous: true, full: true}},
	{"logged-apart", "logging no longer synchronises", ppo.Slowly{Branching: true, Unfused: true}, hostWork{full: true}},
	{"half", "half precision (on accelerators)", ppo.Slowly{Branching: true, Unfused: true}, hostWork{}},
	{"traced-head", "the value head is chosen when the program is traced", ppo.Slowly{Unfused: true}, hostWork{}},
	{"ours", "the optimiser is fused", ppo.Slowly{}, hostWork{}},
}

type ladderFlags struct {
	commonFlags
	seconds float64
}

func ladderCommand(h *host) *cobra.Command {
	var o ladderFlags
	cmd := &cobra.Command{
		Use: "ppo-ladder", Short: "Train by ppo the slow ways on purpose, up to ours",
		Long: "Bench ppo-ladder trains CartPole-v1 by xlarun ppo's defaults in ever faster ways, beside the eight stages in which a pipeline on a GPU was tuned, in\n" +
			"environment steps a second. The rungs take turns, repeat after repeat, each for some seconds; what counts is the median, and the ratio to the rung before.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if !(o.seconds > 0 && o.seconds <= 3600) {
				return console.BadInput("--seconds got %v, wants a number above 0, at most 3600", o.seconds)
			}
			return (&ladder{host: h, flags: o}).run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.AddBackend(f)
	f.IntVar(&o.repeats, "repeats", 3, "repeats, of which the median counts")
	f.Float64Var(&o.seconds, "seconds", 2, "seconds of a rung in each repeat, at least one update")
	o.addJSON(f)
	return cmd
}

type ladder struct {
	*host
	flags ladderFlags
}

// ladderRow is a rung as it was measured.
type ladderRow struct {
	Name  string   `json:"name"`
	What  string   `json:"what"`
	Rate  *float64 `json:"steps_per_second"` // null: the rung is none on this machine
	Gain  *float64 `json:"gain"`             // beside the rung before it
	Stage float64  `json:"stage"`            // of the pipeline
}

func (l *ladder) run(ctx context.Context) error {
	rates := make([][]float64, len(rungs))
	for range l.flags.repeats {
		for i, r := range rungs {
			rate, err := l.rate(ctx, r)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			if rate > 0 {
				rates[i] = append(rates[i], rate)
			}
		}
	}
	rows := ladderRows(rates)
	t := tabwriter.NewWriter(l.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "RUNG\tSTEPS/S\tGAIN\tTHE PIPELINE'S STAGE")
	for _, r := range rows {
		rate, gain := "-", "-"
		if r.Rate != nil {
			rate = strconv.FormatFloat(*r.Rate, 'f', 0, 64)
		}
		if r.Gain != nil {
			gain = fmt.Sprintf("%.2fx", *r.Gain)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.0f\n", r.What, rate, gain, r.Stage)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if l.flags.json {
		return l.PrintJSON(map[string]any{"rungs": rows})
	}
	return nil
}

// ladderRows are the rungs with the medians of their rates; a rung without any is skipped over by the gain of the next.
func ladderRows(rates [][]float64) []ladderRow {
	rows, before := make([]ladderRow, len(rungs)), 0.
	for i, r := range rungs {
		rows[i] = ladderRow{Name: r.name, What: r.what, Stage: stages[i]}
		if len(rates[i]) == 0 {
			continue
		}
		rate := machine.Median(rates[i])
		rows[i].Rate = &rate
		if before > 0 {
			gain := rate / before
			rows[i].Gain = &gain
		}
		before = rate
	}
	return rows
}

// rate is the environment steps a second of a rung; 0: it is none on this machine.
func (l *ladder) rate(ctx context.Context, r rung) (rate float64, err error) {
	config := ppo.DefaultConfig()
	config.Target, config.Steps, config.Precision = "0", 1<<30, "f32"
	if r.host.interpreted {
		return l.timed(ctx, config, &xlabridge.Reference{}, r, l.now())
	}
	flags := l.flags.BackendFlags
	flags.NoCache = flags.NoCache || r.host.cold
	b, err := l.open(ctx, flags)
	if err != nil {
		return 0, err
	}
	defer func() { _ = b.Close() }()
	if accelerator := plan.MachineOf(b, 1).Accelerator; accelerator && !r.host.full {
		config.Precision = "bf16"
	} else if r.name == "half" {
		return 0, nil
	}
	return l.timed(ctx, config, b, r, l.now())
}

// timed runs updates from a start on, or from behind the first one.
func (l *ladder) timed(ctx context.Context, config ppo.Config, b xlabridge.Backend, r rung, start time.Time) (float64, error) {
	update, state, done, err := r.make(b, config)
	if err != nil {
		return 0, err
	}
	defer done()
	logs, err := os.MkdirTemp("", "ladder")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(logs) }()
	if !r.host.cold && !r.host.interpreted {
		if err := update(); err != nil {
			return 0, err
		}
		start = l.now()
	}
	n := 0
	for n == 0 || l.now().Sub(start).Seconds() < l.flags.seconds {
		if err := update(); err != nil {
			return 0, err
		}
		if n++; r.host.synchronous {
			if err := synced(filepath.Join(logs, "state"), state); err != nil {
				return 0, err
			}
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	return float64(n*config.Envs*config.Horizon) / l.now().Sub(start).Seconds(), nil
}

// make makes what is trained: an update of it, and its state on the host.
func (r rung) make(b xlabridge.Backend, c ppo.Config) (update func() error, state func() ([]byte, error), done func(), err error) {
	if r.host.stepwise {
		s, err := ppo.NewStepwise(b, c, r.slow)
		if err != nil {
			return nil, nil, nil, err
		}
		var last []float64
		return func() (err error) { last, err = s.Update(); return err }, func() ([]byte, error) { return fmt.Append(nil, last), nil }, func() {}, nil
	}
	t, err := ppo.NewSlowly(b, c, r.slow)
	if err != nil {
		return nil, nil, nil, err
	}
	return func() error { _, err := t.Step(); return err }, func() (all []byte, err error) {
		s, err := t.Snapshot()
		if err != nil {
			return nil, err
		}
		for _, a := range s.Arrays {
			data, err := a.Data()
			if err != nil {
				return nil, err
			}
			host, err := data.HostBytes()
			if err != nil {
				return nil, err
			}
			all = append(all, host...)
		}
		return all, nil
	}, func() { _ = t.Close() }, nil
}

// synced writes what state gives, and waits until it is on the disk.
func synced(path string, state func() ([]byte, error)) (err error) {
	text, err := state()
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
