package policy

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/policy/genome"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("hyperneat", func() Maker {
		return &HyperNEATSettings{MLPSettings: MLPSettings{Hidden: []int{16}, Between: Between{Activation: "tanh"}},
			HyperNEATNumbers: HyperNEATNumbers{Threshold: settings.Num(.2), Largest: settings.Num(3)},
			CPPN:             CPPN{Activations: "sigmoid,gauss,sin,tanh,abs,identity"}}
	})
}

// HyperNEATSettings are the settings of the policy "hyperneat".
type HyperNEATSettings struct {
	MLPSettings
	HyperNEATNumbers
	CPPN
}

// HyperNEATNumbers say how the network's weights follow from the outputs of the genome.
type HyperNEATNumbers struct {
	Threshold settings.Number `set:"threshold" min:"0" max:"0.99"`
	_         struct{}        `help:"output of the genome up to which there is no connection"`
	Largest   settings.Number `set:"largest-weight" above:"0" help:"weight for an output of 1"`
}

// CPPN are the settings of the genome, a compositional pattern-producing network.
type CPPN struct {
	Nodes       int      `set:"nodes" min:"6" max:"16384" zero:"16 more than its inputs and outputs"`
	_           struct{} `help:"room for the genome's nodes; 0: 16 more than its inputs and outputs"`
	Connections int      `set:"connections" min:"8" max:"1048576" zero:"48 more than the first ones"`
	_           struct{} `help:"room for the genome's connections; 0: 48 more than the first ones"`
	Activations string   `set:"activations"`
	_           struct{} `wants:"names between commas, as help policies lists them"`
	_           struct{} `help:"functions of the genome's hidden nodes, as those of the policy genome"`
}

// Make makes the policy.
func (s *HyperNEATSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	if err := checked(s); err != nil {
		return nil, err
	}
	substrate, err := NewMLP(s.Hidden, nn.Activation(s.Activation), observation, outputs)
	if err != nil {
		return nil, err
	}
	pattern := GenomeSettings{Nodes: s.Nodes, Connections: s.Connections, Initial: initialFull,
		Activations: s.CPPN.Activations, Output: "tanh", Aggregations: "sum"}
	network, err := pattern.network(cppnInputs, cppnOutputs)
	if err != nil {
		return nil, err
	}
	return &HyperNEAT{HyperNEATNumbers: s.HyperNEATNumbers, substrate: substrate, pattern: network}, nil
}

// The genome gets the places of two nodes, x and y of each, and gives the weight of the connection from the first to
// the second, and the bias of the second.
const (
	cppnInputs  = 4
	cppnOutputs = 2
)

// HyperNEAT is a perceptron whose weights a genome draws: Stanley, D'Ambrosio and Gauci, "A hypercube-based encoding
// for evolving large-scale neural networks" (2009). Its nodes lie in the square from -1 to 1: each layer in a row, from
// the observation below (y = -1) to the outputs above (y = 1), and evenly from left to right. The genome is asked for
// each pair of nodes of layers that follow each other. An output w beyond the threshold t gives the weight
// sign(w) · (|w| - t) / (1 - t) · largest weight, others give 0. Biases are the second output for the source (0, 0), by
// the same rule.
type HyperNEAT struct {
	HyperNEATNumbers
	Stateless
	substrate *MLP
	pattern   *genome.Network
}

// Genotype returns the network that draws the weights.
func (p *HyperNEAT) Genotype() genome.Network { return *p.pattern }

// Sizes returns the settings that give room for a genome as large as that of params.
func (*HyperNEAT) Sizes(params any) settings.Values { return roomOf(params) }

// Wider pads genomes to the sizes of the network that draws the weights.
func (p *HyperNEAT) Wider(params any) any { return p.pattern.Wider(params.(genome.Genome)) }

// Init draws a genome without hidden nodes.
func (p *HyperNEAT) Init(key random.Key) any { return p.pattern.First(key) }

// Describe returns what the numbers in the parameters stand for, and the layers of the perceptron.
func (p *HyperNEAT) Describe(params any) (map[string]any, error) {
	all, err := p.substrate.Describe(nil)
	if err != nil {
		return nil, err
	}
	for key, v := range describe(p.pattern) {
		all["genome_"+key] = v
	}
	return all, nil
}

// even returns n numbers from -1 to 1 with equal distances; a single one is 0.
func even(n int) []float32 {
	at := make([]float32, n)
	for i := range at {
		if n > 1 {
			at[i] = 2*float32(i)/float32(n-1) - 1
		}
	}
	return at
}

// questions returns what the genome is asked, f32[questions, 4]: for each layer of the perceptron its weights, row by
// row, and then its biases.
func (p *HyperNEAT) questions() *graph.Array {
	var all []float32
	rows := even(len(p.substrate.Sizes))
	for l := range len(p.substrate.Sizes) - 1 {
		sources, targets := even(p.substrate.Sizes[l]), even(p.substrate.Sizes[l+1])
		for _, x := range sources {
			for _, to := range targets {
				all = append(all, x, rows[l], to, rows[l+1])
			}
		}
		for _, to := range targets {
			all = append(all, 0, 0, to, rows[l+1])
		}
	}
	return graph.Float32s(all, len(all)/cppnInputs, cppnInputs)
}

// Prepare draws the perceptron.
func (p *HyperNEAT) Prepare(params any) any {
	g, ok := params.(genome.Genome)
	if !ok {
		graph.Throw("HyperNEAT.Prepare", "got parameters of type %T, want a genome.Genome, as Init makes it", params)
	}
	return p.substrate.Prepare(p.draw(g))
}

// draw returns the parameters of the perceptron.
func (p *HyperNEAT) draw(g genome.Genome) Params {
	ready := p.pattern.Prepare(g)
	answers := graph.VMap(func(question *graph.Array) *graph.Array { return p.pattern.FeedForward(ready, question) })(
		p.questions())
	t := p.Threshold.Array()
	size := answers.Abs().Sub(t).Div(graph.Sub(1, t)).Mul(p.Largest.Array())
	answers = graph.Once(graph.Select(answers.Abs().Gt(t), size.Mul(answers.Sign()), 0.))
	column := func(output, from, to int) *graph.Array {
		return graph.SliceAxis(graph.IndexAxis(answers, 1, output), 0, from, to)
	}
	var drawn Params
	from := 0
	for l := range len(p.substrate.Sizes) - 1 {
		in, out := p.substrate.Sizes[l], p.substrate.Sizes[l+1]
		w := column(0, from, from+in*out).Reshape(in, out)
		from += in * out
		drawn.Layers = append(drawn.Layers, nn.Dense{W: w, B: column(1, from, from+out)})
		from += out
	}
	return drawn
}

// PreparesAlways reports true: a genome is no form to compute with.
func (p *HyperNEAT) PreparesAlways() bool { return true }

// Act computes the outputs.
func (p *HyperNEAT) Act(params, carry any, observation *graph.Array, key random.Key) (any, Output) {
	if g, ok := params.(genome.Genome); ok {
		params = p.substrate.Prepare(p.draw(g))
	}
	return p.substrate.Act(params, carry, observation, key)
}
