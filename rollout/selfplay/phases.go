package selfplay

import (
	"context"
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/rollout/selfplay/network"
	"xlarun/xlabridge"
)

// Names of the phases.
const (
	PhaseSearch   = "search"   // all games of an iteration, without the network
	PhaseNetwork  = "network"  // one evaluation of the positions of all lanes, as in a search
	PhaseTraining = "training" // a training step, its batch included
	PhaseArena    = "arena"    // an evaluation of the newest network
	PhaseGames    = "games"    // all games of an iteration, with the network
	PhaseBatch    = "batch"    // drawing and preparing a batch, as in a training step
)

const (
	// stepsPerCall is the number of training steps that are timed in one call.
	stepsPerCall = 16
	// evaluationsPerCall is the largest number of evaluations by the network that are timed in one call.
	evaluationsPerCall = 4096
)

// batchesPerCall returns the number of batches of n positions that are timed in one call. Training also prepares many
// batches in a call, so the overhead of a call (about 0.3 ms) is spread in the same way.
func batchesPerCall(n int) int { return max(64, 1<<15/n) }

// Phases times the parts of an iteration, each `repeats` times after a first one: "search", "network", "training" and
// "arena". Without UseTrueMCTX search and network are one, "games". The state does not change.
//
// Search without a network plays other games. Its time is scaled to the turns of the newest iteration's games. A run
// without one plays them first.
func (t *Training) Phases(ctx context.Context, repeats int) ([]run.Phase, error) {
	if t.plain != nil {
		return t.PhasesOf(ctx, repeats, PhaseGames, PhaseTraining, PhaseArena)
	}
	return t.PhasesOf(ctx, repeats, PhaseSearch, PhaseNetwork, PhaseTraining, PhaseArena)
}

// PhasesOf times the phases with these names that there are.
func (t *Training) PhasesOf(ctx context.Context, repeats int, names ...string) (phases []run.Phase, err error) {
	before, err := t.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	proof, counts := t.proof, t.counts
	defer func() {
		t.proof, t.counts = proof, counts
		if bad := t.Restore(context.WithoutCancel(ctx), before); err == nil {
			err = bad
		}
	}()
	keys, number := t.keys, graph.Of(int32(t.step))
	games := func() error {
		_, err := t.games(keys[1], number)
		return err
	}
	if counts.positions == 0 { // there is nothing to learn from yet, or the run goes on
		if err := games(); err != nil {
			return nil, err
		}
	}
	played := t.counts
	once := func(name string, units int, call func() error) (run.Phase, error) {
		return run.TimePhase(name, repeats, units, call)
	}
	for _, p := range []struct {
		name string
		skip bool
		time func(name string) (run.Phase, error)
	}{
		{PhaseGames, false, func(name string) (run.Phase, error) { return once(name, 1, games) }},
		{PhaseSearch, t.plain != nil, func(name string) (run.Phase, error) {
			return t.timeSearch(name, repeats, played.turns)
		}},
		{PhaseNetwork, t.plain != nil, func(name string) (run.Phase, error) {
			return t.timeNetwork(name, repeats, played.turns)
		}},
		{PhaseTraining, false, func(name string) (run.Phase, error) {
			phase, err := once(name, stepsPerCall, func() error {
				_, err := t.learn(keys[2], number, stepsPerCall)
				return err
			})
			phase.Times, phase.Cost = float64(t.trainingSteps(played.positions)), t.stepCost()
			return phase, err
		}},
		{PhaseBatch, !t.config.OptimizedTraining, func(name string) (run.Phase, error) {
			return t.timeBatch(name, repeats, keys[2])
		}},
		{PhaseArena, t.arena == nil, func(name string) (run.Phase, error) {
			phase, err := once(name, 1, func() error {
				_, err := t.evaluate(keys[3])
				return err
			})
			phase.Times = 1 / float64(t.config.ArenaEvery)
			return phase, err
		}},
	} {
		if p.skip || !slices.Contains(names, p.name) {
			continue
		}
		phase, err := p.time(p.name)
		if err != nil {
			return nil, err
		}
		phases = append(phases, phase)
	}
	return phases, nil
}

