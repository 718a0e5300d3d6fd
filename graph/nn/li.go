package nn

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
)

// LI is a layer of leaky integrators, which do not spike (spyx.nn.LI): v' = Beta*v + x. It is the readout of a spiking
// network.
type LI struct {
	Beta *graph.Array // [units] or []; see LIF
}

// NewLI makes a layer whose Beta is 0.8, as in Spyx. Options: Decay.
func NewLI(units int, opts ...Option) LI {
	const op = "nn.NewLI"
	c := readOptions(op, append([]Option{Decay(.8)}, opts...), "Decay")
	wantSize(op, "units", units)
	return LI{Beta: decayOf(op, "Decay", c.beta, random.Key{}, units).BroadcastTo(units)}
}

// Start is the potentials at rest: zeros [units].
func (l LI) Start(units int) *graph.Array { return atRest("nn.LI", "Beta", l.Beta, units) }

// Step maps the potentials v [units] and an input x [units] to the next potentials.
func (l LI) Step(v, x *graph.Array) *graph.Array {
	wantState("nn.LI", "state v", v, x)
	return decayed(l.Beta).Mul(v).Add(x)
}

// Apply runs along time: from the potentials v [units] and inputs x [steps, units] to the last potentials and the
// potentials of all steps [steps, units].
func (l LI) Apply(v, x *graph.Array) (last, all *graph.Array) {
	const op = "nn.LI"
	wantTime(op, x)
	if x.Dim(0) > 0 {
		wantState(op, "state v", v, x.Index(0))
	}
	beta := decayed(l.Beta)
	each := beta.Reshape(append(slices.Repeat([]int{1}, x.Rank()-beta.Rank()), beta.Dims()...)...)
	before, last := graph.LinearRecurrence(each, x, v)
	return last, beta.Mul(before).Add(x)
}
