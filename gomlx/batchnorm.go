package gomlx

import (
	"github.com/gomlx/compute"

	"xlarun/graph"
)

func (f *Function) BatchNormForInference(x, scale, offset, mean, variance compute.Value, epsilon float32, axis int) (
	compute.Value, error) {
	return f.one(compute.OpTypeBatchNormForInference, func(x []*graph.Array) *graph.Array {
		return normalized(x[0], x[1], x[2], x[3], x[4], epsilon, axis)
	}, x, scale, offset, mean, variance)
}

func (f *Function) BatchNormForTraining(x, scale, offset compute.Value, epsilon float32, axis int) (
	compute.Value, compute.Value, compute.Value, error) {
	out, err := f.record(compute.OpTypeBatchNormForTraining, []compute.Value{x, scale, offset},
		func(x []*graph.Array) []*graph.Array {
			mean, variance := moments(x[0], axis)
			return []*graph.Array{normalized(x[0], x[1], x[2], mean, variance, epsilon, axis), mean, variance}
		})
	if err != nil {
		return nil, nil, nil, err
	}
	return out[0], out[1], out[2], nil
}

// BatchNormGradient implements compute.Function. The mean and the variance are functions of x, which it computes again.
func (f *Function) BatchNormGradient(x, scale, mean, variance, gradient compute.Value, epsilon float32, axis int) (
	compute.Value, compute.Value, compute.Value, error) {
	out, err := f.record(compute.OpTypeBatchNormGradient, []compute.Value{x, scale, mean, variance, gradient},
		func(x []*graph.Array) []*graph.Array {
			_, back := graph.Vjp(func(in []*graph.Array) *graph.Array {
				mean, variance := moments(in[0], axis)
				return normalized(in[0], in[1], in[2], mean, variance, epsilon, axis)
			}, []*graph.Array{x[0], x[1], graph.ZerosLike(x[1])})
			return back(x[4])
		})
	if err != nil {
		return nil, nil, nil, err
	}
	return out[0], out[1], out[2], nil
}

// moments are the mean and the variance of each feature.
func moments(x *graph.Array, axis int) (mean, variance *graph.Array) {
	var others []int
	for i := range x.Rank() {
		if i != axis {
			others = append(others, i)
		}
	}
	return x.Mean(others...), x.Variance(others...)
}

func normalized(x, scale, offset, mean, variance *graph.Array, epsilon float32, axis int) *graph.Array {
	feature := func(a *graph.Array) *graph.Array {
		dims := make([]int, x.Rank())
		for i := range dims {
			dims[i] = 1
		}
		dims[axis] = a.Size()
		return a.Reshape(dims...)
	}
	y := x.Sub(feature(mean)).Mul(graph.Rsqrt(feature(variance).Add(epsilon)))
	return y.Mul(feature(scale)).Add(feature(offset))
}
