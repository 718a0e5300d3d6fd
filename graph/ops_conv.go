package graph

import (
	"fmt"
	"slices"
	"strings"

	"xlarun/graph/internal/attr"
	"xlarun/graph/internal/stablehlo"
)

// convAttrs: a convolution of any layout. The specs list axes: of x batch, feature, spatial…; of the kernel output
// feature, input feature, spatial…; of the result batch, feature, spatial….
//
// With feature groups, x's features and the kernel's output features are cut into so many groups, each output group
// seeing only its input group. With batch groups, x's batch and the kernel's output features are.
type convAttrs struct {
	geometry                   windowGeometry
	x, w, out                  []int
	featureGroups, batchGroups int
}

var _ = register(&Op{
	Apart:  alwaysApart,
	Name:   "conv",
	ByRows: true,
	Shape: func(c *call) []Shape {
		a := c.attrs.(convAttrs)
		x, w := c.in[0], c.in[1]
		if x.DType != w.DType || x.DType == Bool {
			c.fail("got %s and %s, want numbers of one dtype", x, w)
		}
		rank := x.Rank()
		if rank < 2 || w.Rank() != rank || len(a.x) != rank || len(a.w) != rank || len(a.out) != rank {
			c.fail("got x %s, kernel %s and layouts of %d, %d, %d axes; want equal ranks, at least 2", x, w, len(a.x),
				len(a.w), len(a.out))
		}
		for _, spec := range [][]int{a.x, a.w, a.out} {
			checkAxes(c, spec, rank)
		}
		a.geometry.check(c, rank-2)
		xd, wd := attr.At(x.Dims, a.x), attr.At(w.Dims, a.w)
		if a.featureGroups < 1 || a.batchGroups < 1 || a.featureGroups > 1 && a.batchGroups > 1 {
			c.fail("got %d feature groups and %d batch groups; want at least 1, and one of them 1", a.featureGroups,
				a.batchGroups)
		}
		if xd[1] != wd[1]*a.featureGroups {
			c.fail("x %s has %d features, the kernel %s takes %d in each of %d groups", x, xd[1], w, wd[1],
				a.featureGroups)
		}
		if wd[0]%a.featureGroups != 0 || wd[0]%a.batchGroups != 0 || xd[0]%a.batchGroups != 0 {
			c.fail("%d output features and a batch of %d do not divide into %d feature groups, %d batch groups", wd[0],
				xd[0], a.featureGroups, a.batchGroups)
		}
		dims := make([]int, rank)
		dims[a.out[0]], dims[a.out[1]] = xd[0]/a.batchGroups, wd[0]
		for i := range rank - 2 {
			dims[a.out[2+i]] = a.geometry.positions(i, xd[2+i], wd[2+i])
		}
		return []Shape{x.dims(dims...)}
	},
	Batch: batchConv,
	JVP:   bilinearJVP,
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		a := n.Attrs.(convAttrs)
		out := make([]*Array, 2)
		if cts[0].Size() == 0 {
			return out // no window fits
		}
		if linear[0] {
			out[0] = convTransposeX(a, n.Inputs[0].shape, cts[0], in[1])
		}
		if linear[1] {
			out[1] = convTransposeKernel(a, n.Inputs[1].shape, cts[0], in[0])
		}
		return out
	},
	Lower: lowerConv,
	Emit:  emitConv,
	Eval:  evalConv,
	Cost: costOf(func(n *Node) float64 {
		w := n.Inputs[1]
		return 2 * resultElements(n) * float64(w.Size()) / max(1, float64(w.Dim(n.Attrs.(convAttrs).w[0])))
	}),
	Cases: func() []Case {
		conv := func(name string, x, w []int, opts ...WindowOption) Case {
			return Case{Name: name, Inputs: []Shape{ShapeOf(Float32, x...), ShapeOf(Float32, w...)}, Lo: -1, Hi: 1,
				Tol: 1e-5, Fn: func(in []*Array) *Array { return Conv(in[0], in[1], opts...) }}
		}
		whole := conv("i32", []int{1, 5, 2}, []int{3, 2, 2})
		whole.Inputs[0].DType, whole.Inputs[1].DType, whole.Rough, whole.Lo, whole.Hi = Int32, Int32, true, -5, 5
		return []Case{
			conv("1-D strided", []int{2, 7, 2}, []int{3, 2, 3}, Strides(2), Padding([2]int{2, 1})),
			conv("2-D same", []int{2, 4, 5, 2}, []int{3, 2, 2, 3}, SamePadding()),
			conv("unbatched", []int{4, 5, 2}, []int{3, 2, 2, 3}),
			conv("cut", []int{1, 8, 2}, []int{3, 2, 2}, Padding([2]int{-1, 2}), Strides(3)),
			conv("cut between holes", []int{1, 5, 1}, []int{2, 1, 2}, BaseDilation(3), Padding([2]int{-4, -2})),
			conv("cut away", []int{1, 2, 1}, []int{1, 1, 1}, Padding([2]int{-2, 3})),
			conv("dilated", []int{1, 4, 6, 1}, []int{2, 3, 1, 2}, BaseDilation(2, 1), WindowDilation(1, 2),
				Padding([2]int{1, 2}, [2]int{0, 1})),
			conv("3-D", []int{1, 3, 3, 3, 1}, []int{2, 2, 2, 1, 2}),
			conv("feature groups", []int{2, 5, 4}, []int{2, 2, 6}, FeatureGroups(2)),
			conv("batch groups", []int{4, 5, 2}, []int{2, 2, 6}, BatchGroups(2), Strides(2)),
			conv("channels first", []int{2, 2, 5, 4}, []int{3, 2, 3, 2}, Layout("NCHW", "OIHW", "NCHW")),
			whole,
		}
	},
})

