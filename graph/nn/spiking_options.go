package nn

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
)

// spikingOptions are the options of layers of spiking neurons.
type spikingOptions struct {
	beta, second *float64 // nil: drawn for each unit
	threshold    float64
	feedback     bool
	surrogate    Surrogate
}

// Decay sets the decay of a spiking layer's potentials in one step, one number for all units, above 0 and at most 1:
// exp(-dt/tau).
func Decay(beta float64) Option { return Option{"Decay", func(c *config) { c.beta = &beta }} }

// Adaptation sets the decay of an ALIF's adaptation in one step.
func Adaptation(gamma float64) Option {
	return Option{"Adaptation", func(c *config) { c.second = &gamma }}
}

// Synapse sets the decay of a CuBaLIF's currents in one step.
func Synapse(alpha float64) Option { return Option{"Synapse", func(c *config) { c.second = &alpha }} }

// Threshold sets the potential above which units of a spiking layer spike (default 1).
func Threshold(v float64) Option { return Option{"Threshold", func(c *config) { c.threshold = v }} }

// Spikes sets the surrogate of a spiking layer's derivative (default: fast sigmoid of slope 25).
func Spikes(s Surrogate) Option { return Option{"Spikes", func(c *config) { c.surrogate = s }} }

// Feedback gives a spiking layer weights from its spikes to itself.
func Feedback() Option { return Option{"Feedback", func(c *config) { c.feedback = true }} }

// spikingParams are the parameters that LIF, ALIF and CuBaLIF share.
type spikingParams struct {
	beta, second, threshold *graph.Array // second: Gamma or Alpha
	wh                      *graph.Array // nil without Feedback
	surrogate               Surrogate
}

// newSpiking draws the parameters of a layer from key. second names the option of the second decay; "": the layer has
// none.
func newSpiking(op string, key random.Key, units int, second string, opts []Option) spikingParams {
	// The default recurrent weights are normal, of variance 1/units.
	opts = append([]Option{Recurrent(VarianceScaling(1, FanIn, NormalDraws)), Threshold(1)}, opts...)
	known := []string{"Decay", "Threshold", "Spikes", "Feedback", "Recurrent"}
	if second != "" {
		known = slices.Insert(known, 1, second)
	}
	c := readOptions(op, opts, known...)
	wantSize(op, "units", units)
	if !(c.threshold > 0) {
		graph.Throw(op, "got Threshold %v, want a number above 0", c.threshold)
	}
	k := random.SplitN(key, 3)
	p := spikingParams{beta: decayOf(op, "Decay", c.beta, k[0], units), threshold: graph.Scalar(c.threshold),
		surrogate: c.surrogate}
	weightsKey := k[1]
	if second != "" {
		p.second, weightsKey = decayOf(op, second, c.spikingOptions.second, k[1], units), k[2]
	}
	if c.feedback {
		p.wh = c.recurrent(weightsKey, c.shape(units, units))
	}
	return p
}

// decayOf is the given decay factor, or one drawn for each unit.
func decayOf(op, name string, factor *float64, key random.Key, units int) *graph.Array {
	switch {
	case factor == nil:
		return random.TruncatedNormal(key, graph.ShapeOf(graph.Float32, units), -2, 2).Mul(.25).Add(.5)
	case !(*factor > 0 && *factor <= 1):
		graph.Throw(op, "got %s %v, want a number above 0 and at most 1: exp(-dt/tau)", name, *factor)
	}
	return graph.Scalar(*factor)
}

// atRest is zeros [units] in the type of the layer's parameter.
func atRest(op, name string, param *graph.Array, units int) *graph.Array {
	wantParam(op, name, param)
	return graph.Zeros(graph.ShapeOf(param.DType(), units))
}
