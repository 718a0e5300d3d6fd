package ppo

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
)

// World is one environment under way.
type World struct {
	State       any          // of the environment
	Observation *graph.Array // of it
	Drawn       any          // the environment's parameters in this episode, where episodes draw them; else graph.None{}
	Actor       any          // what the actor carries into the next step
	Critic      any          // likewise; graph.None{} where it is the actor
	Return      *graph.Array // f32[]: of the episode so far
	Length      *graph.Array // f32[]: steps of the episode so far
}

// episodeStart is what an episode begins with.
type episodeStart struct {
	State       any
	Observation *graph.Array
	Drawn       any
}

// moment is one step of one environment, as learning takes it.
type moment struct {
	Observation *graph.Array
	Legal       *graph.Array `tree:"optional"` // bool[n]; nil where all actions are
	Out         *graph.Array `tree:"optional"` // f32[…] of the acting network
	Draw        *graph.Array
	Key         random.Key   // the policy's in this step
	First       *graph.Array // bool[]: the step before ended an episode, so that nothing is remembered
	Reward      *graph.Array // f32[]
	Terminated  *graph.Array // bool[]
	Truncated   *graph.Array // bool[]
	Final       *graph.Array `tree:"optional"` // the observation behind the step, before any reset
	After       any          // what the actor carries behind the step, before any reset
	Return      *graph.Array // f32[]: of the episode so far, this step included
	Length      *graph.Array // f32[]: steps of the episode so far, this one included
	// Objectives are the environment's of the episode so far, f32[k]; nil where it has none.
	Objectives *graph.Array `tree:"optional"`
}

// chance is what a step takes of keys, for all steps of an update drawn at once: inside of the loop every draw would be many small operations.
type chance struct {
	Env    random.Key
	Policy random.Key
	Noise  *graph.Array
	Fresh  any // what an episode would begin with, an episodeStart; or, where that is dear, the key of it
}

// collector plays environments with a network.
type collector struct {
	*network
	play *episode.Rollout
	// seen makes of an observation what the networks take.
	seen func(observation *graph.Array) *graph.Array
	// dear tells that episodes are begun only in steps in which one has ended, and not beforehand for all steps.
	dear bool
}

// dearly is the number of operations from which on the beginning of an episode is dear: those that are not used cost more by then than a branch
// in each step.
const dearly = 3000

// beginsDearly tells whether the beginning of an episode is dear.
func (c *collector) beginsDearly() (dear bool, err error) {
	var p *graph.Program
	if thrown := envs.Try(func() { p, err = graph.Trace("fresh", c.fresh, random.New(0)) }); thrown != nil {
		err = thrown
	}
	if err != nil {
		return false, settings.Wrong("env", c.play.Env.Spec().ID, "an environment whose episodes can be begun: %s", err)
	}
	cost := p.Graph.Cost(nil)
	return cost.FLOPs+cost.IntOps >= dearly, nil
}

// fresh begins an episode.
func (c *collector) fresh(key random.Key) episodeStart {
	p, drawn := c.play.ParamsOf(key)
	state, observation := c.play.Env.Reset(once(random.FoldIn(key, 0)), p)
	s := episodeStart{state, observation, graph.None{}}
	if drawn {
		s.Drawn = p
	}
	return s
}

// begin is an environment before its first step.
func (c *collector) begin(p Params, key random.Key) World {
	s := c.fresh(key)
	w := World{State: s.State, Observation: s.Observation, Drawn: s.Drawn, Actor: c.actor.Start(p.Actor), Critic: graph.None{}, Return: graph.Scalar(0), Length: graph.Scalar(0)}
	if c.critic != nil {
		w.Critic = c.critic.Start(p.Critic)
	}
	return w
}

// chances are those of keys [steps, environments].
func (c *collector) chances(keys random.Key) chance {
	one := func(key random.Key) chance {
		keys := once(random.SplitN(key, 4)) // derived again for each of its uses, a key of a key would keep the compiler at work for minutes
		by := chance{Env: keys[0], Policy: keys[1], Noise: c.acting.Noise(keys[2]), Fresh: keys[3]}
		if !c.dear {
			by.Fresh = c.fresh(keys[3])
		}
		return by
	}
	steps, environments := keys.Data.Dim(0), keys.Data.Dim(1)
	all := graph.VMap(one)(once(graph.MapTree(merged, keys)))
	return once(graph.MapTree(func(a *graph.Array) *graph.Array {
		return graph.Reshape(a, append([]int{steps, environments}, a.Dims()[1:]...)...)
	}, all))
}

