package session_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// halving is an experiment whose value becomes half in each step. It is done at its goal.
type halving struct {
	run.Common
	Steps int `set:"steps" min:"1" help:"steps"`

	start error
	step  func(n int64)
	fails int64  // the step in which all members fail
	files func() // called by Files
	job   *run.Job
}

func (h *halving) Job() *run.Job {
	h.job = &run.Job{Title: "halving", Last: int64(h.Steps), Start: h.Start,
		Board: func() []run.DisplayRow { return run.Curves("value") }}
	return h.job
}

// Start returns a nil *halved with its error, as kinds do whose Start returns what another function returned.
func (h *halving) Start(_ context.Context, b xlabridge.Backend) (run.Run, error) {
	return newHalved(b, h)
}

type halved struct {
	*run.Loop
	step  func(n int64)
	fails int64
	files func()
	job   *run.Job // nil: it has another one
}

func newHalved(b xlabridge.Backend, h *halving) (*halved, error) {
	if h.start != nil {
		return nil, h.start
	}
	l, err := run.NewLoop(b, run.LoopOptions{Name: "halve", Metrics: []string{"value"}, Work: 1,
		Goal: run.Value{Number: math.NaN()}}, struct{ X *graph.Array }{graph.Scalar(1)}, graph.None{},
		func(s struct{ X *graph.Array }, _ graph.None) (struct{ X *graph.Array }, *graph.Array) {
			s.X = s.X.Mul(.5)
			return s, s.X
		})
	if err != nil {
		return nil, err
	}
	return &halved{l, h.step, h.fails, h.files, h.job}, nil
}

func (h *halved) Step(ctx context.Context) (run.Metrics, error) {
	if h.step != nil {
		h.step(h.Steps() + 1)
	}
	if h.job != nil {
		h.job.Notice("in step " + strconv.FormatInt(h.Steps()+1, 10))
	}
	m, err := h.Loop.Step(ctx)
	if m.Step == h.fails {
		m.Failed = func(context.Context) error { return errors.New("no member has a result") }
	}
	return m, err
}

func (h *halved) Describe() *run.Capabilities {
	can := h.Loop.Describe()
	can.Files = h.Files
	return can
}

// Files returns the step of the state.
func (h *halved) Files(run.Snapshot, bool) ([]run.File, error) {
	if h.files != nil {
		h.files()
	}
	return []run.File{{Name: "step.json", JSON: h.Steps()}}, nil
}

// watch is an Observer that counts.
type watch struct {
	phases, notices []string
	values          []float64
	outcome         *session.Outcome
	err             error // of Close
}

func (w *watch) Download(int64, int64)          {}
func (w *watch) Notice(line string)             { w.notices = append(w.notices, line) }
func (w *watch) Phase(text string)              { w.phases = append(w.phases, text) }
func (w *watch) Progress(session.Progress)      {}
func (w *watch) Moved(string)                   {}
func (w *watch) Close(o *session.Outcome) error { w.outcome = o; return w.err }
func (w *watch) Report(n session.RoundReport) {
	x, _ := n.Metrics.Get("value")
	w.values = append(w.values, x)
}

func options(h *halving, w *watch) session.Options {
	return session.Options{
		Kind: run.Kind{Name: "halving", Unit: "step", Round: "step", Version: 1}, Experiment: h, Observer: w,
		Open: func(context.Context, run.Progress) (xlabridge.Backend, error) { return &xlabridge.Reference{}, nil },
	}
}

// A run without files: the observer sees every round, and the outcome has the last metrics.
func TestRunWithoutAFolder(t *testing.T) {
	w := &watch{}
	o, err := session.Run(context.Background(), options(&halving{Steps: 3}, w))
	require.NoError(t, err)
	require.Equal(t, []float64{.5, .25, .125}, w.values)
	require.Equal(t, []string{"tracing and compiling", "the first step"}, w.phases)
	require.Equal(t, []string{"in step 1", "in step 2", "in step 3"}, w.notices[len(w.notices)-3:])
	require.Same(t, o, w.outcome)
	require.Equal(t, "last", o.EndedBy)
	require.EqualValues(t, 3, o.Step)
	require.Equal(t, .125, o.Metrics["value"])
	require.Contains(t, o.Summary[0], "stopped at the last of 3 steps: value 0.125")
	require.Nil(t, o.Best)
	// What a reader takes for the time of the training is mostly something else in a short run.
	require.Regexp(t, `^\d+ % of \d+\.\d s without training: \d+\.\d s until the first step, `+
		`\d+\.\d s for members and files$`, o.Summary[1])
	at := slices.IndexFunc(o.JSON, func(f run.Fact) bool { return f.Name == "training_share" })
	share := *o.JSON[at].Value.(*float64)
	require.Greater(t, share, 0.)
	require.Less(t, share, 1.)

	w.err = errors.New("nobody reads")
	_, err = session.Run(context.Background(), options(&halving{Steps: 1}, w))
	require.ErrorIs(t, err, w.err, "an error of the observer is one of the run")
}

// TestSlowFilesDoNotKeepTheStateOld: the further files of the first step take 100 ms. The state that an
// interrupt saved 600 ms later was the first step's, because it was copied again after 50 times as long.
func TestSlowFilesDoNotKeepTheStateOld(t *testing.T) { synctest.Test(t, slowFilesDoNotKeepTheStateOld) }

