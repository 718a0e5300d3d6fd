package generation

import (
	"fmt"
	"strings"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// Remake makes members again, by their numbers, of the population that a state asks for next. Their parameters may
// differ in the last digits, since another program makes them.
func (x *Setup) Remake(b xlabridge.Backend, s run.Snapshot, numbers []int) ([]run.Sampled, error) {
	p, err := x.Program()
	if err != nil {
		return nil, err
	}
	var state State
	if err := graph.Try(func() { state = p.Start(random.New(0)) }); err != nil {
		return nil, err
	}
	leaves, tree := graph.Flatten(state)
	for i, want := range leaves {
		name := run.LeafName(tree.Path(i))
		a, ok := s.Arrays[name]
		switch {
		case ok && a.Shape().Equal(want.Shape()):
			leaves[i] = a
		case !strings.HasPrefix(name, "hall."): // states of early versions have no hall, and no member needs it
			return nil, fmt.Errorf("the state has no array %q of %s, as these settings want: take the checkpoint of "+
				"a run with the same settings", name, want.Shape())
		}
	}
	state = tree.Unflatten(leaves).(State)
	remake := xlabridge.Jit2(b, p.member)
	var all []run.Sampled
	for _, n := range numbers {
		m, err := remake(state, graph.Of(int32(n)))
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

// member returns one of the members that a state asks for, as Run makes it, and the key that Run plays it with.
func (p *Program) member(s State, number *graph.Array) run.Sampled {
	side, group := graph.Quo(number, p.Groups.Items), number.Rem(p.Groups.Items)
	ask, play := s.askAndPlay()
	draw := p.Strategy.Sample(random.FoldIn(ask, group), s.Strategy, group)
	return run.Sampled{
		Candidate: run.Candidate{Params: p.Member(p.Strategy.Member(s.Strategy, draw, side), s.Observed.Scale())},
		Key:       random.FoldIn(play, number)}
}
