package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/episode"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// pausing is an experiment that calls at in each of its functions, and so do its run, its backend and its observer.
type pausing struct {
	run.Common
	at     func(place string)
	place  string // where the test stops
	closed []string
}

func (p *pausing) Job() *run.Job {
	return &run.Job{Title: "pausing", Last: 4,
		Board:   func() []run.DisplayRow { return run.Curves("value") },
		Remark:  func() string { p.at("remark"); return "" },
		Prepare: func(context.Context, bool, run.Progress) error { p.at("prepare"); return nil },
		Fetch:   func(context.Context, run.Progress) error { p.at("fetch"); return nil },
		Play: &run.Play{EvalEpisodes: 1, Rollout: func() (*episode.Rollout, error) {
			p.at("evaluator")
			return nil, errors.New("no environment")
		}},
		Start: func(context.Context, xlabridge.Backend) (run.Run, error) {
			p.at("start")
			return &paused{pausing: p}, nil
		}}
}

func (p *pausing) Check(plan.Machine) error { return nil }

type paused struct {
	*pausing
	step int64
}

func (p *paused) Describe() *run.Capabilities {
	p.at("describe")
	return &run.Capabilities{Members: p,
		Ending: func(m run.Metrics) string {
			p.at(fmt.Sprintf("ending %d", m.Step))
			return fmt.Sprint("at ", m.Step)
		},
		Reached: func(func(string) float64) bool { p.at("reached"); return false },
		Table:   func() []string { p.at("table"); return []string{"a table"} },
		Files: func(s run.Snapshot, ended bool) ([]run.File, error) {
			p.at(fmt.Sprintf("files %d", s.Step))
			return []run.File{{Name: "step.json", JSON: s.Step}}, nil
		},
		Reevaluate: func(context.Context, run.Snapshot, func(float64)) ([]run.Fact, error) {
			p.at("reevaluate")
			return nil, nil
		},
		Phases: func(context.Context, int) ([]run.Phase, error) {
			p.at("phases")
			return []run.Phase{{Name: "all", Seconds: 1}}, nil
		}}
}

func (p *paused) Step(context.Context) (run.Metrics, error) {
	time.Sleep(3 * time.Second) // so that phases are timed after the second
	p.at(fmt.Sprintf("step %d", p.step+1))
	p.step++
	m := run.Metrics{Step: p.step, Work: 1, Values: []run.Value{{Name: "value", Number: float64(p.step)}}}
	if p.place == "failed" {
		m.Failed = func(context.Context) error { p.at("failed"); return errors.New("all failed") }
	}
	return m, nil
}

func (p *paused) Snapshot(ctx context.Context) (run.Snapshot, error) {
	p.at(fmt.Sprintf("snapshot %d", p.step))
	return run.Snapshot{Step: p.step, Arrays: map[string]*graph.Array{"x": graph.Float32s([]float32{1})}}, nil
}

func (p *paused) Restore(ctx context.Context, s run.Snapshot) error {
	p.at("restore")
	p.step = s.Step
	return nil
}

func (p *paused) Profile() run.Profile { p.at("profile"); return run.Profile{Devices: 1} }

func (p *paused) Candidates(s run.Snapshot) ([]run.Candidate, error) {
	p.at(fmt.Sprintf("judge %d", s.Step))
	if p.place == "evaluator" {
		return []run.Candidate{{Name: "mean"}}, nil
	}
	return nil, nil
}

func (p *paused) HallEntries(run.Snapshot) ([]run.HallEntry, error) { return nil, nil }

func (p *paused) Close() error { p.at("close"); p.closed = append(p.closed, "run"); return nil }

// closing is a backend that says when it was closed.
type closing struct {
	xlabridge.Reference
	of *pausing
}

func (c *closing) Close() error { c.of.closed = append(c.of.closed, "backend"); return nil }

// asked is an Observer that calls at.
type asked struct {
	watch
	at func(place string)
}

func (a *asked) Close(*session.Outcome) error { a.at("outcome"); return nil }

func (a *asked) Report(n session.RoundReport) { a.at(fmt.Sprintf("report %d", n.Metrics.Step)) }

