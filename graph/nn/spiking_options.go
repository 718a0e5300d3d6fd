package nn

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// spiking are the options of layers of spiking neurons.
type spiking struct {
	beta, other *float64 // nil: drawn, a unit each
	threshold   *float64
	feedback    bool
	surrogate   Surrogate
}

// Decay sets what is left of a spiking layer's potentials after a step, one number for all units, above 0 and at most
// 1: exp(-dt/tau).
func Decay(beta float64) Option { return Option{"Decay", func(c *config) { c.beta = &beta }} }

// Adaptation sets what is left of an ALIF's adaptation after a step, as Decay does of the potentials.
func Adaptation(gamma float64) Option {
	return Option{"Adaptation", func(c *config) { c.other = &gamma }}
}

// Synapse sets what is left of a CuBaLIF's currents after a step, as Decay does of the potentials.
func Synapse(alpha float64) Option { return Option{"Synapse", func(c *config) { c.other = &alpha }} }

// Threshold sets the potential above which units of a spiking layer spike (default 1).
func Threshold(v float64) Option { return Option{"Threshold", func(c *config) { c.threshold = &v }} }

// Spikes sets the surrogate of a spiking layer's derivative (default: fast sigmoid of slope 25).
func Spikes(s Surrogate) Option { return Option{"Spikes", func(c *config) { c.surrogate = s }} }

// Feedback gives a spiking layer weights from its spikes to itself.
func Feedback() Option { return Option{"Feedback", func(c *config) { c.feedback = true }} }

// decay makes Beta.
func (c config) decay(op string, key random.Key, units int) *graph.Array {
	return factorOf(op, "Decay", c.beta, key, units)
}

// second makes Gamma or Alpha, by the option of that name.
func (c config) second(op, name string, key random.Key, units int) *graph.Array {
	return factorOf(op, name, c.other, key, units)
}

func factorOf(op, name string, factor *float64, key random.Key, units int) *graph.Array {
	switch {
	case factor == nil:
		return graph.Add(.5, graph.Mul(.25, random.TruncatedNormal(key, graph.ShapeOf(graph.Float32, units), -2, 2)))
	case !(*factor > 0 && *factor <= 1):
		graph.Throw(op, "got %s %v, want a number above 0 and at most 1: exp(-dt/tau)", name, *factor)
	}
	return graph.Scalar(*factor)
}

// firing makes the threshold.
func (c config) firing(op string) *graph.Array {
	switch {
	case c.threshold == nil:
		return graph.Scalar(1)
	case !(*c.threshold > 0):
		graph.Throw(op, "got Threshold %v, want a number above 0", *c.threshold)
	}
	return graph.Scalar(*c.threshold)
}

// feedbackOf draws the weights from a layer's spikes to itself; nil where there are none.
func (c config) feedbackOf(key random.Key, units int) *graph.Array {
	if !c.feedback {
		return nil
	}
	return c.recurrent(key, c.shape(units, units))
}
