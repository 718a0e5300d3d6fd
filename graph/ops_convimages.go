package graph

import "slices"

// imageAttrs are the sizes of a convolution of images: windows over their two axes, with zeros around them; features of
// images and of results; and how many leading axes weights have.
type imageAttrs struct {
	height, width, kernelHeight, kernelWidth, strideHeight, strideWidth, top, bottom, left, right int
	ins, outs, lead                                                                               int
}

// windows are how many there are along both axes.
func (a imageAttrs) windows() (high, wide int) {
	return (a.height+a.top+a.bottom-a.kernelHeight)/a.strideHeight + 1, (a.width+a.left+a.right-a.kernelWidth)/
		a.strideWidth + 1
}

// What takes part in a convolution.
const (
	convX = iota // images
	convW        // weights
	convY        // what comes of them
)

// part are the last axes of one of them.
func (a imageAttrs) part(role int) []int {
	high, wide := a.windows()
	return [][]int{convX: {a.height, a.width, a.ins}, convW: {a.kernelHeight, a.kernelWidth, a.ins, a.outs},
		convY: {high, wide, a.outs}}[role]
}

// config is what shapes do not tell the kernels.
func (a imageAttrs) config() []int {
	return []int{a.strideHeight, a.strideWidth, a.top, a.left, a.lead}
}

// each calls f for every element of a window that lies in the image: which window, which of the weights' first two
// axes, and which pixel.
func (a imageAttrs) each(f func(window, tap, pixel int)) {
	high, wide := a.windows()
	for oy := range high {
		for ox := range wide {
			for ky := range a.kernelHeight {
				for kx := range a.kernelWidth {
					y, x := oy*a.strideHeight+ky-a.top, ox*a.strideWidth+kx-a.left
					if y >= 0 && y < a.height && x >= 0 && x < a.width {
						f(oy*wide+ox, ky*a.kernelWidth+kx, y*a.width+x)
					}
				}
			}
		}
	}
}

// The ops of a convolution of images x [lead..., images..., height, width, ins] with weights w [lead..., kernel height,
// kernel width, ins, outs] to y [lead..., images..., high, wide, outs]: y of x and w; what a gradient of y is to x, of
// that gradient and w; and what it is to w, a sum over images, of x and that gradient. Each is linear in both of its
// inputs, and what it is of their gradients are the other two.
//
// XLA's CPU compiler writes the gradients of convolutions as slow loops where they lie in one of its own, and products
// of all windows go through memory, some nine times as large as the images. The kernels keep sums in registers and what
// they read in the nearest cache.
var (
	_ = register(convImagesOp(convX, convY, convW))
	_ = register(convImagesOp(convW, convX, convY))
	_ = register(convImagesOp(convY, convX, convW))
)

// convImagesNames are the names of the ops, by what they return.
var convImagesNames = [...]string{convX: "conv_images_input", convW: "conv_images_weights", convY: "conv_images"}

