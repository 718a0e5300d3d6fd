package nn_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// Parallel is Apply: spikes equal, potentials and all gradients to 1e-5, of sequences that spike not at all, seldom, in
// each step, and of one step.
func TestParallelIsApply(t *testing.T) {
	for _, c := range []struct {
		steps       int
		mean, scale float64
		least       float64 // spikes, of 6 units
	}{{300, .1, .3, 50}, {300, -1, .1, 0}, {65, 3, .1, 6 * 60}, {1, 0, 1, 0}, {2, 2, .1, 6}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			k := random.SplitN(random.New(7), 4)
			each := graph.ShapeOf(graph.Float32, 6)
			in := arrays{"beta": random.Uniform(k[0], each, .5, 1), "threshold": random.Uniform(k[1], each, .5, 1.5),
				"v": random.Normal(k[2], each),
				"x": graph.Add(c.mean,
					graph.Mul(c.scale, random.Normal(k[3], graph.ShapeOf(graph.Float32, c.steps, 6))))}
			run := func(in arrays, parallel bool) (last, spikes *graph.Array) {
				l := nn.LIF{Beta: in["beta"], Threshold: in["threshold"], Surrogate: nn.Surrogate{Kind: "arctan"}}
				if parallel {
					return l.Parallel(in["v"], in["x"])
				}
				return l.Apply(in["v"], in["x"])
			}
			last, spikes := run(in, false)
			gotLast, gotSpikes := run(in, true)
			within(t, spikes, gotSpikes, 0, "spikes")
			within(t, last, gotLast, 1e-5, "potentials")
			n, err := graph.Float(spikes.Sum())
			require.NoError(t, err)
			require.GreaterOrEqual(t, n, c.least)
			weight := random.Normal(random.New(8), spikes.Shape())
			gradient := func(parallel bool) arrays {
				return graph.Grad(func(in arrays) *graph.Array {
					last, spikes := run(in, parallel)
					return spikes.Mul(weight).Sum().Add(last.Mul(weight.Index(0)).Sum())
				})(in)
			}
			want, got := gradient(false), gradient(true)
			for name := range want {
				within(t, want[name], got[name], 1e-4, "gradient by "+name)
			}
			l := nn.LI{Beta: in["beta"]}
			last, all := l.Apply(in["v"], in["x"])
			gotLast, gotAll := l.Parallel(in["v"], in["x"])
			within(t, last, gotLast, 1e-5, "last of LI")
			within(t, all, gotAll, 1e-5, "all of LI")
		})
	}
}

// Under VMap each lane has its own spikes; steps of nothing leave the state; feedback is refused.
func TestParallelAtTheEdges(t *testing.T) {
	l := nn.LIF{Beta: graph.Scalar(.9), Threshold: graph.Scalar(1)}
	x := random.Normal(random.New(1), graph.ShapeOf(graph.Float32, 3, 50, 4)).Mul(graph.Float32s([]float32{.1, 1, 4}, 3,
		1, 1))
	mapped := func(apply func(v, x *graph.Array) (last, spikes *graph.Array)) *graph.Array {
		return graph.VMap(func(x *graph.Array) *graph.Array {
			_, spikes := apply(l.Start(4), x)
			return spikes
		})(x)
	}
	within(t, mapped(l.Apply), mapped(l.Parallel), 0, "spikes of lanes")
	none := graph.Zeros(graph.ShapeOf(graph.Float32, 0, 4))
	last, spikes := l.Parallel(graph.Full(graph.ShapeOf(graph.Float32, 4), .5), none)
	require.Equal(t, []float64{.5, .5, .5, .5}, floats(t, last))
	require.Equal(t, []int{0, 4}, spikes.Dims())
	l.Wh = graph.Zeros(graph.ShapeOf(graph.Float32, 4, 4))
	require.ErrorContains(t, graph.Try(func() { l.Parallel(l.Start(4), none) }), "in Parallel, want none")
}
