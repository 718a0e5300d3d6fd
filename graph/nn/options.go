package nn

import (
	"slices"
	"strings"

	"xlarun/graph"
	"xlarun/graph/precision"
)

// Option changes what a constructor makes. Each constructor lists its options and refuses others.
type Option struct {
	name string
	set  func(*config)
}

type config struct {
	weights, recurrent, bias Initializer
	noBias, noScale          bool
	precision                precision.Policy
	epsilon, momentum        float64
	forgetBias               float64
	causal                   bool
	activation, final        Activation

	strides, dilation []int
	valid             bool
	pads              [][2]int
	groups            int

	spikingOptions
}

// Weights sets the initializer of a layer's weights (default LecunNormal; Embedding: normal, of variance 1/width).
func Weights(i Initializer) Option { return Option{"Weights", func(c *config) { c.weights = i }} }

// Recurrent sets the initializer of the weights from state to state (default Orthogonal(1), gate by gate).
func Recurrent(i Initializer) Option { return Option{"Recurrent", func(c *config) { c.recurrent = i }} }

// Bias sets the initializer of the bias (default Zeros).
func Bias(i Initializer) Option { return Option{"Bias", func(c *config) { c.bias = i }} }

// NoBias leaves the bias out: the field stays nil.
func NoBias() Option { return Option{"NoBias", func(c *config) { c.noBias = true }} }

// NoScale leaves a normalization's scale out: the field stays nil.
func NoScale() Option { return Option{"NoScale", func(c *config) { c.noScale = true }} }

// Precision sets the element types of parameters, computation and results (default: float32 parameters; the
// computation and the results in the type that inputs and parameters promote to).
func Precision(p precision.Policy) Option {
	return Option{"Precision", func(c *config) { c.precision = p }}
}

// Epsilon sets what a normalization adds to the variance (default 1e-6; BatchNorm 1e-5).
func Epsilon(e float64) Option { return Option{"Epsilon", func(c *config) { c.epsilon = e }} }

// Momentum sets the fraction of its running averages that a BatchNorm keeps at each step (default 0.99).
func Momentum(m float64) Option { return Option{"Momentum", func(c *config) { c.momentum = m }} }

// ForgetBias sets the initial bias of an LSTM's forget gate (default 0), on top of the bias initializer's.
func ForgetBias(b float64) Option { return Option{"ForgetBias", func(c *config) { c.forgetBias = b }} }

// Causal lets each position of an attention see itself and earlier positions only.
func Causal() Option { return Option{"Causal", func(c *config) { c.causal = true }} }

// Hidden sets the activation between the layers of an MLP (default "relu").
func Hidden(a Activation) Option { return Option{"Hidden", func(c *config) { c.activation = a }} }

// Final sets the activation after the last layer of an MLP (default none).
func Final(a Activation) Option { return Option{"Final", func(c *config) { c.final = a }} }

// Strides sets the steps of a convolution along each spatial axis (default 1).
func Strides(s ...int) Option {
	return Option{"Strides", func(c *config) { c.strides = slices.Clone(s) }}
}

// Dilation spreads a convolution's kernel along each spatial axis (default 1).
func Dilation(d ...int) Option {
	return Option{"Dilation", func(c *config) { c.dilation = slices.Clone(d) }}
}

// Valid takes only the windows of a convolution that lie inside the input. The default ("SAME") pads with zeros so that
// there are ceil(size/stride) windows along each axis.
func Valid() Option { return Option{"Valid", func(c *config) { c.valid, c.pads = true, nil }} }

// Pads pads a convolution's input with the given numbers of zeros before and after, along each spatial axis.
func Pads(beforeAfter ...[2]int) Option {
	return Option{"Pads", func(c *config) { c.valid, c.pads = false, slices.Clone(beforeAfter) }}
}

// Groups cuts a convolution's features into n independent groups.
func Groups(n int) Option { return Option{"Groups", func(c *config) { c.groups = n }} }

// readOptions applies opts to the defaults and refuses options that are not in known.
func readOptions(op string, opts []Option, known ...string) config {
	c := config{weights: LecunNormal, recurrent: Orthogonal(1), bias: Zeros, epsilon: 1e-6, momentum: .99,
		activation: "relu", groups: 1}
	for _, o := range opts {
		if !slices.Contains(known, o.name) {
			graph.Throw(op, "got the option %s, want one of %s", o.name, strings.Join(known, ", "))
		}
		o.set(&c)
	}
	if c.weights == nil || c.recurrent == nil || c.bias == nil {
		graph.Throw(op, "got a nil initializer")
	}
	return c
}

// shape is the shape of parameters with the given dims.
func (c config) shape(dims ...int) graph.Shape {
	return graph.ShapeOf(paramType(c.precision), dims...)
}

// scaleAndBias are the initial scale and bias of a normalization of n features; nil if the options leave them out.
func (c config) scaleAndBias(n int) (scale, bias *graph.Array) {
	if !c.noScale {
		scale = graph.Ones(c.shape(n))
	}
	if !c.noBias {
		bias = graph.Zeros(c.shape(n))
	}
	return scale, bias
}
