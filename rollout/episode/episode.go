// Package episode plays members' episodes in their environments and sums up, or records, what happened. Members are written
// unbatched; Evaluate maps over them.
package episode

import (
	"math"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
)

// StepsLoop is the name of the loop over an episode's steps; see graph.Node.LoopName.
const StepsLoop = "steps"

// policyKey is what an episode's key is folded with for the keys of its policy: no number of a step.
const policyKey = 1<<31 - 1

// Rollout says how one member is evaluated.
type Rollout struct {
	Env       envs.Environment
	EnvParams any        // parameters of Env; nil: its defaults
	Given     []EnvParam // what of them is given otherwise, or drawn by each episode; see ReadEnvParams
	Policy    policy.Policy
	Head      policy.Head
	Steps     int       // environment steps of an episode, 1 or more
	Episodes  int       // episodes of a member, 1 or more; their means count
	Plan      plan.Plan // how it is computed; the zero value: lanes first, one step a turn
	Gather    bool      // whether a Summary has the moments of what was observed
}

// Summary is what is kept of a member's episodes, float32 (with a leading axis for a population): the means over its
// episodes.
type Summary struct {
	Return *graph.Array // [] the sum of the rewards until the episode terminated or was truncated
	Length *graph.Array // [] steps until then, that one included; Steps where neither happened
	// Failed is the first step after which the return was no finite number, 0 where it always was one: of several episodes, that of
	// the first which failed. Where none did, and the mean is no finite number all the same, it is 0 too.
	Failed *graph.Array // []
	// Objectives, [k], and Descriptor, [d], are what the environment says of the last state of an episode; nil where it says
	// nothing.
	Objectives *graph.Array `tree:"optional"`
	Descriptor *graph.Array `tree:"optional"`
	// Reports, [r], are what the policy says of the episode up to its end, by policy.Reporter; nil where it says nothing.
	Reports *graph.Array `tree:"optional"`
	// Observed are the moments of the observations that were acted on, over all episodes; nil where they are not gathered.
	Observed *policy.Moments
}

// Fitness is the return with -Inf in the place of NaN, which counts as the worst.
func (s Summary) Fitness() *graph.Array {
	return graph.Select(graph.IsNaN(s.Return), math.Inf(-1), s.Return)
}

// Step is what happened in one step of an episode, as hooks of Play see it.
type Step struct {
	Number      *graph.Array // i32[], from 1
	State       any          // of the environment, before the action
	Observation *graph.Array
	Output      policy.Output
	Action      *graph.Array
	Reward      *graph.Array // f32[]
	Terminated  *graph.Array // bool[]
	Truncated   *graph.Array // bool[]
	Alive       *graph.Array // bool[]: no step before has ended the episode; where it is false nothing of the step counts
	After       any          // the state after the action
}

// carry is what one step of an episode hands to the next.
type carry struct {
	State   any
	Policy  any
	Alive   *graph.Array // bool: no step so far has terminated or truncated the episode
	Summary Summary      // whose Failed is the number of steps after which the return was a finite number
	Sums    *sums        // nil where nothing is gathered
}

// sums are those of the differences of observations from an episode's first one, and of their squares: f32[dims...].
type sums struct{ Linear, Squares *graph.Array }

// PolicyKey is the key from which a policy's are folded in an episode with this key: step t's is FoldIn(PolicyKey(key), t), from 1.
func PolicyKey(key random.Key) random.Key { return random.FoldIn(key, policyKey) }

