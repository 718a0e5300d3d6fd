package nir

import (
	"fmt"
	"slices"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir/hdf5"
)

// FromLayers makes a graph from a chain of layers: nn.Dense, nn.Conv over height and width, Flatten, nn.LIF, nn.CuBaLIF
// and nn.LI, with concrete parameters. An Input must come before a convolution in the first place. The nodes are input,
// 0, 1, … and output. A layer with feedback becomes two nodes, N and N.w_rec.
func FromLayers(scale Scale, layers ...any) (*Graph, error) {
	if err := scale.check(); err != nil {
		return nil, err
	}
	b := &building{scale: scale, g: &Graph{Nodes: map[string]*Node{}}}
	if len(layers) > 0 {
		if in, ok := layers[0].(Input); ok {
			if len(in.Dims) != 1 && len(in.Dims) != 3 || slices.Min(in.Dims) < 1 {
				return nil, fmt.Errorf("nir: the Input has the dims %v, want [in] or [height, width, features]",
					in.Dims)
			}
			b.in, b.dims, layers = firstFeatures(in.Dims), slices.Clone(in.Dims), layers[1:]
		}
	}
	for i, l := range layers {
		if err := b.layer(fmt.Sprint(i), l); err != nil {
			return nil, fmt.Errorf("nir: layer %d, %T: %w", i, l, err)
		}
	}
	if b.in == nil {
		return nil, fmt.Errorf(
			"nir: there is no layer whose sizes say how many inputs there are: put an nn.Dense first")
	}
	b.g.Nodes["input"] = &Node{Type: "Input", Params: map[string]*hdf5.Set{"shape": ints(b.in...)}}
	b.add("output", &Node{Type: "Output", Params: map[string]*hdf5.Set{"shape": ints(firstFeatures(b.dims)...)}})
	return b.g, nil
}

type building struct {
	scale Scale
	g     *Graph
	last  string
	in    []int // dims of the input, in NIR's order; nil: not known yet
	dims  []int // dims of the last layer's output, in nn's order
}

// width is the number of outputs of the last layer.
func (b *building) width() int {
	if b.dims == nil {
		return 0
	}
	return (&hdf5.Set{Dims: b.dims}).Len()
}

func ints(v ...int) *hdf5.Set {
	out := make([]int64, len(v))
	for i, x := range v {
		out[i] = int64(x)
	}
	return &hdf5.Set{Dims: []int{len(v)}, Data: out}
}

// add appends a node to the chain.
func (b *building) add(name string, n *Node) {
	if b.last == "" {
		b.last = "input"
	}
	b.g.Nodes[name] = n
	b.g.Edges = append(b.g.Edges, [2]string{b.last, name})
	b.last = name
}

func (b *building) layer(name string, l any) error {
	switch l := l.(type) {
	case nn.Dense:
		w, err := transposed(l.W)
		if err != nil {
			return err
		}
		n := &Node{Type: "Linear", Params: map[string]*hdf5.Set{"weight": w}}
		if l.B != nil {
			bias, err := floats(l.B)
			if err != nil {
				return err
			}
			n.Type, n.Params["bias"] = "Affine", &hdf5.Set{Dims: l.B.Dims(), Data: float32s(bias)}
		}
		switch {
		case len(b.dims) == 3:
			return fmt.Errorf("it takes %d inputs, the layer before gives %v: put a nir.Flatten between", l.W.Dim(0),
				b.dims)
		case b.dims != nil && b.width() != l.W.Dim(0):
			return fmt.Errorf("it takes %d inputs, the layer before gives %d", l.W.Dim(0), b.width())
		case b.in == nil:
			b.in = []int{l.W.Dim(0)}
		}
		b.dims = []int{l.W.Dim(1)}
		b.add(name, n)
		return nil
	case nn.Conv:
		return b.conv(name, l)
	case Flatten:
		return b.flatten(name)
	case nn.LIF:
		return b.spiking(name, "LIF", l.Wh, map[string]*graph.Array{"tau": l.Beta, "v_threshold": l.Threshold})
	case nn.CuBaLIF:
		return b.spiking(name, "CubaLIF", l.Wh, map[string]*graph.Array{"tau_mem": l.Beta, "tau_syn": l.Alpha,
			"v_threshold": l.Threshold})
	case nn.LI:
		return b.spiking(name, "LI", nil, map[string]*graph.Array{"tau": l.Beta})
	}
	return fmt.Errorf("NIR has no node for it; there are some for nn.Dense, nn.Conv, nir.Flatten, nn.LIF, nn.CuBaLIF " +
		"and nn.LI")
}