// playCounts say how much was played in an iteration.
type playCounts struct {
	positions int // moves of all games
	turns     int // of all tiles; in a turn, each lane of a tile searches a move
}

// idleNetwork takes the place of a network in a search that is timed without one. Logits and value are the sum of the
// observation; a player's Scale of 0 makes them 0.
type idleNetwork struct {
	network.Network
	actions int
}

// Apply returns logits and a value.
func (n idleNetwork) Apply(_ any, observation *graph.Array) (logits, value *graph.Array) {
	sum := observation.Sum()
	return sum.BroadcastTo(n.actions), sum
}

// searchInputs are the inputs of the program that plays without a network.
type searchInputs struct {
	Play  playInputs
	Scale *graph.Array // f32[]: of the player
}

// timeSearch times so many turns of games without a network.
func (t *Training) timeSearch(name string, repeats, turns int) (phase run.Phase, err error) {
	p, c := *t.program, t.stages()
	p.network, c.Profile = idleNetwork{t.program.network, t.program.game.actions}, nil
	in := searchInputs{playInputs{t.state.Learner.Weights, t.keys[1], graph.Of(int32(t.step)),
		t.layout.gameTiles.Count(), t.program.inputs()}, graph.Scalar(0)}
	stage, err := run.NewStage(c, name, t.state.Replay, in, func(r replay, in searchInputs) (replay, playResult) {
		by := networkPlayer(in.Play.Weights)
		by.Scale = in.Scale
		return p.withInputs(in.Play.Settings).playIteration(t.layout, r, by, in.Play.Key, in.Play.Iteration,
			in.Play.Tiles)
	})
	if err != nil {
		return phase, err
	}
	defer func() { _ = stage.Close() }()
	var alone playCounts
	phase, err = run.TimePhase(name, repeats, 1, func() error {
		out, err := stage.Advance(&t.state.Replay, in)
		if err != nil {
			return err
		}
		defer xlabridge.Free(out)
		metrics, err := graph.Floats(out.Metrics)
		if err == nil {
			alone = t.countsOf(metrics)
		}
		return err
	})
	ratio := float64(turns) / float64(max(1, alone.turns))
	phase.Seconds *= ratio
	for i := range phase.Runs {
		phase.Runs[i] *= ratio
	}
	phase.Cost = playCost(stage.Program().Program.Graph, turns)
	return phase, err
}

// networkInputs are the inputs of the program that evaluates positions.
type networkInputs struct {
	Weights *graph.Array // f32[parameters]
	Count   *graph.Array // i32[]: evaluations, one after the other
	Zero    *graph.Array // f32[]: 0
}

// timeNetwork times an evaluation of the positions of all lanes, on all devices. A search in a turn has one for its
// root and one for each simulation.
func (t *Training) timeNetwork(name string, repeats, turns int) (phase run.Phase, err error) {
	p, c := t.program, t.stages()
	c.Profile = nil
	times := float64(turns*(1+t.config.NumSimulations)) / float64(t.devices)
	count := max(1, min(evaluationsPerCall, int(times)))
	in := networkInputs{t.state.Learner.Weights, graph.Of(int32(count)), graph.Scalar(0)}
	type loop struct{ I, Observations *graph.Array }
	stage, err := run.NewReading(c, name, in, func(in networkInputs) *graph.Array {
		params := p.weights.Unravel(in.Weights)
		start := repeat(t.layout.lanes, p.game.env.Observe(p.game.start, p.game.params))
		return graph.NamedWhile(evaluationsLoop, func(l loop) *graph.Array { return l.I.Lt(in.Count) },
			func(l loop) loop {
				return loop{l.I.Add(1), graph.VMap(func(x *graph.Array) *graph.Array {
					logits, value := p.network.Apply(params, x)
					// the next evaluation needs all results of this one
					return x.Add(logits.Sum().Add(value).Mul(in.Zero))
				})(l.Observations)}
			}, loop{graph.Of(int32(0)), start}).Observations
	})
	if err != nil {
		return phase, err
	}
	defer func() { _ = stage.Close() }()
	phase, err = run.TimePhase(name, repeats, count, func() error {
		out, err := stage.Call(in)
		if err == nil {
			xlabridge.Free(out)
		}
		return err
	})
	phase.Times, phase.Cost = times, stage.Program().Program.Graph.Cost(nil).Times(float64(t.devices))
	return phase, err
}

