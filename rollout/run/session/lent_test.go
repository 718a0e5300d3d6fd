package session_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/internal/long"
	"xlarun/rollout/evolve"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// lentRun runs three generations of a small population. It returns the files of its folder, and the outcome.
func lentRun(t *testing.T, b xlabridge.Backend, change func(c *evolve.Config)) (map[string]string, *session.Outcome) {
	kind, _ := run.Lookup("evolve")
	c := kind.New().(*evolve.Config)
	c.Env, c.Policy, c.Population, c.Generations, c.Steps, c.Target = "CartPole-v1", "linear", 8, 3, 20, "0"
	c.Devices, c.EvalEpisodes = 1, 4
	change(c)
	dir := filepath.Join(t.TempDir(), "run")
	folder, err := runfolder.Create(dir, runfolder.Options{Keep: 3})
	require.NoError(t, err)
	o, err := session.Run(context.Background(), session.Options{Kind: kind, Experiment: c, Folder: folder,
		Cadence: session.Cadence{Steps: 1},
		Open:    func(context.Context, run.Progress) (xlabridge.Backend, error) { return b, nil }})
	require.NoError(t, err)
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".safetensors") {
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(data)
		return err
	}))
	return files, o
}

// A run whose state is not copied leaves the same checkpoints and members, to the byte, and the outcome has the
// best member. The short form compiles one of the runs.
func TestLentStateLeavesTheSameFiles(t *testing.T) {
	for i, change := range []func(c *evolve.Config){
		func(*evolve.Config) {}, // the program of TestStudy in cmd/xlarun-study
		func(c *evolve.Config) { c.Strategy = "eggroll" },
		func(c *evolve.Config) { c.HallOfFame, c.Patience = "2", 9 },
		func(c *evolve.Config) { c.Restarts, c.Strategy = "ipop", "cmaes" },
	} {
		open := func() xlabridge.Backend {
			if i > 0 && !long.On() {
				return &xlabridge.Reference{}
			}
			return xlatest.Open(t, 1)
		}
		want, copied := lentRun(t, open(), change)
		require.Contains(t, want, "/best.safetensors")
		require.Contains(t, want, "/checkpoints/000003.safetensors")
		t.Run("lent", func(t *testing.T) {
			session.Lend(t, 1)
			got, lent := lentRun(t, open(), change)
			require.Len(t, got, len(want))
			for name, data := range want {
				require.True(t, data == got[name], "%s differs", name)
			}
			require.Equal(t, copied.Best.EvalResult, lent.Best.EvalResult)
			a, b := graph.Leaves(copied.Best.Params), graph.Leaves(lent.Best.Params)
			require.NotEmpty(t, a)
			for i := range a {
				x, err := graph.Floats(a[i])
				require.NoError(t, err)
				y, err := graph.Floats(b[i])
				require.NoError(t, err)
				require.Equal(t, x, y)
			}
		})
	}
}

// lending is a halving whose state is lent.
type lending struct{ *halved }

func (l lending) Describe() *run.Capabilities {
	can := l.halved.Describe()
	can.InPlace = l.StateInPlace
	return can
}

func (l lending) Snapshot(ctx context.Context) (run.Snapshot, error) {
	return run.Snapshot{}, errors.New("the state was copied")
}

type lendingExperiment struct{ *halving }

func (e lendingExperiment) Job() *run.Job {
	job := e.halving.Job()
	job.Start = func(_ context.Context, b xlabridge.Backend) (run.Run, error) {
		h, err := newHalved(b, e.halving)
		return lending{h}, err
	}
	return job
}

// An interrupt inside of a round of a run whose state is lent leaves the last checkpoint, and says which.
func TestInterruptOfALentState(t *testing.T) {
	session.Lend(t, 1)
	ctx, cancel := context.WithCancel(context.Background())
	inside := make(chan struct{})
	h := &halving{Steps: 9, step: func(n int64) {
		if n == 3 {
			close(inside)
			select {} // the session leaves a call that does not end, and so does the test
		}
	}}
	o := options(h, &watch{})
	o.Experiment, o.Cadence = lendingExperiment{h}, session.Cadence{Steps: 2}
	dir := filepath.Join(t.TempDir(), "run")
	var err error
	o.Folder, err = runfolder.Create(dir, runfolder.Options{Keep: 3})
	require.NoError(t, err)
	go func() { <-inside; cancel() }()
	_, err = session.Run(ctx, o)
	require.ErrorContains(t, err, "interrupted after step 2; the state of step 2 is in "+
		filepath.Join(dir, "checkpoints", "000002.safetensors"))
}
