package policy

import (
	"slices"
	"strings"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy/genome"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("genome", &GenomeSettings{Activations: "tanh", Output: "identity", Aggregations: "sum",
		Initial: initialFull}, makesGenomes)
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

// makesGenomes are the traits of settings of policies whose parameters are genomes.
func makesGenomes[M any](M) MakerTraits { return MakerTraits{Genomes: true} }

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
	return Erase(&Genomes{*n, observation}), nil
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

// GenomePolicies lists the registered policies whose parameters are genomes, sorted.
func GenomePolicies() []string {
	return slices.DeleteFunc(Names(), func(name string) bool {
		maker, _ := registry.New(name)
		return !TraitsOf(maker).Genomes
	})
}

// genomeTraits are those of a policy whose parameters are genomes of a network.
func genomeTraits[C any](n *genome.Network) (t Traits[genome.Genome, C]) {
	t.Genotype, t.PreparesAlways, t.Wider = n, true, n.Wider
	t.Sizes = func(g genome.Genome) settings.Values {
		nodes, connections := g.Capacity()
		return settings.Values{"nodes": nodes, "connections": connections}
	}
	t.Drawing = func(g genome.Genome) ([]byte, error) {
		d, err := n.Document(g)
		if err != nil {
			return nil, err
		}
		return d.SVG(), nil
	}
	return t
}

// Traits say that it has a network whose connections are prepared as a matrix.
func (p *Genomes) Traits() Traits[genome.Genome, any] {
	t := genomeTraits[any](&p.Network)
	t.Prepared, t.BytesRead = FormOf(p.Network.Prepare, nil, p.start, p.act), p.BytesRead
	t.Describe = func(genome.Genome) (map[string]any, error) { return describe(&p.Network), nil }
	return t
}

// Init draws a genome without hidden nodes.
func (p *Genomes) Init(key random.Key) genome.Genome { return p.Network.First(key) }

// describe returns what the numbers in the parameters stand for.
func describe(n *genome.Network) map[string]any {
	return map[string]any{"activations": n.Activations, "aggregations": n.Aggregations,
		"inputs": n.Inputs, "outputs": n.Outputs, "recurrent": n.Recurrent}
}

// BytesRead counts a weight for each connection that there is room for, and a node's numbers. The lanes of a tile are
// last and share the list of connections (graph.Sparsity), so that a step reads a connection's place and its source
// once for all of them.
func (p *Genomes) BytesRead() (own, shared int) {
	const number, ofNode, ofConnection = 4, 4, 2 // bytes; bias, response, activation, aggregation; place, source
	connections := p.Network.Connections
	return number * (connections + ofNode*p.Network.Nodes), number * ofConnection * connections
}

// Start returns zeros for a recurrent network, nothing for others.
func (p *Genomes) Start(g genome.Genome) any {
	if p.Network.Recurrent {
		return p.Network.Start(p.Network.Prepare(g))
	}
	return graph.None{}
}

func (p *Genomes) start(r genome.Ready) any {
	if p.Network.Recurrent {
		return p.Network.Start(r)
	}
	return graph.None{}
}

// Act computes the outputs. The carry is that of a recurrent network, f32[nodes], or nothing.
func (p *Genomes) Act(g genome.Genome, carry any, observation *graph.Array, key random.Key) (any, Output) {
	return p.act(p.Network.Prepare(g), carry, observation, key)
}

func (p *Genomes) act(r genome.Ready, carry any, observation *graph.Array, _ random.Key) (any, Output) {
	x := Flat(p.observation, observation)
	if values, recurrent := carry.(*graph.Array); recurrent {
		values = p.Network.Step(r, values, x)
		return values, Output{Action: graph.SliceAxis(values, 0, 0, p.Network.Outputs)}
	}
	return carry, Output{Action: p.Network.FeedForward(r, x)}
}
