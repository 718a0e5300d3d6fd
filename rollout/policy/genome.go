package policy

import (
	"fmt"
	"slices"
	"strings"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy/genome"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("genome", func() Maker {
		return &GenomeSettings{Activations: "tanh", Output: "identity", Aggregations: "sum",
			Initial: initialFull}
	})
}

// GenomeSettings are the settings of the policy "genome".
type GenomeSettings struct {
	GenomeCapacity
	Initial      string `set:"initial" oneof:"full,none" help:"connections of the first genomes: full, every input with every output; or none"`
	Recurrent    bool   `set:"recurrent" help:"whether connections may form cycles; a step then has the values of the step before"`
	Activations  string `set:"activations" wants:"names between commas, as help policies lists them" help:"functions of hidden nodes: tanh, sigmoid, steep, relu, identity, sin, cos, gauss, abs, square, clamped, hat"`
	Output       string `set:"final-activation" oneof:"tanh,sigmoid,steep,relu,identity,sin,cos,gauss,abs,square,clamped,hat" help:"function of the outputs"`
	Aggregations string `set:"aggregations" wants:"names between commas: sum, product, max, min, maxabs, mean" help:"how nodes join their connections: sum, product, max, min, maxabs, mean"`
}

// GenomeCapacity are the settings of the sizes of a genome.
type GenomeCapacity struct {
	Nodes       int `set:"nodes" min:"2" max:"16384" zero:"16 more than its inputs and outputs" help:"room for the genome's nodes; 0: 16 more than its inputs and outputs"`
	Connections int `set:"connections" min:"1" max:"1048576" zero:"48 more than the first ones" help:"room for the genome's connections; 0: 48 more than the first ones"`
}

// MakesGenomes implements GenomeMaker.
func (GenomeCapacity) MakesGenomes() {}

// Values of GenomeSettings.Initial.
const (
	initialFull = "full"
	initialNone = "none"
)

// Room for what the first genomes do not have, if the settings give none.
const (
	moreNodes       = 16
	moreConnections = 48
)

// Make makes the policy.
func (s *GenomeSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	inputs, err := FlatSize(observation)
	if err != nil {
		return nil, err
	}
	n, err := s.network(inputs, outputs)
	if err != nil {
		return nil, err
	}
	return &Genomes{*n, observation}, nil
}

// network is the network of the settings for these inputs and outputs.
func (s *GenomeSettings) network(inputs, outputs int) (*genome.Network, error) {
	if err := checked(s); err != nil {
		return nil, err
	}
	activations, err := list("activations", s.Activations, genome.ActivationNames())
	if err != nil {
		return nil, err
	}
	aggregations, err := list("aggregations", s.Aggregations, genome.AggregationNames())
	if err != nil {
		return nil, err
	}
	n := &genome.Network{Inputs: inputs, Outputs: outputs, Nodes: s.Nodes, Connections: s.Connections,
		Recurrent: s.Recurrent, Activations: activations, Hidden: len(activations), Aggregations: aggregations,
		Full: s.Initial == initialFull}
	if n.Output = slices.Index(n.Activations, s.Output); n.Output < 0 {
		n.Output, n.Activations = len(n.Activations), append(n.Activations, s.Output)
	}
	if n.Nodes == 0 {
		n.Nodes = inputs + outputs + moreNodes
	}
	first := n.FirstConnections()
	if n.Connections == 0 {
		n.Connections = first + moreConnections
	}
	if n.Nodes < inputs+outputs {
		return nil, settings.Wrong("policy.nodes", s.Nodes, "at least %d: %d inputs and %d outputs", inputs+outputs,
			inputs, outputs)
	}
	if n.Connections < first {
		return nil, settings.Wrong("policy.connections", s.Connections, "at least %d, from each of %d inputs to each "+
			"of %d outputs, or --policy.initial none", first, inputs, outputs)
	}
	return n, nil
}

// list reads names between commas. It refuses an empty list and one with a name that is unknown or there twice.
func list(key, text string, known []string) (names []string, err error) {
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) || slices.Contains(names, name) {
			return nil, settings.Wrong("policy."+key, text, "different names between commas: %s",
				strings.Join(known, ", "))
		}
		names = append(names, name)
	}
	return names, nil
}