// step plays one step of one environment, which it leaves as it is behind an episode's end. actor are the acting network's parameters, prepared.
func (c *collector) step(p Params, actor any, w World, by chance) (World, moment) {
	env := c.play.Env
	params, _ := c.play.ParamsOf(random.New(0))
	if _, none := w.Drawn.(graph.None); !none {
		params = w.Drawn
	}
	m := moment{Observation: w.Observation, Key: by.Policy}
	after, out := c.actor.Act(actor, w.Actor, c.seen(w.Observation), by.Policy)
	m.Out, m.After = out.Action, after
	if masker, ok := envs.MaskerOf(env); ok && env.Spec().LegalMask {
		m.Legal = masker.Legal(w.State, params)
	}
	m.Draw = c.acting.Draw(p.Head, c.actions(m.Out, m.Legal), by.Noise)
	state, observation, reward, terminated, truncated := env.Step(by.Env, w.State, c.acting.Action(m.Draw), params)
	m.Final, m.Reward, m.Terminated, m.Truncated = observation, reward, terminated, truncated
	m.Return, m.Length = graph.Add(w.Return, reward), graph.Add(w.Length, 1)
	m.First = graph.Eq(w.Length, 0)
	if parts := envs.PartsOf(env); parts.Scorer != nil {
		m.Objectives = parts.Scorer.Objectives(state, params)
	}

	// The critic's memory is moved once all steps are made.
	return World{State: state, Observation: observation, Drawn: w.Drawn, Actor: after, Critic: w.Critic, Return: m.Return, Length: m.Length}, m
}

// renewed is an environment that begins anew where its episode is over.
func (c *collector) renewed(actor any, w World, m moment, fresh episodeStart) World {
	done := graph.Or(m.Terminated, m.Truncated)
	either := func(reset, on *graph.Array) *graph.Array { return graph.Select(done, reset, on) }
	return World{
		State:       graph.MapTree2(either, fresh.State, w.State),
		Observation: either(fresh.Observation, w.Observation),
		Drawn:       graph.MapTree2(either, fresh.Drawn, w.Drawn),
		Actor:       graph.MapTree2(either, c.actor.Start(actor), w.Actor),
		Critic:      w.Critic,
		Return:      graph.Select(done, 0., w.Return),
		Length:      graph.Select(done, 0., w.Length),
	}
}

// begun are environments of which those begin anew whose episodes are over: all is what a step made of them.
func (c *collector) begun(actor any, all played, fresh any) World {
	if !c.dear {
		return graph.VMap2(func(all played, fresh episodeStart) World { return c.renewed(actor, all.World, all.Moment, fresh) })(all, fresh.(episodeStart))
	}
	all, fresh = once(all), once(fresh)
	return graph.Cond(graph.Any(graph.Or(all.Moment.Terminated, all.Moment.Truncated)), func() World {
		return graph.VMap2(func(all played, key random.Key) World { return c.renewed(actor, all.World, all.Moment, c.fresh(key)) })(all, fresh.(random.Key))
	}, func() World { return all.World })
}

// played is what a step makes of an environment.
type played struct {
	World  World
	Moment moment
}

// each makes what the networks take of observations [steps, environments, …].
func (c *collector) each(observations *graph.Array) *graph.Array {
	return graph.VMap(graph.VMap(c.seen))(observations)
}

// actions are the outputs that the head takes, of the acting network's: those of actions alone, with illegal ones at -Inf.
func (n *network) actions(out, legal *graph.Array) *graph.Array {
	if out.Dim(0) > n.size {
		out = graph.SliceAxis(out, 0, 0, n.size)
	}
	if legal != nil {
		out = policy.Legal(out, legal)
	}
	return out
}

// collect plays steps of all environments: worlds have the environments on axis 0, moments steps and environments.
func (c *collector) collect(p Params, worlds World, by chance) (World, moment) {
	actor := p.Actor
	if !c.recurrent(p) { // what is remembered has the layout of the parameters as they are made, by which learning goes through sequences
		actor = once(prepared(c.actor, actor))
	}
	var rows packing
	worlds, packed := graph.Scan(func(worlds World, by chance) (World, []*graph.Array) {
		all := graph.VMap2(func(w World, by chance) played {
			next, m := c.step(p, actor, w, by)
			return played{next, m}
		})(worlds, by)
		return c.begun(actor, all, by.Fresh), rows.pack(all.Moment)
	}, worlds, by, graph.LoopName(episode.StepsLoop))
	return worlds, rows.unpack(packed).(moment)
}

// once keeps the compiler from computing a tree again for each of its uses.
func once[T any](tree T) T {
	leaves, t := graph.Flatten(tree)
	out, _ := t.Unflatten(graph.Barrier(leaves...)).(T)
	return out
}