// An interrupt in any state saves the newest state that is on the host, with its files, within the grace. A call that
// does not return is left alone: what it uses is closed when it returns.
func TestInterruptInEveryState(t *testing.T) {
	const early = "interrupted before the first step was done; nothing was written"
	resumed := "interrupted before a further step was done; the run in DIR goes on from step 2"
	after := func(step, saved int) string {
		return fmt.Sprintf("interrupted after step %d; the state of step %d is in DIR/checkpoints/%06d.safetensors",
			step, saved, saved)
	}
	for _, c := range []struct {
		place           string
		returns, stays  string // the error when the call returns at the interrupt, and when it does not
		atStep, stuckAt int    // the step of the outcome, in both cases
	}{
		{"prepare", early, early, 0, 0},
		{"fetch", early, early, 0, 0},
		{"open", early, early, 0, 0},
		{"start", early, early, 0, 0},
		{"step 1", after(1, 1), early, 1, 0},
		{"report 1", after(1, 1), "interrupted after step 1", 1, 1},
		{"snapshot 1", after(1, 1), "interrupted after step 1", 1, 1},
		{"files 1", after(1, 1), after(1, 1), 1, 1},
		{"judge 1", after(1, 1), after(1, 1), 1, 1},
		{"step 2", after(2, 2), after(1, 1), 2, 1},
		{"report 2", after(2, 2), after(2, 1), 2, 2},
		{"snapshot 2", after(2, 2), after(2, 1), 2, 2},
		{"files 2", after(2, 2), after(2, 1), 2, 2},
		{"phases", after(2, 2), after(2, 2), 2, 2},
		{"step 3", after(3, 3), after(2, 2), 3, 2},
		{"report 4", after(4, 4), after(4, 3), 4, 4},
		{"reevaluate", after(4, 4), after(4, 4), 4, 4},
		{"table", after(4, 4), after(4, 4), 4, 4},
		{"restore", resumed, resumed, 0, 0},
		{"reached", resumed, resumed, 0, 0},
		{"describe", early, early, 0, 0},
		{"profile", early, early, 0, 0},
		{"config", early, early, 0, 0},
		{"remark", early, early, 0, 0},
		{"ending 2", after(2, 2), after(1, 1), 2, 1},
		{"failed", after(1, 1) + "; step 1: all failed", after(1, 1), 1, 1},
		{"outcome", "", "interrupted at the end: the outcome is not read: its lines may be missing", 4, 4},
		{"close", "", "", 4, 4},
	} {
		for _, stays := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s stays=%v", c.place, stays), func(t *testing.T) {
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					interruptAt(t, filepath.Join(dir, "run"), c.place, stays, func(o *session.Outcome, err error) {
						want, step := c.returns, c.atStep
						if stays {
							want, step = c.stays, c.stuckAt
						}
						want = strings.ReplaceAll(want, "DIR", filepath.Join(dir, "run"))
						if want == "" {
							require.NoError(t, err, "the run is over")
						} else {
							require.EqualError(t, err, want)
							require.ErrorAs(t, err, new(session.InterruptedError))
						}
						require.EqualValues(t, step, o.Step)
						if !strings.Contains(want, "the state of") {
							return
						}
						if stays && c.place == "files 1" { // the first state is saved without them
							require.NoFileExists(t, filepath.Join(dir, "run", "step.json"))
							return
						}
						saved := want[strings.Index(want, ".safetensors")-1:][:1]
						text, err := os.ReadFile(filepath.Join(dir, "run", "step.json"))
						require.NoError(t, err)
						require.Equal(t, saved, strings.TrimSpace(string(text)), "the files are of the saved state")
						rows, err := os.ReadFile(filepath.Join(dir, "run", "metrics.jsonl"))
						require.NoError(t, err)
						require.Equal(t, step, strings.Count(string(rows), "\n"))
						require.FileExists(t, filepath.Join(dir, "run", "profile.json"))
					})
				})
			})
		}
	}
}

