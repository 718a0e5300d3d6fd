package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/internal/quantity"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/run/session"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/cache"
	"xlarun/xlabridge/fetch"
	"xlarun/xlabridge/topology"
)

func warmupCommand(a *App) *cobra.Command {
	g := &flagValues{}
	jobs := runtime.GOMAXPROCS(0)
	cmd := &cobra.Command{
		Use:   "warmup [KIND] CONFIG|ENV...",
		Short: "Compile every program that the given experiments will need",
		Long: "Warmup takes config files and environments. A kind of run (else evolve) holds for those after it, or " +
			"stands alone. Flags hold for all. It makes the programs for each set of conditions that change shapes " +
			"(environment, network, ...): it measures how to lay the population out, or by which method to train it " +
			"(--tune quick by default: up to 3 s an experiment, one after the other), compiles in parallel, keeps " +
			"plans and programs in the cache, and runs one real round of each, whose result is dropped. A later run " +
			"starts from the cache. With --topology nothing is run: the programs are for a machine that has the " +
			"devices and this cache (XLARUN_CACHE), and plans are compiled and compared by the compiler's numbers, " +
			"for up to 2 minutes an experiment.",
		Example: "  xlarun warmup small.toml wide.toml --topology h100\n" +
			"  xlarun warmup CartPole-v1 Acrobot-v1 --pop 1024 --policy mlp:64,64\n" +
			"  xlarun warmup ppo CartPole-v1 Acrobot-v1",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return console.BadInput("got no experiment, wants config files, environments or kinds of run")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if jobs < 1 {
				return console.BadInput("--jobs got %d, wants 1 or more", jobs)
			}
			if err := g.chooseTopology(); err != nil {
				return err
			}
			w := &warmup{App: a, jobs: jobs, json: g.own.json}
			if err := refuseTopology(args); err != nil {
				return err
			}
			for _, group := range experiments(args) {
				t, err := g.readTask(group...)
				if err != nil {
					return err
				}
				if t.on().Backend == console.Reference {
					return console.BadInput("%s got the backend %s, which compiles nothing: use another backend",
						strings.Join(group, " "), console.Reference)
				}
				// a run with auto later finds the plan that is stored here
				if p := t.job.Plan; p != nil && p.Tune == plan.TuneAuto {
					if err := t.tune(plan.TuneQuick); err != nil {
						return err
					}
				}
				w.add(t)
			}
			return w.run(cmd.Context())
		},
	}
	if !a.addRunFlags(cmd, g, allKinds()...) {
		return cmd
	}
	g.addCall(cmd.Flags(), "")
	tune := cmd.Flags().Lookup("tune")
	tune.Usage = "how the settings of the plan that are not given are chosen: off (by the rule), quick (the " +
		"default:\nas stored, else measure for up to 3 s and store), full (up to 60 s)"
	tune.DefValue = plan.TuneQuick
	g.addTopology(cmd.Flags())
	cmd.Flags().IntVar(&jobs, "jobs", jobs, "programs that are compiled at a time")
	return cmd
}

