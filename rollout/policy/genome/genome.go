// Package genome holds networks of variable structure in arrays of fixed length: lists of nodes and connections, padded
// to a maximum. A genome is a tree, so that populations of genomes live on devices like any other parameters.
package genome

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// None is the number of a node or connection that pads its list. It is the largest one, so that lists with padding are
// in ascending order.
const None = math.MaxInt32

// Genome is one network. The first nodes are the inputs, then come the outputs, then the hidden nodes.
type Genome struct {
	Nodes       Nodes
	Connections Connections
}

// Nodes are a genome's nodes, each field [nodes]. Inputs use only their numbers. A node's value is
//
//	activation(bias + response · aggregation(weight · source, over its connections))
//
// which neat-python calls so, too.
type Nodes struct {
	Number      *graph.Array // i32: historical marking, ascending; None: no node
	Bias        *graph.Array // f32
	Response    *graph.Array // f32
	Activation  *graph.Array // i32: place in Network.Activations
	Aggregation *graph.Array // i32: place in Network.Aggregations
}

// Connections are a genome's connections, each field [connections].
type Connections struct {
	Number  *graph.Array // i32: historical marking, the innovation number, ascending; None: no connection
	From    *graph.Array // i32: place of the source in Nodes; 0 if there is no connection
	To      *graph.Array // i32: place of the target, no input
	Weight  *graph.Array // f32
	Enabled *graph.Array // bool: the network has it; false if there is no connection
}

// Exist reports which nodes are no padding, bool[nodes].
func (n Nodes) Exist() *graph.Array { return n.Number.Lt(None) }

// Count returns the number of nodes, i32[].
func (n Nodes) Count() *graph.Array { return n.Exist().Convert(graph.Int32).Sum() }

// Exist reports which connections are no padding, bool[connections].
func (c Connections) Exist() *graph.Array { return c.Number.Lt(None) }

// Count returns the number of connections, i32[].
func (c Connections) Count() *graph.Array { return c.Exist().Convert(graph.Int32).Sum() }

// Network says how genomes are read.
type Network struct {
	Inputs, Outputs int
	// Nodes and Connections are the lengths of the lists, inputs and outputs included.
	Nodes, Connections int
	// Recurrent networks may have any connections. In a step every node reads the values that nodes had after the step
	// before, except inputs, whose values are new. Other networks have no cycles.
	Recurrent bool
	// Activations are the names of the functions that nodes have; hidden nodes have one of the first Hidden.
	Activations  []string
	Hidden       int
	Output       int // place of the outputs' activation
	Aggregations []string
	// Full connects every input with every output at first; otherwise there are no connections.
	Full bool
}

// FirstConnections returns the number of connections of the first genomes.
func (n *Network) FirstConnections() int {
	if n.Full {
		return n.Inputs * n.Outputs
	}
	return 0
}

// First returns a genome without hidden nodes. Weights are standard normal over the root of the number of inputs.
func (n *Network) First(key random.Key) Genome {
	nodes, connections := graph.Iota(n.Nodes), graph.Iota(n.Connections)
	ends, many := n.Inputs+n.Outputs, n.FirstConnections()
	zero := func(like *graph.Array) *graph.Array { return graph.ZerosLike(like) }
	output := nodes.Ge(n.Inputs).And(nodes.Lt(ends))
	isUsed := connections.Lt(many)
	weights := random.Normal(key, graph.ShapeOf(graph.Float32, n.Connections)).Div(graph.Sqrt(float32(n.Inputs)))
	padding := func(used, number *graph.Array) *graph.Array { return graph.Select(used, number, int32(None)) }
	return Genome{
		Nodes{Number: padding(nodes.Lt(ends), nodes), Bias: zero(nodes.Convert(graph.Float32)),
			Response: graph.Ones(graph.ShapeOf(graph.Float32, n.Nodes)), Aggregation: zero(nodes),
			Activation: graph.Select(output, int32(n.Output), zero(nodes))},
		Connections{Number: padding(isUsed, connections),
			From:   graph.Select(isUsed, graph.Quo(connections, n.Outputs), 0),
			To:     graph.Select(isUsed, connections.Rem(n.Outputs), 0).Add(n.Inputs),
			Weight: graph.Select(isUsed, weights, 0.), Enabled: isUsed},
	}
}

// Packing lays a genome out as one array of whole numbers, i32[elements], without losing a bit. Populations are read
// and written faster in this form.
func (n *Network) Packing() *graph.Packing {
	return graph.NewPacking(n.First(random.New(0)), func(graph.Shape) graph.DType { return graph.Int32 })
}
