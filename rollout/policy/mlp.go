package policy

import (
	"fmt"
	"slices"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

func init() {
	MustRegister("mlp", &MLPSettings{Hidden: []int{16, 16}, Between: Between{Activation: "tanh"}})
	MustRegister("linear", linear{})
}

// Between is the setting of all policies with layers: an nn.Activation.
type Between struct {
	Activation string `set:"activation" oneof:"tanh,relu,sigmoid,silu,gelu,elu,softplus,softsign" help:"function between the layers"`
}

// MLPSettings are the settings of the policy "mlp".
type MLPSettings struct {
	Hidden []int `set:"hidden" args:"" min:"1" max:"16777216" wants:"the hidden layers' sizes, whole numbers from 1 to 16777216 between commas" help:"sizes of the hidden layers"`
	Between
}

// Make makes an MLP.
func (s *MLPSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	if err := checked(s); err != nil {
		return nil, err
	}
	return erasedMLP(s.Hidden, nn.Activation(s.Activation), observation, outputs)
}

// linear has no settings.
type linear struct{}

func (linear) Make(observation envs.Space, outputs int) (Policy, error) {
	return erasedMLP(nil, "", observation, outputs)
}

func erasedMLP(hidden []int, activation nn.Activation, observation envs.Space, outputs int) (Policy, error) {
	m, err := NewMLP(hidden, activation, observation, outputs)
	if err != nil {
		return nil, err
	}
	return Erase(m), nil
}

// Params holds the parameters of one MLP, from the first layer to the last.
type Params struct{ Layers []nn.Dense }

// MLP is a multilayer perceptron. Discrete observations are one-hot inputs, boxes are flattened.
type MLP struct {
	Stateless[Params]
	Sizes       []int // of the layers, from the observation to the outputs
	Activation  nn.Activation
	observation envs.Space
}

// NewMLP makes an MLP with hidden layers of the given sizes, each 1 or more. Without one it is a linear policy.
func NewMLP(hidden []int, activation nn.Activation, observation envs.Space, outputs int) (*MLP, error) {
	in, err := FlatSize(observation)
	if err != nil {
		return nil, err
	}
	for _, n := range hidden {
		if n < 1 || n > maxWidth {
			return nil, wrong(fmt.Sprintf("a hidden layer of %d", n), "1 to %d", maxWidth)
		}
	}
	return &MLP{Sizes: append(append([]int{in}, hidden...), outputs), Activation: activation, observation: observation},
		nil
}

// Traits say that it has another form for members with weights of their own, and for all if rows of whole registers
// pay: unless the first layer skips zeros.
func (m *MLP) Traits() (t Traits[Params, graph.None]) {
	t.Prepared = FormOf(m.Prepare, m.PrepareShared, Stateless[Prepared]{}.Start, m.actPrepared)
	t.PreparesAlike, t.Describe = !m.seesZeros(), m.Describe
	return t
}

// Init draws weights from the normal distribution of variance 1/in; biases are zero.
func (m *MLP) Init(key random.Key) (p Params) {
	for i, k := range random.SplitN(key, len(m.Sizes)-1) {
		in, out := m.Sizes[i], m.Sizes[i+1]
		w := random.Normal(k, graph.ShapeOf(graph.Float32, in, out))
		p.Layers = append(p.Layers, nn.Dense{W: w.Div(graph.Sqrt(float32(in))),
			B: graph.Zeros(graph.ShapeOf(graph.Float32, out))})
	}
	return p
}

// Prepared holds the parameters of one MLP as Prepare lays them out.
type Prepared struct {
	Hidden []Layer
	Last   Layer // transposed if there are few outputs
}

// fewOutputs bounds the width of last layers whose weights are transposed. XLA on CPU multiplies a vector and a matrix
// along the matrix's rows, and rows shorter than a vector register number by number.
const fewOutputs = 8

// Describe returns the layers' sizes, and the activation if there is a hidden layer.
func (m *MLP) Describe(Params) (map[string]any, error) {
	out := map[string]any{"layers": m.Sizes}
	if len(m.Sizes) > 2 {
		out["activation"] = string(m.Activation)
	}
	return out, nil
}

func (m *MLP) outputs() int { return m.Sizes[len(m.Sizes)-1] }

// Prepare pads layers to whole vector registers with units whose weights are zero, and transposes a narrow last layer.
func (m *MLP) Prepare(p Params) Prepared { return m.prepare(laying{}, p) }

// PrepareShared leaves the layers as they are.
func (m *MLP) PrepareShared(s Shared) Prepared { return m.prepare(layingOf(s), s.Params.(Params)) }

func (m *MLP) prepare(lay laying, p Params) Prepared {
	last := len(p.Layers) - 1
	out := Prepared{Hidden: make([]Layer, last)}
	pad := 0 // units that pad the layer before
	for i, l := range p.Layers {
		inputs := pad
		if i == last && m.outputs() < fewOutputs {
			out.Last = lay.last(l, inputs)
			break
		}
		pad = lay.fill(m.Sizes[i+1])
		ready := Layer{lay.weight(l.W, inputs, pad), padded(l.B, pad)}
		if i == last {
			out.Last = ready
			break
		}
		out.Hidden[i] = ready
	}
	return out
}

// padded appends pad[i] zeros along each axis i of x.
func padded(x *graph.Array, pad ...int) *graph.Array {
	if slices.Max(pad) == 0 {
		return x
	}
	return graph.Pad(x, 0, make([]int, len(pad)), pad)
}

// Act maps one observation to the outputs.
func (m *MLP) Act(p Params, none graph.None, observation *graph.Array, _ random.Key) (graph.None, Output) {
	x := graph.Flatten1D(observation)
	if observation.DType() != graph.Bool || !m.seesZeros() { // SparseDot skips zeros of bytes
		x = fitting(Flat(m.observation, observation), p)
	}
	return none, Output{Action: m.apply(p, x)}
}

func (m *MLP) actPrepared(p Prepared, none graph.None, observation *graph.Array, _ random.Key) (graph.None, Output) {
	return none, Output{Action: m.applyPrepared(p, fitting(Flat(m.observation, observation), p))}
}

func (m *MLP) applyPrepared(p Prepared, x *graph.Array) *graph.Array {
	for _, layer := range p.Hidden {
		x = m.Activation.Apply(layer.Apply(x))
	}
	y := p.Last.Apply(x)
	if m.outputs() < fewOutputs {
		return y
	}
	return graph.SliceAxis(y, 0, 0, m.outputs())
}

func (m *MLP) apply(p Params, x *graph.Array) *graph.Array {
	if len(p.Layers) != len(m.Sizes)-1 {
		graph.Throw("MLP.Act", "got parameters of %d layers, want %d, as Init makes them", len(p.Layers),
			len(m.Sizes)-1)
	}
	for i, layer := range p.Layers {
		if i > 0 {
			x = m.Activation.Apply(x)
		}
		if i == 0 && m.seesZeros() {
			x = graph.SparseDot(x, layer.W).Add(layer.B)
		} else {
			x = layer.Apply(x)
		}
	}
	return x
}

// seesZeros reports whether most inputs of the first layer are 0.
func (m *MLP) seesZeros() bool {
	switch s := m.observation.(type) {
	case envs.Box:
		return s.MostlyZeros
	case envs.Discrete:
		return s.N >= fewChoices
	}
	return false
}

// fewChoices is the number of values of a discrete observation from which the first layer skips zeros.
const fewChoices = 64
