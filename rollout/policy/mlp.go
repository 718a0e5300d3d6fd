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
	MustRegister("mlp", func() Maker {
		return &MLPSettings{Hidden: []int{16, 16}, Between: Between{Activation: "tanh"}}
	})
	MustRegister("linear", func() Maker { return linear{} })
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
	return NewMLP(s.Hidden, nn.Activation(s.Activation), observation, outputs)
}

// linear has no settings.
type linear struct{}

func (linear) Make(observation envs.Space, outputs int) (Policy, error) {
	return NewMLP(nil, "", observation, outputs)
}

// Params holds the parameters of one MLP, from the first layer to the last.
type Params struct{ Layers []nn.Dense }

// MLP is a multilayer perceptron. Discrete observations are one-hot inputs, boxes are flattened.
type MLP struct {
	Stateless
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

// Init draws weights from the normal distribution of variance 1/in; biases are zero.
func (m *MLP) Init(key random.Key) any {
	var p Params
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
func (m *MLP) Describe(any) (map[string]any, error) {
	out := map[string]any{"layers": m.Sizes}
	if len(m.Sizes) > 2 {
		out["activation"] = string(m.Activation)
	}
	return out, nil
}

func (m *MLP) outputs() int { return m.Sizes[len(m.Sizes)-1] }

// Prepare pads layers to whole vector registers with units whose weights are zero, and transposes a narrow last layer.
func (m *MLP) Prepare(params any) any { return m.prepare(laying{}, m.params("MLP.Prepare", params)) }

// PrepareShared leaves the layers as they are.
func (m *MLP) PrepareShared(s Shared) any {
	return m.prepare(layingOf(s), m.params("MLP.PrepareShared", s.Params))
}

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

// Act maps one observation to the outputs. params are as Init or Prepare returns them.
func (m *MLP) Act(params, carry any, observation *graph.Array, _ random.Key) (any, Output) {
	if _, ok := params.(Params); ok && observation.DType() == graph.Bool && m.seesZeros() {
		return carry, Output{Action: m.apply(params, graph.Flatten1D(observation))} // SparseDot skips zeros of bytes
	}
	return carry, Output{Action: m.apply(params, fitting(Flat(m.observation, observation), params))}
}

func (m *MLP) apply(params any, x *graph.Array) *graph.Array {
	if p, ok := params.(Prepared); ok {
		for _, layer := range p.Hidden {
			x = m.Activation.Apply(layer.Apply(x))
		}
		y := p.Last.Apply(x)
		if m.outputs() < fewOutputs {
			return y
		}
		return graph.SliceAxis(y, 0, 0, m.outputs())
	}
	for i, layer := range m.params("MLP.Act", params).Layers {
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

// PreparesAlike reports whether rows of whole registers pay: unless the first layer skips zeros.
func (m *MLP) PreparesAlike() bool { return !m.seesZeros() }

// params returns parameters as Init makes them.
func (m *MLP) params(op string, params any) Params {
	p, ok := params.(Params)
	if !ok || len(p.Layers) != len(m.Sizes)-1 {
		graph.Throw(op, "got parameters of type %T, want policy.Params with %d layers, as Init makes them", params,
			len(m.Sizes)-1)
	}
	return p
}