// Play plays one episode of one member, whose parameters are as the policy's Init makes them or a policy.Shared, and gives what the
// hook makes of each step, stacked along an axis 0 of Steps.
//
// The environment is reset with FoldIn(key, 0) and step t, from 1 on, takes FoldIn(key, t); the policy's key of that step
// is FoldIn(FoldIn(key, 2³¹-1), t); leaf i of the environment's parameters, where it is drawn, takes FoldIn(FoldIn(key, 2³¹-2), i). The loop always runs Steps steps; what comes after the episode's end is not counted.
func Play[Y any](r *Rollout, params any, key random.Key, hook func(Step) Y) (Summary, Y) {
	key = once(key)
	p := r.envParams(key)
	params = r.prepared(params)
	state, _ := r.Env.Reset(once(random.FoldIn(key, 0)), p)
	before := carry{state, r.Policy.Start(params), graph.Ones(graph.ShapeOf(graph.Bool)), r.Nothing(), nil}
	before.Summary.Observed = nil
	var origin *graph.Array
	if r.Gather {
		origin = once(graph.Convert(r.Env.Observe(state, p), graph.Float32))
		before.Sums = &sums{graph.ZerosLike(origin), graph.ZerosLike(origin)}
	}
	start := once(before)
	ofPolicy := PolicyKey(key)
	end, recorded := graph.Scan(func(c carry, t *graph.Array) (carry, Y) {
		s := Step{Number: t, State: c.State, Observation: r.Env.Observe(c.State, p), Alive: c.Alive}
		next := carry{}
		next.Policy, s.Output = r.Policy.Act(params, c.Policy, s.Observation, random.FoldIn(ofPolicy, t))
		s.Action = r.action(s.Output.Action, c.State, p)
		s.After, _, s.Reward, s.Terminated, s.Truncated = r.Env.Step(random.FoldIn(key, t), c.State, s.Action, p)
		if learner, ok := policy.LearnerOf(r.Policy); ok {
			next.Policy = learner.Learn(next.Policy, s.Reward)
		}
		if len(graph.Leaves(c.Policy)) > 0 { // what a policy remembers may diverge, and a head makes an action of outputs that are no numbers, too
			wrong := graph.ReduceOr(graph.Flatten1D(graph.IsNaN(s.Output.Action)), 0)
			s.Reward = graph.Select(wrong, graph.FullLike(s.Reward, math.NaN()), s.Reward)
		}
		next.State = s.After
		next.Alive = graph.And(c.Alive, graph.Not(graph.Or(s.Terminated, s.Truncated)))
		next.Summary = r.after(c.Summary, s, p)
		if reporter, ok := policy.ReporterOf(r.Policy); ok {
			next.Summary.Reports = graph.Select(c.Alive, reporter.Report(next.Policy), c.Summary.Reports)
		}
		if c.Sums != nil {
			apart := graph.Sub(graph.Convert(s.Observation, graph.Float32), origin)
			add := func(sum, x *graph.Array) *graph.Array { return graph.Select(c.Alive, graph.Add(sum, x), sum) }
			next.Sums = &sums{add(c.Sums.Linear, apart), add(c.Sums.Squares, graph.Square(apart))}
		}
		return next, hook(s)
	}, start, graph.Add(graph.Iota(r.Steps), 1), append(r.Plan.Scan(), graph.LoopName(StepsLoop))...)
	all := end.Summary
	if r.Gather {
		observed := policy.MomentsOf(all.Length, origin, end.Sums.Linear, end.Sums.Squares)
		all.Observed = &observed
	}
	all.Failed = graph.Select(graph.Lt(all.Failed, r.Steps), graph.Add(all.Failed, 1), 0.)
	return all, recorded
}

// prepared are a member's parameters as the steps of an episode take them.
func (r *Rollout) prepared(params any) any {
	if s, ok := params.(policy.Shared); ok {
		p, ok := r.Policy.(policy.Sharer)
		if !ok {
			graph.Throw("episode.Play", "got a member that shares its matrices for a policy of type %T, which takes none: give its parameters as Init makes them", r.Policy)
		}
		return p.PrepareShared(s)
	}
	// With lanes last every number is a vector of lanes: rows need not be whole vectors.
	if p, ok := r.Policy.(policy.Preparer); ok && !r.Plan.LanesLast {
		return p.Prepare(params)
	}
	return params
}

// Action is what the head makes of a policy's outputs in a state of the environment: where actions can be illegal, the
// likeliest of the legal ones. Parameters that episodes draw count as episode 0 of key 0 draws them.
func (r *Rollout) Action(out *graph.Array, state any) *graph.Array {
	return r.action(out, state, r.envParams(random.New(0)))
}

func (r *Rollout) action(out *graph.Array, state, p any) *graph.Array {
	if m, ok := envs.MaskerOf(r.Env); ok && r.Env.Spec().LegalMask {
		out = policy.Legal(out, m.Legal(state, p))
	}
	return r.Head.Action(out)
}

// Inputs are the policy's settings that are Numbers, and the environment's parameters that are given, by name: inputs of a
// program, within which Bound puts them in place.
func (r *Rollout) Inputs() map[string]*graph.Array {
	in := settings.Inputs(policy.Behind(r.Policy), policyPrefix)
	for _, p := range r.Given {
		p.inputs(in)
	}
	return in
}

