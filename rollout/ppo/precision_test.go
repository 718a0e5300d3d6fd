package ppo

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// What learns in half precision plays no illegal action and learns the right one, as in float32; logits,
// log-probabilities and ratios stay float32.
func TestLearnsUnderMasksInHalf(t *testing.T) {
	long.Only(t)
	b := xlatest.Open(t, 1)
	for _, precision := range []string{"bf16", "f16"} {
		r := start(t, b, small(func(c *Config) {
			c.Env, c.Policy, c.Envs, c.LearningRate, c.Steps, c.Precision = "Shelf-v0", "mlp:8", 16, settings.Num(.02),
				16*16*30, precision
		}))
		all := steps(t, r, 30)
		for i, m := range all {
			require.GreaterOrEqual(t, of(t, m, "min_return"), 0., "%s, update %d: an illegal action was played",
				precision, i)
			require.LessOrEqual(t, of(t, m, "entropy"), math.Log(3)+1e-5, "of three legal actions")
		}
		require.Greater(t, of(t, all[29], "mean_return"), .95, precision)
		if precision == "bf16" {
			require.EqualValues(t, 1, of(t, all[29], "loss_scale"))
		} else {
			require.GreaterOrEqual(t, of(t, all[29], "loss_scale"), 1.)
		}
	}
}

// In half precision networks compute in it and what they put out is float32, as are the parameters; what is remembered
// is of half precision, but what sums up over many steps. With one epoch of one minibatch ratios are near 1, by what
// rounding leaves.
func TestHalfIsWithinNetworks(t *testing.T) {
	for _, policy := range []string{"mlp:8", "gru:4", "lstm:4", "ctrnn:4", "mingru:4", "elman:4"} {
		config := small(func(c *Config) { c.Precision, c.Policy, c.Epochs, c.Minibatches = "bf16", policy, 1, 1 })
		g, err := config.program()
		require.NoError(t, err)
		s := g.start(random.New(0))
		for _, a := range graph.Leaves(s.Params) {
			require.Equal(t, graph.Float32, a.DType(), policy)
		}
		for _, a := range graph.Leaves(s.EnvStates.Actor) {
			want := graph.BFloat16
			if policy == "ctrnn:4" { // whose states add up small steps
				want = graph.Float32
			}
			require.Equal(t, want, a.DType(), policy)
		}
		_, out := g.actor.Act(s.Params.Actor, g.actor.Start(s.Params.Actor),
			graph.Float32s([]float32{.01, 1, -.02, .5}), random.New(0))
		require.Equal(t, graph.Float32, out.Action.DType(), policy)
		v := graphtest.Floats(t, out.Action)
		_, full := config.alike(t).actor.Act(s.Params.Actor, config.alike(t).actor.Start(
			s.Params.Actor), graph.Float32s([]float32{.01, 1, -.02, .5}), random.New(0))
		want := graphtest.Floats(t, full.Action)
		require.InDeltaSlice(t, want, v, 1e-2, policy)
		require.NotEqual(t, want, v, "%s: nothing was rounded", policy)
	}
	_, m := evalUpdates(t, smallProgram(t, func(c *Config) {
		c.Precision, c.Policy, c.Epochs, c.Minibatches = "bf16", "gru:4", 1, 1
	}), 2)
	require.InDelta(t, 0, m[1]["kl"], 1e-4)
	require.Less(t, m[1]["clip_fraction"], .01)
}

// alike is the program of the same settings in float32.
func (c Config) alike(t *testing.T) *program {
	t.Helper()
	c.Precision = "f32"
	g, err := c.program()
	require.NoError(t, err)
	return g
}

// A gradient that overflows moves nothing and halves the scale; the others move what they would without a scale.
func TestLossScale(t *testing.T) {
	// Rewards of 1e4 give gradients that no f16 holds under the first scale: they are skipped until it is small enough.
	_, m := evalUpdates(t, smallProgram(t, func(c *Config) { c.Precision, c.Env = "f16", "Paid10000-v0" }), 3)
	require.Greater(t, m[0]["skipped"], 0.)
	scale := m[0]["loss_scale"]
	require.Less(t, scale, 32768.)
	require.Equal(t, scale, math.Exp2(math.Round(math.Log2(scale))), "it is halved and doubled")
	require.Greater(t, m[2]["minibatches"], 8., "most are learned from by now")
}

type asTPU struct{ *xlabridge.Client }

func (asTPU) Backend() string { return "tpu" }

type withMethod struct {
	*xlabridge.Client
	method string
}

func (c withMethod) BF16Method() string { return c.method }

// Auto is bfloat16 on an accelerator, and on a CPU that has instructions for it if products are long. A backend without
// f16 refuses it in a sentence.
func TestPrecisionByBackend(t *testing.T) {
	b := xlatest.Open(t, 1)
	wide := "mlp:512,512"
	for _, c := range []struct {
		name, policy string
		on           xlabridge.Backend
		want         string
	}{
		{"short products", "mlp:16", withMethod{b, "avx512_bf16"}, "f32"},
		{"long products", wide, withMethod{b, "avx512_bf16"}, "bf16"},
		{"tiles", wide, withMethod{b, "amx"}, "bf16"},
		{"no instructions", wide, withMethod{b, ""}, "f32"},
		{"the interpreter", wide, &xlabridge.Reference{}, "f32"},
		{"an accelerator", "mlp:16", asTPU{b}, "bf16"},
	} {
		config := small(func(s *Config) { s.Precision, s.Policy = "auto", c.policy })
		got, err := config.resolved(c.on, config.program)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got.Precision, c.name)
	}
	training, err := New(&xlabridge.Reference{}, small(func(c *Config) { c.Precision = "auto" }))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, training.Close()) })
	require.Equal(t, "f32", training.Profile().Chosen["precision"], "what was chosen is kept")
	_, err = New(asTPU{b}, small(func(c *Config) { c.Precision = "f16" }))
	require.ErrorContains(t, err, "precision: got \"f16\", want bf16 or f32: the backend tpu does not compute in f16")
	_, err = New(&xlabridge.Reference{}, small(func(c *Config) { c.Precision = "f16" }))
	require.ErrorContains(t, err, "precision: got \"f16\", want bf16 or f32: the interpreter")
}
