package fft

import (
	"slices"

	"xlarun/graph"
)

// fourierPlan is a Fourier of one array.
type fourierPlan struct {
	order  []int // all axes of the array, those to transform last
	length []int // of each axis to transform
	scale  float64
}

// sized cuts the axes to transform, or puts zeros at their ends.
func (p fourierPlan) sized(x *graph.Array, length []int) *graph.Array {
	after := make([]int, x.Rank())
	for i, n := range length {
		axis := p.order[len(p.order)-len(length)+i]
		if have := x.Dim(axis); have > n {
			x = graph.SliceAxis(x, axis, 0, n)
		} else {
			after[axis] = n - have
		}
	}
	if slices.Max(after) == 0 {
		return x
	}
	return graph.Pad(x, 0, make([]int, x.Rank()), after)
}

// mostAxes is the number of axes that graph.FFT transforms.
const mostAxes = 3

// run transforms up to three axes at a time. Of the real transforms the part with the real numbers is the last axes'.
func (p fourierPlan) run(kind string, x *graph.Array) *graph.Array {
	rank := x.Rank()
	first := rank - len(p.length)
	if slices.Contains(p.length, 0) {
		none := graph.ShapeOf(graph.Complex64, x.Dims()...)
		for i, points := range p.length {
			none.Dims[p.order[first+i]] = points
		}
		switch last := p.order[rank-1]; kind {
		case "RFFT":
			none.Dims[last] = none.Dims[last]/2 + 1
		case "IRFFT":
			none.DType = graph.Float32
		}
		return graph.Zeros(none)
	}
	x = x.Transpose(p.order...)
	at := max(0, len(p.length)-mostAxes)
	last := func(x *graph.Array) *graph.Array { return graph.FFT(x, kind, p.length[at:]...) }
	others := func(kind string, x *graph.Array) *graph.Array {
		for to := at; to > 0; to -= mostAxes {
			from := max(0, to-mostAxes)
			var axes []int
			for i := from; i < to; i++ {
				axes = append(axes, first+i)
			}
			order := atEnd(rank, axes)
			x = reordered(graph.FFT(x.Transpose(order...), kind, p.length[from:to]...), order)
		}
		return x
	}
	switch kind {
	case "RFFT":
		x = others("FFT", last(x))
	case "IRFFT":
		x = last(others("IFFT", x))
	default:
		x = others(kind, last(x))
	}
	return reordered(x, p.order)
}

// atEnd is the order of axes with the given ones at the end.
func atEnd(rank int, axes []int) []int {
	var order []int
	for a := range rank {
		if !slices.Contains(axes, a) {
			order = append(order, a)
		}
	}
	return append(order, axes...)
}

// reordered transposes x, whose axis i belongs at place[i].
func reordered(x *graph.Array, place []int) *graph.Array {
	order := make([]int, len(place))
	for i, p := range place {
		order[p] = i
	}
	return x.Transpose(order...)
}

func (p fourierPlan) scaled(x *graph.Array) *graph.Array {
	if p.scale == 1 {
		return x
	}
	return x.Mul(p.scale)
}