// spiking adds a node of neurons. given maps the names of time constants to decays.
func (b *building) spiking(name, kind string, wh *graph.Array, given map[string]*graph.Array) error {
	for _, a := range given {
		if a.Rank() == 1 && b.dims == nil {
			b.in, b.dims = a.Dims(), a.Dims()
		}
	}
	width := b.width()
	if width == 0 {
		return fmt.Errorf("nothing says how many neurons it has: put an nn.Dense before it")
	}
	params := map[string][]float64{"v_leak": make([]float64, width), "r": make([]float64, width)}
	if kind != "LI" {
		params["v_reset"] = make([]float64, width)
	}
	if kind == "CubaLIF" {
		params["w_in"] = make([]float64, width)
	}
	for key, a := range given {
		v, err := b.perNeuron(a)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		params[key] = v
		if key == "v_threshold" {
			continue
		}
		for i, decay := range v {
			switch {
			case key != "tau_syn":
				params["r"][i] = b.scale.resistance(decay)
			case b.scale.Rule == "spyx":
				params["w_in"][i] = 1
			default:
				params["w_in"][i] = b.scale.resistance(decay)
			}
			if v[i], err = b.scale.tau(decay); err != nil {
				return fmt.Errorf("%s of neuron %d: %w", key, i, err)
			}
		}
	}
	n := &Node{Type: kind, Params: map[string]*hdf5.Set{}}
	for key, v := range params {
		n.Params[key] = &hdf5.Set{Dims: firstFeatures(b.dims), Data: float32s(v)}
	}
	b.add(name, n)
	if wh == nil {
		return nil
	}
	if len(b.dims) != 1 {
		return fmt.Errorf("it feeds itself and gives %v: only neurons along one axis do in NIR", b.dims)
	}
	w, err := transposed(wh)
	if err != nil {
		return err
	}
	own := name + ".w_rec"
	b.g.Nodes[own] = &Node{Type: "Linear", Params: map[string]*hdf5.Set{"weight": w}}
	b.g.Edges = append(b.g.Edges, [2]string{name, own}, [2]string{own, name})
	return nil
}

// perNeuron broadcasts a parameter to the neurons of a layer, in NIR's order.
func (b *building) perNeuron(a *graph.Array) ([]float64, error) {
	if len(b.dims) != 3 {
		return wide(a, b.width())
	}
	fits := a.Rank() <= 3
	for i := 1; fits && i <= a.Rank(); i++ {
		fits = a.Dim(-i) == b.dims[3-i] || a.Dim(-i) == 1
	}
	if !fits {
		return nil, fmt.Errorf("got %v, want one number, or of dims that %v goes with", a.Shape(), b.dims)
	}
	return floats(a.BroadcastTo(b.dims...).Transpose(2, 0, 1))
}

// Layers converts a graph's nodes to layers of package nn, from its input to its output: nn.Dense, nn.Conv, Flatten,
// nn.LIF, nn.CuBaLIF and nn.LI. The graph must be a chain; a Linear from a spiking node to itself becomes its feedback.
// Spiking layers get surrogate. The input gain of an LI is multiplied into the weights before it; without weights it
// must be 1.
func (g *Graph) Layers(scale Scale, surrogate nn.Surrogate) ([]any, error) {
	if err := scale.check(); err != nil {
		return nil, err
	}
	if err := g.check(); err != nil {
		return nil, err
	}
	chain, own, err := g.flat().chain()
	if err != nil {
		return nil, err
	}
	var layers []any
	for _, link := range chain {
		l, err := layerOf(scale, surrogate, link.node, own[link.name], layers)
		if err != nil {
			return nil, fmt.Errorf("nir: %s, %s: %w", link.name, link.node.Type, err)
		}
		if l != nil {
			layers = append(layers, l)
		}
	}
	return layers, nil
}

