package bench

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/internal/figures"
)

// targets are the ratios of the other program's wall time to ours that rows of the bench are to reach.
var targets = map[string]float64{
	"evolve/rollouts-small-gymnax": 5, "evolve/rollouts-wide-gymnax": 3.3, "evolve/generation-small": 7,
	"evolve/generation-wide": 3.3, "evolve/episodes": 2, "evolve/start-warm": 30, "evolve/sparse": 3.3,

	"ppo/ppo-cartpole": 2, "ppo/ppo-agents": 4, "ppo/ppo-breakout": 3, "ppo/ppo-gather": 3,
	"ppo/ppo-gather-valid": 3,

	"selfplay/selfplay-6-gumbel": 2.5, "selfplay/selfplay-6-puct": 4, "selfplay/selfplay-14-gumbel": 2.5,
	"selfplay/selfplay-step": 1.2, "selfplay/selfplay-batch-32": 10, "selfplay/selfplay-batch-64": 10,
	"selfplay/selfplay-batch-256": 10, "selfplay/selfplay-batch-512": 10,

	"grad/mlp": 1.1, "grad/cnn": .95, "grad/gru": .95, "grad/cnn-scan": 5,
	"grad/mlp-start-warm": 12, "grad/cnn-start-warm": 10, "grad/gru-start-warm": 12, "grad/cnn-scan-start-warm": 40,

	"half/dot-512-bf16": 1, "half/dot-1024-bf16": 1, "half/dot-2048-bf16": 1, "half/mlp-bf16": 1, "half/cnn-bf16": 1,
	"half/ppo-gather-bf16": 1,

	"spiking/members-spyx": 3, "spiking/members-jax": 3, "spiking/members-brainpy": 3, "spiking/batches-spyx": 1.5,
	"spiking/batches-jax": 1.5, "spiking/batches-brainpy": 1.5, "spiking/gradient-spyx": 1.5,
	"spiking/gradient-jax": 1.5, "spiking/gradient-brainpy": 1.5, "spiking/forage": 3,
	"spiking/dynamics-mechanistic": .8,

	"neuro/cartpole": 3, "neuro/acrobot": 3, "neuro/mountaincar": 3, "neuro/pendulum": 3, "neuro/cmaes": 3,
	"neuro/cmaes-1000": 3, "neuro/openes": 3, "neuro/breakout": 11, "neuro/gru": 3, "neuro/forage": 4,

	"qd/arm": 4, "qd/rastrigin": 4, "qd/cartpole-256": 6, "qd/cartpole-1024": 6, "qd/start-rastrigin": 20,
	"qd/start-cartpole-256": 20, "qd/cells-10000": 1 / 1.5, "qd/cells-100000": 1 / 1.5,

	"neat/xor-1000": 20, "neat/xor-10000-small": 20, "neat/xor-10000": 25, "neat/cartpole": 50,
	"neat/cartpole-genome": .25,

	"large/low-rank-openes": 4, "large/low-rank-inference-64": .9, "large/low-rank-inference-512": .9,

	"study/trials": 20, "study/workers": 1.95, "study/cartpole-threads": 4,

	"machines/two-200-one-200": 1.95, "machines/two-20-one-20": 1.7, "machines/model-1024": .9,
}

// missed are the targets that the newest figures do not reach.
var missed = []string{
	"evolve/start-warm", "grad/mlp", "grad/cnn-start-warm", "grad/gru-start-warm", "large/low-rank-openes",
	"machines/two-200-one-200", "machines/two-20-one-20", "neuro/cartpole", "neuro/acrobot", "neuro/mountaincar",
	"neuro/pendulum", "neuro/breakout", "ppo/ppo-agents", "ppo/ppo-breakout", "ppo/ppo-gather", "ppo/ppo-gather-valid",
	"qd/cartpole-256", "qd/cartpole-1024", "qd/start-rastrigin", "qd/cells-100000", "spiking/dynamics-mechanistic",
	"study/workers",
}

// unmeasured are the targets without a ratio in docs/figures.toml.
var unmeasured = []string{
	"neat/cartpole-genome",
}

// TestTargets compares the targets with docs/figures.toml. A figure that falls below its target, and one that reaches a
// target of the list missed, fail it.
func TestTargets(t *testing.T) {
	names := map[string]bool{}
	for _, s := range suites() {
		for _, w := range s.Workloads(Options{}) {
			if len(w.Peers) < 2 {
				names[s.Name+"/"+w.Name] = true
				continue
			}
			for _, p := range w.Peers {
				names[fmt.Sprintf("%s/%s-%s", s.Name, w.Name, p.Name)] = true
			}
		}
	}
	for _, r := range parallelSummary([]row{{Name: "small-10-1", Processor: 1}, {Name: "small-10-2"},
		{Name: "coordination"}}) {
		names["parallel/"+r.Name] = true // the model's
	}
	f, err := figures.Read(filepath.Join("..", "..", "..", "docs", "figures.toml"))
	require.NoError(t, err)
	compared := 0
	for _, id := range slices.Sorted(maps.Keys(targets)) {
		require.Contains(t, names, id, "a target of no workload")
		row, err := f.Find(id)
		measured := err == nil && row.Ratio != 0
		assert.Equal(t, slices.Contains(unmeasured, id), !measured, "%s: measured %t", id, measured)
		if !measured {
			continue
		}
		compared++
		if slices.Contains(missed, id) != (row.Ratio < targets[id]) {
			t.Errorf("%s: %.3g, the target is %.3g", id, row.Ratio, targets[id])
		}
	}
	require.Greater(t, compared, 30)
	for _, r := range f.Figures {
		if !strings.HasPrefix(r.ID, "commands/") {
			require.Contains(t, names, r.ID, "a figure of no workload")
		}
	}
	for _, id := range slices.Concat(missed, unmeasured) {
		require.Contains(t, targets, id)
	}
}
