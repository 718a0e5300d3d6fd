package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/rollout/evolve"
	"xlarun/rollout/sparse"
	"xlarun/xlabridge"
)

func warmupCommand(a *app) *cobra.Command {
	var o evolveFlags
	jobs := runtime.NumCPU()
	cmd := &cobra.Command{
		Use:   "warmup CONFIG|ENV|sparse...",
		Short: "Compile every program that the given experiments will need",
		Long: "Warmup takes config files of evolve and sparse, environments (flags, as for evolve, hold for all of them) and the word sparse,\n" +
			"and makes the programs for each set of conditions that change shapes (environment, network, population, steps, devices, ...):\n" +
			"it measures how to lay the population out, or by which method to train it (--tune quick by default: up to 3 s an experiment, one\n" +
			"after the other), compiles in parallel, keeps plans and programs in the cache, and runs one real generation, or step of SGD, of\n" +
			"each, whose result is dropped. A later run starts from the cache.",
		Example: "  xlarun warmup small.toml wide.toml\n  xlarun warmup CartPole-v1 Acrobot-v1 --pop 1024 --policy mlp:64,64\n  xlarun warmup runs/20260102-150405-sparse/config.toml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return console.BadInput("got no experiment, wants config files or environments")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if jobs < 1 {
				return console.BadInput("--jobs got %d, wants 1 or more", jobs)
			}
			w := &warmup{app: a, jobs: jobs, json: o.json}
			experiments, err := warmables(cmd.Context(), a, cmd.Flags(), args)
			if err != nil {
				return err
			}
			for _, e := range experiments {
				w.add(e)
			}
			return w.run(cmd.Context())
		},
	}
	addExperimentFlags(cmd.Flags(), &o)
	cmd.Flags().Lookup("tune").Usage = "how tile, lanes and unroll are chosen where none is given: off (the rule), quick (the default: what is stored, else measure\n" +
		"for up to 3 s and store), full (up to 60 s)"
	cmd.Flags().Lookup("tune").DefValue = evolve.TuneQuick
	cmd.Flags().IntVar(&jobs, "jobs", jobs, "programs that are compiled at a time")
	return cmd
}