// convImagesOp gives the third of a convolution, and takes the first and the second.
func convImagesOp(third, first, second int) *Op {
	return &Op{
		Name: convImagesNames[third],
		Shape: func(c *call) []Shape {
			a := c.attrs.(imageAttrs)
			front := make([][]int, 2)
			for i, role := range []int{first, second} {
				s, part := c.in[i], a.part(role)
				n := s.Rank() - len(part)
				if n < a.lead || role == convW && n > a.lead || !slices.Equal(s.Dims[max(n, 0):], part) ||
					!isFloat(s.DType) || s.DType != c.in[0].DType {
					c.fail("input %d is %s, want floats of one dtype, %v behind the axes in front", i, s, part)
				}
				front[i] = s.Dims[:n]
			}
			if !slices.Equal(front[0][:a.lead], front[1][:a.lead]) || third == convW &&
				!slices.Equal(front[0], front[1]) {
				c.fail("got %s and %s, want the same axes in front", c.in[0], c.in[1])
			}
			if third == convW {
				front[0] = front[0][:a.lead]
			}
			return []Shape{c.in[0].dims(slices.Concat(front[0], a.part(third))...)}
		},
		// Lanes of images alone are more images; where weights have lanes, too, there is one more leading axis.
		Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
			a := n.Attrs.(imageAttrs)
			if second == convW && dims[1] < 0 {
				return apply(n.Op, a, []*Array{b.moveTo(in[0], dims[0], a.lead), in[1]}), []int{a.lead}
			}
			a.lead++
			return apply(n.Op, a, b.front(in, dims)), []int{0}
		},
		JVP: bilinearJVP,
		Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
			out := make([]*Array, 2)
			for i, role := range []int{first, second} {
				if linear[i] {
					of := [3]*Array{}
					of[[]int{second, first}[i]], of[third] = in[1-i], cts[0]
					out[i] = n.Attrs.(imageAttrs).apply(role, of)
				}
			}
			return out
		},
		Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
			a, out := n.Attrs.(imageAttrs), n.Outs[0].shape
			of := [3]*Array{}
			of[first], of[second] = in[0], in[1]
			switch {
			case out.Size() == 0 || in[0].Size() == 0 || in[1].Size() == 0:
				return []*Array{Zeros(out)}
			case l.target.HasKernels() && out.DType == Float32 && n.Op.Cost(n, nil).FLOPs >=
				float64(l.target.atLeast(leastConvImages)):
				return kernelCall(convImagesKernel(a, third, first, second), a.config(), []Shape{out}, in...)
			case a.paysHalf(l.target, third, in[0].DType(), n.Op.Cost(n, nil).FLOPs):
				return []*Array{a.byConv(third, of)}
			case l.target.HasKernels() && (out.DType == BFloat16 || out.DType == Float16):
				// Widened, the kernels are still faster than products of all windows.
				wide := apply1(n.Op, a, Convert(in[0], Float32), Convert(in[1], Float32))
				return []*Array{Convert(wide, out.DType)}
			case a.lead == 0 && !l.target.IsCPU():
				return []*Array{a.byConv(third, of)}
			}
			return []*Array{a.byProducts(third, of)}
		},
		Eval: func(n *Node, in []*Tensor) []*Tensor {
			out := newTensor(n.Outs[0].shape)
			of := [3]*Tensor{}
			of[first], of[second], of[third] = in[0], in[1], out
			n.Attrs.(imageAttrs).eval(third, of)
			return []*Tensor{out}
		},
		Cost: costOf(func(n *Node) float64 {
			a := n.Attrs.(imageAttrs)
			of := [3]Shape{}
			of[first], of[second], of[third] = n.Inputs[0].shape, n.Inputs[1].shape, n.Outs[0].shape
			y := of[convY].Size()
			return 2 * float64(y) * float64(a.kernelHeight*a.kernelWidth*a.ins)
		}),
		Cases: func() []Case { return convImagesCases(third, first, second) },
	}
}

// paysHalf reports whether an op is a convolution that calls the kernel for bfloat16: weights are the same for all
// images, and images have no holes.
func (a imageAttrs) paysHalf(t Target, role int, d DType, flops float64) bool {
	inputs, outputs := a.kernelHeight*a.kernelWidth*a.ins, a.outs
	if role == convX {
		inputs, outputs = a.kernelHeight*a.kernelWidth*a.outs, a.ins
	}
	return t.products(BFloat16) && d == BFloat16 && a.lead == 0 && flops >= float64(2*t.atLeast(leastHalf)) &&
		(role != convX || a.strideHeight*a.strideWidth == 1) && outputs >= t.atLeast(leastHalfLines) &&
		inputs >= t.atLeast(leastHalfWindow)
}

// apply is what takes the role in a convolution, of the other two.
func (a imageAttrs) apply(role int, of [3]*Array) *Array {
	in := slices.DeleteFunc([]*Array{of[convX], of[convY], of[convW]}, func(x *Array) bool { return x == nil })
	return apply1(op(convImagesNames[role]), a, in...)
}

// leastConvImages is the number of operations from which on the kernels are called.
const leastConvImages = 1 << 12

// convImagesKernel is the kernel of an op.
func convImagesKernel(a imageAttrs, third, first, second int) *Kernel {
	return &Kernel{Target: "xlarun_" + convImagesNames[third], evalConfig: func(_ []int, in, out []*Tensor) {
		of := [3]*Tensor{}
		of[first], of[second], of[third] = in[0], in[1], out[0]
		a.eval(third, of)
	}}
}

// eval adds to what takes the role what comes of the other two.
func (a imageAttrs) eval(role int, of [3]*Tensor) {
	front := of[convX].Shape.Dims[:of[convX].Shape.Rank()-3]
	images := product(front[a.lead:])
	sizes := [3]int{}
	for r := range sizes {
		sizes[r] = product(a.part(r))
	}
	sums := make([]float64, len(of[role].V))
	for i := range product(front) {
		x, w, y := i*sizes[convX], i/max(1, images)*sizes[convW], i*sizes[convY]
		a.each(func(window, tap, pixel int) {
			for c := range a.ins {
				for o := range a.outs {
					at := [3]int{x + pixel*a.ins + c, w + (tap*a.ins+c)*a.outs + o, y + window*a.outs + o}
					p, q := (role+1)%3, (role+2)%3
					sums[at[role]] += of[p].F(at[p]) * of[q].F(at[q])
				}
			}
		})
	}
	for i, s := range sums {
		of[role].SetF(i, s)
	}
}

