package network

import (
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

func init() { MustRegister("mlp", func() Maker { return &MLPSettings{Hidden: []int{128, 128}} }) }

// MLPSettings are the settings of the network "mlp".
type MLPSettings struct {
	Hidden []int `set:"hidden" args:"" min:"1" max:"65536" wants:"the hidden layers' sizes, whole numbers from 1 to 65536 between commas" help:"sizes of the hidden layers"`
}

// Make returns an MLP.
func (s *MLPSettings) Make(g Game) (Network, error) {
	inputs := graph.ShapeOf(graph.Float32, g.Observation...).Size()
	return mlp{sizes: append([]int{inputs}, s.Hidden...), actions: g.Actions}, nil
}

// mlp is a multilayer perceptron on the flat observation, with relu between its layers, and two heads.
type mlp struct {
	sizes   []int
	actions int
}

type mlpParams struct {
	Hidden        []nn.Dense
	Policy, Value nn.Dense
}

func (m mlp) Init(key random.Key) any {
	last := len(m.sizes) - 1
	keys := random.SplitN(key, last+2)
	var p mlpParams
	for i := range last {
		p.Hidden = append(p.Hidden, nn.NewDense(keys[i], m.sizes[i], m.sizes[i+1], nn.Weights(nn.HeNormal)))
	}
	p.Policy, p.Value = head(keys[last], m.sizes[last], m.actions), head(keys[last+1], m.sizes[last], 1)
	return p
}

func (m mlp) Apply(params any, observation *graph.Array) (logits, v *graph.Array) {
	p := params.(mlpParams)
	x := graph.Flatten1D(observation)
	for _, layer := range p.Hidden {
		x = graph.Relu(layer.Apply(x))
	}
	return p.Policy.Apply(x), value(p.Value, x)
}