// allKinds returns the kinds of run, the default one first.
func allKinds() []run.Kind {
	first, _ := run.Lookup(defaultKind)
	kinds := []run.Kind{first}
	for _, k := range run.Kinds() {
		if k.Name != defaultKind {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// warmup is one run of the command.
type warmup struct {
	*App
	jobs  int
	json  bool
	start time.Time
	tasks []*warmupTask
}

// warmupTask has the programs of an experiment, and the results of warming up.
type warmupTask struct {
	*task     `json:"-"`
	warm      run.Run
	evaluator *session.Evaluator
	err       error

	Program     string   `json:"program"`
	Experiments []string `json:"experiments"` // the arguments that need the program
	plan.Choice
	Count           int     `json:"program_count"` // of the generation, its evaluator and its recorder
	Devices         int     `json:"devices"`       // that the programs run on
	Cache           string  `json:"cache"`
	Reason          string  `json:"reason,omitempty"` // why it is not a hit, or is not stored
	TraceSeconds    float64 `json:"trace_seconds"`
	CompileSeconds  float64 `json:"compile_seconds"` // of compiling or loading
	Bytes           int     `json:"bytes"`           // of the compiled programs
	WarmUpSeconds   float64 `json:"warm_up_seconds"` // of one round
	PredictedMemory int64   `json:"predicted_memory_bytes_per_device"`
}

// add adds an experiment. Experiments that need the same programs share a warmupTask.
func (w *warmup) add(e *task) {
	for _, t := range w.tasks {
		if t.on() == e.on() && t.programs() == e.programs() {
			t.Experiments = append(t.Experiments, e.source)
			return
		}
	}
	w.tasks = append(w.tasks, &warmupTask{task: e, Experiments: []string{e.source}})
}

// run reads the data, opens each backend once and warms up its tasks.
func (w *warmup) run(ctx context.Context) error {
	w.start = w.now()
	groups := map[console.BackendFlags][]*warmupTask{}
	var order []console.BackendFlags
	for _, t := range w.tasks {
		if err := t.fetch(ctx, w.App); err != nil {
			return err
		}
		t.Program = t.job.Purpose
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
	result, err := w.print()
	if err == nil {
		err = w.failures()
	}
	if w.json && result != nil {
		return w.EndJSON(result, err)
	}
	return err
}

// failures returns the error of the programs that could not be compiled; nil if there are none.
func (w *warmup) failures() error {
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
	err := fmt.Errorf("%s failed: %w", quantity.Count(len(failed), "program", "programs"), errors.Join(failed...))
	if usage {
		return console.UsageError{Err: err}
	}
	return err
}

// fetch reads the experiment's data, if it has any.
func (t *task) fetch(ctx context.Context, a *App) error {
	if t.job.Fetch == nil {
		return nil
	}
	if err := t.job.Fetch(ctx, display.NewDownloadBar(a.Out, a.Getenv)); err != nil {
		if ctx.Err() != nil {
			return console.ErrInterrupted
		}
		return settingError(err)
	}
	return t.changed(nil) // its texts may name the data
}

// onBackend measures the tasks' plans one by one, as others would disturb the measurement. It compiles their programs
// several at a time. Then it runs them one by one, as each uses all devices.
func (w *warmup) onBackend(ctx context.Context, o console.BackendFlags, tasks []*warmupTask) error {
	o.Renew = o.Topology == ""
	b, err := w.OpenBackend(ctx, o, display.NewDownloadBar(w.Out, w.Getenv))
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	for _, t := range tasks {
		if ctx.Err() == nil {
			t.choose(ctx, b)
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
			t.compile(ctx, b)
		})
	}
	wait.Wait()
	for _, t := range tasks {
		if t.warm == nil {
			continue
		}
		if t.err == nil && ctx.Err() == nil && t.topology == "" {
			t.WarmUpSeconds, t.err = run.WarmUp(ctx, t.warm)
		}
		if t.evaluator != nil {
			_ = t.evaluator.Close()
		}
		_ = t.warm.Close()
	}
	if ctx.Err() != nil {
		return console.ErrInterrupted
	}
	return nil
}

// tune sets how the plan is chosen.
func (t *task) tune(how string) error {
	f, _ := settings.Lookup(t.Experiment, "tune")
	return t.changed(f.Set(how))
}

// choose measures the task's plan.
func (t *warmupTask) choose(ctx context.Context, b xlabridge.Backend) {
	if t.job.Plan == nil {
		return
	}
	var err error
	if t.Choice, err = t.job.Plan.Choose(ctx, b); err != nil {
		t.err = settingError(err)
	}
}

// startPlanned starts the run by the plan that choose stored, if it chose one.
func (t *warmupTask) startPlanned(ctx context.Context, b xlabridge.Backend) (run.Run, error) {
	if p := t.job.Plan; p != nil && p.Tune != plan.TuneOff {
		if err := t.tune(plan.TuneAuto); err != nil {
			return nil, err
		}
		defer func() { _ = t.tune(p.Tune) }() // as it was
	}
	return t.startAlone(ctx, b)
}

// compile compiles the programs, by the plan that choose stored, and the one that evaluates the members. Several tasks
// compile at a time.
func (t *warmupTask) compile(ctx context.Context, b xlabridge.Backend) {
	r, err := t.startPlanned(ctx, b)
	if err != nil {
		t.err = settingError(err)
		return
	}
	t.warm = r
	profile := r.Profile()
	t.Cache, t.Reason, t.TraceSeconds, t.CompileSeconds = profile.Cache, profile.CacheReason, profile.TraceSeconds,
		profile.CompileSeconds
	t.PredictedMemory, t.Bytes = profile.PeakMemoryBytes, profile.Bytes()
	t.Count, t.Devices = len(profile.Programs), profile.Devices
	// the plan that was just chosen
	measured := (t.Source == plan.Tuned || t.Source == plan.Estimated) && profile.Source == plan.Present
	if !measured {
		t.Source = profile.Source
	}
	t.Plan = profile.Plan
	if t.Choice.Reason == "" {
		t.Choice.Reason = profile.Choice.Reason
	}
	for _, p := range profile.Programs {
		if p.Cache != cache.Hit && !p.Stored { // the next start would compile it again
			t.err = fmt.Errorf("program %s is not kept (%s)", p.Name, p.Reason)
			return
		}
	}
	p, m := t.job.Play, r.Describe().Members
	if p == nil || m == nil {
		return
	}
	s, err := r.Snapshot(ctx)
	if err == nil {
		var candidates []run.Candidate
		if candidates, err = m.Candidates(s); err == nil && len(candidates) > 0 {
			t.evaluator, err = session.NewEvaluator(b, p, t.job.Purpose, candidates, r.Profile().Devices,
				true)
		}
		if t.evaluator != nil {
			t.Count += t.evaluator.Programs()
		}
	}
	t.err = err
}

func (w *warmup) print() (result map[string]any, err error) {
	t := tabwriter.NewWriter(w.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "PROGRAM\tFOR\tCACHE\tTRACE\tCOMPILE\tSIZE\tUPDATE")
	hits, done, programs, target := 0, 0, 0, ""
	for _, x := range w.tasks {
		sources := strings.Join(x.Experiments, ", ")
		if x.err != nil {
			fmt.Fprintf(t, "%s\t%s\tfailed\n", x.Program, sources)
			continue
		}
		done++
		programs += x.Count
		update := console.ShortTime(x.WarmUpSeconds)
		if x.topology != "" {
			target, update = x.topology, "-"
		}
		if x.Cache == cache.Hit {
			hits++
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", x.Program, sources, x.Cache, console.ShortTime(x.TraceSeconds),
			console.ShortTime(x.CompileSeconds), display.Bytes(int64(x.Bytes)), update)
	}
	if err := t.Flush(); err != nil {
		return nil, err
	}
	for _, x := range w.tasks {
		if x.err == nil && x.Plan != "" {
			x.printPlan(w.Out)
		}
		if x.err == nil {
			x.printNotes(w.Out)
		}
	}
	if target != "" {
		dir, err := cache.DefaultDir()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(w.Out, "compiled for %s without the device, so without its autotuning: a run there uses these "+
			"programs, and xlarun\nwarmup there replaces them. A machine with the device needs the folder %s as its "+
			"%s.\n", target, filepath.Dir(dir), fetch.EnvCache)
	}
	elapsed := w.now().Sub(w.start).Seconds()
	fmt.Fprintf(w.Out, "%s ready (%d from the cache), with %s, after %.1f s\n", quantity.Count(done, "experiment",
		"experiments"), hits, quantity.Count(programs, "program", "programs"), elapsed)
	return map[string]any{"programs": w.tasks, "ready": done, "hits": hits, "wall_seconds": elapsed}, nil
}

// printNotes says why a program that seems to be in the cache was compiled, and which devices of a topology have no
// work.
func (t *warmupTask) printNotes(out io.Writer) {
	if t.Cache == cache.Miss && t.Reason != "" && t.Reason != cache.ErrAbsent.Error() {
		fmt.Fprintf(out, "%s was compiled: %s\n", t.Program, t.Reason)
	}
	if on, err := topology.Parse(t.topology); err == nil && t.Devices > 0 && t.Devices < on.Devices {
		fmt.Fprintf(out, "%s uses %s of %s: the others have no work. A device works on whole tiles (--tile).\n",
			t.Program, quantity.Count(t.Devices, "device", "devices"), on.Name)
	}
}

// printPlan prints the plan of the program, its source, and the other plans that were tried.
func (t *warmupTask) printPlan(out io.Writer) {
	source := t.Source
	if t.Seconds > 0 {
		how := "measured"
		if t.topology != "" {
			how = "compiled"
		}
		source = fmt.Sprintf("%s: %s %s in %s", source, quantity.Count(len(t.Measured), "plan", "plans"), how,
			console.ShortTime(t.Seconds))
	}
	fmt.Fprintf(out, "plan of %s: %s (%s)\n", t.Program, t.Plan, source)
	if t.Choice.Reason != "" {
		fmt.Fprintf(out, "  %s\n", t.Choice.Reason)
	}
	for _, x := range t.Measured {
		fmt.Fprintf(out, "  tried %s: %s\n", x.Plan, console.ShortTime(x.Seconds))
	}
}
