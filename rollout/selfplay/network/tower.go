package network

import (
	"xlarun/envs/board"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() { MustRegister("tower", func() Maker { return &TowerSettings{Channels: 32, Blocks: 3} }) }

// TowerSettings are the settings of the network "tower".
type TowerSettings struct {
	Channels int `set:"channels" args:"" min:"1" max:"4096" help:"channels of the convolutions"`
	Blocks   int `set:"blocks" min:"1" max:"256" help:"residual blocks of two convolutions"`
}

// Make returns a residual tower. It refuses observations that are not pictures.
func (s *TowerSettings) Make(g Game) (Network, error) {
	t := tower{s: *s, game: g}
	switch {
	case g.Vertices > 0:
		t.height, t.width, t.features = g.Vertices, g.Vertices, g.Observation[1]
	case len(g.Observation) == 3:
		t.height, t.width, t.features = g.Observation[0], g.Observation[1], g.Observation[2]
	default:
		return nil, settings.Wrong(partName, "tower", "mlp: the observation of this game is not a picture of height, "+
			"width and features")
	}
	return t, nil
}

// tower is a convolutional network with residual blocks, without normalization (Silver et al., "Mastering the game of
// Go without human knowledge", 2017). The picture of a graph is its adjacency matrix.
type tower struct {
	s                       TowerSettings
	game                    Game
	height, width, features int
}

type towerBlock struct{ First, Second nn.Conv }

type towerParams struct {
	In          nn.Conv
	Blocks      []towerBlock
	Policy      nn.Conv // to policyPlanes
	Value       nn.Conv // to one plane
	Action      nn.Dense
	Deep, Worth nn.Dense
}

const (
	policyPlanes = 2
	valueWidth   = 64
)

func (t tower) Init(key random.Key) any {
	c, cells := t.s.Channels, t.height*t.width
	keys := random.SplitN(key, 6+t.s.Blocks)
	conv := func(key random.Key, side, in, out int) nn.Conv {
		return nn.NewConv(key, []int{side, side}, in, out, nn.Weights(nn.HeNormal))
	}
	p := towerParams{
		In:     conv(keys[0], 3, t.features, c),
		Policy: conv(keys[1], 1, c, policyPlanes),
		Value:  conv(keys[2], 1, c, 1),
		Action: head(keys[3], policyPlanes*cells, t.game.Actions),
		Deep:   nn.NewDense(keys[4], cells, valueWidth, nn.Weights(nn.HeNormal)),
		Worth:  head(keys[5], valueWidth, 1),
	}
	for _, key := range keys[6:] {
		k := random.SplitN(key, 2)
		second := nn.NewConv(k[1], []int{3, 3}, c, c, nn.Weights(nn.Normal(smallWeights/float64(3*c))))
		p.Blocks = append(p.Blocks, towerBlock{conv(k[0], 3, c, c), second})
	}
	return p
}

func (t tower) Apply(params any, observation *graph.Array) (logits, v *graph.Array) {
	p := params.(towerParams)
	x := graph.Relu(p.In.Apply(t.picture(observation)))
	for _, b := range p.Blocks {
		x = graph.Relu(x.Add(b.Second.Apply(graph.Relu(b.First.Apply(x)))))
	}
	logits = p.Action.Apply(graph.Flatten1D(graph.Relu(p.Policy.Apply(x))))
	deep := graph.Relu(p.Deep.Apply(graph.Flatten1D(graph.Relu(p.Value.Apply(x)))))
	return logits, value(p.Worth, deep)
}

// picture returns the observation as [height, width, features]. A graph has zeros on the diagonal.
func (t tower) picture(observation *graph.Array) *graph.Array {
	n := t.game.Vertices
	if n == 0 {
		return observation
	}
	edges := n * (n - 1) / 2
	rows := make([]int32, n*n)
	for i := range rows {
		if a, b := i/n, i%n; a == b {
			rows[i] = int32(edges) // the row of zeros after the last edge
		} else {
			rows[i] = int32(board.Edge(n, min(a, b), max(a, b)))
		}
	}
	padded := graph.Pad(observation, 0, []int{0, 0}, []int{1, 0})
	return graph.Take(padded, graph.Int32s(rows), 0).Reshape(n, n, t.features)
}
