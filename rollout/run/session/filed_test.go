package session_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
	"xlarun/xlabridge"
)

// A run of a policy of a file begins with the file's numbers, and its members are played without the file.
func TestMembersOfAPolicyOfAFileNeedNoFile(t *testing.T) {
	dir := t.TempDir()
	g, err := nir.FromLayers(nir.Scale{DT: 1e-3}, nn.NewDense(random.New(1), 8, 3), nn.NewLIF(random.New(2), 3,
		nn.Decay(.9)), nn.NewDense(random.New(3), 3, 2), nn.NewLI(2))
	require.NoError(t, err)
	file := filepath.Join(dir, "network.nir")
	require.NoError(t, g.WriteFile(file))
	_, want, _, err := policy.ReadNIR(file)
	require.NoError(t, err)
	kind, _ := run.Lookup("evolve")
	c := kind.New().(*evolve.Config)
	c.Env, c.Policy, c.Population, c.Generations, c.Steps, c.EvalEpisodes = "CartPole-v1", "nir:"+file, 4, 1, 3, 2
	*c = c.With("strategy.learning-rate", 1e-30).With("policy.gain", 2.5) // the mean stays where it is
	f, err := runfolder.Create(filepath.Join(dir, "run"), runfolder.Options{})
	require.NoError(t, err)
	_, err = session.Run(context.Background(), session.Options{
		Kind: kind, Experiment: c, Folder: f,
		Open: func(context.Context, run.Progress) (xlabridge.Backend, error) { return &xlabridge.Reference{}, nil },
	})
	require.NoError(t, err)
	require.Len(t, c.Parted["policy.sha256"], 64, "the run is of the file as it was at first")
	require.NoError(t, os.Remove(file))
	m, err := episode.Load(filepath.Join(dir, "run", run.FinalMember+".safetensors"))
	require.NoError(t, err)
	require.Contains(t, m.Metadata["policy_settings"], `"layers":"affine:8:3,lif:3,affine:3:2,li:2"`)
	require.Equal(t, 2.5, policy.NetworkOf(m.Policy).(*policy.NIR).Gain)
	got := graph.Leaves(m.Params)
	for i, a := range graph.Leaves(want) {
		x, err := graph.Floats(a)
		require.NoError(t, err)
		y, err := graph.Floats(got[i])
		require.NoError(t, err)
		require.Equal(t, x, y)
	}
}
