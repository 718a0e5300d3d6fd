package evolve

import (
	"context"
	"xlarun/graph"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/run"
)

// Phases runs the parts of a generation as separate programs, "ask", "play" and "tell", each `repeats` times after a
// first one. The state does not change. In the whole program the parts share work and memory, so their sum may be more
// than the time of a generation.
func (e *Evolution) Phases(ctx context.Context, repeats int) ([]run.Phase, error) {
	if e.chunk != nil { // the Loop of a host has only the end of a generation
		return nil, nil
	}
	p := e.program
	t := e.PhaseTimer(repeats, e.costOf)
	t.Time("ask", func(s, in any, _ []any) any { return p.Ask(s.(generation.State), in.(generation.Inputs)) })
	t.Time("play", func(s, in any, before []any) any {
		return p.Evaluate(s.(generation.State), in.(generation.Inputs), before[0])
	})
	t.Time("tell", func(s, in any, before []any) any {
		return p.Tell(s.(generation.State), in.(generation.Inputs), before[0], before[1].(generation.Results))
	})
	return t.Phases()
}

// Cost counts a generation's work in the traced program, all devices.
func (e *Evolution) Cost() graph.Cost {
	return e.costOf(e.Compiled().Program.Graph).Times(float64(e.profile.Devices))
}

// costOf counts the work of a traced generation, or of a part of one, on one device.
func (e *Evolution) costOf(g *graph.Graph) graph.Cost {
	return generation.Cost(g, e.setup.Tiles()/e.setup.Groups.Devices)
}
