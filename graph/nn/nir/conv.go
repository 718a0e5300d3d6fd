package nir

import (
	"fmt"
	"slices"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir/hdf5"
)

// NIR has features first, [features, height, width], package nn has them last, [height, width, features]. Parameters
// are transposed.

// Input is an optional first argument of FromLayers with the dims of the input: [height, width, features] before an
// nn.Conv, else [in]. It is needed if the first layer's weights do not determine them.
type Input struct{ Dims []int }

// Flatten reshapes [height, width, features] to a vector in NIR's order, which begins with the first feature of all
// pixels.
type Flatten struct{}

// Apply maps x [steps, height, width, features] to [steps, features*height*width].
func (Flatten) Apply(x *graph.Array) *graph.Array {
	if x.Rank() != 4 {
		graph.Throw("nir.Flatten", "got %s, want [steps, height, width, features]", x.Shape())
	}
	return x.Transpose(0, 3, 1, 2).Reshape(x.Dim(0), -1)
}

// firstFeatures converts dims [height, width, features] to NIR's order; other dims do not change.
func firstFeatures(dims []int) []int {
	if len(dims) != 3 {
		return slices.Clone(dims)
	}
	return []int{dims[2], dims[0], dims[1]}
}

// lastFeatures converts an array [features, height, width] to nn's order; other arrays do not change.
func lastFeatures(a *graph.Array) *graph.Array {
	if a.Rank() != 3 {
		return a
	}
	return a.Transpose(1, 2, 0)
}

// convolved is the size of an axis after a convolution.
func convolved(size, kernel, stride, dilation int, pad [2]int) int {
	return (size+pad[0]+pad[1]-dilation*(kernel-1)-1)/stride + 1
}

func (b *building) conv(name string, l nn.Conv) error {
	if l.W == nil || l.W.Rank() != 4 {
		return fmt.Errorf("got weights %v, want [height, width, in, out]: NIR's Conv2d is written, no other", l.W)
	}
	if len(b.dims) != 3 {
		return fmt.Errorf(
			"it takes [height, width, features], and what comes before gives %v: put a nir.Input in front", b.dims)
	}
	groups := max(l.Groups, 1)
	if in := l.W.Dim(2) * groups; b.dims[2] != in {
		return fmt.Errorf("it takes %d features, the layer before gives %d", in, b.dims[2])
	}
	two := func(v []int) []int {
		if v == nil {
			return []int{1, 1}
		}
		return v
	}
	strides, dilation := two(l.Strides), two(l.Dilation)
	if len(strides) != 2 || len(dilation) != 2 || l.Pads != nil && len(l.Pads) != 2 {
		return fmt.Errorf("got strides %v, dilation %v and pads %v, want two of each", l.Strides, l.Dilation, l.Pads)
	}
	pads := [][2]int{{}, {}}
	if l.Pads != nil {
		pads = l.Pads
	}
	next := []int{0, 0, l.W.Dim(3)}
	for i := range 2 {
		if l.Same {
			windows := (b.dims[i] + strides[i] - 1) / strides[i]
			total := max((windows-1)*strides[i]+dilation[i]*(l.W.Dim(i)-1)+1-b.dims[i], 0)
			pads[i] = [2]int{total / 2, total - total/2}
		}
		next[i] = convolved(b.dims[i], l.W.Dim(i), strides[i], dilation[i], pads[i])
		if next[i] < 1 {
			return fmt.Errorf("its kernel of %v does not fit into %v", l.W.Dims()[:2], b.dims[:2])
		}
	}
	weights, err := floats(l.W.Transpose(3, 2, 0, 1))
	if err != nil {
		return err
	}
	bias := make([]float64, next[2])
	if l.B != nil {
		if bias, err = wide(l.B, next[2]); err != nil {
			return fmt.Errorf("bias: %w", err)
		}
	}
	n := &Node{Type: "Conv2d", Params: map[string]*hdf5.Set{"input_shape": ints(b.dims[:2]...),
		"stride": ints(strides...), "dilation": ints(dilation...),
		"groups": {Data: []int64{int64(groups)}}, "bias": {Dims: []int{next[2]}, Data: float32s(bias)},
		"weight": {Dims: []int{next[2], l.W.Dim(2), l.W.Dim(0), l.W.Dim(1)}, Data: float32s(weights)}}}
	switch {
	case pads[0][0] == pads[0][1] && pads[1][0] == pads[1][1]:
		n.Params["padding"] = ints(pads[0][0], pads[1][0])
	case l.Same && strides[0] == 1 && strides[1] == 1:
		n.Params["padding"] = text("same")
	default:
		return fmt.Errorf("it pads by %v and %v, and NIR's Conv2d by as much before as after: give it other Pads",
			pads[0], pads[1])
	}
	b.dims = next
	b.add(name, n)
	return nil
}