// warmables resolves the arguments, all of them before any data is fetched.
func warmables(ctx context.Context, a *app, given *pflag.FlagSet, args []string) (all []warmable, err error) {
	var withData []*sparseExperiment
	// ready refuses what compiles nothing; what auto finds stored is stored here.
	ready := func(o console.BackendFlags, arg string, tune *string) error {
		if o.Backend == console.Reference {
			return console.BadInput("%s got the backend %s, which compiles nothing: use another backend", arg, console.Reference)
		}
		if *tune == evolve.TuneAuto {
			*tune = evolve.TuneQuick
		}
		return nil
	}
	for _, arg := range args {
		is, err := isSparse(given, arg)
		if err != nil {
			return nil, err
		}
		if is {
			e, err := readSparse(given, arg)
			if err == nil {
				err = ready(e.BackendFlags, arg, &e.config.Tune)
			}
			if err != nil {
				return nil, err
			}
			all, withData = append(all, sparseWarmable{e}), append(withData, e)
			continue
		}
		e, err := readExperiment(given, arg)
		if err == nil {
			err = ready(e.BackendFlags, arg, &e.config.Tune)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, evolveWarmable{e})
	}
	have := map[string]sparse.Data{}
	for _, e := range withData {
		if err := e.load(ctx, display.NewDownloadBar(a.Out, a.Getenv), have); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// warmable is an experiment of some command that warmup can make ready.
type warmable interface {
	on() console.BackendFlags
	source() string  // the argument that it came from
	purpose() string // what its programs are for, in words
	// same tells whether another experiment needs the same programs.
	same(other warmable) bool
	// tune measures and stores a plan, alone on the machine; the zero Choice where there is nothing to measure.
	tune(a *app, b xlabridge.Backend) (evolve.Choice, error)
	// compile makes the programs, beside others, and fills in what is to be said of it.
	compile(a *app, b xlabridge.Backend, t *warmupTask) (warmed, error)
}

// warmed is a compiled experiment.
type warmed interface {
	// WarmUp runs one real update and puts the state back.
	WarmUp() (seconds float64, err error)
	Close() error
}

// warmup is one run of the command.
type warmup struct {
	*app
	jobs  int
	json  bool
	start time.Time
	tasks []*warmupTask
}

// warmupTask is a program to be compiled, or all programs of an experiment, and what came of it.
type warmupTask struct {
	warmable
	warmed warmed
	err    error

	Program         string             `json:"program"`
	Experiments     []string           `json:"experiments"` // the arguments that need it
	Cache           string             `json:"cache"`
	Reason          string             `json:"reason,omitempty"` // why it is not a hit
	Plan            string             `json:"plan"`
	PlanSource      string             `json:"plan_source"`
	PlanReason      string             `json:"plan_reason,omitempty"`
	TuneSeconds     float64            `json:"tune_seconds"`
	PlansTried      []evolve.TriedPlan `json:"plans_tried,omitempty"`
	TraceSeconds    float64            `json:"trace_seconds"`
	CompileSeconds  float64            `json:"compile_seconds"` // of compiling, or of loading
	Bytes           int                `json:"bytes"`           // of what was compiled
	WarmUpSeconds   float64            `json:"warm_up_seconds"` // of one generation, or step
	PredictedMemory int64              `json:"predicted_memory_bytes_per_device"`
}

// add takes an experiment in, with one that needs the same program already if there is one.
func (w *warmup) add(e warmable) {
	for _, t := range w.tasks {
		if t.on() == e.on() && t.same(e) {
			t.Experiments = append(t.Experiments, e.source())
			return
		}
	}
	w.tasks = append(w.tasks, &warmupTask{warmable: e, Program: e.purpose(), Experiments: []string{e.source()}})
}

// run opens each backend once and works on its tasks.
func (w *warmup) run(ctx context.Context) error {
	w.start = w.now()
	groups := map[console.BackendFlags][]*warmupTask{}
	var order []console.BackendFlags
	for _, t := range w.tasks {
		if groups[t.on()] == nil {
			order = append(order, t.on())
		}
		groups[t.on()] = append(groups[t.on()], t)
	}
	for _, o := range order {
		if err := w.onBackend(ctx, o, groups[o]); err != nil {
			return err
		}
	}
	if err := w.print(); err != nil {
		return err
	}
	var failed []error
	usage := false
	for _, t := range w.tasks {
		if t.err != nil {
			usage = usage || errors.As(t.err, new(console.UsageError))
			failed = append(failed, fmt.Errorf("%s: %w", strings.Join(t.Experiments, ", "), t.err))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	err := fmt.Errorf("%s failed: %w", console.Count(len(failed), "program", "programs"), errors.Join(failed...))
	if usage {
		return console.UsageError{Err: err}
	}
	return err
}

// onBackend measures the tasks' plans one by one, since a neighbour would disturb the measurement, compiles their programs
// several at a time, and then warms all up one by one: each uses all of its devices.
func (w *warmup) onBackend(ctx context.Context, o console.BackendFlags, tasks []*warmupTask) error {
	b, err := w.openBackend(ctx, o, display.NewDownloadBar(w.Out, w.Getenv))
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	for _, t := range tasks {
		if ctx.Err() == nil {
			t.choose(w.app, b)
		}
	}
	var wait sync.WaitGroup
	free := make(chan struct{}, w.jobs)
	for _, t := range tasks {
		if t.err != nil || ctx.Err() != nil {
			continue
		}
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			t.warmed, t.err = t.compile(w.app, b, t)
		})
	}
	wait.Wait()
	for _, t := range tasks {
		if t.warmed == nil {
			continue
		}
		if t.err == nil && ctx.Err() == nil {
			t.WarmUpSeconds, t.err = t.warmed.WarmUp()
		}
		_ = t.warmed.Close()
	}
	if ctx.Err() != nil {
		return console.ErrInterrupted
	}
	return nil
}

// choose measures the task's plan.
func (t *warmupTask) choose(a *app, b xlabridge.Backend) {
	c, err := t.tune(a, b)
	t.err = err
	t.Plan, t.PlanSource, t.PlanReason, t.TuneSeconds, t.PlansTried = c.Plan, c.Source, c.Reason, c.Seconds, c.Tried
}

// runs says which plan was compiled, where choose may have found no other.
func (t *warmupTask) runs(plan, source, reason string) {
	t.Plan = plan
	if !(t.PlanSource == evolve.PlanTuned && source == evolve.PlanStored) { // not the plan that was just measured
		t.PlanSource = source
	}
	if t.PlanReason == "" {
		t.PlanReason = reason
	}
}

func (w *warmup) print() error {
	t := tabwriter.NewWriter(w.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "PROGRAM\tFOR\tCACHE\tTRACE\tCOMPILE\tSIZE\tUPDATE")
	hits, done := 0, 0
	for _, x := range w.tasks {
		sources := strings.Join(x.Experiments, ", ")
		if x.err != nil {
			fmt.Fprintf(t, "%s\t%s\tfailed\n", x.Program, sources)
			continue
		}
		done++
		if x.Cache == xlabridge.CacheHit {
			hits++
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", x.Program, sources, x.Cache, console.ShortTime(x.TraceSeconds), console.ShortTime(x.CompileSeconds),
			display.Bytes(int64(x.Bytes)), console.ShortTime(x.WarmUpSeconds))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, x := range w.tasks {
		if x.err == nil && x.Plan != "" {
			x.printPlan(w.Out)
		}
	}
	elapsed := w.now().Sub(w.start).Seconds()
	fmt.Fprintf(w.Out, "%s ready (%d from the cache) after %.1f s\n", console.Count(done, "program", "programs"), hits, elapsed)
	if !w.json {
		return nil
	}
	line, err := json.Marshal(map[string]any{"programs": w.tasks, "ready": done, "hits": hits, "wall_seconds": elapsed})
	if err != nil {
		return err
	}
	fmt.Fprintf(w.Out, "%s\n", line)
	return nil
}

// printPlan says which plan the program has, where it came from, and what else was tried.
func (t *warmupTask) printPlan(out io.Writer) {
	source := t.PlanSource
	if t.TuneSeconds > 0 {
		source = fmt.Sprintf("%s: %s measured in %s", source, console.Count(len(t.PlansTried), "plan", "plans"), console.ShortTime(t.TuneSeconds))
	}
	fmt.Fprintf(out, "plan of %s: %s (%s)\n", t.Program, t.Plan, source)
	if t.PlanReason != "" {
		fmt.Fprintf(out, "  %s\n", t.PlanReason)
	}
	for _, x := range t.PlansTried {
		fmt.Fprintf(out, "  tried %s: %s\n", x.Plan, console.ShortTime(x.Seconds))
	}
}