// byConv is the op made of a convolution as compilers of other devices know it, and of its gradients.
func (a imageAttrs) byConv(role int, of [3]*Array) *Array {
	conv := convAttrs{featureGroups: 1, batchGroups: 1}
	conv.x, conv.w = featuresLast(4)
	conv.out = conv.x
	conv.geometry = windowGeometry{strides: []int{a.strideHeight, a.strideWidth}, padding: [][2]int{
		{a.top, a.bottom}, {a.left, a.right}}, baseDilation: []int{1, 1}, windowDilation: []int{1, 1}}
	flat := func(r int) *Array { return Reshape(of[r], append([]int{-1}, a.part(r)...)...) }
	var front []int
	for _, r := range []int{convX, convY} {
		if of[r] != nil {
			front = of[r].Dims()[:of[r].Rank()-3]
		}
	}
	switch role {
	case convX:
		x := convTransposeX(conv, of[convY].shape.dims(append([]int{product(front)}, a.part(convX)...)...), flat(convY),
			of[convW])
		return Reshape(x, slices.Concat(front, a.part(convX))...)
	case convW:
		return convTransposeKernel(conv, of[convX].shape.dims(a.part(convW)...), flat(convY), flat(convX))
	}
	return Reshape(apply1(op("conv"), conv, flat(convX), of[convW]), slices.Concat(front, a.part(convY))...)
}

// byProducts is the op made of products of matrices with all windows side by side.
func (a imageAttrs) byProducts(role int, of [3]*Array) *Array {
	high, wide := a.windows()
	var front []int
	for _, r := range []int{convX, convY} {
		if of[r] != nil {
			front = of[r].Dims()[:of[r].Rank()-3]
		}
	}
	lead, taps := front[:a.lead], a.kernelHeight*a.kernelWidth*a.ins
	rows := func(x *Array, columns int) *Array { return Reshape(x, slices.Concat(lead, []int{-1, columns})...) }
	times := func(x, y *Array, left, right int) *Array {
		b := rangeInts(0, a.lead)
		return DotGeneral(x, y, b, b, []int{a.lead + left}, []int{a.lead + right})
	}
	switch role {
	case convX:
		windows := times(rows(of[convY], a.outs), rows(of[convW], a.outs), 1, 1)
		return a.fold(Reshape(windows, slices.Concat(front, []int{high, wide, taps})...))
	case convW:
		return Reshape(times(rows(a.unfold(of[convX]), taps), rows(of[convY], a.outs), 0, 0),
			slices.Concat(lead, a.part(convW))...)
	}
	return Reshape(times(rows(a.unfold(of[convX]), taps), rows(of[convW], a.outs), 1, 0),
		slices.Concat(front, a.part(convY))...)
}

// unfold is x [..., height, width, channels] as its windows [..., high, wide, kernel height * kernel width * channels]
// (Chellapilla et al., "High performance convolutional neural networks for document processing", 2006).
func (a imageAttrs) unfold(x *Array) *Array {
	n := x.Rank() - 3
	low, high := make([]int, n+3), make([]int, n+3)
	low[n], high[n], low[n+1], high[n+1] = a.top, a.bottom, a.left, a.right
	x = Pad(x, 0., low, high)
	var parts []*Array
	a.taps(func(y, x0, toY, toX int) {
		start, limit, stride := make([]int, n+3), slices.Clone(x.Dims()), slices.Repeat([]int{1}, n+3)
		start[n], limit[n], stride[n] = y, toY, a.strideHeight
		start[n+1], limit[n+1], stride[n+1] = x0, toX, a.strideWidth
		parts = append(parts, StridedSlice(x, start, limit, stride))
	})
	return Concatenate(n+2, parts...)
}

// fold is the transpose of unfold: each element of an image is the sum of those of the windows that are taken from it.
func (a imageAttrs) fold(y *Array) (sum *Array) {
	n := y.Rank() - 3
	height, width := a.height+a.top+a.bottom, a.width+a.left+a.right
	k := 0
	a.taps(func(fromY, fromX, toY, toX int) {
		part := SliceAxis(y, n+2, k*a.ins, (k+1)*a.ins)
		low, high, interior := make([]int, n+3), make([]int, n+3), make([]int, n+3)
		low[n], high[n], interior[n] = fromY, height-toY, a.strideHeight-1
		low[n+1], high[n+1], interior[n+1] = fromX, width-toX, a.strideWidth-1
		sum = addTangents(sum, PadConfig(part, 0, low, high, interior))
		k++
	})
	return SliceAxis(SliceAxis(sum, n, a.top, a.top+a.height), n+1, a.left, a.left+a.width)
}

