package episode

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
)

// TestNaNObservations: what docs/how-to/members.md says of an observation that is NaN holds in Go, too.
// python/tests/test_bad_arguments.py has the same for NumPy.
func TestNaNObservations(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.safetensors")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		m, err := Load(path)
		require.NoError(t, err)
		if m.Metadata["policy"] == "vector" {
			continue // it observes nothing
		}
		if m.Actions() != "" {
			require.NoError(t, m.SetActions(policy.Greedy))
		}
		dims := m.Env.Spec().Observation.Shape().Dims
		nan := graph.Full(graph.ShapeOf(graph.Float32, dims...), math.NaN())
		_, out := m.Policy.Act(m.Params, m.Policy.Start(m.Params), nan, random.New(0))
		for _, x := range floats(t, out.Action) {
			assert.True(t, math.IsNaN(x), path)
		}
		for _, x := range floats(t, m.Head.Action(out.Action)) {
			assert.True(t, math.IsNaN(x) || x == 0, path) // the first NaN is the largest
		}
	}
}
