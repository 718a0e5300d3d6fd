package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "xlarun/envs/classic"
	"xlarun/rollout/islands"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
	"xlarun/xlabridge"
)

// reader compares islands.json with the metrics of the generation before, whose checkpoint is the newest. The session
// calls it in a goroutine of its own, so a failure must not end the goroutine: it asserts.
type reader struct {
	watch
	t     *testing.T
	dir   string
	means []float64
}

func (r *reader) Report(n session.RoundReport) {
	if r.means != nil {
		var file struct {
			Islands []struct {
				Mean float64 `json:"mean_fitness"`
			}
		}
		text, err := os.ReadFile(filepath.Join(r.dir, "islands.json"))
		assert.NoError(r.t, err)
		assert.NoError(r.t, json.Unmarshal(text, &file))
		for i, want := range r.means {
			assert.Equal(r.t, want, file.Islands[i].Mean, "island %d before generation %d", i, n.Metrics.Step)
		}
	}
	r.means = nil
	for i := range 2 {
		mean, ok := n.Metrics.Get(fmt.Sprintf("mean_%d", i))
		assert.True(r.t, ok)
		r.means = append(r.means, mean)
	}
}

// A kind's files are written with each checkpoint, also where the members were evaluated a short time ago. They were
// written with each evaluation: a run that was killed after its last checkpoint kept the islands.json of an earlier
// one.
func TestFilesAreAsNewAsTheCheckpoint(t *testing.T) {
	kind, ok := run.Lookup("islands")
	require.True(t, ok)
	c := kind.New().(*islands.Islands)
	c.Env, c.Policy, c.Population, c.Generations, c.Steps, c.Target = "Pendulum-v1", "linear", 4, 6, 5, "0"
	c.Islands = 2
	c.Migrants = 1
	c.EvalEpisodes = 40 // long beside a generation
	r := &reader{t: t, dir: filepath.Join(t.TempDir(), "run")}
	folder, err := runfolder.Create(r.dir, runfolder.Options{})
	require.NoError(t, err)
	o, err := session.Run(context.Background(), session.Options{Kind: kind, Experiment: c, Observer: r, Folder: folder,
		Cadence: session.Cadence{Steps: 1},
		Open:    func(context.Context, run.Progress) (xlabridge.Backend, error) { return &xlabridge.Reference{}, nil }})
	require.NoError(t, err)
	require.EqualValues(t, 6, o.Step)
}
