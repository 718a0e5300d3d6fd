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
	MustRegister("hyperneat", &HyperNEATSettings{
		MLPSettings: MLPSettings{Hidden: []int{16}, Between: Between{Activation: "tanh"}},

		HyperNEATNumbers: defaultHyperNEATNumbers(), CPPN: defaultCPPN()}, makesGenomes)
}

// HyperNEATSettings are the settings of the policy "hyperneat".
type HyperNEATSettings struct {
	MLPSettings
	HyperNEATNumbers
	CPPN
}

// HyperNEATNumbers say how the network's weights follow from the outputs of the genome.
type HyperNEATNumbers struct {
	Threshold settings.Number `set:"threshold" min:"0" max:"0.99" help:"output of the genome up to which there is no connection"`
	Largest   settings.Number `set:"largest-weight" above:"0" help:"weight for an output of 1"`
}

func defaultHyperNEATNumbers() HyperNEATNumbers {
	return HyperNEATNumbers{Threshold: settings.Num(.2), Largest: settings.Num(3)}
}

// CPPN are the settings of the genome, a compositional pattern-producing network.
type CPPN struct {
	GenomeCapacity
	Activations string `set:"activations" wants:"names between commas, as help policies lists them" help:"functions of the genome's hidden nodes, as those of the policy genome"`
}

func defaultCPPN() CPPN { return CPPN{Activations: "sigmoid,gauss,sin,tanh,abs,identity"} }

// Make makes the policy.
func (s *HyperNEATSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	if err := checked(s); err != nil {
		return nil, err
	}
	substrate, err := NewMLP(s.Hidden, nn.Activation(s.Activation), observation, outputs)
	if err != nil {
		return nil, err
	}
	const inputs, outputsOfGenome = 4, 2
	pattern, err := s.network(inputs, outputsOfGenome)
	if err != nil {
		return nil, err
	}
	return Erase(&HyperNEAT{HyperNEATNumbers: s.HyperNEATNumbers, substrate: substrate, pattern: pattern,
		queries: rows(substrate.Sizes)}), nil
}

// network is the genome's network.
func (s *CPPN) network(inputs, outputs int) (*genome.Network, error) {
	settings := GenomeSettings{GenomeCapacity: s.GenomeCapacity, Initial: initialFull, Activations: s.Activations,
		Output: "tanh", Aggregations: "sum"}
	return settings.network(inputs, outputs)
}

// HyperNEAT is a perceptron whose weights a genome draws: Stanley, D'Ambrosio and Gauci, "A hypercube-based encoding
// for evolving large-scale neural networks" (2009). Its nodes have places. The genome is asked for each pair of nodes
// of layers that follow each other, and for the bias of each node. An answer w beyond the threshold t gives the weight
// or the bias sign(w) · (|w| - t) / (1 - t) · largest weight, others give 0.
type HyperNEAT struct {
	HyperNEATNumbers
	Stateless[genome.Genome]
	substrate *MLP
	pattern   *genome.Network
	// queries are layer by layer those for the weights, row by row, and then those for the biases.
	queries []query
}

// query is what the genome is asked for a weight or a bias.
type query struct {
	inputs []float32
	output int // of the genome: the one that answers
}

// Traits say that it has a network, which draws the weights of the perceptron when it is prepared.
func (p *HyperNEAT) Traits() Traits[genome.Genome, graph.None] {
	t := genomeTraits[graph.None](p.pattern)
	t.Prepared = FormOf(p.Prepare, nil, Stateless[Prepared]{}.Start, p.substrate.actPrepared)
	t.Describe, t.Drawn = p.Describe, p.draw
	return t
}

// Init draws a genome without hidden nodes.
func (p *HyperNEAT) Init(key random.Key) genome.Genome { return p.pattern.First(key) }

// Describe returns what the numbers in the parameters stand for, and the layers of the perceptron.
func (p *HyperNEAT) Describe(genome.Genome) (map[string]any, error) {
	all, err := p.substrate.Describe(Params{})
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

// rows places the nodes of a perceptron in the square from -1 to 1: each layer in a row, from the observation below
// (y = -1) to the outputs above (y = 1), and evenly from left to right. The genome gets x and y of two nodes. Its first
// output is for the weight of the connection from the first node to the second. Its second output is for the bias of
// the second node, if the first place is (0, 0).
func rows(sizes []int) (all []query) {
	const weight, bias = 0, 1
	height := even(len(sizes))
	for l := range len(sizes) - 1 {
		sources, targets := even(sizes[l]), even(sizes[l+1])
		for _, x := range sources {
			for _, to := range targets {
				all = append(all, query{[]float32{x, height[l], to, height[l+1]}, weight})
			}
		}
		for _, to := range targets {
			all = append(all, query{[]float32{0, 0, to, height[l+1]}, bias})
		}
	}
	return all
}

// Prepare draws the perceptron.
func (p *HyperNEAT) Prepare(g genome.Genome) Prepared { return p.substrate.Prepare(p.draw(g)) }

// draw returns the parameters of the perceptron.
func (p *HyperNEAT) draw(g genome.Genome) Params {
	ready := p.pattern.Prepare(g)
	var inputs []float32
	place := make([]int32, len(p.queries)) // of the answer among all outputs for all queries
	for i, q := range p.queries {
		inputs, place[i] = append(inputs, q.inputs...), int32(i*p.pattern.Outputs+q.output)
	}
	all := graph.VMap(func(inputs *graph.Array) *graph.Array { return p.pattern.FeedForward(ready, inputs) })(
		graph.Float32s(inputs, len(p.queries), p.pattern.Inputs))
	answers := graph.Take(graph.Flatten1D(all), graph.Int32s(place), 0)
	t := p.Threshold.Array()
	size := answers.Abs().Sub(t).Div(graph.Sub(1, t)).Mul(p.Largest.Array())
	answers = graph.Once(graph.Select(answers.Abs().Gt(t), size.Mul(answers.Sign()), 0.))
	var drawn Params
	end := 0
	next := func(n int) *graph.Array {
		end += n
		return graph.SliceAxis(answers, 0, end-n, end)
	}
	for l := range len(p.substrate.Sizes) - 1 {
		in, out := p.substrate.Sizes[l], p.substrate.Sizes[l+1]
		drawn.Layers = append(drawn.Layers, nn.Dense{W: next(in*out).Reshape(in, out), B: next(out)})
	}
	return drawn
}

// Act computes the outputs.
func (p *HyperNEAT) Act(g genome.Genome, none graph.None, observation *graph.Array, key random.Key) (graph.None,
	Output) {
	return p.substrate.actPrepared(p.Prepare(g), none, observation, key)
}
