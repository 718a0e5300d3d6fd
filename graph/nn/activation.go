package nn

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"xlarun/graph"
)

// Activation functions: elementwise, of any shape, with the formulas and the derivatives of jax.nn, at kinks too.

// Relu is max(x, 0); its derivative at 0 is 0. NaN stays NaN.
func Relu(x *graph.Array) *graph.Array { return graph.Relu(x) }

// Relu6 is min(max(x, 0), 6); its derivative at 0 and at 6 is 0. NaN stays NaN.
func Relu6(x *graph.Array) *graph.Array {
	return graph.Select(x.Le(0), 0, graph.Select(x.Ge(6), 6, x))
}

// LeakyRelu is x where x >= 0, slope*x elsewhere; slope is a number or an array.
func LeakyRelu(x *graph.Array, slope any) *graph.Array {
	return graph.Select(x.Ge(0), x, x.Mul(slope))
}

// Elu is x where x > 0, alpha*(exp(x)-1) elsewhere (Clevert et al., "Fast and accurate deep network learning by
// exponential linear units", 2015).
func Elu(x *graph.Array, alpha any) *graph.Array {
	positive := x.Gt(0)
	return graph.Select(positive, x, graph.Expm1(graph.Select(positive, 0, x)).Mul(alpha))
}

// Selu is the self-normalizing Elu (Klambauer et al., "Self-normalizing neural networks", 2017).
func Selu(x *graph.Array) *graph.Array {
	const alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
	return Elu(x, alpha).Mul(scale)
}

// Gelu is x times the normal distribution's cumulative function, exact (Hendrycks and Gimpel, "Gaussian error linear
// units", 2016).
func Gelu(x *graph.Array) *graph.Array {
	return x.Mul(0.5).Mul(graph.Erfc(x.Mul(-math.Sqrt2 / 2)))
}

// GeluTanh is the approximation of Gelu by tanh, jax.nn.gelu's default.
func GeluTanh(x *graph.Array) *graph.Array {
	cube := x.Mul(x).Mul(x)
	inner := x.Add(cube.Mul(0.044715)).Mul(math.Sqrt(2 / math.Pi))
	return x.Mul(inner.Tanh().Add(1).Mul(0.5))
}

// Silu is x*sigmoid(x), also called swish.
func Silu(x *graph.Array) *graph.Array { return x.Mul(Sigmoid(x)) }

// Swish is Silu.
func Swish(x *graph.Array) *graph.Array { return Silu(x) }

// Sigmoid is 1/(1+exp(-x)).
func Sigmoid(x *graph.Array) *graph.Array { return graph.Logistic(x) }

// LogSigmoid is log(sigmoid(x)) = -softplus(-x), without overflow.
func LogSigmoid(x *graph.Array) *graph.Array { return Softplus(x.Neg()).Neg() }

// Tanh is the hyperbolic tangent.
func Tanh(x *graph.Array) *graph.Array { return x.Tanh() }

// Softplus is log(1+exp(x)), without overflow.
func Softplus(x *graph.Array) *graph.Array {
	positive := x.Ge(0) // not by Max and Abs, whose corners at 0 would hide the second derivative there
	return graph.Select(positive, x, 0).Add(graph.Log1p(graph.Select(positive, x.Neg(), x).Exp()))
}

// Softsign is x/(1+|x|).
func Softsign(x *graph.Array) *graph.Array { return x.Div(x.Abs().Add(1)) }

// HardTanh is x, cut off at -1 and 1.
func HardTanh(x *graph.Array) *graph.Array {
	return graph.Select(x.Gt(1), 1, graph.Select(x.Lt(-1), -1, x))
}

// HardSigmoid is relu6(x+3)/6.
func HardSigmoid(x *graph.Array) *graph.Array { return Relu6(x.Add(3)).Div(6) }

// HardSwish is x*HardSigmoid(x), also called hard silu (Howard et al., "Searching for MobileNetV3", 2019).
func HardSwish(x *graph.Array) *graph.Array { return x.Mul(HardSigmoid(x)) }

// Mish is x*tanh(softplus(x)) (Misra, 2019).
func Mish(x *graph.Array) *graph.Array { return x.Mul(Softplus(x).Tanh()) }

// GLU is the gated linear unit: the first half of x along an axis times the sigmoid of the second (Dauphin et al.,
// "Language modeling with gated convolutional networks", 2017).
func GLU(x *graph.Array, axis int) *graph.Array {
	parts := graph.Split(x, 2, axis)
	return parts[0].Mul(Sigmoid(parts[1]))
}

// Activation names an activation function: a static Layer, and what configurations hold. "" is the identity.
type Activation string

var activations = map[Activation]func(*graph.Array) *graph.Array{
	"relu": Relu, "relu6": Relu6, "selu": Selu, "gelu": Gelu, "gelu_tanh": GeluTanh, "silu": Silu, "swish": Swish,
	"sigmoid": Sigmoid, "log_sigmoid": LogSigmoid, "tanh": Tanh, "softplus": Softplus, "softsign": Softsign,
	"hard_tanh": HardTanh, "hard_sigmoid": HardSigmoid, "hard_swish": HardSwish, "mish": Mish,
	"elu":        func(x *graph.Array) *graph.Array { return Elu(x, 1) },
	"leaky_relu": func(x *graph.Array) *graph.Array { return LeakyRelu(x, 0.01) },
	"softmax":    func(x *graph.Array) *graph.Array { return graph.Softmax(x, -1) },
	"":           func(x *graph.Array) *graph.Array { return x },
}

// Activations lists the names, sorted.
func Activations() []string {
	var names []string
	for a := range maps.Keys(activations) {
		if a != "" {
			names = append(names, string(a))
		}
	}
	slices.Sort(names)
	return names
}

// ParseActivation checks a name given by a user; "linear" and "identity" are "".
func ParseActivation(name string) (Activation, error) {
	a := Activation(name)
	if name == "linear" || name == "identity" {
		a = ""
	}
	if activations[a] == nil {
		return "", fmt.Errorf("activation %q: want one of linear, %s", name, strings.Join(Activations(), ", "))
	}
	return a, nil
}

// Apply maps x elementwise ("softmax": along the last axis).
func (a Activation) Apply(x *graph.Array) *graph.Array {
	f := activations[a]
	if f == nil {
		graph.Throw("nn.Activation", "got %q, want one of %s", string(a), strings.Join(Activations(), ", "))
	}
	return f(x)
}
