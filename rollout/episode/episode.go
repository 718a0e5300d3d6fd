// Package episode plays the episodes of members in their environments, and summarizes or records them. Members are
// written unbatched; Evaluate maps over them.
package episode

import (
	"math"
	"slices"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
)

// StepsLoop is the name of the loop over an episode's steps; see graph.Node.LoopName.
const StepsLoop = "steps"

// EpisodesLoop is the name of the loop over a member's episodes.
const EpisodesLoop = "episodes"

// policyKey is folded into an episode's key for its policy. It is larger than any step's number.
const policyKey = 1<<31 - 1

// Rollout says how one member is evaluated.
type Rollout struct {
	Env       envs.Environment
	EnvParams any        // parameters of Env; nil: its defaults
	Given     []EnvParam // parameters with other values, or drawn by each episode; see ReadEnvParams
	Policy    policy.Policy
	Head      policy.Head
	Steps     int       // environment steps per episode, 1 or more
	Episodes  int       // episodes per member, 1 or more; a Summary has their means
	Plan      plan.Plan // how it is computed; the zero value: batch first, one step per iteration of the loop
	Gather    bool      // a Summary has the moments of the observations
	Spread    bool      // a Summary of several episodes has Finite
	// Descriptor describes episodes; nil: the environment does in the last state, if it has Describe.
	Descriptor Descriptor
}

// Summary holds the means over a member's episodes, float32. A population has a leading axis.
type Summary struct {
	Return *graph.Array // []: sum of the rewards until the episode ended
	Length *graph.Array // []: steps until it ended, that one included; Steps if it did not
	// Failed, [], is the first step after which the return was not finite, in the first episode that failed. It is 0 if
	// no episode failed, even if the mean over the episodes is not finite.
	Failed *graph.Array
	// Objectives, [k], are the environment's in an episode's last state; nil if it has none. Descriptor, [d], is that
	// of Rollout.Descriptor, or of the environment in the last state; nil if there is none.
	Objectives *graph.Array `tree:"optional"`
	Descriptor *graph.Array `tree:"optional"`
	// Reports, [r], are the environment's numbers of the episode (envs.Traits) and then the policy's (policy.Traits),
	// as Rollout.Reports names them; nil if there are none.
	Reports *graph.Array `tree:"optional"`
	// Observed are the moments of the observations in all episodes; nil unless they are gathered.
	Observed *policy.Moments
	// Finite, [3], is the number of episodes with a finite return, the mean of these returns, and the sum of the
	// squares of their differences from it. It is nil unless Rollout.Spread asks for it and there are several episodes.
	Finite *graph.Array `tree:"optional"`
}

// Fitness returns the return, with -Inf for NaN, which counts as the worst.
func (s Summary) Fitness() *graph.Array {
	return graph.Select(s.Return.IsNaN(), math.Inf(-1), s.Return)
}

// FiniteReturns returns Finite, also of a member with one episode, or of many members: f32[…, 3].
func (s Summary) FiniteReturns() *graph.Array {
	if s.Finite != nil {
		return s.Finite
	}
	finite := s.Return.IsFinite()
	return graph.Stack([]*graph.Array{finite.Convert(graph.Float32), graph.Select(finite, s.Return, 0),
		graph.ZerosLike(s.Return)}, s.Return.Rank())
}

// Step is one step of an episode, as hooks of Play see it.
type Step struct {
	Number      *graph.Array // i32[], from 1
	State       any          // of the environment, before the action
	Observation *graph.Array
	Output      policy.Output
	Action      *graph.Array
	Reward      *graph.Array // f32[]
	Terminated  *graph.Array // bool[]
	Truncated   *graph.Array // bool[]
	Alive       *graph.Array // bool[]: no earlier step ended the episode; otherwise the step does not count
	After       any          // the state after the action
}

// carry is the carry of the loop over an episode's steps.
type carry struct {
	State   any
	Policy  any
	Alive   *graph.Array // bool[]: no step so far ended the episode
	Summary Summary      // its Failed counts the steps after which the return was finite
	Sums    *sums        // nil unless observations are gathered
	// Descriptor is the carry of the episode's Descriptor; graph.None without one.
	Descriptor any
}

// sums are sums over steps of an observation's difference from the first one, and of its square: f32[dims...].
type sums struct{ Linear, Squares *graph.Array }

// add returns the sums with one more difference, if counts is true.
func (s *sums) add(difference, counts *graph.Array) *sums {
	add := func(sum, x *graph.Array) *graph.Array { return graph.Select(counts, sum.Add(x), sum) }
	return &sums{add(s.Linear, difference), add(s.Squares, difference.Square())}
}

// PolicyKey returns the key of an episode's policy. Step t, from 1 on, takes FoldIn(PolicyKey(key), t).
func PolicyKey(key random.Key) random.Key { return random.FoldIn(key, policyKey) }

