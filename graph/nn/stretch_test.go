package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// Layers that run one behind the other along stretches come to what they come to step by step: states, outputs and gradients, for
// stretches that divide the steps and that do not.
func TestInStretches(t *testing.T) {
	k := random.SplitN(random.New(3), 5)
	type net struct {
		A, C nn.Dense
		B    nn.CuBaLIF
		D    nn.LI
	}
	type state struct {
		B nn.CuBaLIFState
		D *graph.Array
	}
	made := net{nn.NewDense(k[0], 5, 7), nn.NewDense(k[1], 7, 3), nn.NewCuBaLIF(k[2], 7, nn.Feedback(), nn.Synapse(.7), nn.Decay(.9)), nn.NewLI(3)}
	x := random.Uniform(k[3], graph.ShapeOf(graph.Float32, 23, 5), 0, 2)
	start := state{made.B.Start(7), made.D.Start(3)}
	byStep := func(n net, x *graph.Array) (state, *graph.Array) {
		return graph.Scan(func(s state, x *graph.Array) (state, *graph.Array) {
			b, spikes := n.B.Step(s.B, n.A.Apply(x))
			d := n.D.Step(s.D, n.C.Apply(spikes))
			return state{b, d}, d
		}, start, x)
	}
	weight := random.Normal(k[4], graph.ShapeOf(graph.Float32, 23, 3))
	score := func(y *graph.Array) *graph.Array { return graph.Sum(graph.Mul(y, weight)) }
	want, wantAll := byStep(made, x)
	wantGrad := graph.Grad(func(n net) *graph.Array { _, y := byStep(n, x); return score(y) })(made)
	n, err := graph.Float(graph.Sum(graph.Abs(wantAll)))
	require.NoError(t, err)
	require.Greater(t, n, 1., "the net must spike for the comparison to say anything")
	for _, steps := range []int{0, 1, 4, 22, 23, 100} {
		inStretches := func(n net, x *graph.Array) (state, *graph.Array) {
			return nn.InStretches(steps, func(s state, x *graph.Array) (state, *graph.Array) {
				b, spikes := n.B.Apply(s.B, n.A.Apply(x))
				d, all := n.D.Apply(s.D, n.C.Apply(spikes))
				return state{b, d}, all
			}, start, x)
		}
		last, all := inStretches(made, x)
		within(t, want.D, last.D, 1e-5, "last readout")
		within(t, want.B.V, last.B.V, 1e-5, "last potentials")
		within(t, wantAll, all, 1e-5, "all readouts")
		got := graph.Grad(func(n net) *graph.Array { _, y := inStretches(n, x); return score(y) })(made)
		for i, w := range graph.Leaves(wantGrad) {
			within(t, w, graph.Leaves(got)[i], 1e-4, "gradient")
		}
	}
	for _, c := range []struct {
		call func()
		want string
	}{
		{func() { nn.InStretches(-1, made.D.Apply, start.D, x) }, "got stretches of -1 steps"},
		{func() { nn.InStretches(2, made.D.Apply, start.D, graph.Scalar(1)) }, "want [steps, …]"},
	} {
		require.ErrorContains(t, graph.Try(c.call), c.want)
	}
}
