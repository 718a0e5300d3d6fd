package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

// Dense is one fully connected layer: y = x·W + B.
type Dense struct {
	W *graph.Array // f32[in, out]
	B *graph.Array // f32[out]
}

// Apply maps x, f32[in], to f32[out].
func (d Dense) Apply(x *graph.Array) *graph.Array { return graph.Add(graph.Dot(x, d.W), d.B) }

// Params are the parameters of one MLP, from the first layer to the last.
type Params struct{ Layers []Dense }

// MLP is a multilayer perceptron with tanh between its layers. Discrete observations go in one-hot, boxes flat. Discrete
// actions are the index of the largest output (the first of equal ones); bounded boxes are filled by tanh of the
// outputs, unbounded elements get the output itself.
type MLP struct {
	Sizes       []int // of the layers, from the observation's to the output's
	observation envs.Space
	head        head
	spec        string
}

// maxWidth keeps products of two layers' sizes far from overflow.
const maxWidth = 1 << 24

// NewMLP makes an MLP with the given sizes of hidden layers, each from 1 on; none gives a linear policy.
func NewMLP(hidden []int, observation, action envs.Space) (*MLP, error) {
	in, err := inputSize(observation)
	if err != nil {
		return nil, err
	}
	h, err := newHead(action)
	if err != nil {
		return nil, err
	}
	text := make([]string, len(hidden))
	for i, n := range hidden {
		if n < 1 || n > maxWidth {
			return nil, &Error{fmt.Sprintf("a hidden layer of %d", n), fmt.Sprintf("1 to %d", maxWidth)}
		}
		text[i] = strconv.Itoa(n)
	}
	m := &MLP{observation: observation, head: h, spec: "mlp:" + strings.Join(text, ",")}
	if len(hidden) == 0 {
		m.spec = "linear"
	}
	m.Sizes = append(append([]int{in}, hidden...), h.size())
	return m, nil
}

func makeMLP(args string, observation, action envs.Space) (Policy, error) {
	var hidden []int
	for _, field := range strings.Split(args, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 1 || n > maxWidth {
			return nil, &Error{fmt.Sprintf("%q", "mlp:"+args), fmt.Sprintf(`the hidden layers' sizes, whole numbers from 1 to %d between commas, as in "mlp:16,16"`, maxWidth)}
		}
		hidden = append(hidden, n)
	}
	return NewMLP(hidden, observation, action)
}

func makeLinear(args string, observation, action envs.Space) (Policy, error) {
	if args != "" {
		return nil, &Error{fmt.Sprintf("%q", "linear:"+args), `no sizes: "linear", or "mlp:" and sizes`}
	}
	return NewMLP(nil, observation, action)
}

// Spec is "mlp:16,16", or "linear" where there is no hidden layer.
func (m *MLP) Spec() string { return m.spec }

// NumParams counts weights and biases.
func (m *MLP) NumParams() int {
	n := 0
	for i := range m.Sizes[1:] {
		n += (m.Sizes[i] + 1) * m.Sizes[i+1]
	}
	return n
}

// Init draws weights from the normal distribution of variance 1/in; biases are zero.
func (m *MLP) Init(key random.Key) any {
	var p Params
	for i, k := range random.SplitN(key, len(m.Sizes)-1) {
		in, out := m.Sizes[i], m.Sizes[i+1]
		w := random.Normal(k, graph.ShapeOf(graph.Float32, in, out))
		p.Layers = append(p.Layers, Dense{W: graph.Div(w, graph.Sqrt(float32(in))), B: graph.Zeros(graph.ShapeOf(graph.Float32, out))})
	}
	return p
}

// Prepared are the parameters of one MLP as Prepare lays them out.
type Prepared struct {
	Hidden []Dense
	Last   Dense // W is f32[out, in] where there are few outputs
}

const (
	// fewOutputs is the width up to which the last layer's weights are better read along its inputs: XLA on CPU multiplies
	// a vector and a matrix along the matrix's rows, and rows shorter than a vector register one number at a time.
	fewOutputs = 8
	// register is a vector register's worth of numbers. What a row has beyond a whole number of them is multiplied one
	// number at a time, too: without padding, mlp:60,60 takes twice the time of mlp:64,64.
	register = 16
)

// turned tells whether the last layer's weights are read along its inputs.
func (m *MLP) turned() bool { return m.head.size() < fewOutputs }

// Prepare pads layers to whole vector registers with units whose weights, from and to all others, are zero, and turns the
// last layer's weights where it is narrow.
func (m *MLP) Prepare(params any) any {
	layers := m.params("MLP.Prepare", params).Layers
	last := len(layers) - 1
	out := Prepared{Hidden: make([]Dense, last)}
	more := 0 // inputs of the layer
	for i, l := range layers {
		inputs := more
		more = (register - m.Sizes[i+1]%register) % register
		if i == last && m.turned() {
			out.Last = Dense{graph.Transpose(padded(l.W, inputs, 0), 1, 0), l.B}
			break
		}
		l = Dense{padded(l.W, inputs, more), padded(l.B, more)}
		if i == last {
			out.Last = l
			break
		}
		out.Hidden[i] = l
	}
	return out
}

// padded puts zeros behind x, more[i] along axis i.
func padded(x *graph.Array, more ...int) *graph.Array {
	if slices.Max(more) == 0 {
		return x
	}
	return graph.Pad(x, 0, make([]int, len(more)), more)
}

// Act maps one observation to an action; params are Params, as Init makes them, or what Prepare makes of them.
func (m *MLP) Act(params any, observation *graph.Array) *graph.Array {
	x := flatInput(m.observation, observation)
	if p, ok := params.(Prepared); ok {
		for _, layer := range p.Hidden {
			x = graph.Tanh(layer.Apply(x))
		}
		if m.turned() {
			return m.head.action(graph.Add(graph.Dot(p.Last.W, x), p.Last.B))
		}
		return m.head.action(graph.SliceAxis(p.Last.Apply(x), 0, 0, m.head.size()))
	}
	for i, layer := range m.params("MLP.Act", params).Layers {
		if i > 0 {
			x = graph.Tanh(x)
		}
		x = layer.Apply(x)
	}
	return m.head.action(x)
}

// params reads parameters as Init makes them.
func (m *MLP) params(op string, params any) Params {
	p, ok := params.(Params)
	if !ok || len(p.Layers) != len(m.Sizes)-1 {
		graph.Throw(op, "got parameters of type %T, want policy.Params with %d layers, as Init makes them", params, len(m.Sizes)-1)
	}
	return p
}

// inputSize is the number of inputs for observations of a space.
func inputSize(s envs.Space) (int, error) {
	n := s.Shape().Size()
	if d, ok := s.(envs.Discrete); ok {
		n = d.N
	}
	if n < 1 || n > maxWidth {
		return 0, &Error{fmt.Sprintf("observations of %s, %d inputs", s, n), fmt.Sprintf("1 to %d inputs", maxWidth)}
	}
	return n, nil
}

// flatInput makes a float32 vector of an observation.
func flatInput(s envs.Space, x *graph.Array) *graph.Array {
	if d, ok := s.(envs.Discrete); ok {
		return graph.OneHot(x, d.N, graph.Float32)
	}
	return graph.Convert(graph.Flatten1D(x), graph.Float32)
}