// The evaluator is compiled while the rounds go on, and the end waits for it. An interrupt does not: what the compiler
// uses is closed when it returns.
func TestEvaluatorIsCompiledBesideTheRounds(t *testing.T) {
	for _, c := range []struct {
		takes       time.Duration // of the compiler; a round takes 3 s
		interruptAt string
		want        string
	}{
		{5 * time.Second, "", "no environment"},
		{time.Minute, "", "no environment"},
		{time.Minute, "step 3", "interrupted after step 3; the state of step 3 is in DIR/checkpoints/000003"},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				p := &pausing{place: "evaluator"}
				start := time.Now()
				var begun atomic.Bool // the metadata of a member need the rollout, too
				var compiled time.Duration
				var steps []time.Duration
				p.at = func(now string) {
					switch {
					case now == "evaluator" && begun.CompareAndSwap(false, true):
						time.Sleep(c.takes)
						compiled = time.Since(start)
					case strings.HasPrefix(now, "step"):
						steps = append(steps, time.Since(start))
					}
					if now == c.interruptAt {
						cancel()
					}
				}
				folder, err := runfolder.Create(dir, runfolder.Options{Keep: 5})
				require.NoError(t, err)
				outcome, err := session.Run(ctx, session.Options{Experiment: p, Folder: folder,
					Kind:    run.Kind{Name: "pausing", Unit: "step", Round: "step", Version: 1},
					Cadence: session.Cadence{Steps: 1}, Open: func(context.Context, run.Progress) (xlabridge.Backend,
						error) {
						return &closing{of: p}, nil
					}})
				require.ErrorContains(t, err, strings.ReplaceAll(c.want, "DIR", dir))
				require.Equal(t, c.interruptAt != "", outcome.Abandoned)
				require.Equal(t, 6*time.Second, steps[1], "the second round does not wait")
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				require.Equal(t, 3*time.Second+c.takes, compiled)
				require.Equal(t, []string{"run", "backend"}, p.closed)
			})
		})
	}
}

// A function that opens a *Client returned it with its error as a Backend that is not nil: a panic hid the error.
func TestErrorOfOpenIsKept(t *testing.T) {
	missing := errors.New("no plugin")
	_, err := session.Run(t.Context(), session.Options{Kind: run.Kind{Name: "pausing", Unit: "step", Round: "step"},
		Experiment: &pausing{at: func(string) {}},
		Open: func(context.Context, run.Progress) (xlabridge.Backend, error) {
			return (*xlabridge.Client)(nil), missing
		}})
	require.ErrorIs(t, err, missing)
}

// interruptAt runs a session that is interrupted at a place, whose call returns then or long after the grace.
func interruptAt(t *testing.T, dir, place string, stays bool, check func(*session.Outcome, error)) {
	const grace = 800 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var interrupted time.Time
	p := &pausing{place: place}
	p.at = func(now string) {
		if now != place || !interrupted.IsZero() {
			return
		}
		interrupted = time.Now()
		cancel()
		if stays {
			time.Sleep(time.Minute)
		}
	}
	o := session.Options{Kind: run.Kind{Name: "pausing", Unit: "step", Round: "step", Version: 1}, Experiment: p,
		Observer: &asked{at: p.at}, TimePhases: true, Cadence: session.Cadence{Steps: 1},
		Grace:  func() time.Duration { return grace },
		Config: func(settings.Values, bool) (string, error) { p.at("config"); return "", nil },
		Open: func(context.Context, run.Progress) (xlabridge.Backend, error) {
			p.at("open")
			return &closing{of: p}, nil
		}}
	var err error
	o.Folder, err = runfolder.Create(dir, runfolder.Options{Keep: 5})
	require.NoError(t, err)
	if place == "restore" || place == "reached" {
		first := o
		first.Ends.Rounds = 2
		_, err = session.Run(t.Context(), first)
		require.NoError(t, err)
		o.Folder, err = runfolder.Open(dir, runfolder.Options{Keep: 5})
		require.NoError(t, err)
		c, _, err := o.Folder.Newest()
		require.NoError(t, err)
		delete(c.Info, session.InfoDone) // the goal is another one
		o.Resume = &c
		p.closed = nil
	}
	outcome, err := session.Run(ctx, o)
	require.False(t, interrupted.IsZero(), "it does not get there")
	require.LessOrEqual(t, time.Since(interrupted), grace)
	check(outcome, err)
	require.Equal(t, stays, outcome.Abandoned)
	time.Sleep(2 * time.Minute)
	synctest.Wait()
	var used []string // what was made, also by a call that was left alone
	switch place {
	case "prepare", "fetch":
	case "open":
		used = []string{"backend"}
	default:
		used = []string{"run", "backend"}
	}
	require.Equal(t, used, p.closed)
}
