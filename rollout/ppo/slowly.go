package ppo

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Slowly says in which ways a training is made slower than it need be, to see what each costs. What is learned is the same, up to rounding.
type Slowly struct {
	Branching bool // the value head is chosen within the program, minibatch by minibatch
	Unfused   bool // the optimiser goes through the parameters' leaves one by one
}

// NewSlowly is New, made slower.
func NewSlowly(b xlabridge.Backend, c Config, slow Slowly) (*Training, error) {
	c, err := c.resolved(b)
	if err != nil {
		return nil, err
	}
	g, err := c.program()
	if err != nil {
		return nil, err
	}
	g.slow = slow
	return newTraining(b, c, g, c.Purpose())
}

// Stepwise is a training of one agent whose host plays step by step: each step of all environments is a call of a compiled program, behind which all that it left comes to the
// host; what was collected goes back to the device, where another program learns of it.
type Stepwise struct {
	state   State
	horizon int
	play    func(State, int) (outcome, error)
	learn   func(State, outcome) (learnt, error)
}

type outcome struct {
	Worlds World
	Moment moment
}

type learnt struct {
	State   State
	Figures *graph.Array
}

// NewStepwise makes one; programs are compiled by the first update.
func NewStepwise(b xlabridge.Backend, c Config, slow Slowly) (*Stepwise, error) {
	c, err := c.resolved(b)
	if err != nil {
		return nil, err
	}
	if c.Agents > 1 {
		return nil, settings.Wrong("agents", c.Agents, "1: steps are played for one agent")
	}
	g, err := c.program()
	if err != nil {
		return nil, err
	}
	g.slow = slow
	s := &Stepwise{horizon: c.Horizon}
	in := g.inputs(population.CutTiles(1, 1, 1))
	if err := graph.Try(func() { s.state = g.starts(random.New(c.Seed), 1) }); err != nil {
		return nil, err
	}
	if s.state, err = graph.Eval(s.state); err != nil {
		return nil, err
	}
	keys := func(s State) (ofSteps, ofEpochs random.Key) { return random.Split2(random.FoldIn(s.Key, s.Update)) }
	play := xlabridge.Jit2(b, func(s State, step *graph.Array) outcome {
		ofSteps, _ := keys(s)
		col := g.bound(in).normalizing(s)
		worlds, m := col.collect(s.Params, s.Worlds, col.chances(keysOf(random.FoldIn(ofSteps, step), 1, c.Envs)))
		return outcome{worlds, graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Index(a, 0) }, m)}
	})
	s.play = func(s State, step int) (outcome, error) { return play(s, graph.Of(int32(step))) }
	s.learn = xlabridge.Jit2(b, func(s State, all outcome) learnt {
		_, ofEpochs := keys(s)
		bound := g.bound(in)
		col := bound.normalizing(s)
		next, figures := bound.learned(col, s, in, bound.looked(col, s, all.Worlds, all.Moment), ofEpochs)
		return learnt{next, figures}
	})
	return s, nil
}

// Update plays and learns once. It returns the numbers that an update of a Training returns.
func (s *Stepwise) Update() ([]float64, error) {
	start := s.state
	var all [][]*graph.Array
	var tree *graph.Tree
	for step := range s.horizon {
		o, err := s.play(s.state, step)
		if err != nil {
			return nil, err
		}
		s.state.Worlds = o.Worlds
		var leaves []*graph.Array
		leaves, tree = graph.Flatten(o.Moment)
		for i, a := range leaves {
			if leaves[i], err = xlabridge.ToHost(a); err != nil {
				return nil, err
			}
		}
		all = append(all, leaves)
	}
	rows := make([]*graph.Array, len(all[0]))
	for i, a := range all[0] {
		var stacked []byte
		for _, leaves := range all {
			data, err := leaves[i].Data()
			if err != nil {
				return nil, err
			}
			host, err := data.HostBytes()
			if err != nil {
				return nil, err
			}
			stacked = append(stacked, host...)
		}
		rows[i] = graph.FromBytes(graph.ShapeOf(a.DType(), append([]int{s.horizon}, a.Dims()...)...), stacked)
	}
	worlds := s.state.Worlds
	after, err := s.learn(start, outcome{worlds, tree.Unflatten(rows).(moment)})
	if err != nil {
		return nil, err
	}
	s.state = after.State
	return graph.Floats(after.Figures)
}
