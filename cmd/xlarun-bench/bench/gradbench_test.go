package bench_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/gradbench"
	"xlarun/cmd/xlarun-bench/bench/numbers"
	"xlarun/graph"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// Checks of third_party/peers/jax_grad.py with JAX 0.10.2.
var jaxChecks = map[string][2]float64{
	"mlp":      {2.358715057373047, 0.9244583342184399},
	"cnn":      {2.3054661750793457, 3.309351035724616},
	"cnn-scan": {2.3341875076293945, 7.729697322298029},
	"gru":      {0.3373858332633972, 0.019257562626335115},
}

func TestGradientWorkloadsAreThePeers(t *testing.T) {
	b := xlatest.Open(t, 1)
	for _, w := range gradbench.All() {
		p, err := graph.TraceArgs(w.Name, w.Args(), graph.TraceOptions{}, w.Apply)
		require.NoError(t, err)
		x, err := b.Compile(p, xlabridge.CompileOptions{AllCores: true})
		require.NoError(t, err)
		args, err := xlabridge.Put(b, 1, w.Args())
		require.NoError(t, err)
		out, err := x.Call(graph.Leaves(args))
		require.NoError(t, err)
		checks, err := gradbench.Checks(out)
		require.NoError(t, err)
		require.InEpsilon(t, jaxChecks[w.Name][0], checks[0], 1e-5, w.Name)
		require.InEpsilon(t, jaxChecks[w.Name][1], checks[1], 1e-4, w.Name)
		require.NoError(t, x.Close())
	}
}

// Numbers are made by the finalizer of MurmurHash3, and lie within their bounds.
func TestUniform(t *testing.T) {
	v, err := graph.Floats(numbers.Uniform(3, .5, 10, 10))
	require.NoError(t, err)
	low, high := 0, 0
	for _, x := range v {
		require.LessOrEqual(t, x, .5)
		require.GreaterOrEqual(t, x, -.5)
		if x < -.25 {
			low++
		}
		if x > .25 {
			high++
		}
	}
	require.InDelta(t, 25, low, 15)
	require.InDelta(t, 25, high, 15)
	require.EqualValues(t, 0x11fd02eb, numbers.At(0, 0), "2654435761 through the finalizer")
}