// Play plays one episode of one member. It returns the summary, and the results of the hook for all steps, stacked
// along an axis 0 of Steps. params are what the policy's Init returns, or a policy.Shared.
//
// The environment is reset with FoldIn(key, 0); step t, from 1 on, takes FoldIn(key, t), and its policy
// FoldIn(FoldIn(key, 2³¹-1), t). A drawn leaf i of the environment's parameters takes FoldIn(FoldIn(key, 2³¹-2), i).
// The loop always runs Steps steps; those after the episode's end do not count.
func Play[Y any](r *Rollout, params any, key random.Key, hook func(Step) Y) (Summary, Y) {
	start, step, end := begin(r, params, key, hook)
	last, results := graph.Scan(step, start, graph.Iota(r.Steps).Add(1), append(r.Plan.Scan(),
		graph.LoopName(StepsLoop))...)
	return end(last, r.Steps), results
}

// EpisodeToEnd is Episode with a loop that ends with the episode. Mapped over episodes, it ends with the longest. It
// has no derivative.
func (r *Rollout) EpisodeToEnd(params any, key random.Key) Summary {
	start, step, end := begin(r, params, key, func(Step) graph.None { return graph.None{} })
	type loop struct {
		Played *graph.Array // i32[]: steps
		Carry  carry
	}
	last := graph.NamedWhile(StepsLoop, func(l loop) *graph.Array {
		return l.Carry.Alive.And(l.Played.Lt(r.Steps))
	}, func(l loop) loop {
		played := l.Played.Add(1)
		next, _ := step(l.Carry, played)
		return loop{played, next}
	}, loop{graph.Scalar(0, graph.Int32), start})
	return end(last.Carry, last.Played)
}

// begin returns an episode's first carry, its step, and what makes its summary of the carry after a number of steps.
func begin[Y any](r *Rollout, params any, key random.Key, hook func(Step) Y) (start carry,
	step func(c carry, number *graph.Array) (carry, Y), end func(last carry, played any) Summary) {
	envParams := r.envParams(key)
	params = r.prepared(params)
	state, _ := r.Env.Reset(random.FoldIn(key, 0), envParams)
	start = carry{State: state, Policy: r.Policy.Start(params), Alive: graph.Scalar(true),
		Summary: r.Nothing(), Descriptor: graph.None{}}
	start.Summary.Observed, start.Summary.Finite = nil, nil
	descriptor := r.descriptor()
	if descriptor != nil {
		start.Descriptor, start.Summary.Descriptor = descriptor.Start(), nil
	}
	var origin *graph.Array
	if r.Gather {
		origin = graph.Once(r.Env.Observe(state, envParams).Convert(graph.Float32))
		start.Sums = &sums{graph.ZerosLike(origin), graph.ZerosLike(origin)}
	}
	start = graph.Once(start)
	policyKey, traits := PolicyKey(key), r.Policy.Traits()
	step = func(c carry, t *graph.Array) (carry, Y) {
		s := Step{Number: t, State: c.State, Observation: r.Env.Observe(c.State, envParams), Alive: c.Alive}
		var memory any
		memory, s.Output = r.Policy.Act(params, c.Policy, s.Observation, random.FoldIn(policyKey, t))
		s.Action = r.action(s.Output.Action, c.State, envParams)
		s.After, _, s.Reward, s.Terminated, s.Truncated =
			r.Env.Step(random.FoldIn(key, t), c.State, s.Action, envParams)
		if traits.Learn != nil {
			memory = traits.Learn(memory, s.Reward)
		}
		if len(graph.Leaves(c.Policy)) > 0 {
			s.Reward = nanIfDiverged(s)
		}
		next := carry{State: s.After, Policy: memory, Alive: c.Alive.And(s.Terminated.Or(s.Truncated).Not()),
			Summary: r.after(c.Summary, s, envParams), Descriptor: c.Descriptor}
		if descriptor != nil {
			next.Descriptor = graph.SelectTree(c.Alive, descriptor.Step(c.Descriptor, s, envParams), c.Descriptor)
		}
		if reports := ReportsOf(r.Env, r.Policy, s.After, envParams, memory); reports != nil {
			next.Summary.Reports = graph.Select(c.Alive, reports, c.Summary.Reports)
		}
		if c.Sums != nil {
			next.Sums = c.Sums.add(s.Observation.Convert(graph.Float32).Sub(origin), c.Alive)
		}
		return next, hook(s)
	}
	return start, step, func(last carry, played any) Summary {
		summary := last.Summary
		if descriptor != nil {
			summary.Descriptor = descriptor.End(last.Descriptor, summary.Length)
		}
		if r.Gather {
			observed := policy.MomentsOf(summary.Length, origin, last.Sums.Linear, last.Sums.Squares)
			summary.Observed = &observed
		}
		summary.Failed = graph.Select(summary.Failed.Lt(played), summary.Failed.Add(1), 0.)
		return summary
	}
}

