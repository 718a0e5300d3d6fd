package session_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
	"xlarun/xlabridge"
)

// growing is a pausing whose member has a wider hidden layer from step 4 on.
type growing struct{ *pausing }

func (g growing) Job() *run.Job {
	job := g.pausing.Job()
	env := envs.Erase(classic.CartPole{})
	job.Play = &run.Play{EvalEpisodes: 2, Goal: func(envs.Spec) float64 { return math.NaN() },
		Rollout: func() (*episode.Rollout, error) {
			g.at("evaluator")
			p, head, err := hidden(env, 2)
			return &episode.Rollout{Env: env, Policy: p, Head: head, Steps: 3, Episodes: 1}, err
		}}
	job.Start = func(context.Context, xlabridge.Backend) (run.Run, error) {
		return &grown{&paused{pausing: g.pausing}, env}, nil
	}
	return job
}

func hidden(env envs.Environment, width int) (policy.Policy, policy.Head, error) {
	return policy.Make("mlp", map[string]any{"hidden": fmt.Sprint(width)}, env.Spec().Observation, env.Spec().Action)
}

type grown struct {
	*paused
	env envs.Environment
}

func (g *grown) Describe() *run.Capabilities {
	can := g.paused.Describe()
	can.Members = g
	return can
}

func (g *grown) Candidates(s run.Snapshot) ([]run.Candidate, error) {
	width := 2
	if s.Step >= 4 {
		width = 3
	}
	p, _, err := hidden(g.env, width)
	if err != nil {
		return nil, err
	}
	return []run.Candidate{{Name: "mean", Params: p.Init(random.New(s.Step))}}, nil
}

// compiling is a backend that keeps its programs.
type compiling struct {
	closing
	programs []*xlabridge.Compiled
	open     []int // how many were open at each Compile, and at Close
}

func (c *compiling) count() {
	n := 0
	for _, p := range c.programs {
		if _, err := p.Call(nil); !strings.Contains(err.Error(), "was closed") {
			n++
		}
	}
	c.open = append(c.open, n)
}

func (c *compiling) Compile(p *graph.Program, o xlabridge.CompileOptions) (*xlabridge.Compiled, error) {
	c.count()
	compiled, err := c.closing.Compile(p, o)
	c.programs = append(c.programs, compiled)
	return compiled, err
}

func (c *compiling) Close() error { c.count(); return c.closing.Close() }

// The evaluator that was compiled beside the rounds evaluates the members of the checkpoint at which it is there, and
// of those after it. Members that have grown get another one. Each is closed when it is no longer used, before the
// backend.
func TestEvaluatorIsHandedOver(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	synctest.Test(t, func(t *testing.T) {
		p := &pausing{}
		b := &compiling{closing: closing{of: p}}
		slow := false
		saved := map[string]string{} // the step of the saved member when a step begins
		p.at = func(now string) {
			switch {
			case now == "evaluator" && !slow: // the first one: round 2 ends while it is compiled
				slow = true
				time.Sleep(5 * time.Second)
			case strings.HasPrefix(now, "step"):
				if f, err := safetensors.Open(filepath.Join(dir, "best.safetensors")); err == nil {
					saved[now] = fmt.Sprint(f.Metadata()["step"], ", programs ", len(b.programs))
					require.NoError(t, f.Close())
				}
			}
		}
		folder, err := runfolder.Create(dir, runfolder.Options{Keep: 5})
		require.NoError(t, err)
		outcome, err := session.Run(t.Context(), session.Options{Experiment: growing{p}, Folder: folder,
			Kind:    run.Kind{Name: "pausing", Unit: "step", Round: "step", Version: 1},
			Cadence: session.Cadence{Steps: 1},
			Open:    func(context.Context, run.Progress) (xlabridge.Backend, error) { return b, nil }})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"step 4": "3, programs 1"}, saved)
		require.EqualValues(t, 4, outcome.Step)
		require.Len(t, outcome.Best.EvalResult.Return, 2)
		require.Equal(t, []int{0, 0, 0}, b.open, "the first is closed before the second is compiled, that at the end")
		require.Equal(t, []string{"run", "backend"}, p.closed)
	})
}
