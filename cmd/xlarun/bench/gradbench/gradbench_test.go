package gradbench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/bench/numbers"
	"xlarun/graph"
	"xlarun/xlabridge"
)

// The numbers that "check" of third_party/peers/jax_grad.py printed with JAX 0.10.2.
var jaxNumbers = map[string]Numbers{
	"mlp":      {2.358715057373047, 0.9244583342184399},
	"cnn":      {2.3054661750793457, 3.309351035724616},
	"cnn-scan": {2.3341875076293945, 7.729697322298029},
	"gru":      {0.3373858332633972, 0.019257562626335115},
}

func TestWorkloadsAreThePeers(t *testing.T) {
	b, err := xlabridge.Open(t.Context(), xlabridge.Options{NoCache: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	for _, w := range All() {
		t.Run(w.Name, func(t *testing.T) {
			l, cold, err := w.Load(b, xlabridge.CompileOptions{AllCores: true})
			require.NoError(t, err)
			require.Positive(t, cold.Trace)
			require.Positive(t, cold.Compile)
			n, err := l.Check()
			require.NoError(t, err)
			want := jaxNumbers[w.Name]
			require.InEpsilon(t, want.Loss, n.Loss, 1e-5)
			require.InEpsilon(t, want.Norm, n.Norm, 1e-4)
			require.NoError(t, Agree(n, want))
			loss, err := l.Loss()
			require.NoError(t, err)
			require.Equal(t, n.Loss, loss)
			s, err := l.Run(2)
			require.NoError(t, err)
			require.Len(t, s, 2)
			require.NoError(t, l.Close())
		})
	}
}

func TestAgree(t *testing.T) {
	require.NoError(t, Agree(Numbers{1, 2}, Numbers{1.0005, 2}))
	require.ErrorContains(t, Agree(Numbers{1, 2}, Numbers{1.1, 2}), "our loss is 1, theirs 1.1")
	require.ErrorContains(t, Agree(Numbers{1, 2}, Numbers{1, -2}), "norm")
}

func TestNamed(t *testing.T) {
	w, ok := Named("gru")
	require.True(t, ok)
	require.Contains(t, w.What, "GRU")
	_, ok = Named("nothing")
	require.False(t, ok)
}

// The numbers are those of the finaliser of MurmurHash3, within their bounds.
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
	require.EqualValues(t, 0x11fd02eb, numbers.At(0, 0), "2654435761 through the finaliser")
}
