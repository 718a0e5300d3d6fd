package nn

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Initializer draws a layer's parameters of a float shape from a key. The last axis of a kernel is its output features,
// the axis before is its input features; the other axes are a convolution's window.
type Initializer func(key random.Key, shape graph.Shape) *graph.Array

// Zeros are all 0.
func Zeros(_ random.Key, shape graph.Shape) *graph.Array { return graph.Zeros(shape) }

// Ones are all 1.
func Ones(_ random.Key, shape graph.Shape) *graph.Array { return graph.Ones(shape) }

// Constant sets all parameters to one value.
func Constant(value float64) Initializer {
	return func(_ random.Key, shape graph.Shape) *graph.Array { return graph.Full(shape, value) }
}

// Normal draws from the normal distribution of mean 0 and the given standard deviation.
func Normal(std float64) Initializer {
	return func(key random.Key, shape graph.Shape) *graph.Array {
		return random.Normal(key, shape).Mul(std)
	}
}

// Uniform draws from the interval [0, scale).
func Uniform(scale float64) Initializer {
	return func(key random.Key, shape graph.Shape) *graph.Array {
		return random.Uniform(key, shape, 0, 1).Mul(scale)
	}
}

// TruncatedNormal draws from the standard normal distribution truncated to [lower, upper], times std. Truncation makes
// the standard deviation smaller than std.
func TruncatedNormal(std, lower, upper float64) Initializer {
	return func(key random.Key, shape graph.Shape) *graph.Array {
		return random.TruncatedNormal(key, shape, lower, upper).Mul(std)
	}
}

// FanMode selects the number of connections that sets the scale of a VarianceScaling.
type FanMode string

// The modes, by the connections of an output (in), of an input (out), and their means.
const (
	FanIn     FanMode = "fan_in"
	FanOut    FanMode = "fan_out"
	FanAvg    FanMode = "fan_avg"     // arithmetic mean
	FanGeoAvg FanMode = "fan_geo_avg" // geometric mean
)

// Distribution is what a VarianceScaling draws from.
type Distribution string

// The distributions, all of mean 0.
const (
	TruncatedNormalDraws Distribution = "truncated_normal" // at 2 standard deviations
	NormalDraws          Distribution = "normal"
	UniformDraws         Distribution = "uniform"
)

// truncatedStd is the standard deviation of a standard normal distribution truncated at -2 and 2.
const truncatedStd = 0.87962566103423978

// VarianceScaling draws with mean 0 and variance scale/n, where mode selects n.
func VarianceScaling(scale float64, mode FanMode, d Distribution) Initializer {
	const op = "nn.VarianceScaling"
	return func(key random.Key, shape graph.Shape) *graph.Array {
		if shape.Rank() < 2 {
			graph.Throw(op, "got the shape %s, want at least the axes [in, out]", shape)
		}
		// jax.nn.initializers computes in the parameters' type. For half precision this rounds as for float32.
		round := func(x float64) float64 {
			if shape.DType == graph.Float64 {
				return x
			}
			return float64(float32(x))
		}
		variance := round(scale / fan(shape.Dims, mode))
		std := round(math.Sqrt(variance))
		switch d {
		case TruncatedNormalDraws:
			return random.TruncatedNormal(key, shape, -2, 2).Mul(round(std / round(truncatedStd)))
		case NormalDraws:
			return random.Normal(key, shape).Mul(std)
		case UniformDraws:
			return random.Uniform(key, shape, -1, 1).Mul(math.Sqrt(round(3 * variance)))
		}
		graph.Throw(op, "distribution %q; want %q, %q or %q", d, TruncatedNormalDraws, NormalDraws, UniformDraws)
		return nil
	}
}

// fan is the number of connections that mode selects.
func fan(dims []int, mode FanMode) float64 {
	window := 1
	for _, d := range dims[:len(dims)-2] {
		window *= d
	}
	in, out := float64(window*dims[len(dims)-2]), float64(window*dims[len(dims)-1])
	switch mode {
	case FanIn:
		return in
	case FanOut:
		return out
	case FanAvg:
		return (in + out) / 2
	case FanGeoAvg:
		return math.Sqrt(in * out)
	}
	graph.Throw("nn.VarianceScaling", "mode %q; want %q, %q, %q or %q", mode, FanIn, FanOut, FanAvg, FanGeoAvg)
	return 0
}

// LecunNormal draws a truncated normal of variance 1/in (LeCun et al., "Efficient backprop", 1998).
func LecunNormal(key random.Key, shape graph.Shape) *graph.Array {
	return VarianceScaling(1, FanIn, TruncatedNormalDraws)(key, shape)
}

// LecunUniform draws uniformly with variance 1/in.
func LecunUniform(key random.Key, shape graph.Shape) *graph.Array {
	return VarianceScaling(1, FanIn, UniformDraws)(key, shape)
}

// HeNormal draws a truncated normal of variance 2/in (He et al., "Delving deep into rectifiers", 2015).
func HeNormal(key random.Key, shape graph.Shape) *graph.Array {
	return VarianceScaling(2, FanIn, TruncatedNormalDraws)(key, shape)
}

// HeUniform draws uniformly with variance 2/in.
func HeUniform(key random.Key, shape graph.Shape) *graph.Array {
	return VarianceScaling(2, FanIn, UniformDraws)(key, shape)
}

// XavierNormal draws a truncated normal of variance 2/(in+out) (Glorot and Bengio, "Understanding the difficulty of
// training deep feedforward neural networks", 2010).
func XavierNormal(key random.Key, shape graph.Shape) *graph.Array {
	return VarianceScaling(1, FanAvg, TruncatedNormalDraws)(key, shape)
}

// XavierUniform draws uniformly with variance 2/(in+out).
func XavierUniform(key random.Key, shape graph.Shape) *graph.Array {
	return VarianceScaling(1, FanAvg, UniformDraws)(key, shape)
}