func (b *building) flatten(name string) error {
	if len(b.dims) != 3 {
		return fmt.Errorf("it takes [height, width, features], and what comes before gives %v", b.dims)
	}
	b.add(name, &Node{Type: "Flatten", Params: map[string]*hdf5.Set{"input_type": ints(firstFeatures(b.dims)...),
		"start_dim": {Data: []int64{0}}, "end_dim": {Data: []int64{-1}}}})
	b.dims = []int{b.width()}
	return nil
}

// readConv converts a Conv2d to a layer.
func readConv(n *Node) (any, error) {
	set := n.Params["weight"]
	if set == nil || len(set.Dims) != 4 || set.Len() == 0 {
		return nil, fmt.Errorf("it has no weight [out, in, height, width]")
	}
	v, err := set.Floats()
	if err != nil {
		return nil, fmt.Errorf("weight: %w", err)
	}
	l := nn.Conv{W: graph.Float32s(float32s(v), set.Dims...).Transpose(2, 3, 1, 0), Groups: 1}
	out := set.Dims[0]
	if n.Params["bias"] != nil {
		bias, err := n.vector("bias", []int{out})
		if err != nil {
			return nil, err
		}
		l.B = graph.Float32s(float32s(bias))
	}
	if n.Params["groups"] != nil {
		g, err := n.whole("groups", 1, 1)
		if err != nil {
			return nil, err
		}
		if l.Groups = g[0]; out%l.Groups != 0 {
			return nil, fmt.Errorf("it has %d groups of %d features, want a number that divides them", l.Groups, out)
		}
	}
	if l.Strides, err = n.whole("stride", 2, 1); err != nil {
		return nil, err
	}
	if l.Dilation, err = n.whole("dilation", 2, 1); err != nil {
		return nil, err
	}
	padding := n.Params["padding"]
	if padding == nil {
		return nil, fmt.Errorf("it has no padding")
	}
	if kind, err := padding.Text(); err == nil {
		switch {
		case kind == "same" && !slices.Equal(l.Strides, []int{1, 1}):
			return nil, fmt.Errorf("its padding is same and its strides are %v, want strides of 1: NIR has no others "+
				"beside same", l.Strides)
		case kind == "same":
			l.Same = true
		case kind != "valid":
			return nil, fmt.Errorf("its padding is %q, want same, valid or numbers", kind)
		}
		return l, nil
	}
	p, err := n.whole("padding", 2, 0)
	if err != nil {
		return nil, err
	}
	l.Pads = [][2]int{{p[0], p[0]}, {p[1], p[1]}}
	return l, nil
}

// readFlatten converts a Flatten of all axes to a layer.
func readFlatten(n *Node) (any, error) {
	for key, want := range map[string]float64{"start_dim": 0, "end_dim": -1} {
		set := n.Params[key]
		if set == nil {
			return nil, fmt.Errorf("it has no %s", key)
		}
		if v, err := set.Floats(); err != nil || len(v) != 1 || v[0] != want {
			return nil, fmt.Errorf("its %s is %v, want %v: all axes become one", key, set.Data, want)
		}
	}
	return Flatten{}, nil
}

// whole reads n integers with a lower bound; a single integer holds for all.
func (n *Node) whole(key string, count, least int) ([]int, error) {
	v, err := n.vector(key, []int{count})
	if err != nil {
		return nil, err
	}
	out := make([]int, count)
	for i, x := range v {
		if out[i] = int(x); float64(out[i]) != x || out[i] < least || out[i] > 1<<30 {
			return nil, fmt.Errorf("%s is %v, want whole numbers from %d on", key, v, least)
		}
	}
	return out, nil
}