func layerOf(scale Scale, surrogate nn.Surrogate, n, own *Node, before []any) (any, error) {
	if n.Type == "Input" || n.Type == "Output" {
		return nil, nil
	}
	if own != nil && n.Type != "LIF" && n.Type != "CubaLIF" {
		return nil, fmt.Errorf("it feeds itself, which only LIF and CubaLIF do here")
	}
	switch n.Type {
	case "Linear", "Affine":
		w, err := n.matrix()
		if err != nil {
			return nil, err
		}
		d := nn.Dense{W: w}
		if n.Type == "Affine" {
			bias, err := n.vector("bias", []int{w.Dim(1)})
			if err != nil {
				return nil, err
			}
			d.B = graph.Float32s(float32s(bias))
		}
		return d, nil
	case "Conv2d":
		return readConv(n)
	case "Flatten":
		return readFlatten(n)
	case "LIF", "CubaLIF", "LI":
	default:
		return nil, fmt.Errorf("there is no layer for it; there are some for Affine, Linear, Conv2d, Flatten, LIF, " +
			"CubaLIF and LI")
	}
	p, err := readNeurons(scale, n)
	if err != nil {
		return nil, err
	}
	var wh *graph.Array
	if own != nil {
		if wh, err = own.matrix(); err != nil {
			return nil, err
		}
		if wh.Dim(0) != len(p.beta) || wh.Dim(1) != len(p.beta) {
			return nil, fmt.Errorf("it has %d neurons and feeds itself by weights %v", len(p.beta), wh.Dims())
		}
	}
	of := func(v []float64) *graph.Array { return lastFeatures(graph.Float32s(float32s(v), p.dims...)) }
	if own != nil && len(p.dims) != 1 {
		return nil, fmt.Errorf("it feeds itself and is of dims %v: only neurons along one axis do here", p.dims)
	}
	beta := of(p.beta)
	switch n.Type {
	case "LIF":
		return nn.LIF{Beta: beta, Threshold: of(p.threshold), Wh: wh, Surrogate: surrogate}, nil
	case "CubaLIF":
		return nn.CuBaLIF{Alpha: of(p.alpha), Beta: beta, Threshold: of(p.threshold), Wh: wh, Surrogate: surrogate}, nil
	}
	if slices.ContainsFunc(p.gain, func(g float64) bool { return g != 1 }) {
		last := len(before) - 1
		if last < 0 {
			return nil, fmt.Errorf("what a step adds to its potentials has to go into weights before it, and there " +
				"are none")
		}
		d, ok := before[last].(nn.Dense)
		if !ok {
			return nil, fmt.Errorf("what a step adds to its potentials has to go into weights before it, where a %T is",
				before[last])
		}
		gain := graph.Float32s(float32s(p.gain))
		d.W = d.W.Mul(gain)
		if d.B != nil {
			d.B = d.B.Mul(gain)
		}
		before[last] = d
	}
	return nn.LI{Beta: beta}, nil
}

// neurons are the parameters of a node, converted to nn's steps.
type neurons struct {
	beta, alpha, threshold []float64
	gain                   []float64 // change of v for an input of 1
	dims                   []int     // in NIR's order
}

// wanted are the required parameters of nodes of neurons, the time constant of the potential first.
var wanted = map[string][]string{
	"LIF":     {"tau", "r", "v_leak", "v_threshold"},
	"CubaLIF": {"tau_mem", "tau_syn", "r", "v_leak", "v_threshold"},
	"LI":      {"tau", "r", "v_leak"},
}