// Genomes is the policy whose parameters are a genome.Genome. Discrete observations are one-hot inputs, boxes are
// flattened. The carry of a recurrent network holds the values of its nodes except inputs.
type Genomes struct {
	Network     genome.Network
	observation envs.Space
}

// GenomePolicy is a policy whose parameters are a genome.Genome of a network.
type GenomePolicy interface {
	Policy
	Padded
	Genotype() genome.Network
}

// GenomeMaker is a Maker of policies that are a GenomePolicy. GenomeCapacity implements it.
type GenomeMaker interface {
	Maker
	// MakesGenomes does nothing.
	MakesGenomes()
}

// GenomePolicies lists the registered policies whose parameters are genomes, sorted.
func GenomePolicies() []string {
	return slices.DeleteFunc(Names(), func(name string) bool {
		maker, _ := registry.New(name)
		_, ok := maker.(GenomeMaker)
		return !ok
	})
}

// Sizes returns the settings that give capacity for a genome as large as that of params.
func (*Genomes) Sizes(params any) settings.Values { return capacityOf(params) }

// Wider pads genomes to the sizes of the network.
func (p *Genomes) Wider(params any) any { return p.Network.Wider(params.(genome.Genome)) }

// Drawing draws the network.
func (p *Genomes) Drawing(params any) ([]byte, error) { return drawingOf(&p.Network, params) }

func drawingOf(n *genome.Network, params any) ([]byte, error) {
	d, err := n.Document(params.(genome.Genome))
	if err != nil {
		return nil, err
	}
	return d.SVG(), nil
}

func capacityOf(params any) settings.Values {
	nodes, connections := params.(genome.Genome).Capacity()
	return settings.Values{"nodes": nodes, "connections": connections}
}

// Genotype returns the network, which acts itself.
func (p *Genomes) Genotype() genome.Network { return p.Network }

// Init draws a genome without hidden nodes.
func (p *Genomes) Init(key random.Key) any { return p.Network.First(key) }

// Describe returns what the numbers in the parameters stand for.
func (p *Genomes) Describe(any) (map[string]any, error) { return describe(&p.Network), nil }

func describe(n *genome.Network) map[string]any {
	return map[string]any{"activations": n.Activations, "aggregations": n.Aggregations,
		"inputs": n.Inputs, "outputs": n.Outputs, "recurrent": n.Recurrent}
}

// Prepare makes a matrix of the connections.
func (p *Genomes) Prepare(params any) any {
	g, ok := params.(genome.Genome)
	if !ok {
		graph.Throw("Genomes.Prepare", "got parameters of type %T, want a genome.Genome, as Init makes it", params)
	}
	return p.Network.Prepare(g)
}

// PreparesAlways reports true: lists of connections are no form to compute with.
func (p *Genomes) PreparesAlways() bool { return true }

// BytesRead counts a weight for each connection that there is room for, and a node's numbers. The lanes of a tile are
// last and share the list of connections (graph.Sparsity), so that a step reads a connection's place and its source
// once for all of them.
func (p *Genomes) BytesRead() (own, shared int) {
	const number, ofNode, ofConnection = 4, 4, 2 // bytes; bias, response, activation, aggregation; place, source
	connections := p.Network.Connections
	return number * (connections + ofNode*p.Network.Nodes), number * ofConnection * connections
}

func (p *Genomes) ready(op string, params any) genome.Ready {
	switch g := params.(type) {
	case genome.Ready:
		return g
	case genome.Genome:
		return p.Network.Prepare(g)
	}
	panic(fmt.Errorf("policy.Genomes.%s: got parameters of type %T", op, params))
}

// Start returns zeros for a recurrent network, nothing for others.
func (p *Genomes) Start(params any) any {
	if p.Network.Recurrent {
		return p.Network.Start(p.ready("Start", params))
	}
	return graph.None{}
}

// Act computes the outputs.
func (p *Genomes) Act(params, carry any, observation *graph.Array, _ random.Key) (any, Output) {
	r, x := p.ready("Act", params), Flat(p.observation, observation)
	if p.Network.Recurrent {
		values := p.Network.Step(r, stateOf[*graph.Array]("Genomes.Act", carry), x)
		return values, Output{Action: graph.SliceAxis(values, 0, 0, p.Network.Outputs)}
	}
	return carry, Output{Action: p.Network.FeedForward(r, x)}
}
