package graph

import "slices"

// unfoldAttrs are windows over two axes; height and width are those of what they are taken from.
type unfoldAttrs struct{ height, width, kernelHeight, kernelWidth, strideHeight, strideWidth, top, bottom, left, right int }

// windows are how many there are along both axes.
func (a unfoldAttrs) windows() (high, wide int) {
	return (a.height+a.top+a.bottom-a.kernelHeight)/a.strideHeight + 1, (a.width+a.left+a.right-a.kernelWidth)/a.strideWidth + 1
}

// sizes are the last three axes of what is unfolded, and of what it is unfolded into.
func (a unfoldAttrs) sizes(channels int) (image, windows []int) {
	high, wide := a.windows()
	return []int{a.height, a.width, channels}, []int{high, wide, a.kernelHeight * a.kernelWidth * channels}
}

// each calls f for every row of a window that lies in the image at least in part: window is its first element among the windows', image among the image's, n how many there are.
func (a unfoldAttrs) each(channels int, f func(window, image, n int)) {
	high, wide := a.windows()
	for oy := range high {
		for ox := range wide {
			for ky := range a.kernelHeight {
				y, x := oy*a.strideHeight+ky-a.top, ox*a.strideWidth-a.left
				from, to := max(x, 0), min(x+a.kernelWidth, a.width)
				if y < 0 || y >= a.height || from >= to {
					continue
				}
				window := ((oy*wide+ox)*a.kernelHeight+ky)*a.kernelWidth + from - x
				f(window*channels, (y*a.width+from)*channels, (to-from)*channels)
			}
		}
	}
}

func (a unfoldAttrs) config() []int {
	return []int{a.kernelHeight, a.kernelWidth, a.strideHeight, a.strideWidth, a.top, a.left}
}

// unfold: x [lead..., height, width, channels] -> its windows [lead..., high, wide, kernel height * kernel width * channels]; there are zeros around x.
var _ = register(&Op{
	Name: "unfold",
	Shape: func(c *call) []Shape {
		a, x := c.attrs.(unfoldAttrs), c.in[0]
		n := x.Rank() - 3
		if n < 0 || x.Dims[n] != a.height || x.Dims[n+1] != a.width {
			c.fail("got %s, want [..., %d, %d, channels]", x, a.height, a.width)
		}
		_, windows := a.sizes(x.Dims[n+2])
		return []Shape{x.dims(slices.Concat(x.Dims[:n], windows)...)}
	},
	Batch: batchLead,
	JVP:   func(n *Node, in, out, t []*Array) []*Array { return apply(n.Op, n.Attrs, t) },
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		return []*Array{apply1(op("fold"), n.Attrs, cts[0])}
	},
	Lower: func(l *lowering, n *Node, in []*Array) []*Array {
		a := n.Attrs.(unfoldAttrs)
		if l.callsUnfold(n) {
			return kernelCall(unfoldKernel, a.config(), []Shape{n.Outs[0].shape}, in...)
		}
		return []*Array{unfoldBySlices(a, in[0])}
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		a, x, out := n.Attrs.(unfoldAttrs), in[0], newTensor(n.Outs[0].shape)
		channels := x.Shape.Dims[x.Shape.Rank()-1]
		image, windows := a.sizes(channels)
		for i := range product(x.Shape.Dims[:x.Shape.Rank()-3]) {
			to, from := out.V[i*product(windows):], x.V[i*product(image):]
			a.each(channels, func(window, at, k int) { copy(to[window:window+k], from[at:at+k]) })
		}
		return []*Tensor{out}
	},
	Cost:  costOf(func(n *Node) float64 { return 0 }),
	Cases: func() []Case { return unfoldCases("unfold", func(_ unfoldAttrs, dims []int) []int { return dims }) },
})

