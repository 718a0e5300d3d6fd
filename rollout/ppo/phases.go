package ppo

import (
	"context"
	"xlarun/graph"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/rollout/train"
)

// Phases runs the parts of an update as separate programs, each `repeats` times after a first one: "collect" (play and
// evaluate a rollout), "advantage" (advantages and targets), "epochs" (losses and gradients of all minibatches) and
// "optimizer" (its steps by as many gradients). The state does not change. What remains of an update are its metrics.
func (t *Training) Phases(ctx context.Context, repeats int) ([]run.Phase, error) {
	timer := t.PhaseTimer(repeats, t.costOf)
	time := func(name string, part func(u *update, s State, before []any) any) {
		timer.Time(name, func(s, in any, before []any) any {
			return t.perAgent(s.(State), in.(inputs), before, part)
		})
	}
	type rollout = graph.Pair[EnvState, transition]
	time("collect", func(u *update, s State, _ []any) any {
		key, _ := updateKeys(s)
		return graph.PairOf(u.collect(s, key))
	})
	time("advantage", func(u *update, s State, before []any) any {
		return u.estimate(s, before[0].(rollout).Second)
	})
	time("epochs", func(u *update, s State, before []any) any {
		_, key := updateKeys(s)
		s.Optimizer, u.step = graph.ZerosLikeTree(s.Params), u.sumGradients
		return graph.PairOf(u.learn(s, key, before[1].(rolloutBatch)))
	})
	time("optimizer", func(u *update, s State, _ []any) any { return u.optimizerSteps(s) })
	return timer.Phases()
}

// perAgent runs a part of an update for each agent, as updateAgents does. before are the results of earlier parts.
func (t *Training) perAgent(s State, in inputs, before []any,
	part func(u *update, s State, before []any) any) any {
	if t.config.Agents == 1 {
		return part(t.program.newUpdate(s, in), s, before)
	}
	return population.Map(t.tiles, in.Tiles, func(agent *graph.Array) any {
		in, s := in, population.At(s, agent)
		in.Each = population.At(in.Each, agent)
		return part(t.program.newUpdate(s, in), s, population.At(before, agent))
	})
}

// sumGradients adds the gradient of a minibatch to the sum of the others, which the state has as its Optimizer.
func (u *update) sumGradients(s train.State[Params], rows *graph.Array) (train.State[Params], train.Result[losses]) {
	g := u.stepper.Gradient(s, rows)
	s.Optimizer = graph.AddTree(s.Optimizer.(Params), g.Params)
	return s, train.Result[losses]{Metrics: g.Metrics, GradientNorm: graph.Scalar(0), Finite: graph.Of(true)}
}

// optimizerSteps takes as many steps of the optimizer as an update does. For want of gradients, it takes the parameters
// themselves, so that each step depends on the one before.
func (u *update) optimizerSteps(s State) train.State[Params] {
	start := train.State[Params]{Params: s.Params, Optimizer: s.Optimizer, Scale: s.Scale}
	end, _ := graph.Scan(func(s train.State[Params], _ *graph.Array) (train.State[Params], graph.None) {
		next, _ := u.stepper.Apply(s, train.Gradients[Params, losses]{Params: s.Params, Metrics: u.stepper.Zero})
		return next, graph.None{}
	}, start, graph.Iota(u.config.Epochs*u.config.Minibatches))
	return end
}

// Cost counts the work of an update of all agents, on all devices. An update that --target-kl ends early does less.
func (t *Training) Cost() graph.Cost {
	return t.costOf(t.Compiled().Program.Graph).Times(float64(t.profile.Devices))
}

// costOf counts the work of a traced update, or of a part of one, on one device.
func (t *Training) costOf(g *graph.Graph) graph.Cost {
	learning := map[*graph.Node]bool{} // loops inside of the epochs
	var mark func(g *graph.Graph, inside bool)
	mark = func(g *graph.Graph, inside bool) {
		for _, n := range g.Nodes {
			learning[n] = inside
			for _, body := range n.Bodies {
				mark(body, inside || n.LoopName() == epochsLoop)
			}
		}
	}
	mark(g, false)
	return g.Cost(func(loop *graph.Node) int {
		switch {
		case loop.LoopName() == epochsLoop:
			return t.config.Epochs
		case loop.LoopName() == evaluationLoop: // few updates have one
			return 0
		case loop.LoopName() != population.TilesLoop:
			return 1
		case t.config.Agents > 1:
			return t.tiles.PerDevice
		case learning[loop]:
			return t.program.shards.Rows.PerDevice
		}
		return t.program.shards.Envs.PerDevice
	})
}
