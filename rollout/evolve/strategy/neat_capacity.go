package strategy

import (
	"xlarun/graph"
	"xlarun/rollout/policy/genome"
	"xlarun/rollout/settings"
)

// refusedMutations is the metric that counts mutations for which genomes have no capacity.
const refusedMutations = "refused_mutations"

// mostNewConnections is the number of connections that a birth adds: two with a node, and one more.
const mostNewConnections = 3

// Capacity doubles that for nodes if a genome has no place for another one, and that for connections likewise.
func (e *NEAT) Capacity(state NEATState) (settings.Values, error) {
	g := e.unpack(state.Genomes)
	largest := func(exist *graph.Array) (float64, error) {
		return graph.Float(graph.ReduceMax(exist.Convert(graph.Int32).Sum(1)))
	}
	capacity := settings.Values{}
	for _, list := range []struct {
		name        string
		exist       *graph.Array
		length, new int
	}{{"nodes", g.Nodes.Exist(), e.network.Nodes, 1},
		{"connections", g.Connections.Exist(), e.network.Connections, mostNewConnections}} {
		used, err := largest(list.exist)
		if err != nil {
			return nil, err
		}
		if int(used)+list.new > list.length {
			capacity[list.name] = 2 * list.length
		}
	}
	return capacity, nil
}

// Wider pads the genomes of a state, and all that has their lengths. Numbers and places stay.
func (e *NEAT) Wider(s NEATState, narrow func(NEATState, neatDraw, *graph.Array) genome.Genome) NEATState {
	n := &e.network
	s.Genomes = e.pack(n.Wider(narrow(s, neatDraw{Genome: s.Genomes}, nil)))
	if s.Reach != nil {
		s.Reach = n.WiderReach(s.Reach)
	}
	pad := func(a *graph.Array, value any) *graph.Array {
		return graph.Pad(a, value, []int{0, 0}, []int{0, n.Connections - a.Dim(1)})
	}
	s.Species.Numbers, s.Species.Weights = pad(s.Species.Numbers, int32(genome.None)), pad(s.Species.Weights, 0.)
	return s
}
