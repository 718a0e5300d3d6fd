package sparse

import (
	"context"

	"xlarun/graph"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// updatePhase is the phase whose work is known.
const updatePhase = "update"

// Phases times the parts of a run for all members together: "batch" (the host lays out the examples of an update and
// moves them to the devices), "update" (of SGD), "evaluation" (on all test data), "mutation", and "index"
// (computed after a mutation). Each runs `repeats` times after a first one. The state is restored.
func (p *Population) Phases(ctx context.Context, repeats int) (phases []run.Phase, err error) {
	before, err := p.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	measure := func(name string, units, every int, f func() error) error {
		phase, err := run.TimePhase(name, repeats, units, f)
		phase.Times = 1 / float64(every)
		if name == updatePhase {
			phase.Cost = p.Cost()
		}
		phases = append(phases, phase)
		return err
	}
	in := p.baseInputs()
	in.Turn, in.Counter = graph.Of(int32(p.rounds)), p.counter.Input()
	defer func() {
		if in.Data.Images != nil {
			xlabridge.Free(in.Data)
		}
	}()
	if err := measure("batch", p.rounds, 1, func() (err error) {
		if in.Data.Images != nil {
			xlabridge.Free(in.Data)
		}
		in.Data, err = xlabridge.Put(p.backend, p.config.Devices, p.nextBatches(p.rounds))
		return err
	}); err != nil {
		return nil, err
	}
	if err := measure(updatePhase, p.rounds, 1, func() error {
		stats, err := p.train.Advance(&p.members, learning{p.indexes, in})
		if err == nil {
			xlabridge.Free(stats)
		}
		return err
	}); err != nil {
		return nil, err
	}
	if err := measure("evaluation", 1, p.config.TestEvery, func() error {
		_, err := p.Evaluate()
		return err
	}); err != nil {
		return nil, err
	}
	if p.mutate != nil {
		if err := measure("mutation", 1, p.config.MutateEvery, p.mutateMembers); err != nil {
			return nil, err
		}
	}
	if p.index != nil {
		if err := measure("index", 1, p.config.MutateEvery, p.reindex); err != nil {
			return nil, err
		}
	}
	return phases, p.Restore(context.WithoutCancel(ctx), before)
}

// counted is a method whose cost does not show in the traced program.
type counted interface {
	// cost returns the cost of one update of a member with so many lanes.
	cost(lanes int) graph.Cost
}

// Cost returns the work of one update of all members, padding included: of the traced program, or of the kernel.
func (p *Population) Cost() graph.Cost {
	if m, ok := p.method.(counted); ok {
		return m.cost(p.lanes).Times(float64(p.config.Population))
	}
	g := p.train.Program().Program.Graph
	c := g.Cost(func(loop *graph.Node) int {
		switch loop.LoopName() {
		case population.TilesLoop:
			return p.tiles.PerDevice
		case stepsLoop:
			return p.rounds
		}
		return 1
	})
	return c.Times(float64(p.config.Devices) / float64(p.rounds))
}
