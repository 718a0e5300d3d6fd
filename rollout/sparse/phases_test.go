package sparse

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// WarmUp and Phases do not change the state, to the byte, nor the rest of the run.
func TestWarmUpAndPhasesLeaveNoTrace(t *testing.T) {
	d := stripes(6, 200, 70)
	for _, method := range []string{"kernel", "masked"} {
		t.Run(method, func(t *testing.T) {
			c := tiny() // 12 steps, mutations after 5 and 10
			c.Method, c.Devices = method, 2
			b := open(t, 2)
			_, want := train(t, b, c, d)
			p, err := New(t.Context(), b, c, d)
			require.NoError(t, err)
			defer func() { require.NoError(t, p.Close()) }()
			names := []string{"sparse_members", "sparse_index", "sparse_train", "sparse_mutate", "sparse_evaluate",
				"sparse_member"}
			phases := []string{"batch", "update", "evaluation", "mutation", "index"}
			if method == "masked" {
				names, phases = append(names[:1], names[2:]...), phases[:4]
			}
			check := func() {
				t.Helper()
				before, err := p.Snapshot(t.Context())
				require.NoError(t, err)
				seconds, err := run.WarmUp(t.Context(), &training{Population: p})
				require.NoError(t, err)
				require.Positive(t, seconds)
				found, err := p.Phases(t.Context(), 2)
				require.NoError(t, err)
				often := []float64{1, 1, 1 / float64(p.config.TestEvery),
					1 / float64(c.MutateEvery), 1 / float64(c.MutateEvery)}
				for i, x := range found {
					require.Equal(t, phases[i], x.Name)
					require.InEpsilon(t, often[i], x.PerUnit(), 1e-9, x.Name)
					require.Equal(t, x.Name == "update", x.Cost.FLOPs > 0, x.Name)
					require.Positive(t, x.Runs[0])
					require.GreaterOrEqual(t, x.Seconds, x.Runs[0])
				}
				require.Len(t, found, len(phases))
				after, err := p.Snapshot(t.Context())
				require.NoError(t, err)
				require.Equal(t, before.Step, after.Step)
				require.Equal(t, hostArrays(t, before), hostArrays(t, after))
			}
			check()
			_, _, err = p.Train(5)
			require.NoError(t, err)
			check()
			require.NoError(t, runToEnd(p, nil))
			got, err := p.Evaluate()
			require.NoError(t, err)
			require.Equal(t, want, got)
			var made []string
			for _, x := range p.Profile().Programs {
				made = append(made, x.Name)
			}
			require.Equal(t, names, made, "nothing was compiled later than by New")
		})
	}
}

// For full layers, the kernel's cost equals that of the program with dense matrices, without the operations between
// products.
func TestCost(t *testing.T) {
	d, c := stripes(6, 200, 70), tiny()
	c.Density = []float64{1, 1}
	flops := map[string]float64{}
	for _, c.Method = range []string{"kernel", "masked"} {
		var b xlabridge.Backend = &xlabridge.Reference{}
		if c.Method == "kernel" {
			b = open(t, 1)
		}
		p, err := New(t.Context(), b, c, d)
		require.NoError(t, err)
		flops[c.Method] = p.Cost().FLOPs
		require.Positive(t, p.Cost().Bytes)
		require.NoError(t, p.Close())
	}
	require.Greater(t, flops["masked"], flops["kernel"])
	require.Less(t, flops["masked"], 1.3*flops["kernel"])
	shape := c.Shape(d)
	require.InEpsilon(t, float64(c.Population)*(64*2*2*float64(shape[0].Connections)+
		64*2*3*float64(shape[1].Connections)), flops["kernel"], .03)
}

func TestWhatNeedsOtherPrograms(t *testing.T) {
	base := tiny()
	for _, same := range []func(c *Config){
		func(c *Config) { c.Seed = 9 }, func(c *Config) { c.LearningRate = 9 }, func(c *Config) { c.MutateEvery = 9 },
		func(c *Config) { c.Updates = 9 }, func(c *Config) { c.TestEvery = 9 },
	} {
		c := tiny()
		same(&c)
		require.Equal(t, base.Programs(), c.Programs())
	}
	for _, other := range []func(c *Config){
		func(c *Config) { c.Population = 9 }, func(c *Config) { c.MutateEvery = 0 },
		func(c *Config) {
			c.MutateFraction = .9
		}, func(c *Config) { c.Batch = 9 }, func(c *Config) { c.DType = "bf16" },
	} {
		c := tiny()
		other(&c)
		require.NotEqual(t, base.Programs(), c.Programs())
	}
}
