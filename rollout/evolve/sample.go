package evolve

import (
	"fmt"
	"strings"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// Remake makes members again of the population that a state asks for next, by their numbers: those which the next generation plays, or
// has played where the run went on. Their parameters may differ in the last digits, as their draws are made by another program.
func (c *Config) Remake(b xlabridge.Backend, s run.Snapshot, numbers []int) ([]run.Sampled, error) {
	c, s, err := c.searching(s)
	if err != nil {
		return nil, err
	}
	x, err := c.experiment(plan.MachineOf(b, c.Devices))
	if err != nil {
		return nil, err
	}
	g, err := x.generation()
	if err != nil {
		return nil, err
	}
	var state State
	if err := graph.Try(func() { state = g.start(random.New(0)) }); err != nil {
		return nil, err
	}
	leaves, tree := graph.Flatten(state)
	for i, want := range leaves {
		name := run.LeafName(tree.Path(i))
		a, ok := s.Arrays[name]
		switch {
		case ok && a.Shape().Equal(want.Shape()):
			leaves[i] = a
		case !strings.HasPrefix(name, "hall."): // of which nothing is used; states of versions that knew none have none
			return nil, fmt.Errorf("the state has no array %q of %s, as these settings want: take the checkpoint of a run with the same settings", name, want.Shape())
		}
	}
	state = tree.Unflatten(leaves).(State)
	one := xlabridge.Jit2(b, func(s State, number *graph.Array) run.Sampled { return g.member(s, number) })
	var all []run.Sampled
	for _, n := range numbers {
		m, err := one(state, graph.Of(int32(n)))
		if err == nil {
			m.Params, err = graph.Eval(m.Params)
		}
		if err != nil {
			return nil, err
		}
		m.Name, m.Number = fmt.Sprintf("member %d of generation %d", n, s.Step+1), n
		all = append(all, m)
	}
	return all, nil
}

// Members is the size of the population that plays after a state.
func (c *Config) Members(s run.Snapshot) (int, error) {
	c, _, err := c.searching(s)
	if err != nil {
		return 0, err
	}
	return c.Population, nil
}

// member is one of the members that a state asks for, as generation.run makes and plays it; see keys.
func (g *generation) member(s State, number *graph.Array) run.Sampled {
	t := g.groups
	side, group := graph.Quo(number, t.Items), graph.Rem(number, t.Items)
	ask := random.FoldIn(s.Key, graph.Mul(s.Generation, 2))
	play := random.FoldIn(s.Key, graph.Add(graph.Mul(s.Generation, 2), 1))
	counted := group
	if g.deviceKeys {
		perDevice := t.PerDevice * t.Lanes
		device := graph.Quo(group, perDevice)
		ask, play, counted = random.FoldIn(ask, device), random.FoldIn(play, device), graph.Rem(group, perDevice)
	}
	draw := strategy.Draw(g.strategy, random.FoldIn(ask, counted), s.Strategy, group)
	return run.Sampled{Candidate: run.Candidate{Params: g.params(g.strategy.Member(s.Strategy, draw, side), s.scale())},
		Key: random.FoldIn(play, graph.Add(graph.Mul(side, t.Items), counted))}
}
