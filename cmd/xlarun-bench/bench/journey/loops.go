package journey

import (
	"fmt"
	"slices"

	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/graph/random"
	"xlarun/rollout/train"
	"xlarun/xlabridge"
)

// collector takes the steps of an update, driven by the host. It returns the environments after them and transitions
// [steps, environments].
type collector func(s State) (game, transition, error)

// learner goes through the minibatches of an update.
type learner func(s State, b batch) (train.State[any], error)

// acting is what a step is computed from. K is the key of the step, or keys of one environment.
type acting[K any] struct {
	Params any
	Values values
	Games  game
	Keys   K
}

func actingOf[K any](s State, games game, keys K) acting[K] {
	return acting[K]{s.Learner.Params, s.Values, games, keys}
}

// keysOf returns the keys of the steps of an update, in the host's memory.
func (a *agent) keysOf(s State) (all []random.Key, err error) {
	type place struct { // of a way that runs on a device they lie there
		Key    random.Key
		Update *graph.Array
	}
	from, err := toHost(place{s.Key, s.Update})
	if err != nil {
		return nil, err
	}
	keys := a.keys(from.Key, from.Update)
	for i := range a.steps {
		all = append(all, at(keys, i))
	}
	return graph.Eval(all)
}

// toHost copies a tree, an array at a time.
func toHost[T any](tree T) (out T, err error) {
	leaves, t := graph.Flatten(tree)
	for i, x := range leaves {
		if leaves[i], err = xlabridge.ToHost(x); err != nil {
			return out, err
		}
	}
	return t.Unflatten(leaves).(T), nil
}

// oneByOne plays one environment after the other. Each call of the backend is one step of one environment; the host
// reads all that it returns, and branches where an episode ends.
func (a *agent) oneByOne(b xlabridge.Backend) collector {
	step := xlabridge.Jit(b, func(in acting[stepKeys]) graph.Pair[game, transition] {
		return graph.PairOf(a.step(in.Params, in.Values, in.Games, in.Keys))
	})
	reset := xlabridge.Jit(b, a.reset)
	return func(s State) (game, transition, error) {
		var none game
		keys, err := a.keysOf(s)
		if err != nil {
			return none, transition{}, err
		}
		games := make([]game, a.environments)
		for i := range games {
			if games[i], err = graph.Eval(at(s.Games, i)); err != nil {
				return none, transition{}, err
			}
		}
		all := make([]transition, a.steps)
		for k, key := range keys {
			each := make([]transition, a.environments)
			keys, err := graph.Eval(a.keysOfStep(key))
			if err != nil {
				return none, transition{}, err
			}
			for i := range games {
				own, err := graph.Eval(at(keys, i))
				if err != nil {
					return none, transition{}, err
				}
				out, err := step(actingOf(s, games[i], own))
				if err != nil {
					return none, transition{}, err
				}
				games[i] = out.First
				if each[i], err = toHost(out.Second); err != nil {
					return none, transition{}, err
				}
				xlabridge.Free(out.Second)
				done, err := graph.Float(each[i].Done.Convert(graph.Float32))
				if err == nil && done > 0 {
					games[i], err = reset(own.Reset)
				}
				if err != nil {
					return none, transition{}, err
				}
			}
			if all[k], err = graph.Eval(stack(each)); err != nil {
				return none, transition{}, err
			}
		}
		for i := range games {
			if games[i], err = toHost(games[i]); err != nil {
				return none, transition{}, err
			}
		}
		out, err := graph.Eval(graph.PairOf(stack(games), stack(all)))
		return out.First, out.Second, err
	}
}

// onHost interprets all environments at once on the host. The device has the network: in each step it gets the
// observations and gives the actions.
func (a *agent) onHost(b xlabridge.Backend) collector {
	host := &xlabridge.Reference{}
	act := xlabridge.Jit(b, func(in acting[stepKeys]) transition {
		return graph.VMap2(func(observation *graph.Array, keys stepKeys) transition {
			return a.act(in.Params, in.Values, observation, keys.Act)
		})(in.Games.Observation, in.Keys)
	})
	type moving struct {
		Game game
		T    transition
		Keys stepKeys
	}
	keysOfStep := xlabridge.Jit(host, a.keysOfStep)
	move := xlabridge.Jit(host, graph.VMap(func(in moving) graph.Pair[game, transition] {
		return graph.PairOf(a.move(in.Game, in.T, in.Keys.Move))
	}))
	reset := xlabridge.Jit(host, graph.VMap(func(in moving) game {
		return graph.SelectTree(in.T.Done, a.reset(in.Keys.Reset), in.Game)
	}))
	return func(s State) (games game, t transition, err error) {
		keys, err := a.keysOf(s)
		if err != nil {
			return games, t, err
		}
		games = s.Games
		var all []transition
		for _, key := range keys {
			keys, err := keysOfStep(key)
			if err != nil {
				return games, t, err
			}
			chosen, err := act(actingOf(s, game{graph.None{}, games.Observation}, keys))
			if err != nil {
				return games, t, err
			}
			if chosen, err = toHost(chosen); err != nil {
				return games, t, err
			}
			out, err := move(moving{games, chosen, keys})
			if err != nil {
				return games, t, err
			}
			games = out.First
			all = append(all, out.Second)
			ended, err := graph.Float(out.Second.Done.Any().Convert(graph.Float32))
			if err == nil && ended > 0 {
				games, err = reset(moving{games, out.Second, keys})
			}
			if err != nil {
				return games, t, err
			}
		}
		t, err = graph.Eval(stack(all))
		return games, t, err
	}
}

