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

// program is a checked experiment. Its methods are traced to the compiled programs.
type program struct {
	config         *Config
	game           *game
	network        network.Network
	precision      precision.Policy
	weights        *population.Layout // of the network's parameters in one vector
	policyWords    int                // words of a policy in a row
	embeddingBytes int                // of a node's state
}

// player is a network with a search, the search alone, or a random player.
type player struct {
	Weights *graph.Array // f32[parameters]
	Scale   *graph.Array // f32[]: factor of the network's logits and values; 0: the search alone
	Random  *graph.Array // bool[]: moves are drawn at random
}

// networkPlayer plays by a network and a search.
func networkPlayer(weights *graph.Array) player {
	return player{weights, graph.Scalar(1), graph.Of(false)}
}

// resolve computes the sizes of parameters, rows and embeddings.
func (p *program) resolve() error {
	return graph.Try(func() {
		p.weights = population.LayoutOf(p.network.Init(random.New(0)))
		p.policyWords = (p.game.actions + 1) / 2
		p.embeddingBytes = 4 * (p.game.stateWords() + 1) // one word: whether the game is over
	})
}

// inputs are the settings that are inputs of the compiled programs: other values do not recompile.
func (p *program) inputs() map[string]*graph.Array { return settings.Inputs(p.config, "") }

// withInputs is the program with its inputs in place of the settings.
func (p *program) withInputs(in any) *program {
	b := *p
	b.config = settings.Bind(p.config, in.(map[string]*graph.Array), "")
	return &b
}

// searchParams are the params of a search's model: those of a player.
type searchParams struct {
	Network any
	Scale   *graph.Array // f32[]
}

func (p *program) searchParams(a player) searchParams {
	return searchParams{p.weights.Unravel(a.Weights), a.Scale}
}

// model is the game with the network, as a search uses them.
func (p *program) model() search.Model[any, any, searchParams] {
	return search.NewModel(p.game.env, func(s searchParams, observation *graph.Array) (logits, value *graph.Array) {
		logits, value = p.network.Apply(s.Network, observation)
		return logits.Mul(s.Scale), value.Mul(s.Scale)
	}, 1)
}

// layout says how games and batches are split over the devices, and how much memory they take.
type layout struct {
	gameTiles    population.Tiles // a tile's games are played in lanes; a device plays one tile after the other
	lanes        int              // of a tile
	gamesPerTile int              // the last tile may have fewer
	batchTiles   population.Tiles // parts of a training batch
	bytes        plan.Tally       // of everything
	treeBytes    int64            // of the trees of all devices
	replayBytes  int64
	batchBytes   int64
}

// layout splits the games. A tile has half of the game batch as its lanes, so that two devices play them, or as many
// lanes as have their trees in memory. free is the free memory in bytes; 0: unknown.
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
	for c.Lanes == 0 && given > 0 && l.treeBytes > given/2 && l.lanes > 1 {
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
			{"training-batch-size", c.TrainingBatchSize, l.batchBytes, "a smaller batch, or a larger --accumulate"},
			{"game-batch-size", c.GameBatchSize, l.treeBytes, "fewer games at the same time, or fewer simulations"},
			{"num-episodes", c.NumEpisodes, l.replayBytes, "fewer games, or a smaller --replay"},
		}
		worst := of[0]
		for _, x := range of[1:] {
			if x.bytes > worst.bytes {
				worst = x
			}
		}
		return l, settings.Wrong(worst.name, worst.got, "%s: the run takes about %s (trees %s, games %s, a training "+
			"step %s) and %s is there", worst.does, plan.BytesText(need),
			plan.BytesText(l.treeBytes), plan.BytesText(l.replayBytes), plan.BytesText(l.batchBytes),
			plan.BytesText(given))
	}
	return l, nil
}

// size splits the games of a layout with so many lanes, and counts its bytes.
func (l *layout) size(p *program, devices int) {
	c := p.config
	batch := min(c.GameBatchSize, max(2, c.NumEpisodes))
	tiles := max(1, (batch+l.lanes-1)/l.lanes)
	l.gamesPerTile = (c.NumEpisodes + tiles - 1) / tiles
	l.gameTiles = population.CutTiles((c.NumEpisodes+l.gamesPerTile-1)/l.gamesPerTile, 1, devices)
	l.batchTiles = population.CutTiles(c.Accumulate, 1, devices)
	options := search.Options{Simulations: c.NumSimulations}
	if c.Reuse {
		options.Nodes = 2 * (c.NumSimulations + 1)
	}
	playing := min(devices, l.gameTiles.Items)
	of := func(factors ...uint64) int64 {
		var t plan.Tally
		t.Add(factors...)
		n, ok := t.Total()
		if !ok {
			return 1 << 61
		}
		return n
	}
	tree := uint64(options.Bytes(1, p.game.actions, p.embeddingBytes))
	if c.Reuse {
		tree *= 2 // the tree of the move before
	}
	l.treeBytes = of(uint64(l.lanes), uint64(playing), tree)
	row := uint64(4 * p.words())
	// On each device: the games of an iteration as they are played, and the replay.
	l.replayBytes = of(uint64(c.NumEpisodes), uint64(p.game.moves), row, uint64(c.Replay+2), uint64(devices))
	// Of an example: what its gradient stores, about three numbers for each number that the network computes.
	l.batchBytes = of(uint64(c.TrainingBatchSize/c.Accumulate), uint64(min(devices, c.Accumulate)),
		uint64(12*p.activations()))
	l.bytes = plan.Tally{}
	for _, n := range []int64{l.treeBytes, l.replayBytes, l.batchBytes} {
		l.bytes.Add(uint64(n))
	}
	l.bytes.Add(uint64(4*p.weights.Size()), uint64(8*devices+c.Pool))
}

// activations is how many numbers the network computes for one position.
func (p *program) activations() (n int) {
	_ = graph.Try(func() {
		program, err := graph.TraceArgs("activations", []any{p.network.Init(random.New(0)),
			p.game.env.Observe(p.game.start, p.game.params)}, graph.TraceOptions{}, func(args []any) any {
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
