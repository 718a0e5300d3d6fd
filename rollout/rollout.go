// Package rollout evaluates populations: it plays each member's episodes in its environment and sums up what happened.
// Members are written unbatched; Evaluate maps over them.
package rollout

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
)

// Rollout says how one member is evaluated.
type Rollout struct {
	Env       envs.Environment
	EnvParams any // parameters of Env; nil: its defaults
	Policy    policy.Policy
	Steps     int  // environment steps of an episode, 1 or more
	Episodes  int  // episodes of a member, 1 or more; their means count
	Plan      Plan // how it is computed; the zero value: lanes first, one step a turn
}

// Summary is what is kept of a member's episodes, float32 scalars (with a leading axis for a population): the means
// over its episodes.
type Summary struct {
	Return *graph.Array // sum of the rewards until the episode terminated or was truncated
	Length *graph.Array // steps until then, that one included; Steps where neither happened
}

// carry is what one step of an episode hands to the next.
type carry struct {
	State   any
	Alive   *graph.Array // bool: no step so far has terminated or truncated the episode
	Summary Summary
}

// Episode plays one episode of one member. The environment is reset with FoldIn(key, 0) and step t, from 0 on, takes
// FoldIn(key, t+1). The loop always runs Steps steps; what comes after the episode's end is not counted.
func (r *Rollout) Episode(params any, key random.Key) Summary {
	p := r.EnvParams
	if p == nil {
		p = r.Env.DefaultParams()
	}
	// With lanes last every number is a vector of lanes: rows need not be whole vectors.
	if prepare, ok := r.Policy.(policy.Preparer); ok && !r.Plan.LanesLast {
		params = prepare.Prepare(params)
	}
	key = once(key)
	state, _ := r.Env.Reset(once(random.FoldIn(key, 0)), p)
	zero := graph.Scalar(0)
	start := once(carry{state, graph.Ones(graph.ShapeOf(graph.Bool)), Summary{zero, zero}})
	end, _ := graph.Scan(func(c carry, t *graph.Array) (carry, graph.None) {
		action := r.Policy.Act(params, r.Env.Observe(c.State, p))
		state, _, reward, terminated, truncated := r.Env.Step(random.FoldIn(key, t), c.State, action, p)
		return carry{State: state,
			Alive: graph.And(c.Alive, graph.Not(graph.Or(terminated, truncated))),
			Summary: Summary{
				Return: graph.Add(c.Summary.Return, graph.Select(c.Alive, reward, graph.ZerosLike(reward))),
				Length: graph.Add(c.Summary.Length, graph.Convert(c.Alive, graph.Float32)),
			}}, graph.None{}
	}, start, graph.Add(graph.Iota(r.Steps), 1), r.Plan.Scan()...)
	return end.Summary
}

// once keeps the compiler from computing a tree again for each of its uses, as it does with a draw of random numbers:
// many cheap operations, which it would rather repeat than store.
func once[T any](tree T) T {
	leaves, t := graph.Flatten(tree)
	out, _ := t.Unflatten(graph.Barrier(leaves...)).(T)
	return out
}

// Member plays all episodes of one member. Episode e of several has the key FoldIn(key, e); a single one has key itself.
func (r *Rollout) Member(params any, key random.Key) Summary {
	if r.Episodes <= 1 {
		return r.Episode(params, key)
	}
	episodes := graph.VMap2(func(params any, e *graph.Array) Summary {
		return r.Episode(params, random.FoldIn(key, e))
	}, graph.InAxes(graph.Unmapped, 0))(params, graph.Iota(r.Episodes))
	return graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Mean(a, 0) }, episodes)
}

// Evaluate plays the episodes of a whole population at once: each leaf of population and keys has the members along its
// axis 0. fitness, f32[members], is the mean return; larger is better.
func (r *Rollout) Evaluate(population any, keys random.Key) (fitness *graph.Array, summaries Summary) {
	summaries = graph.VMap2(r.Member, r.Plan.VMap()...)(population, keys)
	return summaries.Return, summaries
}
