package selfplay

import (
	"xlarun/graph"
	"xlarun/graph/precision"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/search"
	"xlarun/rollout/selfplay/network"
	"xlarun/rollout/settings"
)

// program is an experiment, checked: what its compiled programs are traced from.
type program struct {
	config    *Config
	game      *game
	network   network.Network
	precision precision.Policy
	weights   *population.Layout // of the network's parameters in one vector
	policy    int                // words of a policy in a row
	embedding int                // bytes of a node's state
}

// player is who plays: a network, and whether it is heard.
type player struct {
	Weights *graph.Array // f32[parameters]
	Trust   *graph.Array // f32[]: by which its logits and values are multiplied; 0: search alone
	Random  *graph.Array // bool[]: moves are drawn, whatever the search says
}

// trained is the player with parameters that is heard.
func trained(weights *graph.Array) player {
	return player{weights, graph.Scalar(1), graph.Of(false)}
}

// learn finds out what the game's states and the network's parameters look like.
func (p *program) learn() error {
	return graph.Try(func() {
		p.weights = population.LayoutOf(p.network.Init(random.New(0)))
		p.policy = (p.game.actions + 1) / 2
		for _, s := range p.game.state.shapes {
			p.embedding += 4 * s.Size()
		}
		p.embedding += 4 // whether it is over
	})
}

// inputs are the numbers of the settings that are inputs of the compiled programs: other ones compile nothing.
func (p *program) inputs() map[string]*graph.Array { return settings.Inputs(p.config, "") }

// bound is the program with its inputs in the place of the settings.
func (p *program) bound(in any) *program {
	b := *p
	b.config = settings.Bind(p.config, in.(map[string]*graph.Array), "")
	return &b
}

// seen is a player as a search sees it.
type seen struct {
	Params any
	Trust  *graph.Array
}

func (p *program) seen(a player) seen { return seen{p.weights.Unravel(a.Weights), a.Trust} }

// model is the game with a network as a search goes over it.
func (p *program) model() search.Model[any, any, seen] {
	return search.Of(p.game.env, func(s seen, observation *graph.Array) (logits, value *graph.Array) {
		logits, value = p.network.Apply(s.Params, observation)
		return graph.Mul(logits, s.Trust), graph.Mul(value, s.Trust)
	}, 1)
}

// layout is how games are cut over the devices, and what they take.
type layout struct {
	games  population.Tiles // tiles of games that are played one after the other, each in Lanes lanes
	lanes  int
	quota  int // games of a tile, of the last one maybe fewer
	chunks population.Tiles
	bytes  plan.Tally // of everything
	trees  int64      // of the trees of all devices
	replay int64
	batch  int64
}

// layout cuts the games: lanes of a tile are half of the game batch, so that two devices play them, or as many as have room. free is the
// memory that there is, 0: not known.
func (p *program) layout(devices int, free int64) (l layout, err error) {
	c := p.config
	given := free
	if c.Memory > 0 {
		given = int64(c.Memory)
	}
	batch := min(c.GameBatchSize, max(2, c.NumEpisodes))
	l.lanes = c.Lanes
	if l.lanes == 0 {
		l.lanes = (batch + 1) / 2
	}
	l.lanes = min(l.lanes, batch)
	l.size(p, devices)
	for c.Lanes == 0 && given > 0 && l.trees > given/2 && l.lanes > 1 {
		l.lanes = (l.lanes + 1) / 2
		l.size(p, devices)
	}
	need, ok := l.bytes.Total()
	if given > 0 && (!ok || need > given) {
		of := []struct {
			name  string
			got   int
			bytes int64
			does  string
		}{
			{"training-batch-size", c.TrainingBatchSize, l.batch, "a smaller batch, or a larger --accumulate"},
			{"game-batch-size", c.GameBatchSize, l.trees, "fewer games at the same time, or fewer simulations"},
			{"num-episodes", c.NumEpisodes, l.replay, "fewer games, or a smaller --replay"},
		}
		worst := of[0]
		for _, x := range of[1:] {
			if x.bytes > worst.bytes {
				worst = x
			}
		}
		return l, settings.Wrong(worst.name, worst.got, "%s: the run takes about %s (trees %s, games %s, a training step %s) and %s is there", worst.does, plan.BytesText(need),
			plan.BytesText(l.trees), plan.BytesText(l.replay), plan.BytesText(l.batch), plan.BytesText(given))
	}
	return l, nil
}