// taps calls f for each place of a kernel with the first row and column that it meets, of an image with zeros around
// it, and those after the last.
func (a imageAttrs) taps(f func(y, x, toY, toX int)) {
	high, wide := a.windows()
	for y := range a.kernelHeight {
		for x := range a.kernelWidth {
			f(y, x, y+(high-1)*a.strideHeight+1, x+(wide-1)*a.strideWidth+1)
		}
	}
}

// convImagesCases are samples of an op.
func convImagesCases(third, first, second int) (cases []Case) {
	for _, c := range []struct {
		what        string
		lead, front []int
		a           imageAttrs
	}{
		{"valid", nil, nil, imageAttrs{4, 5, 3, 2, 1, 1, 0, 0, 0, 0, 2, 3, 0}},
		{"same", nil, []int{2}, imageAttrs{3, 4, 3, 3, 1, 1, 1, 1, 1, 1, 1, 2, 0}},
		{"strides", nil, []int{3, 1}, imageAttrs{5, 7, 2, 3, 2, 3, 1, 0, 0, 2, 3, 1, 0}},
		{"one window", nil, []int{2}, imageAttrs{2, 2, 2, 2, 1, 1, 0, 0, 0, 0, 1, 1, 0}},
		{"rows that are left over", nil, []int{1}, imageAttrs{6, 5, 2, 2, 3, 4, 0, 0, 0, 0, 1, 2, 0}},
		{"a window of zeros", nil, nil, imageAttrs{1, 1, 2, 2, 2, 2, 2, 1, 2, 1, 2, 2, 0}},
		{"more zeros than the kernel is wide", nil, nil, imageAttrs{2, 2, 1, 2, 1, 1, 2, 1, 3, 0, 1, 2, 0}},
		{"weights of each one's own", []int{2}, []int{3}, imageAttrs{4, 4, 3, 3, 1, 1, 1, 1, 1, 1, 2, 5, 1}},
		{"many features", nil, []int{2}, imageAttrs{3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 5, 19, 0}},
	} {
		var in []Shape
		for _, role := range []int{first, second} {
			front := c.lead
			if role != convW {
				front = slices.Concat(c.lead, c.front)
			}
			in = append(in, ShapeOf(Float32, slices.Concat(front, c.a.part(role))...))
		}
		cases = append(cases, Case{Name: c.what, Inputs: in, Lo: -1, Hi: 1, Tol: 1e-5, Rough: true,
			Fn: func(x []*Array) *Array {
				of := [3]*Array{}
				of[first], of[second] = x[0], x[1]
				return c.a.apply(third, of)
			}})
	}
	return cases
}

// ConvImages is a convolution of images x [..., height, width, features in], any number of them, with a kernel [height,
// width, features in, features out]: [..., high, wide, features out], as Conv gives it for one axis in front. pads are
// the zeros before and after along both axes; a window that would leave them is none.
//
// It is for many small images in learners: on CPU it and its gradients run on one core, which others may share with it,
// at that core's full speed, also where VMap gives each lane a kernel of its own. Conv has all cores for one large
// convolution.
func ConvImages(x, kernel *Array, strides [2]int, pads [2][2]int) *Array {
	const name = "ConvImages"
	wantArrays(name, x, kernel)
	if x.Rank() < 3 || kernel.Rank() != 4 || x.Dim(-1) != kernel.Dim(2) {
		throw(name, "got x %s and kernel %s; want x [..., height, width, features in], kernel [height, width, "+
			"features in, features out]", x.shape, kernel.shape)
	}
	a := imageAttrs{x.Dim(-3), x.Dim(-2), kernel.Dim(0), kernel.Dim(1), strides[0], strides[1], pads[0][0], pads[0][1],
		pads[1][0], pads[1][1], kernel.Dim(2), kernel.Dim(3), 0}
	if min(a.kernelHeight, a.kernelWidth, a.strideHeight, a.strideWidth) < 1 || min(a.top, a.bottom, a.left, a.right) <
		0 {
		throw(name, "got a kernel %s, strides of %v and pads of %v, want sizes and strides from 1 and pads from 0 on",
			kernel.shape, strides, pads)
	}
	if a.height+a.top+a.bottom < a.kernelHeight || a.width+a.left+a.right < a.kernelWidth {
		throw(name, "got a kernel %s for %s with pads of %v, want one that fits", kernel.shape, x.shape, pads)
	}
	d := Promote(x.DType(), kernel.DType())
	if !isFloat(d) {
		throw(name, "got %s and %s, want floats: convert them first", x.shape, kernel.shape)
	}
	return a.apply(convY, [3]*Array{convX: Convert(x, d), convW: Convert(kernel, d)})
}
