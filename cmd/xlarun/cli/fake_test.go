package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
	"xlarun/xlabridge/cache"
)

func init() {
	run.MustRegister(run.Kind{
		Name: "drift", Short: "Drift upwards", Argument: "env", Version: 7, Unit: "generation",
		Length: "generations", Round: "gust",
		Work: "environment steps of all members",
		New:  func() run.Experiment { return &fakeExperiment{Config: evolve.DefaultConfig()} },
	})
}

// fakeShape is what the runs of a test are made of.
type fakeShape struct {
	metric string                      // a further one, of 77
	failAt int                         // the generation that fails
	step   func(generation int)        // called before a generation
	tune   func(c evolve.Config)       // called where a plan is chosen
	start  func(c evolve.Config) error // called where a run starts
}

// fakes are the shape of the test that runs, and the runs that it has made, maybe from several goroutines.
var fakes struct {
	sync.Mutex
	shape fakeShape
	made  []*fakeRun
}

// fakeExperiment has the settings of evolve, and becomes a fakeRun.
type fakeExperiment struct{ evolve.Config }

// Job is that of its Config, except that it becomes a fakeRun, and that members cannot be made again.
func (e *fakeExperiment) Job() *run.Job {
	job := e.Config.Job()
	job.Purpose = "drift of " + job.Purpose
	job.Start, job.StartAlone, job.Plan.Choose, job.Play.Again = e.start, nil, e.choosePlan, nil
	c := e.Config // is checked without its target: made up returns reach any
	if _, err := strconv.ParseFloat(c.Target, 64); err == nil {
		c.Target = "0"
	}
	job.Check, job.Play.Rollout, job.Play.Goal = c.Check, c.Rollout, e.GoalSettings.Goal
	return job
}

func (e *fakeExperiment) choosePlan(context.Context, xlabridge.Backend) (plan.Choice, error) {
	if tune := fakes.shape.tune; tune != nil {
		tune(e.Config)
	}
	if e.Tune != plan.TuneQuick {
		return plan.Choice{Plan: "tiles of 8", Source: plan.Static}, nil
	}
	return plan.Choice{Plan: "tiles of 8", Source: plan.Tuned, Seconds: .5, Measured: []plan.MeasuredPlan{
		{Plan: "tiles of 16", Seconds: .003}, {Plan: "tiles of 8", Seconds: .002}}}, nil
}

func (e *fakeExperiment) start(context.Context, xlabridge.Backend) (run.Run, error) {
	if start := fakes.shape.start; start != nil {
		if err := start(e.Config); err != nil {
			return (*fakeRun)(nil), err // as kinds do whose Start returns what a function of their own type returned
		}
	}
	fakes.Lock()
	defer fakes.Unlock()
	r := &fakeRun{config: e.Config, fakeShape: fakes.shape}
	fakes.made = append(fakes.made, r)
	return r, nil
}

// fakeRun is a run whose mean return rises by 100 a generation.
type fakeRun struct {
	fakeShape
	config  evolve.Config
	done    int // generations of the state
	stepped int // calls of Step
	closed  bool
}

func (r *fakeRun) Step(context.Context) (run.Metrics, error) {
	r.done++
	r.stepped++
	if r.step != nil {
		done, ended := make(chan struct{}), false
		go func() { // a require that fails ends its goroutine: the run would wait for ever
			defer close(done)
			r.step(r.done)
			ended = true
		}()
		if <-done; !ended {
			return run.Metrics{}, errors.New("the test has failed in this step")
		}
	}
	if r.done == r.failAt {
		return run.Metrics{}, errors.New("the device caught fire")
	}
	c, mean := r.config, 100*float64(r.done)
	target := must(envs.Make(c.Env)).Spec().RewardThreshold
	if c.Target != "auto" {
		target = cmp.Or(must(strconv.ParseFloat(c.Target, 64)), math.NaN())
	}
	work := float64(c.Population * c.Steps)
	m := run.Metrics{Step: int64(r.done), Work: work, Done: target != 0 && mean >= target, Values: []run.Value{
		{Name: "best_fitness", Number: mean + 7},
		{Name: "mean_fitness", Number: mean}, {Name: "failed", Number: math.NaN()},
		{Name: "env_steps", Number: float64(r.done) * work}}}
	if r.metric != "" {
		m.Values = append(m.Values, run.Value{Name: r.metric, Number: 77})
	}
	return m, nil
}

func (r *fakeRun) Snapshot(ctx context.Context) (run.Snapshot, error) {
	return run.Snapshot{Step: int64(r.done), Arrays: map[string]*graph.Array{
		"mean": graph.Float32s([]float32{float32(r.done), 2, 3})}}, nil
}