// nanIfDiverged returns a step's reward, or NaN if the policy's output has NaN. The memory of a recurrent policy may
// diverge, and a head turns NaN into an action.
func nanIfDiverged(s Step) *graph.Array {
	diverged := graph.ReduceOr(graph.Flatten1D(s.Output.Action.IsNaN()), 0)
	return graph.Select(diverged, graph.FullLike(s.Reward, math.NaN()), s.Reward)
}

// prepared returns a member's parameters as the steps of an episode use them.
func (r *Rollout) prepared(params any) any {
	traits := r.Policy.Traits()
	if s, ok := params.(policy.Shared); ok {
		if traits.Prepared == nil || traits.Prepared.Shared == nil {
			graph.Throw("episode.Play", "got a member that shares its matrices for a policy of type %T, which takes "+
				"none: give its parameters as Init makes them", policy.NetworkOf(r.Policy))
		}
		return traits.Prepared.Shared(s)
	}
	// With batch last, vectors run over the lanes, and rows need no padding.
	if traits.Prepared != nil && (!r.Plan.BatchLast || traits.PreparesAlways) {
		return traits.Prepared.Prepare(params)
	}
	return params
}

// Action returns the head's action for a policy's outputs in a state of the environment: the most probable legal one,
// if actions can be illegal. Parameters that episodes draw have the values of the episode with key 0.
func (r *Rollout) Action(out *graph.Array, state any) *graph.Array {
	return r.action(out, state, r.envParams(random.New(0)))
}

func (r *Rollout) action(out *graph.Array, state, p any) *graph.Array {
	if legal := envs.TraitsOf(r.Env).Legal; legal != nil && r.Env.Spec().LegalMask {
		out = policy.Legal(out, legal(state, p))
	}
	return r.Head.Action(out)
}

// Inputs returns the policy's Numbers and the given parameters of the environment by name. They are inputs of a
// program; Bound puts them in place inside it. The policy may be nil.
func (r *Rollout) Inputs() map[string]*graph.Array {
	in := map[string]*graph.Array{}
	if r.Policy != nil {
		in = settings.Inputs(policy.NetworkOf(r.Policy), policyPrefix)
	}
	for _, p := range r.Given {
		p.inputs(in)
	}
	return in
}

// Bound returns the rollout with a program's inputs instead of the policy's Numbers and of the environment's given
// parameters.
func (r *Rollout) Bound(in map[string]*graph.Array) *Rollout {
	bound := *r
	if r.Policy != nil {
		bound.Policy = policy.Bind(r.Policy, in, policyPrefix)
	}
	bound.Given = nil
	for _, p := range r.Given {
		bound.Given = append(bound.Given, p.bound(in))
	}
	return &bound
}

// policyPrefix is the prefix of the names of the policy's settings.
const policyPrefix = "policy."

// Nothing returns the summary of an episode that has not begun.
func (r *Rollout) Nothing() Summary {
	s := Summary{Return: graph.Scalar(0), Length: graph.Scalar(0), Failed: graph.Scalar(0)}
	traits, spec := envs.TraitsOf(r.Env), r.Env.Spec()
	if traits.Objectives != nil {
		s.Objectives = graph.Zeros(graph.ShapeOf(graph.Float32, len(spec.Objectives)))
	}
	if d := r.descriptor(); d != nil {
		s.Descriptor = graph.Zeros(d.Space().Shape())
	}
	if reports := r.Reports(); reports != nil {
		s.Reports = graph.Zeros(graph.ShapeOf(graph.Float32, len(reports)))
	}
	if r.Gather {
		none := policy.NoMoments(spec.Observation.Shape().Dims...)
		s.Observed = &none
	}
	if r.Spread && r.Episodes > 1 {
		s.Finite = graph.Zeros(graph.ShapeOf(graph.Float32, 3))
	}
	return s
}

// Reports returns the names of a Summary's Reports: the environment's, then the policy's; nil if there are none.
func (r *Rollout) Reports() []string {
	return append(slices.Clone(r.Env.Spec().Reports), r.Policy.Traits().Reports...)
}

// ReportsOf returns what an environment with params and a policy report of an episode so far, given the state and the
// policy's carry after a step: f32[r], as Rollout.Reports names them; nil if there are none.
func ReportsOf(env envs.Environment, p policy.Policy, state, params, carry any) *graph.Array {
	own := envs.ReportOf(env, state, params)
	if report := p.Traits().Report; report != nil && own != nil {
		return graph.Concatenate(0, own, report(carry))
	} else if report != nil {
		return report(carry)
	}
	return own
}