// size counts the bytes of a layout with so many lanes.
func (l *layout) size(p *program, devices int) {
	c := p.config
	batch := min(c.GameBatchSize, max(2, c.NumEpisodes))
	tiles := max(1, (batch+l.lanes-1)/l.lanes)
	l.quota = (c.NumEpisodes + tiles - 1) / tiles
	l.games = population.CutTiles((c.NumEpisodes+l.quota-1)/l.quota, 1, devices)
	l.chunks = population.CutTiles(c.Accumulate, 1, devices)
	options := search.Options{Simulations: c.NumSimulations}
	if c.Reuse {
		options.Nodes = 2 * (c.NumSimulations + 1)
	}
	playing := min(devices, l.games.Items)
	of := func(factors ...uint64) int64 {
		var t plan.Tally
		t.Add(factors...)
		n, ok := t.Total()
		if !ok {
			return 1 << 61
		}
		return n
	}
	tree := uint64(options.Bytes(1, p.game.actions, p.embedding))
	if c.Reuse {
		tree *= 2 // that of the move before
	}
	l.trees = of(uint64(l.lanes), uint64(playing), tree)
	row := uint64(4 * p.words())
	// The games of an iteration as they are played, and as they are kept, on each device.
	l.replay = of(uint64(c.NumEpisodes), uint64(p.game.moves), row, uint64(c.Replay+2), uint64(devices))
	// Of an example: all that its gradient remembers, about three numbers for each that the network computes.
	l.batch = of(uint64(c.TrainingBatchSize/c.Accumulate), uint64(min(devices, c.Accumulate)), uint64(12*p.activations()))
	l.bytes = plan.Tally{}
	for _, n := range []int64{l.trees, l.replay, l.batch} {
		l.bytes.Add(uint64(n))
	}
	l.bytes.Add(uint64(4*p.weights.Size()), uint64(8*devices+c.Pool))
}

// activations is the number of numbers that the network computes of one position.
func (p *program) activations() (n int) {
	_ = graph.Try(func() {
		program, err := graph.TraceArgs("activations", []any{p.network.Init(random.New(0)), p.game.env.Observe(p.game.start, p.game.params)}, graph.TraceOptions{}, func(args []any) any {
			logits, value := p.network.Apply(args[0], args[1].(*graph.Array))
			return []any{logits, value}
		})
		if err == nil {
			for _, node := range program.Graph.Nodes {
				for _, out := range node.Outs {
					n += out.Shape().Size()
				}
			}
		}
	})
	return n
}

// Rows of what is learned from: the position's words, the policy's shares in steps of 1/65535, two to a word, and what the position came to be
// worth to the player to move, f32.

// words is the number of words of a row.
func (p *program) words() int { return p.game.state.words + p.policy + 1 }

// packPolicy packs shares, f32[actions].
func (p *program) packPolicy(shares *graph.Array) *graph.Array {
	whole := graph.Convert(graph.Round(graph.Mul(shares, shareSteps)), graph.Uint32)
	if n := 2*p.policy - p.game.actions; n > 0 {
		whole = graph.Pad(whole, uint32(0), []int{0}, []int{n})
	}
	pairs := graph.Reshape(whole, p.policy, 2)
	low, high := graph.Squeeze(graph.SliceAxis(pairs, 1, 0, 1), 1), graph.Squeeze(graph.SliceAxis(pairs, 1, 1, 2), 1)
	return graph.Or(low, graph.ShiftLeft(high, graph.FullLike(high, 16)))
}

// unpackPolicy is the shares again, adding up to 1.
func (p *program) unpackPolicy(words *graph.Array) *graph.Array {
	low := graph.And(words, graph.FullLike(words, 0xffff))
	high := graph.ShiftRightLogical(words, graph.FullLike(words, 16))
	total := graph.Convert(graph.Sum(graph.Add(low, high)), graph.Float32) // of whole numbers: sums of floats are no vectors
	whole := graph.Convert(graph.SliceAxis(graph.Flatten1D(graph.Stack([]*graph.Array{low, high}, 1)), 0, 0, p.game.actions), graph.Float32)
	return graph.Div(whole, graph.Max(total, 1))
}

const shareSteps = 65535