// Bound is the rollout with a program's inputs in the place of the policy's Numbers and of the environment's given parameters.
func (r *Rollout) Bound(in map[string]*graph.Array) *Rollout {
	bound := *r
	bound.Policy = policy.Bind(r.Policy, in, policyPrefix)
	bound.Given = nil
	for _, p := range r.Given {
		bound.Given = append(bound.Given, p.bound(in))
	}
	return &bound
}

// policyPrefix goes before the names of the policy's settings.
const policyPrefix = "policy."

// Nothing is the summary of an episode that has not begun.
func (r *Rollout) Nothing() Summary {
	s := Summary{Return: graph.Scalar(0), Length: graph.Scalar(0), Failed: graph.Scalar(0)}
	parts, spec := envs.PartsOf(r.Env), r.Env.Spec()
	if parts.Scorer != nil {
		s.Objectives = graph.Zeros(graph.ShapeOf(graph.Float32, len(spec.Objectives)))
	}
	if parts.Describer != nil {
		s.Descriptor = graph.Zeros(spec.Descriptor.Shape())
	}
	if reporter, ok := policy.ReporterOf(r.Policy); ok {
		s.Reports = graph.Zeros(graph.ShapeOf(graph.Float32, len(reporter.Reports())))
	}
	if r.Gather {
		none := policy.NoMoments(spec.Observation.Shape().Dims...)
		s.Observed = &none
	}
	return s
}

// after is the summary with one more step, which counts where the episode was not over before it.
func (r *Rollout) after(s Summary, step Step, p any) Summary {
	next := Summary{
		Return: graph.Add(s.Return, graph.Select(step.Alive, step.Reward, graph.ZerosLike(step.Reward))),
		Length: graph.Add(s.Length, graph.Convert(step.Alive, graph.Float32)),
	}
	next.Failed = graph.Add(s.Failed, graph.Convert(graph.IsFinite(next.Return), graph.Float32))
	parts := envs.PartsOf(r.Env)
	if parts.Scorer != nil {
		next.Objectives = graph.Select(step.Alive, parts.Scorer.Objectives(step.After, p), s.Objectives)
	}
	if parts.Describer != nil {
		next.Descriptor = graph.Select(step.Alive, parts.Describer.Describe(step.After, p), s.Descriptor)
	}
	return next
}

// Episode plays one episode of one member; see Play.
func (r *Rollout) Episode(params any, key random.Key) Summary {
	s, _ := Play(r, params, key, func(Step) graph.None { return graph.None{} })
	return s
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
	observed := episodes.Observed
	episodes.Observed = nil
	means := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Mean(a, 0) }, episodes)
	first := graph.ArgMax(graph.Convert(graph.Gt(episodes.Failed, 0), graph.Int32), 0)
	means.Failed = graph.DynamicIndex(episodes.Failed, first, 0)
	if observed != nil {
		all := observed.Together()
		means.Observed = &all
	}
	return means
}

// Evaluate plays the episodes of a whole population at once: each leaf of population and keys has the members along its
// axis 0. fitness, f32[members], is the mean return; larger is better.
func (r *Rollout) Evaluate(population any, keys random.Key) (fitness *graph.Array, summaries Summary) {
	summaries = graph.VMap2(r.Member, r.Plan.VMap()...)(population, keys)
	return summaries.Return, summaries
}

// Bytes is what a step of an episode reads of one member, its parameters as the policy prepares them, and what it hands to the
// next: the environment's state, what is observed of it and the policy's carry. Both are read off shapes; nothing is computed.
func (r *Rollout) Bytes() (params, carry int, err error) {
	sum := func(tree any) (n int) {
		for _, leaf := range graph.Leaves(tree) {
			n += leaf.Shape().Bytes()
		}
		return n
	}
	err = graph.Try(func() {
		member := r.Policy.Init(random.New(0))
		if prepare, ok := r.Policy.(policy.Preparer); ok {
			member = prepare.Prepare(member)
		}
		state, observation := r.Env.Reset(random.New(0), r.envParams(random.New(0)))
		params, carry = sum(member), sum([]any{r.Policy.Start(member), state, observation})
	})
	return params, carry, err
}