// after returns the summary with one more step, which counts if the episode was not over before it.
func (r *Rollout) after(s Summary, step Step, p any) Summary {
	next := Summary{
		Return: s.Return.Add(graph.Select(step.Alive, step.Reward, graph.ZerosLike(step.Reward))),
		Length: s.Length.Add(step.Alive.Convert(graph.Float32)),
	}
	next.Failed = s.Failed.Add(next.Return.IsFinite().Convert(graph.Float32))
	traits := envs.TraitsOf(r.Env)
	if traits.Objectives != nil {
		next.Objectives = graph.Select(step.Alive, traits.Objectives(step.After, p), s.Objectives)
	}
	return next
}

// Episode plays one episode of one member; see Play.
func (r *Rollout) Episode(params any, key random.Key) Summary {
	s, _ := Play(r, params, key, func(Step) graph.None { return graph.None{} })
	return s
}

// Member plays all episodes of one member. A single episode has the key itself, episode e of several FoldIn(key, e).
func (r *Rollout) Member(params any, key random.Key) Summary {
	if r.Episodes <= 1 {
		return r.Episode(params, key)
	}
	episodes := r.episodes(params, key)
	observed := episodes.Observed
	episodes.Observed = nil
	means := graph.MapTree(func(a *graph.Array) *graph.Array { return a.Mean(0) }, episodes)
	first := episodes.Failed.Gt(0).Convert(graph.Int32).ArgMax(0)
	means.Failed = graph.DynamicIndex(episodes.Failed, first, 0)
	if observed != nil {
		all := observed.MergeRows()
		means.Observed = &all
	}
	if r.Spread {
		means.Finite = FiniteOf(episodes.Return)
	}
	return means
}

// FiniteOf returns Summary.Finite of the returns of several episodes, f32[n].
func FiniteOf(returns *graph.Array) *graph.Array {
	counts := returns.IsFinite()
	count := counts.Convert(graph.Float32).Sum()
	mean := graph.Select(counts, returns, 0).Sum().Div(count.Max(1))
	squares := graph.Select(counts, returns.Sub(mean).Square(), 0).Sum()
	return graph.Stack([]*graph.Array{count, mean, squares}, 0)
}

// episodes plays all episodes of one member, the plan's batches one after the other: leaves [Episodes, …].
func (r *Rollout) episodes(params any, key random.Key) Summary {
	sideBySide := graph.VMap2(func(params any, e *graph.Array) Summary {
		return r.Episode(params, random.FoldIn(key, e))
	}, graph.InAxes(graph.Unmapped, 0))
	numbers, batch := graph.Iota(r.Episodes), r.Plan.EpisodeBatch
	if batch == 0 || batch == r.Episodes {
		return sideBySide(params, numbers)
	}
	one := func(e *graph.Array) Summary { return sideBySide(params, e) }
	if batch == 1 {
		one = func(e *graph.Array) Summary { return r.Episode(params, random.FoldIn(key, e)) }
	} else {
		numbers = numbers.Reshape(r.Episodes/batch, batch)
	}
	_, all := graph.Scan(func(c graph.None, e *graph.Array) (graph.None, Summary) { return c, one(e) }, graph.None{},
		numbers, graph.LoopName(EpisodesLoop))
	if batch == 1 {
		return all
	}
	return graph.MapTree(func(a *graph.Array) *graph.Array { return a.MergeAxes(0, 2) }, all)
}

// Evaluate plays the episodes of a population. Leaves of population and keys have the members along axis 0. fitness,
// f32[members], is the mean return; larger is better.
func (r *Rollout) Evaluate(population any, keys random.Key) (fitness *graph.Array, summaries Summary) {
	summaries = graph.VMap2(r.Member, r.Plan.VMap()...)(population, keys)
	return summaries.Return, summaries
}

// Reads returns what a step reads: the parameters of a member as the policy prepares them, what a step hands to the
// next (the environment's state, its observation and the policy's carry), and lists that members share. Nothing is
// computed; only shapes matter.
func (r *Rollout) Reads() (reads plan.Reads, err error) {
	err = graph.Try(func() {
		member := r.Policy.Init(random.New(0))
		traits := r.Policy.Traits()
		if traits.Prepared != nil {
			member = traits.Prepared.Prepare(member)
		}
		state, observation := r.Env.Reset(random.New(0), r.envParams(random.New(0)))
		reads.Params = int(graph.TreeBytes(member))
		reads.Carry = int(graph.TreeBytes([]any{r.Policy.Start(member), state, observation}))
		reads.Lanes = r.Env.Spec().Lanes
		if traits.BytesRead != nil {
			reads.Params, reads.Shared = traits.BytesRead()
		}
	})
	return reads, err
}