// lowerConv cuts what negative padding cuts before the convolution: XLA's CPU backend reads beside the array there.
//
// And it brings the convolution into the layout of batch, spatial axes, features (kernel: spatial axes, input, output)
// on the CPU, whatever the node's own is. XLA's CPU backend has a fast path for that layout only, and brings
// convolutions into it outside of loops but not inside, where the gradients of a plain convolution then run 20 times
// slower.
func lowerConv(l *Cursor, n *Node, in []*Array) []*Array {
	a := n.Attrs.(convAttrs)
	if slices.ContainsFunc(a.geometry.padding, func(p [2]int) bool { return min(p[0], p[1]) < 0 }) {
		x := in[0]
		for i, axis := range a.x[2:] {
			var cut [2]int
			cut, a.geometry = a.geometry.withoutCut(i)
			if cut[0]+cut[1] >= x.Dim(axis) {
				return []*Array{Zeros(n.Outs[0].shape)} // every window sees padding only
			}
			x = SliceAxis(x, axis, cut[0], x.Dim(axis)-cut[1])
		}
		return apply(n.Op, a, []*Array{x, in[1]})
	}
	if out := halfConv(l, n, in); out != nil {
		return out
	}
	xPerm := slices.Concat(a.x[:1], a.x[2:], a.x[1:2])
	wPerm := slices.Concat(a.w[2:], a.w[1:2], a.w[:1])
	outPerm := slices.Concat(a.out[:1], a.out[2:], a.out[1:2])
	if !l.target.IsCPU() || slices.IsSorted(xPerm) && slices.IsSorted(wPerm) && slices.IsSorted(outPerm) {
		return nil
	}
	a.x, a.w = featuresLast(len(a.x))
	a.out = a.x
	y := apply1(n.Op, a, Transpose(in[0], xPerm...), Transpose(in[1], wPerm...))
	return []*Array{unorder(y, outPerm)}
}

// featuresLast are the specs of arrays and kernels in the layout that is the default.
func featuresLast(rank int) (x, w []int) {
	return append([]int{0, rank - 1}, rangeInts(1, rank-1)...), append([]int{rank - 1, rank - 2},
		rangeInts(0, rank-2)...)
}