func (r *fakeRun) Restore(ctx context.Context, s run.Snapshot) error {
	v, err := graph.Floats(s.Arrays["mean"])
	if err != nil {
		return err
	}
	r.done = int(v[0])
	return nil
}

func (r *fakeRun) Profile() run.Profile {
	p := run.Profile{Choice: plan.Choice{Plan: "2 devices, tiles of 8", Source: plan.Present}, TraceSeconds: .01,
		CompileSeconds: .2, Cache: cache.Hit, Devices: 2,
		Programs: []run.Program{{Name: "drift", Cache: cache.Hit, Bytes: 12345}}, Facts: []run.Fact{
			{Name: "wind", Value: "west"}}, Chosen: map[string]any{"unroll": 4}}
	if r.config.Tune == plan.TuneOff {
		p.Source = plan.Static
	}
	return p
}

func (r *fakeRun) Candidates(run.Snapshot) ([]run.Candidate, error) {
	spec := must(envs.Make(r.config.Env)).Spec()
	p, _, err := policy.Make(r.config.Policy, r.config.Parted.Under("policy."), spec.Observation, spec.Action)
	if err != nil {
		return nil, err
	}
	var candidates []run.Candidate
	for i, name := range []string{"mean", "best_ever"} {
		params, err := graph.Eval(p.Init(random.New(int64(i))))
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, run.Candidate{Name: name, Params: params})
	}
	return candidates, nil
}

func (r *fakeRun) HallEntries(run.Snapshot) ([]run.HallEntry, error) { return nil, nil }

func (r *fakeRun) Phases(context.Context, int) ([]run.Phase, error) {
	return []run.Phase{{Name: "ask", Seconds: .0001}, {Name: "play", Seconds: .0008,
		Cost: graph.Cost{FLOPs: 16e5, Bytes: 8e5}},
		{Name: "tell", Seconds: .001, Times: .1}}, nil
}

func (r *fakeRun) Close() error { r.closed = true; return nil }

func (r *fakeRun) Describe() *run.Capabilities {
	return &run.Capabilities{Members: r, Phases: r.Phases,
		Cost:   func() graph.Cost { return graph.Cost{FLOPs: 2e6, Bytes: 1e6} },
		Ending: func(run.Metrics) string { return "well blown" }}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// buffer is a bytes.Buffer for several goroutines: an interrupted command may still be writing.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// bed is a command line in an empty working folder, on the interpreter.
type bed struct {
	*App
	dir      string
	out, err *buffer
	opened   int      // backends
	handed   []string // what was handed over: the program and its arguments
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{dir: t.TempDir(), out: &buffer{}, err: &buffer{}}
	t.Chdir(b.dir)
	t.Setenv("XLARUN_CACHE", filepath.Join(t.TempDir(), "cache"))
	fakes.shape, fakes.made = fakeShape{}, nil
	b.App = &App{
		Streams: Streams{In: strings.NewReader(""), Out: b.out, Err: b.err},
		OpenBackend: func(context.Context, console.BackendFlags, console.Listener) (xlabridge.Backend, error) {
			b.opened++
			return &xlabridge.Reference{}, nil
		},
		now:  func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		find: func(program string) (string, error) { return "/programs/" + program, nil },
		exec: func(path string, args []string) error {
			b.handed = append([]string{path}, args...)
			return nil
		},
	}
	return b
}

func (b *bed) do(args ...string) int { return b.run(context.Background(), args) }

// ok runs a command line, given as a text or as its words, which must end well.
func (b *bed) ok(t *testing.T, args ...string) {
	t.Helper()
	if len(args) == 1 {
		args = strings.Fields(args[0])
	}
	require.Equal(t, StatusOK, b.do(args...), "%v: %s", args, b.err)
}

// refused runs a command line, given as a text or as its words, which must be refused with a sentence.
func (b *bed) refused(t *testing.T, sentence string, args ...string) {
	t.Helper()
	if len(args) == 1 {
		args = strings.Fields(args[0])
	}
	b.err.b.Reset()
	require.Equal(t, StatusUsage, b.do(args...), "%v: %s", args, b.err)
	require.Contains(t, b.err.String(), sentence, "%v", args)
}

// drift runs the fake kind, whose members are evaluated in no time.
func (b *bed) drift(args ...string) int {
	return b.do(append([]string{"drift", "--policy", "linear", "--eval-episodes", "2", "--steps", "3"}, args...)...)
}

// files lists the working folder.
func (b *bed) files(t *testing.T) []string {
	t.Helper()
	var out []string
	require.NoError(t, filepath.WalkDir(b.dir, func(path string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(b.dir, path); !d.IsDir() {
			out = append(out, rel)
		}
		return err
	}))
	return out
}

func (b *bed) write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644))
}
