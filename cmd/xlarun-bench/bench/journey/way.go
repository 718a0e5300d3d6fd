package journey

import (
	"fmt"

	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/graph/random"
	"xlarun/xlabridge"
)

// Way is how an update is computed.
type Way struct {
	// Environments and Steps are the size of an update.
	Environments, Steps int
	Half                bool // the network computes in bfloat16
	Branch              bool // values are read behind a branch
	// Program: an update is one program. Its metrics are one transfer.
	Program bool
	// Collect and Learn are the parts of an update that the host drives, where it is not one program.
	Collect Collect
	// Interpreted: nothing is compiled.
	Interpreted bool
	// Of the network: the channels of its convolutions, and the units of its hidden layer.
	Channels string
	Units    int
	MaxSteps int // of an episode
}

// Collect is how the steps of an update are driven.
type Collect int

// OneByOne calls one step of one environment; OnHost has environments on the host; Logged and Batched call one step of
// all environments, with and without a log entry a step; Scanned is one program, and its optimizer is one for each
// array.
const (
	OneByOne Collect = iota
	OnHost
	Logged
	Batched
	Scanned
)

// Training is a way with its state.
type Training struct {
	update func(State) (State, error)
	state  State
	// Reward is the mean reward of a step that was read last.
	Reward float64
}

// New makes a training. Nothing is compiled before its first update.
func New(b xlabridge.Backend, w Way) (*Training, error) {
	a, err := newAgent(w)
	if err != nil {
		return nil, err
	}
	t := &Training{}
	if err := graph.Try(func() {
		t.state = a.start(random.New(0))
		if w.Collect == Scanned { // its optimizer has a state for each array
			var states []optim.State
			for _, x := range graph.Leaves(t.state.Learner.Params) {
				states = append(states, adam().Init(x))
			}
			t.state.Learner.Optimizer = states
		}
	}); err != nil {
		return nil, err
	}
	if t.state, err = graph.Eval(t.state); err != nil {
		return nil, err
	}
	log := func(reward float64) { t.Reward = reward }
	if w.Program {
		update := xlabridge.Jit(b, func(s State) graph.Pair[State, *graph.Array] { return graph.PairOf(a.update(s)) })
		t.update = func(s State) (State, error) {
			out, err := update(s)
			if err != nil {
				return s, err
			}
			metrics, err := graph.Floats(out.Second)
			if err != nil {
				return s, err
			}
			log(metrics[0])
			return out.First, nil
		}
		return t, nil
	}
	if w.Interpreted {
		b = &xlabridge.Reference{}
	}
	t.update = a.driven(b, w.Collect, log)
	return t, nil
}

// driven is an update that the host drives.
func (a *agent) driven(b xlabridge.Backend, how Collect, log func(float64)) func(State) (State, error) {
	learn := a.checked(b)
	var collect collector
	switch how {
	case OneByOne:
		collect = a.oneByOne(b)
	case OnHost:
		collect = a.onHost(b)
	case Logged:
		collect = a.batched(b, log)
	case Batched:
		collect = a.batched(b, nil)
	case Scanned:
		rollout := xlabridge.Jit(b, func(s State) graph.Pair[game, transition] { return graph.PairOf(a.rollout(s)) })
		collect = func(s State) (game, transition, error) {
			out, err := rollout(s)
			return out.First, out.Second, err
		}
		learn = a.apart(b)
	}
	type estimating struct {
		Params any
		Values values
		T      transition
		Last   *graph.Array
	}
	estimate := xlabridge.Jit(b, func(in estimating) graph.Pair[batch, *graph.Array] {
		return graph.PairOf(a.estimate(in.Params, in.Values, in.T, in.Last), in.T.Reward.Mean())
	})
	return func(s State) (State, error) {
		games, t, err := collect(s)
		if err != nil {
			return s, fmt.Errorf("collecting: %w", err)
		}
		b, err := estimate(estimating{s.Learner.Params, s.Values, t, games.Observation})
		if err != nil {
			return s, err
		}
		reward, err := graph.Float(b.Second)
		if err != nil {
			return s, err
		}
		log(reward)
		if s.Learner, err = learn(s, b.First); err != nil {
			return s, err
		}
		xlabridge.Free(b.First)
		s.Games = games
		s.Update, err = graph.Eval(s.Update.Add(1))
		return s, err
	}
}

// Update takes one update. Without keep the state stays as it was, as a warm-up wants it.
func (t *Training) Update(keep bool) error {
	next, err := t.update(t.state)
	if err == nil && keep {
		t.state = next
	}
	return err
}

// Numbers returns the parameters of the network, and the observations before the next step.
func (t *Training) Numbers() (all []float64, err error) {
	for _, x := range append(graph.Leaves(t.state.Learner.Params), t.state.Games.Observation) {
		v, err := graph.Floats(x)
		if err != nil {
			return nil, err
		}
		all = append(all, v...)
	}
	return all, nil
}