// timeBatch times the preparation of a batch.
func (t *Training) timeBatch(name string, repeats int, key random.Key) (run.Phase, error) {
	prepare, err := t.compileBatches()
	if err != nil {
		return run.Phase{}, err
	}
	defer func() { _ = prepare.Close() }()
	batches := batchesPerCall(t.config.TrainingBatchSize)
	return run.TimePhase(name, repeats, batches, func() error {
		out, err := prepare.Call(batchInputs{t.state.Replay, key, graph.Of(int32(batches)),
			t.layout.batchTiles.Count()})
		if err == nil {
			xlabridge.Free(out)
		}
		return err
	})
}

// Cost counts the work of the newest iteration, on all devices, without its evaluation. Zero: there was none, or its
// games were not played by a compiled program.
func (t *Training) Cost() graph.Cost {
	if t.play == nil || t.counts.positions == 0 {
		return graph.Cost{}
	}
	training := t.stepCost().Times(float64(t.trainingSteps(t.counts.positions)))
	return playCost(t.play.Program().Program.Graph, t.counts.turns).Plus(training)
}

// playCost counts the work of a traced program that plays games, for the turns of all tiles on all devices.
func playCost(g *graph.Graph, turns int) graph.Cost {
	return g.Cost(func(loop *graph.Node) int {
		if loop.LoopName() == turnsLoop {
			return turns
		}
		return 1
	})
}

// stepCost counts the work of a training step on all devices.
func (t *Training) stepCost() graph.Cost {
	p := t.train.Program().Program
	parts := (t.layout.batchTiles.Items + p.Replicas - 1) / p.Replicas
	return p.Graph.Cost(func(loop *graph.Node) int {
		if loop.LoopName() == population.TilesLoop {
			return parts
		}
		return 1
	}).Times(float64(p.Replicas))
}

// Names of loops.
const (
	turnsLoop       = "turns"
	evaluationsLoop = "evaluations"
)

// batchInputs are the inputs of the program that prepares batches.
type batchInputs struct {
	Replay replay
	Key    random.Key
	Count  *graph.Array // i32[]: batches
	Parts  *graph.Array // i32[]: parts of a batch per device
}

// compileBatches compiles a program that prepares batches, one after the other, as training does: each device prepares
// its parts of every batch. Its result is the last part.
func (t *Training) compileBatches() (*run.Stage[graph.None, batchInputs, example], error) {
	p, l, n := t.program, t.layout, t.config.TrainingBatchSize
	c := t.stages()
	c.Profile = nil
	inputs := batchInputs{t.state.Replay, random.New(0), graph.Of(int32(0)), l.batchTiles.Count()}
	return run.NewReading(c, "batches", inputs, func(in batchInputs) example {
		positions := in.Replay.Length.Sum().Max(1)
		parts := in.Parts.Min(graph.Sub(l.batchTiles.Items, l.batchTiles.First()))
		prepare := func(i *graph.Array, last example) example {
			b := p.sample(random.FoldIn(in.Key, i), positions)
			return graph.ForiLoop(0, parts, func(local *graph.Array, _ example) example {
				return p.minibatch(l, in.Replay, b, local)
			}, last)
		}
		none := graph.Zeros(graph.ShapeOf(graph.Int32, n))
		first := p.minibatch(l, in.Replay, batch{none, none}, graph.Of(int32(0)))
		return graph.ForiLoop(0, in.Count, prepare, first)
	})
}
