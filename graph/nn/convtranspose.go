package nn

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/precision"
	"xlarun/graph/random"
)

// ConvTranspose is a transposed (fractionally strided) convolution over any number of spatial axes, features last: with
// SAME padding each axis grows by its stride.
type ConvTranspose struct {
	W        *graph.Array // [spatial…, in, out]
	B        *graph.Array `tree:"optional"` // [out]; nil: no bias
	Strides  []int        // growth along each spatial axis; nil: 1
	Dilation []int        // of the kernel, along each spatial axis; nil: 1
	// the result has size*stride elements along each axis; else size*stride + max(kernel-stride, 0)
	Same      bool
	Pads      [][2]int // else the zeros around the dilated input
	Precision precision.Policy
}

// NewConvTranspose makes a transposed convolution with a kernel of the given sizes, one a spatial axis, from in to out
// features. Options: Strides, Dilation, Valid, Pads, Weights, Bias, NoBias, Precision; the padding is "SAME" unless
// Valid or Pads is given. W is drawn from the first of random.Split2(key), B from the second.
func NewConvTranspose(key random.Key, kernel []int, in, out int, opts ...Option) ConvTranspose {
	const op = "nn.NewConvTranspose"
	c := readOptions(op, opts, "Strides", "Dilation", "Valid", "Pads", "Weights", "Bias", "NoBias", "Precision")
	for _, n := range append(slices.Clone(kernel), in, out) {
		wantSize(op, "a kernel size or number of features", n)
	}
	k1, k2 := random.Split2(key)
	l := ConvTranspose{W: c.weights(k1, c.shape(append(slices.Clone(kernel), in, out)...)), Strides: c.strides,
		Dilation: c.dilation, Same: !c.valid && c.pads == nil, Pads: c.pads, Precision: c.precision}
	if !c.noBias {
		l.B = c.bias(k2, c.shape(out))
	}
	return l
}

// Apply maps x [spatial…, in] to [spatial…, out].
func (l ConvTranspose) Apply(x *graph.Array) *graph.Array {
	const op = "nn.ConvTranspose"
	wantLast(op, "x", x, l.W.Dim(-2))
	axes := l.W.Rank() - 2
	if x.Rank() != axes+1 {
		graph.Throw(op, "x is %s, want %d spatial axes and %d features", x.Shape(), axes, l.W.Dim(-2))
	}
	strides, dilation := ones(op, "strides", l.Strides, axes), ones(op, "dilations", l.Dilation, axes)
	pads := l.Pads
	if pads == nil {
		for i := range axes {
			k, s := (l.W.Dim(i)-1)*dilation[i]+1, strides[i]
			// The padding of the convolution that this transposes.
			total, before := k+s-2, k-1
			switch {
			case !l.Same:
				total += max(k-s, 0)
			case s < k:
				before = (total + 1) / 2
			}
			pads = append(pads, [2]int{before, total - before})
		}
	}
	p := l.Precision
	y := graph.Conv(toCompute(p, x), toCompute(p, l.W), graph.BaseDilation(strides...),
		graph.WindowDilation(dilation...), graph.Padding(pads...))
	if l.B != nil {
		y = y.Add(toCompute(p, l.B))
	}
	return toOutput(p, y)
}

// ones is v, or a 1 for each axis if v is nil.
func ones(op, what string, v []int, axes int) []int {
	if v == nil {
		return slices.Repeat([]int{1}, axes)
	}
	if len(v) != axes {
		graph.Throw(op, "got %d %s for a kernel over %d axes; want one an axis", len(v), what, axes)
	}
	return v
}
