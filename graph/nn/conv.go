package nn

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/precision"
	"xlarun/graph/random"
)

// Conv is a convolution over any number of spatial axes, features last.
type Conv struct {
	W         *graph.Array // [spatial…, in/Groups, out]
	B         *graph.Array `tree:"optional"` // [out]; nil: no bias
	Strides   []int        // steps along each spatial axis; nil: 1
	Dilation  []int        // of the kernel, along each spatial axis; nil: 1
	Same      bool         // pad so that there are ceil(size/stride) windows along each axis
	Pads      [][2]int     // else the zeros before and after along each axis; nil: none
	Groups    int          // independent groups of features; 0: 1
	Precision precision.Policy
}

// NewConv makes a convolution with a kernel of the given sizes, one a spatial axis, from in to out features. Options:
// Strides, Dilation, Valid, Pads, Groups, Weights, Bias, NoBias, Precision; the padding is "SAME" unless Valid or Pads
// is given. W is drawn from the first of random.Split2(key), B from the second.
func NewConv(key random.Key, kernel []int, in, out int, opts ...Option) Conv {
	const op = "nn.NewConv"
	c := readOptions(op, opts, "Strides", "Dilation", "Valid", "Pads", "Groups", "Weights", "Bias", "NoBias",
		"Precision")
	for _, n := range append(slices.Clone(kernel), in, out) {
		wantSize(op, "a kernel size or number of features", n)
	}
	if c.groups < 1 || in%c.groups != 0 || out%c.groups != 0 {
		graph.Throw(op, "got %d groups, want a number that divides %d and %d features", c.groups, in, out)
	}
	k1, k2 := random.Split2(key)
	l := Conv{W: c.weights(k1, c.shape(append(slices.Clone(kernel), in/c.groups, out)...)), Strides: c.strides,
		Dilation: c.dilation,
		Same:     !c.valid && c.pads == nil, Pads: c.pads, Groups: c.groups, Precision: c.precision}
	if !c.noBias {
		l.B = c.bias(k2, c.shape(out))
	}
	return l
}

// Apply maps x [spatial…, in] to [spatial…, out].
func (l Conv) Apply(x *graph.Array) *graph.Array {
	groups := max(l.Groups, 1)
	wantLast("nn.Conv", "x", x, l.W.Dim(-2)*groups)
	opts := []graph.WindowOption{graph.FeatureGroups(groups)}
	if l.Strides != nil {
		opts = append(opts, graph.Strides(l.Strides...))
	}
	if l.Dilation != nil {
		opts = append(opts, graph.WindowDilation(l.Dilation...))
	}
	switch {
	case l.Same:
		opts = append(opts, graph.SamePadding())
	case l.Pads != nil:
		opts = append(opts, graph.Padding(l.Pads...))
	}
	p := l.Precision
	y := graph.Conv(toCompute(p, x), toCompute(p, l.W), opts...)
	if l.B != nil {
		y = y.Add(toCompute(p, l.B))
	}
	return toOutput(p, y)
}
