package nn

import (
	"fmt"

	"xlarun/graph"
	"xlarun/graph/random"
)

// LIF is a layer of leaky integrate-and-fire neurons in units of their own, without synapses (those are Dense's or
// Conv's), reset by subtraction, in the order of Spyx's spyx.nn.LIF: whoever is above the threshold after the last step
// spikes in this one.
//
//	s = 1 where v > Threshold, else 0
//	v' = Beta*v + x + s·Wh - s*Threshold
//
// Parameters are leaves, so that time constants and thresholds can be learned and evolved, each of dims [units] or [].
type LIF struct {
	Beta      *graph.Array // what is left of a potential after a step, exp(-dt/tau); taken as 0 or 1 outside of these
	Threshold *graph.Array
	// [units, units], from the spikes of this step: a recurrent layer (RLIF); nil: none
	Wh        *graph.Array `tree:"optional"`
	Surrogate Surrogate
}

// NewLIF makes a layer of so many units, its Beta drawn from the normal distribution of mean 1/2 and deviation 1/4, cut
// off at two deviations, as Spyx does. Options: Decay, Threshold, Spikes, Feedback, Recurrent (default: normal, of
// variance 1/units).
func NewLIF(key random.Key, units int, opts ...Option) LIF {
	const op = "nn.NewLIF"
	c := readOptions(op, append([]Option{Recurrent(spikeWeights)}, opts...), "Decay", "Threshold", "Spikes", "Feedback",
		"Recurrent")
	wantSize(op, "units", units)
	k := random.SplitN(key, 2)
	return LIF{Beta: c.decay(op, k[0], units), Threshold: c.firing(op), Wh: c.feedbackOf(k[1], units),
		Surrogate: c.surrogate}
}

// Start is the state before the first step of so many units at rest: zeros [units].
func (l LIF) Start(units int) *graph.Array {
	wantParam("nn.LIF", "Threshold", l.Threshold)
	return graph.Zeros(graph.ShapeOf(l.Threshold.DType(), units))
}

// Step maps the potentials v [units] and an input x [units] to the next potentials and this step's spikes.
func (l LIF) Step(v, x *graph.Array) (next, spikes *graph.Array) {
	spikes = l.Spikes(v)
	return l.Take(v, spikes, x), spikes
}

// Spikes are those of a step, [units], which follow from the potentials v [units] before it alone.
func (l LIF) Spikes(v *graph.Array) *graph.Array { return l.Surrogate.Spike(v.Sub(l.Threshold)) }

// Take is the rest of Step: from the potentials v, the spikes of this step and an input x, [units] each, to the next
// potentials.
func (l LIF) Take(v, spikes, x *graph.Array) *graph.Array {
	wantState("nn.LIF", "state v", v, x)
	next := decayed(l.Beta).Mul(v).Add(feedback(x, spikes, l.Wh))
	return next.Sub(spikes.Mul(l.Threshold))
}

// Apply runs along time: from the potentials v [units] and inputs x [steps, units] to the last potentials and all
// spikes [steps, units]. Without feedback it is graph.IntegrateFire, which is faster than a loop over Step.
func (l LIF) Apply(v, x *graph.Array) (last, spikes *graph.Array) {
	const op = "nn.LIF"
	wantTime(op, x)
	if l.Wh != nil || x.Dim(0) == 0 {
		return graph.Scan(l.Step, v, x)
	}
	wantState(op, "state v", v, x.Index(0))
	return graph.IntegrateFire(fmt.Sprint("surrogate ", l.Surrogate), l.Surrogate.derivative(), v, x, decayed(l.Beta),
		l.Threshold)
}

// decayed is a learned factor of decay, kept in 0 to 1.
func decayed(factor *graph.Array) *graph.Array { return graph.Clamp(0, factor, 1) }

// feedback adds to an input what a layer's own spikes bring to it.
func feedback(x, spikes, wh *graph.Array) *graph.Array {
	if wh == nil {
		return x
	}
	return x.Add(spikes.Dot(wh))
}

// spikeWeights draw from the normal distribution of variance 1/in.
var spikeWeights = VarianceScaling(1, FanIn, NormalDraws)

// wantParam refuses a layer that was not made.
func wantParam(op, name string, a *graph.Array) {
	if a == nil {
		graph.Throw(op, "got no %s, want a layer as its New makes it, or of its fields", name)
	}
}

// wantState refuses a state that is not of the input's dims.
func wantState(op, name string, state, x *graph.Array) {
	if state == nil || x == nil {
		graph.Throw(op, "got a nil %s or input", name)
	}
	if !state.Shape().Equal(x.Shape()) {
		graph.Throw(op, "%s is %s, the input %s; want equal ones", name, state.Shape(), x.Shape())
	}
}
