package ppo

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
)

// evaluation evaluates the actor of an update on new episodes, as it would be saved: in all ways to act that it has.
// The training does not depend on it.
type evaluation struct {
	*episode.Rollout     // as members are judged
	episodes         int // in each way to act
	every            int // updates between evaluations
	last             int // the last update, which has an evaluation
}

const (
	// mostEvaluating is the largest share of evaluations in the work of a run whose episodes all reach their limit of
	// steps, unless the run then had fewer than fewestEvaluations.
	mostEvaluating    = .03
	fewestEvaluations = 10
	// passes are the passes through a network, of which a step is one, that an epoch makes for each step: forwards, and
	// about twice that backwards.
	passes = 3
)

// defaultEvalEnvs is the default of eval-envs.
const defaultEvalEnvs = 32

// evalKey is folded into an agent's key for its evaluations. It is larger than the number of any update.
const evalKey = 1<<31 - 1

// evaluation returns how a program's actor is evaluated; nil: it is not.
func (c *Config) evaluation(g *program) (*evaluation, error) {
	if c.EvalEnvs == 0 {
		return nil, nil
	}
	judged := *g.play
	if _, values := g.distribution.(epsilonGreedy); !values {
		sampling, err := policy.NewSampling(judged.Policy, policy.Sampled, judged.Env.Spec().Action)
		if err != nil {
			return nil, err
		}
		judged.Policy = sampling
	}
	e := &evaluation{Rollout: &judged, episodes: c.EvalEnvs, every: c.EvalEvery, last: int(c.Last())}
	if e.every == 0 {
		e.every = e.chosen(c)
	}
	return e, nil
}

// chosen returns the number of updates between evaluations where the settings do not give it.
func (e *evaluation) chosen(c *Config) int {
	work := float64(c.perUpdate()) * float64(2+passes*c.Epochs)
	fewest := fewestEvaluations
	if e.Env.Spec().Host { // a step of a simulator costs more than a network's
		work, fewest = float64(c.perUpdate()), 1
	}
	mine := float64(e.episodes*len(e.ways())) * float64(e.Steps)
	every := math.Ceil(mine / (mostEvaluating * work))
	return max(1, int(min(every, float64(e.last/fewest))))
}

func (e *evaluation) ways() []string { return policy.WaysOf(e.Policy) }

// due reports whether an update, from 1, has an evaluation.
func (e *evaluation) due(update int64) bool {
	return update%int64(e.every) == 0 || update == int64(e.last)
}

// wayMetrics are the metrics of the ways to act, in the order of policy.WaysOf.
var wayMetrics = []string{"eval_return_sampled", "eval_return_greedy"}

// names returns the metrics of an evaluation; none for nil.
func (e *evaluation) names() (names []string) {
	if e == nil {
		return nil
	}
	return evalNames(len(e.ways()))
}

// evalNames returns the names of an evaluation's metrics for a policy with so many ways to act.
func (c *Config) evalNames(ways int) []string {
	if c.EvalEnvs == 0 {
		return nil
	}
	return evalNames(ways)
}

// evalNames returns the metrics of an evaluation in a number of ways to act.
func evalNames(ways int) []string {
	names := []string{run.EvalReturn, run.EvalError, run.EvalEpisodes, run.EvalFailed}
	if ways > 1 {
		names = append(names, wayMetrics...)
	}
	return names
}

// evaluationInputs are inputs of a program with evaluations, so that a run of another length has the same program; nil
// without evaluations.
type evaluationInputs struct {
	Every *graph.Array `tree:"optional"` // i32[]: evaluation.every
	Last  *graph.Array `tree:"optional"` // i32[]: evaluation.last
}

func (e *evaluation) inputs() (in evaluationInputs) {
	if e != nil {
		in = evaluationInputs{graph.Of(int32(e.every)), graph.Of(int32(e.last))}
	}
	return in
}

