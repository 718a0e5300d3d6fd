package nn

import (
	"fmt"

	"xlarun/graph"
	"xlarun/graph/random"
)

// LIF is a layer of leaky integrate-and-fire neurons with dimensionless potentials, reset by subtraction. The weights
// of its inputs are in a Dense or Conv before it. A unit whose potential was above the threshold after the last step
// spikes in this step, as in spyx.nn.LIF:
//
//	s = 1 where v > Threshold, else 0
//	v' = Beta*v + x + s·Wh - s*Threshold
//
// Parameters are leaves of dims [units] or [], so that time constants and thresholds can be learned and evolved.
type LIF struct {
	Beta      *graph.Array // the decay of the potential in one step, exp(-dt/tau), clipped to [0, 1]
	Threshold *graph.Array
	Wh        *graph.Array `tree:"optional"` // [units, units]: weights from this step's spikes (RLIF); nil: none
	Surrogate Surrogate
}

// NewLIF makes a layer. It draws Beta from the normal distribution of mean 1/2 and deviation 1/4, truncated at two
// deviations, as Spyx does. Options: Decay, Threshold, Spikes, Feedback, Recurrent (default: normal, of variance
// 1/units).
func NewLIF(key random.Key, units int, opts ...Option) LIF {
	p := newSpiking("nn.NewLIF", key, units, "", opts)
	return LIF{Beta: p.beta, Threshold: p.threshold, Wh: p.wh, Surrogate: p.surrogate}
}

// Start is the potentials at rest: zeros [units].
func (l LIF) Start(units int) *graph.Array { return atRest("nn.LIF", "Threshold", l.Threshold, units) }

// Step maps the potentials v [units] and an input x [units] to the next potentials and this step's spikes.
func (l LIF) Step(v, x *graph.Array) (next, spikes *graph.Array) {
	spikes = l.Spikes(v)
	return l.Integrate(v, spikes, x), spikes
}

// Spikes returns this step's spikes [units]. They depend only on the potentials v [units] before the step.
func (l LIF) Spikes(v *graph.Array) *graph.Array { return l.Surrogate.Spike(v.Sub(l.Threshold)) }

// Integrate is the second half of Step: from the potentials v, the spikes of this step and an input x, [units] each, to
// the next potentials.
func (l LIF) Integrate(v, spikes, x *graph.Array) *graph.Array {
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

// decayed is a learned decay factor, clipped to [0, 1].
func decayed(factor *graph.Array) *graph.Array { return graph.Clamp(0, factor, 1) }

// feedback adds the input from the layer's own spikes.
func feedback(x, spikes, wh *graph.Array) *graph.Array {
	if wh == nil {
		return x
	}
	return x.Add(spikes.Dot(wh))
}

// wantParam refuses a layer without parameters.
func wantParam(op, name string, a *graph.Array) {
	if a == nil {
		graph.Throw(op, "got no %s: make the layer with its New function, or set its fields", name)
	}
}

// wantState refuses a state whose shape is not the input's.
func wantState(op, name string, state, x *graph.Array) {
	if state == nil || x == nil {
		graph.Throw(op, "got a nil %s or input", name)
	}
	if !state.Shape().Equal(x.Shape()) {
		graph.Throw(op, "%s is %s, the input %s; want equal ones", name, state.Shape(), x.Shape())
	}
}
