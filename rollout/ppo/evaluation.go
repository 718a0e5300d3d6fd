package ppo

import (
	"math"
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
)

// evaluation evaluates the actor of an update on new episodes, as it would be saved: in all ways to act that it has.
// The training does not depend on it.
type evaluation struct {
	*episode.Rollout // as members are judged
	run.EvalSettings // with EvalEnvs episodes in each way to act
}

const (
	// mostEvaluating is the largest share of evaluations in the work of a run whose episodes all reach their limit of
	// steps, from the first update on that is a multiple of the interval.
	mostEvaluating = .03
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
	e := &evaluation{&judged, c.EvalSettings}
	if e.EvalEvery == 0 {
		e.EvalEvery = e.chosen(c)
	}
	return e, nil
}

// chosen returns the number of updates between evaluations where the settings do not give it. It does not depend on the
// length of the run.
func (e *evaluation) chosen(c *Config) int {
	work := float64(c.perUpdate()) * float64(2+passes*c.Epochs)
	if e.Env.Spec().Host { // a step of a simulator costs more than a network's
		work = float64(c.perUpdate())
	}
	mine := float64(e.EvalEnvs*len(e.ways())) * float64(e.Steps)
	return int(max(1, min(math.Ceil(mine/(mostEvaluating*work)), mostEvalEvery)))
}

// mostEvalEvery is the largest value of eval-every.
const mostEvalEvery = 1000000

func (e *evaluation) ways() []string { return policy.WaysOf(e.Policy) }

// wayMetrics are the metrics of the ways to act, in the order of policy.WaysOf.
var wayMetrics = []string{"eval_return_sampled", "eval_return_greedy"}

// evalNames returns the metrics of an evaluation in a number of ways to act; none without evaluations.
func (c *Config) evalNames(ways int) []string {
	names := c.EvalMeasures()
	if ways > 1 && names != nil {
		names = append(names, wayMetrics...)
	}
	return names
}

// evaluationDue returns whether the update after those in updates, i32[], has an evaluation, bool[]; nil: none has.
func (g *program) evaluationDue(updates *graph.Array, in inputs) *graph.Array {
	if g.evaluation == nil {
		return nil
	}
	return run.EvalDueIn(updates.Add(1), in.EvalEvery)
}

// numbers returns how many numbers State.Evaluated has.
func (e *evaluation) numbers() int {
	if e == nil {
		return 0
	}
	return 3 * len(e.ways())
}

// none returns State.Evaluated before the first evaluation, -1 episodes; nil without evaluations.
func (e *evaluation) none() *graph.Array {
	if e == nil {
		return nil
	}
	return graph.Full(graph.ShapeOf(graph.Float32, e.numbers()), float32(-1))
}

// evaluated returns State.Evaluated of the state after an update; last is the one before, which stays if no evaluation
// is due. The branch is a loop of at most one iteration, so that it has a name: costOf leaves it out.
func (u *update) evaluated(s State, last, due *graph.Array) *graph.Array {
	type carry struct{ Due, Update, Evaluated *graph.Array }
	params := graph.Once(u.saved(s.Params, s.Observed.scale()))
	return graph.NamedWhile(evaluationLoop, func(c carry) *graph.Array { return c.Due }, func(c carry) carry {
		return carry{graph.Scalar(false), c.Update.Add(1), u.playNew(params, s.Key, c.Update)}
	}, carry{due, s.Update, last}).Evaluated
}

// evaluationLoop is the name of the branch of an evaluation.
const evaluationLoop = "evaluation"

// playNew plays new episodes with an actor as it is saved, after an update, i32[], of an agent with a key. It returns
// State.Evaluated.
func (u *update) playNew(params any, key random.Key, update *graph.Array) *graph.Array {
	e, ways := u.evaluation, len(u.evaluation.ways())
	key = random.FoldIn(random.FoldIn(key, evalKey), update)
	type lane struct{ Episode, Sampled *graph.Array }
	lanes := lane{graph.Rem(graph.Iota(ways*e.EvalEnvs), e.EvalEnvs), graph.Iota(ways * e.EvalEnvs).Lt(e.EvalEnvs)}
	returns := graph.VMap(func(l lane) *graph.Array {
		params := params
		if d, ok := params.(policy.Distributed); ok {
			d.Sampled = l.Sampled
			params = d
		}
		key := random.Clone(random.FoldIn(key, l.Episode)) // each way plays the same episodes
		return e.EpisodeToEnd(params, key).Return
	})(lanes).Reshape(ways, e.EvalEnvs)
	return graph.Flatten1D(graph.VMap(episode.FiniteOf)(returns))
}

// metrics returns the metrics of the last evaluation, a number for each agent, given State.Evaluated of each; nil
// before the first one. Of several ways to act the better one counts, as for a member that is judged: the one with
// fewer failures, then the one with the larger mean.
func (e *evaluation) metrics(evaluated [][]float64) map[string][]float64 {
	if e == nil || evaluated[0][0] < 0 {
		return nil
	}
	all := map[string][]float64{}
	for _, v := range evaluated { // of an agent
		var ways []episode.EvalScore
		for way := range slices.Chunk(v, 3) {
			ways = append(ways, run.NewEvaluation(way, e.EvalEnvs))
		}
		values := run.EvalValues(slices.MinFunc(ways, episode.EvalScore.Compare))
		if len(ways) > 1 {
			for i, way := range ways {
				values = append(values, run.Value{Name: wayMetrics[i], Number: way.Mean})
			}
		}
		for _, x := range values {
			all[x.Name] = append(all[x.Name], x.Number)
		}
	}
	return all
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
