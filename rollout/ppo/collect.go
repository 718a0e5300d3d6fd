package ppo

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// stepKeys are the random numbers of a step. Those of all steps of an update are made at once: inside the loop each
// draw would be many small operations.
type stepKeys struct {
	Env    random.Key
	Policy random.Key
	Noise  *graph.Array // of the action
	Reset  any          // the episodeStart of a new episode, or its key if resets are costly
}

// episodeStart is the beginning of an episode.
type episodeStart struct {
	State       any
	Observation *graph.Array
	Drawn       any // see EnvState
}

// updateKeys returns the keys of an update's rollout and of its epochs.
func updateKeys(s State) (rollout, epochs random.Key) {
	return random.Split2(random.FoldIn(s.Key, s.Update))
}

// collect plays a rollout and evaluates it, tile by tile of the environments.
func (u *update) collect(s State, key random.Key) (EnvState, transition) {
	s.Params = u.actingParams(s.Params, s.Update, u.in.Updates)
	keys := splitKeys(key, u.config.Horizon, u.config.Envs)
	return mapEnvs(u.shards.Envs, u.in.Shards.Envs, func(tile envTile) (EnvState, transition) {
		before := rowsOf(tile, s.EnvStates, 0)
		after, t := u.rollout(s.Params, before, u.stepKeys(rowsOf(tile, keys, 1)))
		return u.evaluate(s, before, after, graph.Once(t))
	})
}

// splitKeys returns a key for each step and environment, [steps, environments].
func splitKeys(key random.Key, steps, environments int) random.Key {
	all := random.Split(key, steps*environments)
	all.Data = graph.SplitAxis(all.Data, 0, steps, environments)
	return all
}

// stepKeys returns the random numbers of the steps with the keys [steps, environments].
func (g *program) stepKeys(keys random.Key) stepKeys {
	one := func(key random.Key) stepKeys {
		// Without Once the compiler derives a key of a key again for each of its uses, and takes minutes for it.
		keys := random.SplitN(key, 4)
		k := stepKeys{Env: keys[0], Policy: keys[1], Noise: g.distribution.Noise(keys[2]), Reset: keys[3]}
		if !g.costlyReset {
			k.Reset = g.reset(keys[3])
		}
		return k
	}
	steps, environments := keys.Data.Dim(0), keys.Data.Dim(1)
	all := graph.VMap(one)(graph.Once(mergeTree(keys)))
	return graph.Once(graph.MapTree(func(a *graph.Array) *graph.Array {
		return graph.SplitAxis(a, 0, steps, environments)
	}, all))
}

// reset begins an episode.
func (g *program) reset(key random.Key) episodeStart {
	p, drawn := g.play.ParamsOf(key)
	state, observation := g.play.Env.Reset(random.FoldIn(key, 0), p)
	s := episodeStart{state, observation, graph.None{}}
	if drawn {
		s.Drawn = p
	}
	return s
}

// firstState returns an environment before its first step.
func (g *program) firstState(p Params, key random.Key) EnvState {
	s := g.reset(key)
	return EnvState{State: s.State, Observation: s.Observation, Drawn: s.Drawn, Actor: g.actor.Start(p.Actor),
		Critic: g.critic.start(p), Return: graph.Scalar(0), Length: graph.Of(int32(0))}
}

// envParams returns the parameters of an environment: drawn for its episode, or the same in all episodes.
func (g *program) envParams(s EnvState) any {
	if _, none := s.Drawn.(graph.None); !none {
		return s.Drawn
	}
	params, _ := g.play.ParamsOf(random.New(0))
	return params
}

// autoReset begins a new episode in those environments, [n], in which the step t ended one. resets are Reset of
// stepKeys.
func (g *program) autoReset(actor any, states EnvState, t transition, resets any) EnvState {
	if !g.costlyReset {
		type end struct {
			State      EnvState
			Transition transition
			Start      episodeStart
		}
		return graph.VMap(func(e end) EnvState {
			return g.resetIfDone(actor, e.State, e.Transition, e.Start)
		})(end{states, t, resets.(episodeStart)})
	}
	all, resets := graph.Once(graph.PairOf(states, t)), graph.Once(resets)
	return graph.Cond(graph.Any(all.Second.done()), func() EnvState {
		type end struct {
			State      EnvState
			Transition transition
			Key        random.Key
		}
		return graph.VMap(func(e end) EnvState {
			return g.resetIfDone(actor, e.State, e.Transition, g.reset(e.Key))
		})(end{all.First, all.Second, resets.(random.Key)})
	}, func() EnvState { return all.First })
}

// resetIfDone begins a new episode in one environment if the step t ended one.
func (g *program) resetIfDone(actor any, s EnvState, t transition, start episodeStart) EnvState {
	done := t.done()
	return EnvState{
		State:       graph.SelectTree(done, start.State, s.State),
		Observation: graph.Select(done, start.Observation, s.Observation),
		Drawn:       graph.SelectTree(done, start.Drawn, s.Drawn),
		Actor:       graph.SelectTree(done, g.actor.Start(actor), s.Actor),
		Critic:      s.Critic,
		Return:      graph.Select(done, 0., s.Return),
		Length:      graph.Select(done, 0, s.Length),
	}
}

// costlyResetOps is the number of operations from which a reset is costly: resets that are not used then cost more than
// a branch in each step.
const costlyResetOps = 3000

// resetIsCostly reports whether a reset of the environment is costly.
func (g *program) resetIsCostly() (costly bool, err error) {
	var p *graph.Program
	if thrown := envs.Try(func() { p, err = graph.Trace("reset", g.reset, random.New(0)) }); thrown != nil {
		err = thrown
	}
	if err != nil {
		return false, settings.Wrong("env", g.play.Env.Spec().ID, "an environment that can be reset: %s", err)
	}
	cost := p.Graph.Cost(nil)
	return cost.FLOPs+cost.IntOps >= costlyResetOps, nil
}
