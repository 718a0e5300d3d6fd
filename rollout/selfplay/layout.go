package selfplay

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/search"
	"xlarun/rollout/settings"
)

// layout is how games and batches are split over the devices, and the memory that they take.
type layout struct {
	gameTiles    population.Tiles // a device plays one tile after the other
	lanes        int              // of a tile: games that are played at the same time
	gamesPerTile int              // the last tile may have fewer
	batchTiles   population.Tiles // parts of a training batch
	bytes        plan.Tally       // of all arrays
	treeBytes    int64            // of the trees of all devices
	replayBytes  int64
	batchBytes   int64
}

// layout splits the games. A tile has half of the game batch as its lanes, so that two devices play, or fewer lanes if
// their trees do not fit into the memory. On an accelerator it has all of them: a simulation costs its launches,
// however many games it is of. on has the devices and their free memory in bytes; 0: unknown.
func (p *program) layout(on plan.Machine) (l layout, err error) {
	c, devices, free := p.config, max(1, on.Devices), on.Free
	if c.Memory > 0 {
		free = int64(c.Memory)
	}
	batch := min(c.GameBatchSize, max(2, c.NumEpisodes))
	l.lanes = c.GamesPerDevice
	if l.lanes == 0 {
		l.lanes = (batch + 1) / 2
		if on.Accelerator {
			l.lanes = batch
		}
	}
	l.lanes = min(l.lanes, batch)
	l.size(p, devices)
	for c.GamesPerDevice == 0 && free > 0 && l.treeBytes > free/2 && l.lanes > 1 {
		l.lanes = (l.lanes + 1) / 2
		l.size(p, devices)
	}
	if need, ok := l.bytes.Total(); free > 0 && (!ok || need > free) {
		return l, p.tooLarge(l, need, free)
	}
	return l, nil
}

// tooLarge returns the error for a layout that needs more memory than there is. It names the setting that needs most.
func (p *program) tooLarge(l layout, need, free int64) error {
	c := p.config
	worst, got, wants, bytes := "training-batch-size", c.TrainingBatchSize,
		"a smaller batch, or a larger --accumulate", l.batchBytes
	if l.treeBytes > bytes {
		worst, got, wants, bytes = "game-batch-size", c.GameBatchSize,
			"fewer games at the same time, or fewer simulations", l.treeBytes
	}
	if l.replayBytes > bytes {
		worst, got, wants = "num-episodes", c.NumEpisodes, "fewer games, or a smaller --replay"
	}
	return settings.Wrong(worst, got, "%s: the run takes about %s (trees %s, games %s, a training step %s)%s", wants,
		plan.BytesText(need), plan.BytesText(l.treeBytes), plan.BytesText(l.replayBytes),
		plan.BytesText(l.batchBytes), plan.MoreThan(free, c.Memory > 0))
}

// size splits the games of a layout with its number of lanes, and counts its bytes.
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
	product := func(factors ...uint64) int64 {
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
		tree *= 2 // the tree of the previous move
	}
	l.treeBytes = product(uint64(l.lanes), uint64(playing), tree)
	row := uint64(4 * p.words())
	// On each device: the games of an iteration while they are played, and the replay.
	l.replayBytes = product(uint64(c.NumEpisodes), uint64(p.game.moves), row, uint64(c.Replay+2), uint64(devices))
	// The gradient of an example stores about three numbers for each number that the network computes.
	l.batchBytes = product(uint64(c.TrainingBatchSize/c.Accumulate), uint64(min(devices, c.Accumulate)),
		uint64(12*p.activations()))
	l.bytes = plan.Tally{}
	for _, n := range []int64{l.treeBytes, l.replayBytes, l.batchBytes} {
		l.bytes.Add(uint64(n))
	}
	l.bytes.Add(uint64(4*p.weights.Size()), uint64(8*devices+c.Pool))
}

// activations returns the number of numbers that the network computes for one position.
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
