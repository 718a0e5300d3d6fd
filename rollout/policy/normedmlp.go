package policy

import (
	"slices"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

func init() {
	MustRegister("normedmlp", &NormedMLPSettings{Hidden: []int{128, 128}, Between: Between{Activation: "relu"}})
}

// NormedMLPSettings are the settings of the policy "normedmlp".
type NormedMLPSettings struct {
	Hidden []int `set:"hidden" args:"" min:"1" max:"16777216" wants:"the hidden layers' sizes, whole numbers from 1 to 16777216 between commas" help:"sizes of the hidden layers"`
	Between
}

// Make makes a NormedMLP.
func (s *NormedMLPSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	if err := checked(s); err != nil {
		return nil, err
	}
	m, err := NewMLP(s.Hidden, nn.Activation(s.Activation), observation, outputs)
	if err != nil {
		return nil, err
	}
	return Erase(&NormedMLP{bare: m}), nil
}

// NormedMLP is a multilayer perceptron with layer norm (Ba et al., 2016) before each activation. With it Gallici et
// al., "Simplifying deep temporal difference learning" (2024), learn the values of actions without a target network.
type NormedMLP struct {
	Stateless[NormedParams]
	bare *MLP // without norms
}

// NormedParams holds the parameters of one NormedMLP, from the first layer to the last. Every layer except the last has
// a norm.
type NormedParams struct {
	Layers []nn.Dense
	Norms  []nn.LayerNorm
}

// Traits say that it can be described.
func (m *NormedMLP) Traits() (t Traits[NormedParams, graph.None]) {
	t.Describe = m.Describe
	return t
}

// Init draws weights as MLP.Init does. Norms have scale 1 and offset 0.
func (m *NormedMLP) Init(key random.Key) NormedParams {
	p := NormedParams{Layers: m.bare.Init(key).Layers}
	for _, n := range m.bare.Sizes[1 : len(m.bare.Sizes)-1] {
		p.Norms = append(p.Norms, nn.NewLayerNorm(n))
	}
	return p
}

// Act maps one observation to the outputs.
func (m *NormedMLP) Act(p NormedParams, none graph.None, observation *graph.Array, _ random.Key) (graph.None, Output) {
	x := fitting(Flat(m.bare.observation, observation), p)
	for i, layer := range p.Layers {
		x = layer.Apply(x)
		if i < len(p.Norms) {
			x = m.bare.Activation.Apply(p.Norms[i].Apply(x))
		}
	}
	return none, Output{Action: x}
}

// Describe returns the layers' sizes and the activation.
func (m *NormedMLP) Describe(NormedParams) (map[string]any, error) {
	return map[string]any{"layers": slices.Clone(m.bare.Sizes), "activation": string(m.bare.Activation)}, nil
}