// fold is the transpose of unfold: each element of the image is the sum of those of the windows that are taken from it.
var _ = register(&Op{
	Name: "fold",
	Shape: func(c *call) []Shape {
		a, y := c.attrs.(unfoldAttrs), c.in[0]
		n := y.Rank() - 3
		if n < 0 || y.Dims[n+2]%(a.kernelHeight*a.kernelWidth) != 0 {
			c.fail("got %s, want [..., high, wide, %d * channels]", y, a.kernelHeight*a.kernelWidth)
		}
		image, windows := a.sizes(y.Dims[n+2] / (a.kernelHeight * a.kernelWidth))
		if !slices.Equal(windows, y.Dims[n:]) {
			c.fail("got %s, want [..., %v]", y, windows)
		}
		return []Shape{y.dims(slices.Concat(y.Dims[:n], image)...)}
	},
	Batch: batchLead,
	JVP:   func(n *Node, in, out, t []*Array) []*Array { return apply(n.Op, n.Attrs, t) },
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		return []*Array{apply1(op("unfold"), n.Attrs, cts[0])}
	},
	Lower: func(l *lowering, n *Node, in []*Array) []*Array {
		a := n.Attrs.(unfoldAttrs)
		if l.callsUnfold(n) {
			return kernelCall(foldKernel, a.config(), []Shape{n.Outs[0].shape}, in...)
		}
		return []*Array{foldByPads(a, in[0])}
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		a, y, out := n.Attrs.(unfoldAttrs), in[0], newTensor(n.Outs[0].shape)
		channels := out.Shape.Dims[out.Shape.Rank()-1]
		image, windows := a.sizes(channels)
		for i := range product(y.Shape.Dims[:y.Shape.Rank()-3]) {
			a.each(channels, func(window, at, k int) {
				for j := range k {
					to := i*product(image) + at + j
					out.SetF(to, out.F(to)+y.F(i*product(windows)+window+j))
				}
			})
		}
		return []*Tensor{out}
	},
	Cost: costOf(func(n *Node) float64 { return float64(n.Inputs[0].Size()) }),
	Cases: func() []Case {
		return unfoldCases("fold", func(a unfoldAttrs, dims []int) []int {
			lead, channels := dims[:len(dims)-3], dims[len(dims)-1]
			_, windows := a.sizes(channels)
			return slices.Concat(lead, windows)
		})
	},
})

// unfoldCases are samples of an op whose input's sizes are those that input gives for an image's.
func unfoldCases(name string, input func(a unfoldAttrs, dims []int) []int) (cases []Case) {
	for _, c := range []struct {
		what  string
		dims  []int
		attrs unfoldAttrs
	}{
		{"valid", []int{4, 5, 2}, unfoldAttrs{4, 5, 3, 2, 1, 1, 0, 0, 0, 0}},
		{"same", []int{2, 3, 4, 1}, unfoldAttrs{3, 4, 3, 3, 1, 1, 1, 1, 1, 1}},
		{"strides", []int{5, 7, 3}, unfoldAttrs{5, 7, 2, 3, 2, 3, 1, 0, 0, 2}},
		{"one window", []int{2, 2, 2}, unfoldAttrs{2, 2, 2, 2, 1, 1, 0, 0, 0, 0}},
		{"rows that are left over", []int{6, 5, 1}, unfoldAttrs{6, 5, 2, 2, 3, 4, 0, 0, 0, 0}},
		{"a window of zeros", []int{1, 1, 2}, unfoldAttrs{1, 1, 2, 2, 2, 2, 2, 1, 2, 1}},
		{"many channels", []int{2, 2, 4, 4, 19}, unfoldAttrs{4, 4, 3, 3, 1, 1, 1, 1, 1, 1}},
	} {
		cases = append(cases, Case{Name: c.what, Inputs: []Shape{ShapeOf(Float32, input(c.attrs, c.dims)...)}, Lo: -1, Hi: 1, Tol: 1e-5, Rough: true,
			Fn: func(x []*Array) *Array { return apply1(op(name), c.attrs, x[0]) }})
	}
	return cases
}

// leastUnfolded is the number of elements of all windows from which on the kernels are called.
const leastUnfolded = 1 << 10

// callsUnfold tells whether a kernel computes an unfold or a fold.
func (l *lowering) callsUnfold(n *Node) bool {
	x := n.Inputs[0].shape
	return l.target.kernels() && x.DType == Float32 && x.Size() > 0 && n.Outs[0].Size() > 0 && max(x.Size(), n.Outs[0].Size()) >= l.target.atLeast(leastUnfolded)
}

// unfoldKernel and foldKernel are called with the kernel's height and width, the strides, and the zeros above and on the left.
var (
	unfoldKernel = &Kernel{Target: "xlarun_unfold", evalConfig: func(config []int, in, out []*Tensor) {
		copy(out[0].V, op("unfold").Eval(unfoldNode(config, in[0].Shape, out[0].Shape, out[0].Shape), in)[0].V)
	}}
	foldKernel = &Kernel{Target: "xlarun_fold", evalConfig: func(config []int, in, out []*Tensor) {
		copy(out[0].V, op("fold").Eval(unfoldNode(config, out[0].Shape, in[0].Shape, out[0].Shape), in)[0].V)
	}}
)