// evaluationDue returns whether the update after those in updates, i32[], has an evaluation, bool[]; nil: none has.
func (g *program) evaluationDue(updates *graph.Array, in inputs) *graph.Array {
	if g.evaluation == nil {
		return nil
	}
	next := updates.Add(1)
	return next.Rem(in.Evaluations.Every).Eq(0).Or(next.Eq(in.Evaluations.Last))
}

// evaluated returns the metrics of an evaluation of the state after an update, f32[names]; NaN if none is due. The
// branch is a loop of at most one turn, so that it has a name: costOf leaves it out.
func (u *update) evaluated(s State, due *graph.Array) *graph.Array {
	type turn struct{ Due, Update, Metrics *graph.Array }
	none := graph.Full(graph.ShapeOf(graph.Float32, len(u.evaluation.names())), float32(math.NaN()))
	params := graph.Once(u.saved(s.Params, s.Observed.scale()))
	return graph.NamedWhile(evaluationLoop, func(t turn) *graph.Array { return t.Due }, func(t turn) turn {
		return turn{graph.Scalar(false), t.Update.Add(1), u.playNew(params, s.Key, t.Update)}
	}, turn{due, s.Update, none}).Metrics
}

// evaluationLoop is the name of the branch of an evaluation.
const evaluationLoop = "evaluation"

// playNew plays new episodes with an actor as it is saved, after an update, i32[], of an agent with a key, and returns
// the metrics. The way to act with the largest mean return counts, as for a member that is judged.
func (u *update) playNew(params any, key random.Key, update *graph.Array) *graph.Array {
	e, ways := u.evaluation, len(u.evaluation.ways())
	key = random.FoldIn(random.FoldIn(key, evalKey), update)
	type lane struct{ Episode, Sampled *graph.Array }
	lanes := lane{graph.Rem(graph.Iota(ways*e.episodes), e.episodes), graph.Iota(ways * e.episodes).Lt(e.episodes)}
	returns := graph.VMap(func(l lane) *graph.Array {
		params := params
		if d, ok := params.(policy.Distributed); ok {
			d.Sampled = l.Sampled
			params = d
		}
		key := random.Clone(random.FoldIn(key, l.Episode)) // each way plays the same episodes
		return e.EpisodeToEnd(params, key).Return
	})(lanes).Reshape(ways, e.episodes)
	rows := graph.VMap(returnMetrics)(returns)
	best := graph.Scalar(0, graph.Int32)
	if ways > 1 {
		best = nanToLowest(graph.IndexAxis(rows, 1, 0)).ArgMax(0)
	}
	all := graph.DynamicIndex(rows, best, 0)
	if ways > 1 {
		all = graph.Concatenate(0, all, graph.IndexAxis(rows, 1, 0))
	}
	return all
}

// returnMetrics returns the first of evalNames of episodes with the returns f32[n].
func returnMetrics(returns *graph.Array) *graph.Array {
	finite := returns.IsFinite()
	n := finite.Convert(graph.Float32).Sum()
	mean := graph.Select(finite, returns, 0.).Sum().Div(n)
	squares := graph.Select(finite, returns.Sub(mean).Square(), 0.).Sum()
	deviation := graph.Select(n.Gt(1), squares.Div(n.Sub(1)).Div(n).Sqrt(), math.NaN())
	episodes := float64(returns.Dim(0))
	return graph.Stack([]*graph.Array{mean, deviation, graph.Scalar(episodes), graph.Sub(episodes, n)}, 0)
}

// errorOfMean returns the standard error of the mean of independent numbers with these standard errors.
func errorOfMean(errors []float64) (sum float64) {
	for _, x := range errors {
		sum += x * x
	}
	return math.Sqrt(sum) / float64(len(errors))
}

// evalJoins are the metrics of an evaluation whose number over agents is not their mean.
var evalJoins = map[string]func([]float64) float64{run.EvalError: errorOfMean, run.EvalEpisodes: total,
	run.EvalFailed: total}