func slowFilesDoNotKeepTheStateOld(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	once := sync.OnceFunc(func() { time.Sleep(100 * time.Millisecond) })
	o := options(&halving{Steps: 100, files: once, step: func(n int64) {
		time.Sleep(30 * time.Millisecond)
		if n == 20 {
			cancel()
			time.Sleep(time.Second) // longer than the interrupt waits for a step
		}
	}}, &watch{})
	var err error
	o.Folder, err = runfolder.Create(filepath.Join(t.TempDir(), "run"), runfolder.Options{})
	require.NoError(t, err)
	_, err = session.Run(ctx, o)
	require.ErrorAs(t, err, new(session.InterruptedError))
	require.Regexp(t, `the state of step ([2-9]|1\d) is in `, err.Error())
	time.Sleep(time.Second) // until that step ends
}

// A run that was interrupted in step 4 goes on from its folder, and writes what the whole run writes.
func TestResumeFromAFolder(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) *runfolder.Folder {
		f, err := runfolder.Create(filepath.Join(dir, name), runfolder.Options{})
		require.NoError(t, err)
		return f
	}
	whole := options(&halving{Steps: 9}, &watch{})
	whole.Folder = in("whole")
	_, err := session.Run(context.Background(), whole)
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	first := options(&halving{Steps: 9, step: func(n int64) {
		if n == 4 {
			cancel()
		}
	}}, &watch{})
	first.Folder = in("again")
	first.Config = func(chosen settings.Values, _ bool) (string, error) {
		require.NotNil(t, chosen, "the run is new")
		return "steps = 9\n", nil
	}
	o, err := session.Run(ctx, first)
	require.ErrorAs(t, err, new(session.InterruptedError))
	require.Regexp(t, `^interrupted after step [34]; the state of step \d is in .+/00000\d\.safetensors$`, err.Error())
	require.Equal(t, "stopped", o.EndedBy)

	second := options(&halving{Steps: 9}, &watch{})
	second.Folder, err = runfolder.Open(filepath.Join(dir, "again"), runfolder.Options{})
	require.NoError(t, err)
	c, _, err := second.Folder.Newest()
	require.NoError(t, err)
	second.Resume = &c
	o, err = session.Run(context.Background(), second)
	require.NoError(t, err)
	require.EqualValues(t, 9, o.Step)
	read := func(names ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{dir}, names...)...))
		require.NoError(t, err)
		return string(text)
	}
	require.Equal(t, read("whole", "metrics.jsonl"), read("again", "metrics.jsonl"))
	require.Equal(t, "steps = 9\n", read("again", "config.toml"))
	require.NoFileExists(t, filepath.Join(dir, "whole", "config.toml"))
}

// A closed Stop interrupts a run, as the end of its context does.
func TestStopInterrupts(t *testing.T) {
	stop := make(chan struct{})
	o := options(&halving{Steps: 1 << 30, step: func(n int64) {
		if n == 3 {
			close(stop)
		}
	}}, &watch{})
	o.Stop = stop
	_, err := session.Run(context.Background(), o)
	require.ErrorAs(t, err, new(session.InterruptedError))
}

// A Start that fails leaves no run to close, and a new folder is removed.
func TestStartThatFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	wrong := settings.Wrong("steps", 0, "more")
	w := &watch{}
	o := options(&halving{Steps: 3, start: wrong}, w)
	var err error
	o.Folder, err = runfolder.Create(dir, runfolder.Options{})
	require.NoError(t, err)
	_, err = session.Run(context.Background(), o)
	require.Equal(t, error(wrong), err, "as it is")
	require.NoDirExists(t, dir)
	require.Empty(t, slices.Concat(w.outcome.Summary, w.notices))
}

// A round in which all members fail ends the run with an error. Its row and its state are written. Such runs once went
// on to their last round with status 0.
func TestFailedRoundsEndTheRun(t *testing.T) {
	f, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), runfolder.Options{})
	require.NoError(t, err)
	o := options(&halving{Steps: 5, fails: 3}, &watch{})
	o.Folder = f
	outcome, err := session.Run(t.Context(), o)
	require.EqualError(t, err, "step 3: no member has a result")
	require.EqualValues(t, 3, outcome.Step)
	require.Equal(t, "stopped", outcome.EndedBy)
	rows, err := os.ReadFile(filepath.Join(f.Dir(), "metrics.jsonl"))
	require.NoError(t, err)
	require.Contains(t, string(rows), `"step":3`)
	require.FileExists(t, filepath.Join(f.Dir(), "checkpoints", "000003.safetensors"))
}

// The kind's files belong to the saved state, also if an interrupt comes while a round is under way. They were once
// those of the last checkpoint.
func TestFilesAreOfTheSavedState(t *testing.T) { synctest.Test(t, filesAreOfTheSavedState) }

func filesAreOfTheSavedState(t *testing.T) {
	f, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), runfolder.Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	h := &halving{Steps: 1000}
	h.step = func(n int64) {
		if n <= 4 {
			time.Sleep(250 * time.Millisecond) // a copy of the state is due after each round
			return
		}
		cancel()
		<-release
	}
	o := options(h, &watch{})
	o.Folder, o.Cadence.Steps = f, 1000
	_, err = session.Run(ctx, o)
	require.ErrorAs(t, err, new(session.InterruptedError))
	require.ErrorContains(t, err, "000004.safetensors")
	text, err := os.ReadFile(filepath.Join(f.Dir(), "step.json"))
	require.NoError(t, err)
	require.Equal(t, "4", strings.TrimSpace(string(text)))
}