// unfoldNode is what an Eval reads of a node.
func unfoldNode(config []int, image, windows, out Shape) *Node {
	n := image.Rank() - 3
	a := unfoldAttrs{height: image.Dims[n], width: image.Dims[n+1], kernelHeight: config[0], kernelWidth: config[1], strideHeight: config[2], strideWidth: config[3], top: config[4], left: config[5]}
	// As many zeros, or as few rows and columns of the image, as the windows reach to.
	a.bottom = (windows.Dims[n]-1)*a.strideHeight + a.kernelHeight - a.height - a.top
	a.right = (windows.Dims[n+1]-1)*a.strideWidth + a.kernelWidth - a.width - a.left
	return &Node{Attrs: a, Outs: []*Array{{shape: out}}}
}

// unfoldBySlices is unfold made of other ops.
func unfoldBySlices(a unfoldAttrs, x *Array) *Array {
	n := x.Rank() - 3
	low, high := make([]int, n+3), make([]int, n+3)
	low[n], high[n], low[n+1], high[n+1] = a.top, a.bottom, a.left, a.right
	x = Pad(x, 0, low, high)
	var parts []*Array
	a.taps(func(y, x0, toY, toX int) {
		start, limit, stride := make([]int, n+3), slices.Clone(x.Dims()), slices.Repeat([]int{1}, n+3)
		start[n], limit[n], stride[n] = y, toY, a.strideHeight
		start[n+1], limit[n+1], stride[n+1] = x0, toX, a.strideWidth
		parts = append(parts, StridedSlice(x, start, limit, stride))
	})
	return Concatenate(n+2, parts...)
}

// foldByPads is fold made of other ops.
func foldByPads(a unfoldAttrs, y *Array) (sum *Array) {
	n := y.Rank() - 3
	channels := y.Dim(n+2) / (a.kernelHeight * a.kernelWidth)
	height, width := a.height+a.top+a.bottom, a.width+a.left+a.right
	k := 0
	a.taps(func(fromY, fromX, toY, toX int) {
		part := SliceAxis(y, n+2, k*channels, (k+1)*channels)
		low, high, interior := make([]int, n+3), make([]int, n+3), make([]int, n+3)
		low[n], high[n], interior[n] = fromY, height-toY, a.strideHeight-1
		low[n+1], high[n+1], interior[n+1] = fromX, width-toX, a.strideWidth-1
		sum = addTangents(sum, PadConfig(part, 0, low, high, interior))
		k++
	})
	return SliceAxis(SliceAxis(sum, n, a.top, a.top+a.height), n+1, a.left, a.left+a.width)
}

// taps calls f for each place of a kernel with the first row and column that it meets, of an image with zeros around it, and those behind the last.
func (a unfoldAttrs) taps(f func(y, x, toY, toX int)) {
	high, wide := a.windows()
	for y := range a.kernelHeight {
		for x := range a.kernelWidth {
			f(y, x, y+(high-1)*a.strideHeight+1, x+(wide-1)*a.strideWidth+1)
		}
	}
}

// Unfold is x [..., height, width, channels] as its windows [..., high, wide, kernel height * kernel width * channels], row-major, with the channels last: a convolution is their product with
// the kernel, and its gradients are products too (Chellapilla et al., "High performance convolutional neural networks for document processing", 2006). pads are the zeros before and after
// along both axes; a window that would leave them is none.
func Unfold(x *Array, kernel, strides [2]int, pads [2][2]int) *Array {
	const name = "Unfold"
	if x.Rank() < 3 {
		throw(name, "got %s, want [..., height, width, channels]", x.shape)
	}
	n := x.Rank() - 3
	a := unfoldAttrs{x.Dim(n), x.Dim(n + 1), kernel[0], kernel[1], strides[0], strides[1], pads[0][0], pads[0][1], pads[1][0], pads[1][1]}
	if min(kernel[0], kernel[1], strides[0], strides[1]) < 1 || min(a.top, a.bottom, a.left, a.right) < 0 {
		throw(name, "got a kernel of %v, strides of %v and pads of %v, want kernels and strides from 1 and pads from 0 on", kernel, strides, pads)
	}
	if a.height+a.top+a.bottom < a.kernelHeight || a.width+a.left+a.right < a.kernelWidth {
		throw(name, "got a kernel of %v for %s with pads of %v, want one that fits", kernel, x.shape, pads)
	}
	if !isFloat(x.DType()) {
		throw(name, "got %s, want floats: convert it first", x.shape)
	}
	return apply1(op("unfold"), a, x)
}