func emitConv(e *emitter, n *Node) {
	a := n.Attrs.(convAttrs)
	labels := func(spec []int, first, second string) string {
		out := make([]string, len(spec))
		out[spec[0]], out[spec[1]] = first, second
		for i, axis := range spec[2:] {
			out[axis] = fmt.Sprint(i)
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	e.generic(n, "stablehlo.convolution", fmt.Sprintf("window_strides = %s, padding = %s, lhs_dilation = %s, "+
		"rhs_dilation = %s, window_reversal = %s, "+
		"dimension_numbers = #stablehlo.conv<%sx%s->%s>, feature_group_count = %d : i64, batch_group_count = %d : i64",
		stablehlo.Int64s(a.geometry.strides), stablehlo.Matrix(a.geometry.pads(), 2),
		stablehlo.Int64s(a.geometry.baseDilation),
		stablehlo.Int64s(a.geometry.windowDilation),
		stablehlo.Bools(make([]bool, len(a.geometry.strides))), labels(a.x, "b", "f"), labels(a.w, "o", "i"),
		labels(a.out, "b", "f"), a.featureGroups, a.batchGroups))
}

func evalConv(n *Node, in []*Tensor) []*Tensor {
	out := newTensor(n.Outs[0].shape)
	n.Attrs.(convAttrs).eval(in[0], in[1], out)
	return []*Tensor{out}
}

// eval is the convolution of two tensors.
func (a convAttrs) eval(x, w, out *Tensor) {
	float := isFloat(x.Shape.DType)
	xd, wd, od := attr.At(x.Shape.Dims, a.x), attr.At(w.Shape.Dims, a.w), attr.At(out.Shape.Dims, a.out)
	xs, ws, os := attr.At(strides(x.Shape.Dims), a.x), attr.At(strides(w.Shape.Dims), a.w),
		attr.At(strides(out.Shape.Dims), a.out)
	perFeatureGroup, perBatchGroup := wd[0]/a.featureGroups, wd[0]/a.batchGroups
	forEach(od, func(_ int, o []int) {
		batch := o[1]/max(1, perBatchGroup)*(xd[0]/a.batchGroups) + o[0]
		feature := o[1] / max(1, perFeatureGroup) * wd[1]
		var f float64
		var u uint64
		forEach(wd[1:], func(_ int, k []int) {
			xi, wi := batch*xs[0]+(feature+k[0])*xs[1], o[1]*ws[0]+k[0]*ws[1]
			for i := range k[1:] {
				at, inside := a.geometry.at(i, xd[2+i], o[2+i], k[1+i])
				if !inside {
					return
				}
				xi += at * xs[2+i]
				wi += k[1+i] * ws[2+i]
			}
			if float {
				f += x.F(xi) * w.F(wi)
			} else {
				u += x.V[xi] * w.V[wi]
			}
		})
		if float {
			out.SetF(dot(o, os), f)
		} else {
			out.SetI(dot(o, os), int64(u))
		}
	})
}

// swapped is a spec with its first two roles (batch and feature, output and input) exchanged.
func swapped(spec []int) []int { return append([]int{spec[1], spec[0]}, spec[2:]...) }

// convTransposeX carries ct back to x: a convolution with the kernel turned around and its features exchanged.
func convTransposeX(a convAttrs, x Shape, ct, w *Array) *Array {
	groups := a.featureGroups * a.batchGroups
	g := a.geometry.transposed(attr.At(x.Dims, a.x[2:]), attr.At(w.Dims(), a.w[2:]), attr.At(ct.Dims(), a.out[2:]))
	w = mergeAxis(splitAxis(w, a.w[0], groups), a.w[0], a.w[1]) // input features [groups, per group] become outputs
	if len(a.w) > 2 {
		w = Reverse(w, a.w[2:]...)
	}
	out := apply1(op("conv"), convAttrs{g, a.out, swapped(a.w), a.x, groups, 1}, ct, w)
	if a.batchGroups > 1 {
		out = mergeAxis(splitAxis(out, a.x[1], a.batchGroups), a.x[1], a.x[0])
	}
	return out
}

// convTransposeKernel carries ct back to the kernel: a convolution of x, features as batch, with ct as kernel.
func convTransposeKernel(a convAttrs, w Shape, ct, x *Array) *Array {
	g := windowGeometry{strides: a.geometry.windowDilation, baseDilation: a.geometry.baseDilation,
		windowDilation: a.geometry.strides}
	for i := range a.geometry.strides {
		n, size, out := x.shape.Dims[a.x[2+i]], w.Dims[a.w[2+i]], ct.shape.Dims[a.out[2+i]]
		before := a.geometry.padding[i][0]
		// As many positions as the kernel has elements, whatever the strides left over at the end.
		after := dilated(out, a.geometry.strides[i]) + dilated(size, a.geometry.windowDilation[i]) - 1 - before -
			dilated(n, a.geometry.baseDilation[i])
		g.padding = append(g.padding, [2]int{before, after})
	}
	return apply1(op("conv"), convAttrs{g, swapped(a.x), swapped(a.out), swapped(a.w), a.batchGroups, a.featureGroups},
		x, ct)
}

// splitAxis cuts an axis into [n, rest], in place.
func splitAxis(x *Array, axis, n int) *Array {
	dims := slices.Clone(x.Dims())
	rest := 0
	if n > 0 {
		rest = dims[axis] / n
	}
	dims[axis] = rest
	return Reshape(x, slices.Insert(dims, axis, n)...)
}

// mergeAxis moves an axis in front of another one and makes one axis of both. axis counts in x, into in x without axis:
// the result has the axes of x without axis.
func mergeAxis(x *Array, axis, into int) *Array {
	dims := dropAxes(x.Dims(), []int{axis})
	dims[into] *= x.shape.Dims[axis]
	return Reshape(MoveAxis(x, axis, into), dims...)
}

// batchConv makes the lanes part of the batch where only x has them, part of the output features where only the kernel
// has, and groups of their own where both have.
func batchConv(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
	a := n.Attrs.(convAttrs)
	x, w := in[0], in[1]
	// inside groups, lanes come after the group: [groups, lanes, rest].
	fold := func(v *Array, lane, axis, groups int) *Array {
		v = MoveAxis(v, lane, 0)
		return mergeAxis(mergeAxis(splitAxis(v, axis+1, groups), 0, axis+1), axis, axis)
	}
	unfold := func(v *Array, axis, groups int) (*Array, int) {
		v = splitAxis(splitAxis(v, axis, groups), axis+1, b.size)
		return mergeAxis(MoveAxis(v, axis+1, 0), axis+1, axis+1), 0
	}
	switch {
	case dims[1] < 0:
		out, d := unfold(apply1(n.Op, a, fold(x, dims[0], a.x[0], a.batchGroups), w), a.out[0], 1)
		return []*Array{out}, []int{d}
	case dims[0] < 0:
		groups := a.featureGroups * a.batchGroups
		out, d := unfold(apply1(n.Op, a, x, fold(w, dims[1], a.w[0], groups)), a.out[1], groups)
		return []*Array{out}, []int{d}
	}
	w = mergeAxis(w, dims[1], a.w[0])
	if a.batchGroups > 1 {
		x = mergeAxis(x, dims[0], a.x[0])
		a.batchGroups *= b.size
	} else {
		x = mergeAxis(x, dims[0], a.x[1])
		a.featureGroups *= b.size
	}
	return []*Array{splitAxis(apply1(n.Op, a, x, w), a.out[1], b.size)}, []int{a.out[1]}
}

// FeatureGroups cuts the input and output features of a convolution into n groups that do not see each other; with as
// many groups as features it is a depthwise convolution. The kernel has the input features of one group.
func FeatureGroups(n int) WindowOption { return func(c *windowConfig) { c.featureGroups = n } }

// BatchGroups cuts the batch and the output features of a convolution into n groups: output group g sees batch group g.
func BatchGroups(n int) WindowOption { return func(c *windowConfig) { c.batchGroups = n } }

// Layout names the axes of a convolution's input, kernel and result: N batch, C feature, O and I the kernel's output
// and input features, any other letter a spatial axis, as in Layout("NCHW", "OIHW", "NCHW"). Strides, padding and
// dilation follow the order of the spatial letters in the kernel, as in jax.lax.conv_general_dilated.
func Layout(x, kernel, out string) WindowOption {
	return func(c *windowConfig) { c.layout = []string{x, kernel, out} }
}

// Conv is a convolution as neural networks have it (the kernel is not turned around): x [N, spatial…, C] with kernel
// [spatial…, C/groups, O] gives [N, spatial…, O], for any number of spatial axes. x may lack the batch axis:
// [spatial…, C] gives [spatial…, O]. Operands are promoted to one dtype. Options: Strides, SamePadding, Padding,
// WindowDilation, BaseDilation, FeatureGroups, BatchGroups, Layout.
func Conv(x, kernel *Array, opts ...WindowOption) *Array {
	wantArrays("Conv", x, kernel)
	c := windowOptions(opts)
	rank := kernel.Rank()
	if rank < 2 || x.Rank() != rank && x.Rank() != rank-1 {
		throw("Conv", "got x %s and kernel %s; want x [batch, spatial…, features] or [spatial…, features], kernel "+
			"[spatial…, features in, features out]", x.shape, kernel.shape)
	}
	if x.Rank() == rank-1 {
		if c.layout != nil {
			throw("Conv", "x %s has no batch axis, which Layout names: add it with ExpandDims", x.shape)
		}
		return Squeeze(Conv(ExpandDims(x, 0), kernel, opts...), 0)
	}
	// The default layout: batch first, features last; the kernel's features last.
	a := convAttrs{featureGroups: c.featureGroups, batchGroups: c.batchGroups}
	a.x, a.w = featuresLast(rank)
	a.out = a.x
	if c.layout != nil {
		letters := convLetters(c.layout[1])
		a.x = convSpec(c.layout[0], "NC"+letters, rank)
		a.w = convSpec(c.layout[1], "OI"+letters, rank)
		a.out = convSpec(c.layout[2], "NC"+letters, rank)
	}
	d := Promote(x.DType(), kernel.DType())
	x, kernel = Convert(x, d), Convert(kernel, d)
	a.geometry = c.resolve("Conv", attr.At(x.Dims(), a.x[2:]), attr.At(kernel.Dims(), a.w[2:]))
	return apply1(op("conv"), a, x, kernel)
}

// convLetters lists the spatial axes of a kernel's layout, in order.
func convLetters(kernel string) string { return strings.NewReplacer("O", "", "I", "").Replace(kernel) }

// convSpec finds the axes of a layout in the order of roles.
func convSpec(layout, roles string, rank int) []int {
	spec := make([]int, len(roles))
	for i := range roles {
		spec[i] = strings.IndexByte(layout, roles[i])
		if spec[i] < 0 || len(layout) != rank || len(roles) != rank || strings.Count(layout, roles[i:i+1]) != 1 {
			throw("Conv", "layout %q; want each of the letters %q once, for %d axes", layout, roles, rank)
		}
	}
	return spec
}
