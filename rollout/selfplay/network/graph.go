package network

import (
	"xlarun/envs/board"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() { MustRegister("graph", func() Maker { return &GraphSettings{Width: 32, Rounds: 3} }) }

// GraphSettings are the settings of the network "graph".
type GraphSettings struct {
	Width  int `set:"width" args:"" min:"1" max:"4096" help:"numbers that each edge of the graph carries"`
	Rounds int `set:"rounds" min:"1" max:"64" help:"how often edges send messages"`
}

// Make returns a graph network. It refuses games that do not color a graph.
func (s *GraphSettings) Make(g Game) (Network, error) {
	if g.Vertices == 0 {
		return nil, settings.Wrong(partName, "graph", "mlp or tower: this game colors no edges of a graph")
	}
	n, edges := g.Vertices, g.Vertices*(g.Vertices-1)/2
	ends := make([]float32, n*edges)
	for e := range edges {
		a, b := board.Ends(n, e)
		ends[a*edges+e], ends[b*edges+e] = 1, 1
	}
	return edgeNetwork{s: *s, vertices: n, edges: edges, features: g.Observation[1], colors: g.Actions / edges,
		ends: ends}, nil
}

// edgeNetwork passes messages between edges of a complete graph that share a vertex. Its policy is equivariant under
// permutations of the vertices, and its value invariant.
type edgeNetwork struct {
	s                                 GraphSettings
	vertices, edges, features, colors int
	ends                              []float32 // [vertices, edges]: 1 if the edge ends in the vertex
}

type edgeRound struct {
	Own    nn.Dense     // of the edge's features
	Shared *graph.Array // f32[width, width]: of the mean of the edges that share a vertex with it
	All    *graph.Array // f32[width, width]: of the mean of all edges
	Out    *graph.Array // f32[width, width]
}

type edgeParams struct {
	In            nn.Dense
	Rounds        []edgeRound
	Policy, Value nn.Dense
	Deep          nn.Dense // hidden layer of the value
}

func (g edgeNetwork) Init(key random.Key) any {
	w := g.s.Width
	keys := random.SplitN(key, 4+g.s.Rounds)
	p := edgeParams{In: nn.NewDense(keys[0], g.features, w, nn.Weights(nn.HeNormal)),
		Policy: head(keys[1], w, g.colors), Value: head(keys[2], w, 1),
		Deep: nn.NewDense(keys[3], w, w, nn.Weights(nn.HeNormal))}
	for _, key := range keys[4:] {
		k := random.SplitN(key, 4)
		square := graph.ShapeOf(graph.Float32, w, w)
		p.Rounds = append(p.Rounds, edgeRound{Own: nn.NewDense(k[0], w, w, nn.Weights(nn.HeNormal)),
			Shared: nn.HeNormal(k[1], square), All: nn.HeNormal(k[2], square),
			Out: nn.HeNormal(k[3], square).Mul(smallWeights)})
	}
	return p
}

func (g edgeNetwork) Apply(params any, observation *graph.Array) (logits, v *graph.Array) {
	p := params.(edgeParams)
	h := graph.Relu(p.In.Apply(observation)) // [edges, width]
	ends := graph.Float32s(g.ends, g.vertices, g.edges).Convert(h.DType())
	neighbors := 1 / float64(2*(g.vertices-2))
	for _, r := range p.Rounds {
		// The neighbors of an edge are the edges of its two vertices, which contain the edge itself twice. Messages
		// are multiplied by weights at the vertices, of which there are fewer. The edge's own messages are subtracted
		// by its own weights.
		weights := r.Shared.Mul(neighbors)
		shared := ends.Transpose().Dot(ends.Dot(h).Dot(weights))
		layer := r.Own
		layer.W = layer.W.Sub(weights.Mul(2))
		all := h.Mean(0).Dot(r.All)
		x := graph.Relu(layer.Apply(h).Add(shared).Add(all.ExpandDims(0)))
		h = h.Add(x.Dot(r.Out))
	}
	h = graph.Relu(h)
	logits = graph.Flatten1D(p.Policy.Apply(h).Transpose())
	return logits, value(p.Value, graph.Relu(p.Deep.Apply(h.Mean(0))))
}