func readNeurons(scale Scale, n *Node) (p neurons, err error) {
	tau := wanted[n.Type][0]
	p.dims = []int{0}
	if set := n.Params[tau]; set != nil {
		if p.dims = set.Dims; len(p.dims) != 3 {
			p.dims = []int{set.Len()}
		}
	}
	size := (&hdf5.Set{Dims: p.dims}).Len()
	read := map[string][]float64{}
	keys := slices.Clone(wanted[n.Type])
	for _, key := range []string{"v_reset", "w_in"} {
		if n.Params[key] != nil {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		if read[key], err = n.vector(key, p.dims); err != nil {
			return p, err
		}
	}
	for _, key := range []string{"v_leak", "v_reset"} {
		if slices.ContainsFunc(read[key], func(v float64) bool { return v != 0 }) {
			return p, fmt.Errorf("%s is not 0, and the cells of package nn have none", key)
		}
	}
	for i := range size {
		beta, err := scale.decay(read[tau][i])
		if err != nil {
			return p, fmt.Errorf("%s of neuron %d: %w", tau, i, err)
		}
		gain := scale.gain(beta, read["r"][i])
		if n.Type == "CubaLIF" {
			alpha, err := scale.decay(read["tau_syn"][i])
			if err != nil {
				return p, fmt.Errorf("tau_syn of neuron %d: %w", i, err)
			}
			p.alpha = append(p.alpha, alpha)
			w := 1.
			if read["w_in"] != nil {
				w = read["w_in"][i]
			}
			gain *= scale.gain(alpha, w)
		}
		p.beta, p.gain = append(p.beta, beta), append(p.gain, gain)
		if n.Type == "LI" {
			continue
		}
		if !(gain > 0) {
			return p, fmt.Errorf("neuron %d moves by %v for an input of 1, want more than 0", i, gain)
		}
		p.threshold = append(p.threshold, read["v_threshold"][i]/gain)
	}
	return p, nil
}

// vector reads a parameter with the given dims, or one number for all.
func (n *Node) vector(key string, dims []int) ([]float64, error) {
	set := n.Params[key]
	if set == nil {
		return nil, fmt.Errorf("it has no %s", key)
	}
	v, err := set.Floats()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if len(v) == 1 && len(set.Dims) == 0 {
		return slices.Repeat(v, (&hdf5.Set{Dims: dims}).Len()), nil
	}
	if !slices.Equal(set.Dims, dims) {
		return nil, fmt.Errorf("%s is of dims %v, want %v", key, set.Dims, dims)
	}
	return slices.Clone(v), nil
}

// matrix reads the weight of a Linear or Affine, [out, in] in a file, as [in, out].
func (n *Node) matrix() (*graph.Array, error) {
	set := n.Params["weight"]
	if set == nil || len(set.Dims) != 2 || set.Len() == 0 {
		return nil, fmt.Errorf("it has no weight [out, in]")
	}
	v, err := set.Floats()
	if err != nil {
		return nil, fmt.Errorf("weight: %w", err)
	}
	out, in := set.Dims[0], set.Dims[1]
	return graph.Float32s(flip(v, out, in), in, out), nil
}

// transposed converts a matrix [in, out] to the files' [out, in].
func transposed(w *graph.Array) (*hdf5.Set, error) {
	if w == nil || w.Rank() != 2 {
		return nil, fmt.Errorf("got weights %v, want [in, out]", w)
	}
	v, err := floats(w)
	if err != nil {
		return nil, err
	}
	return &hdf5.Set{Dims: []int{w.Dim(1), w.Dim(0)}, Data: flip(v, w.Dim(0), w.Dim(1))}, nil
}

// flip transposes a matrix.
func flip(v []float64, rows, columns int) []float32 {
	out := make([]float32, len(v))
	for i := range rows {
		for k := range columns {
			out[k*rows+i] = float32(v[i*columns+k])
		}
	}
	return out
}

func floats(a *graph.Array) ([]float64, error) {
	v, err := graph.Floats(a)
	if err != nil {
		return nil, fmt.Errorf("parameters must be concrete: %w", err)
	}
	return v, nil
}

// wide broadcasts a parameter to n units.
func wide(a *graph.Array, n int) ([]float64, error) {
	v, err := floats(a)
	if err != nil {
		return nil, err
	}
	if a.Rank() == 0 {
		return slices.Repeat(v, n), nil
	}
	if a.Rank() != 1 || len(v) != n {
		return nil, fmt.Errorf("got %v, want one number or [%d]", a.Shape(), n)
	}
	return slices.Clone(v), nil
}

func float32s(v []float64) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return out
}