// batched plays all environments by one call a step, whose results stay on the device. With log the host reads the mean
// reward of each step before the next.
func (a *agent) batched(b xlabridge.Backend, log func(reward float64)) collector {
	type stepped struct {
		Games game
		T     transition
		Mean  *graph.Array
	}
	step := xlabridge.Jit(b, func(in acting[random.Key]) stepped {
		games, t := a.stepAll(in.Params, in.Values, in.Games, a.keysOfStep(in.Keys))
		return stepped{games, t, t.Reward.Mean()}
	})
	join := xlabridge.Jit(b, stack[transition])
	return func(s State) (games game, t transition, err error) {
		keys, err := a.keysOf(s)
		if err != nil {
			return games, t, err
		}
		games = s.Games
		var all []transition
		for _, key := range keys {
			out, err := step(actingOf(s, games, key))
			if err != nil {
				return games, t, err
			}
			games, all = out.Games, append(all, out.T)
			if log == nil {
				continue
			}
			mean, err := graph.Float(out.Mean)
			if err != nil {
				return games, t, err
			}
			log(mean)
		}
		t, err = join(all)
		xlabridge.Free(all)
		return games, t, err
	}
}

// learning is what a step of the optimizer is computed from.
type learning struct {
	Learner train.State[any]
	Values  values
	Batch   batch
	Rows    *graph.Array
}

// checked takes a step of the optimizer by each call. The host reads whether the gradient was finite, and the metrics,
// before the next.
func (a *agent) checked(b xlabridge.Backend) learner {
	type result struct {
		Learner train.State[any]
		Metrics Metrics
		Finite  *graph.Array
	}
	learn := xlabridge.Jit(b, func(in learning) result {
		l, m, finite := a.learn(in.Learner, in.Values, in.Batch, in.Rows)
		return result{l, m, finite}
	})
	orders := xlabridge.Jit(b, a.ordersInRows)
	return func(s State, batch batch) (l train.State[any], err error) {
		l = s.Learner
		all, err := orders(s)
		if err != nil {
			return l, err
		}
		skipped := 0
		for _, rows := range all {
			out, err := learn(learning{l, s.Values, batch, rows})
			if err != nil {
				return l, err
			}
			l = out.Learner
			if _, err = toHost(out.Metrics); err != nil {
				return l, err
			}
			finite, err := toHost(out.Finite.Convert(graph.Float32))
			if err != nil {
				return l, err
			}
			if x, err := graph.Float(finite); err != nil || x == 0 {
				if skipped++; err != nil || skipped == len(all) {
					return l, fmt.Errorf("no gradient of an update is finite: %w", err)
				}
			}
		}
		return l, nil
	}
}

// ordersInRows are the minibatches of orders.
func (a *agent) ordersInRows(s State) (all []*graph.Array) {
	orders := a.orders(s)
	for i := range orders.Dim(0) {
		all = append(all, orders.Index(i))
	}
	return all
}

// apart takes a step of the optimizer by many calls: one for the gradient, one for its norm, and one for each array of
// parameters.
func (a *agent) apart(b xlabridge.Backend) learner {
	gradient := xlabridge.Jit(b, func(in learning) []*graph.Array {
		return graph.Leaves(a.stepper(in.Values, in.Batch).Gradient(in.Learner, in.Rows).Params)
	})
	norm := xlabridge.Jit(b, func(all []*graph.Array) *graph.Array { return optim.GlobalNorm(all) })
	type array struct {
		Value, Gradient, Norm *graph.Array
		State                 optim.State
	}
	move := xlabridge.Jit(b, func(x array) array {
		x.Gradient = x.Gradient.Mul(graph.Div(maxNorm, x.Norm.Max(maxNorm)))
		x.Value, x.State = optim.Step(adam(), x.Value, x.Gradient, x.State)
		return x
	})
	orders := xlabridge.Jit(b, a.ordersInRows)
	return func(s State, batch batch) (l train.State[any], err error) {
		l = s.Learner
		all, err := orders(s)
		if err != nil {
			return l, err
		}
		params, tree := graph.Flatten(l.Params)
		states := l.Optimizer.([]optim.State)
		for _, rows := range all {
			g, err := gradient(learning{l, s.Values, batch, rows})
			if err != nil {
				return l, err
			}
			size, err := norm(g)
			if err != nil {
				return l, err
			}
			states = slices.Clone(states)
			for i := range params {
				x, err := move(array{params[i], g[i], size, states[i]})
				if err != nil {
					return l, err
				}
				params[i], states[i] = x.Value, x.State
			}
			l.Params, l.Optimizer = tree.Unflatten(params), states
		}
		return l, nil
	}
}

// at returns element i of a tree's axis 0.
func at[T any](tree T, i int) T {
	return graph.MapTree(func(x *graph.Array) *graph.Array { return x.Index(i) }, tree)
}

// stack joins trees along a new axis 0.
func stack[T any](all []T) T {
	leaves, tree := graph.Flatten(all[0])
	each := make([][]*graph.Array, len(leaves))
	for _, one := range all {
		for i, x := range graph.Leaves(one) {
			each[i] = append(each[i], x)
		}
	}
	for i := range leaves {
		leaves[i] = graph.Stack(each[i], 0)
	}
	return tree.Unflatten(leaves).(T)
}
