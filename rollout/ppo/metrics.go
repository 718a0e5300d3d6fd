package ppo

import (
	"math"
	"slices"
	"strings"

	"xlarun/envs"
	"xlarun/graph"
)

// metrics are the numbers of an update, in their order, and what one is of several agents, out of those of each that are known: their mean where nothing is said.
var metrics = []struct {
	name string
	over func(known []float64) float64
}{
	{"recent_return", nil}, {"episodes", total}, {"mean_return", nil}, {"min_return", slices.Min[[]float64]}, {"max_return", slices.Max[[]float64]}, {"mean_length", nil},
	{"policy_loss", nil}, {"value_loss", nil}, {"entropy", nil}, {"kl", nil}, {"clip_fraction", nil}, {"explained_variance", nil}, {"gradient_norm", nil}, {"minibatches", nil},
	{"learning_rate", nil}, {"loss_scale", nil}, {"failed", total}, {"skipped", total},
}

func total(all []float64) (sum float64) {
	for _, x := range all {
		sum += x
	}
	return sum
}

// together is a metric of all agents, of what it is of each; NaN where it is of none.
func together(name string, each []float64) float64 {
	known := slices.DeleteFunc(each, math.IsNaN)
	if len(known) == 0 {
		return math.NaN()
	}
	for _, m := range metrics {
		if m.name == name && m.over != nil {
			return m.over(known)
		}
	}
	return total(known) / float64(len(known))
}

// envSteps is the metric that the host counts.
const envSteps = "env_steps"

// metricNames are the metrics of an algorithm's updates, and behind them those of the environment's objectives: true_return and proxy_return where what is paid is not what is meant.
func metricNames(a algorithm, spec envs.Spec) (names []string) {
	for _, m := range metrics {
		names = append(names, m.name)
	}
	names = a.metrics(names)
	return append(names, objectiveNames(spec.Objectives, names)...)
}

func (g *program) metricNames() []string {
	return metricNames(g.algorithm, g.collect.play.Env.Spec())
}

// objectiveNames are the metrics of an environment's objectives, beside others.
func objectiveNames(objectives, others []string) (names []string) {
	for _, name := range objectives {
		name = strings.ReplaceAll(name, " ", "_")
		for name == envSteps || slices.Contains(others, name) || slices.Contains(names, name) {
			name = "objective_" + name
		}
		names = append(names, name)
	}
	return names
}

// Measures are the names of a run's metrics.
func (c *Config) Measures() []string {
	r, err := c.Rollout()
	if err != nil {
		return nil
	}
	return append(metricNames(&proximal{}, r.Env.Spec()), envSteps)
}

// ended are the episodes that ended in an update, each f32[]. Failed is how many of them have a return that is no finite number; the others count none of these.
// Objectives are the sums of the environment's, f32[k]; nil where it has none.
type ended struct {
	Episodes, Return, Least, Most, Length, Failed *graph.Array
	Objectives                                    *graph.Array `tree:"optional"`
}

func endedIn(m moment) ended {
	all := graph.Or(m.Terminated, m.Truncated)
	done := graph.And(all, graph.IsFinite(m.Return))
	where := func(x *graph.Array, no float64) *graph.Array { return graph.Select(done, x, no) }
	e := ended{
		Episodes: graph.Sum(graph.Convert(done, graph.Float32)),
		Return:   graph.Sum(where(m.Return, 0)),
		Least:    graph.ReduceMin(graph.Flatten1D(where(m.Return, math.Inf(1))), 0),
		Most:     graph.ReduceMax(graph.Flatten1D(where(m.Return, math.Inf(-1))), 0),
		Length:   graph.Sum(where(m.Length, 0)),
		Failed:   graph.Sum(graph.Convert(graph.And(all, graph.Not(done)), graph.Float32)),
	}
	if o := m.Objectives; o != nil {
		counts := graph.BroadcastTo(graph.ExpandDims(done, -1), o.Dims()...)
		e.Objectives = graph.Sum(merged(graph.Select(counts, o, 0.)), 0)
	}
	return e
}

// with is what is recent after the episodes of one more update.
func (r recent) with(e ended) recent {
	kept := graph.Exp(graph.Mul(e.Episodes, math.Log(forget)))
	return recent{graph.Add(graph.Mul(r.Sum, kept), e.Return), graph.Add(graph.Mul(r.Weight, kept), e.Episodes)}
}

// or is the other one where its return is higher, or anyway.
func (b best) or(other best, anyway *graph.Array) best {
	better := graph.Or(anyway, graph.Gt(other.Return, b.Return))
	next := graph.MapTree2(func(yes, no *graph.Array) *graph.Array { return graph.Select(better, yes, no) }, other, b)
	next.Return = graph.Select(anyway, math.Inf(-1), next.Return)
	return next
}

// explained is the part of the variance of targets that values explain: 1 is all, below 0 is worse than their mean.
func explained(values, targets *graph.Array) *graph.Array {
	all := graph.Variance(graph.Flatten1D(targets))
	rest := graph.Variance(graph.Flatten1D(graph.Sub(targets, values)))
	return graph.Select(graph.Gt(all, 0), graph.Sub(1, graph.Div(rest, graph.Max(all, 1e-30))), 0.)
}

// numbersOf are metrics of an update; those of episodes are NaN where none ended, the recent return is where none has yet, and those of minibatches are where all were skipped.
func numbersOf(e ended, r recent, f figures) map[string]*graph.Array {
	some := graph.Gt(e.Episodes, 0)
	known := func(x *graph.Array) *graph.Array { return graph.Select(some, x, math.NaN()) }
	mean := func(x *graph.Array) *graph.Array { return known(graph.Div(x, graph.Max(e.Episodes, 1))) }
	taught := graph.Gt(f.Minibatches, 0)
	learned := func(x *graph.Array) *graph.Array { return graph.Select(taught, x, math.NaN()) }
	return map[string]*graph.Array{
		"recent_return": r.mean(), "episodes": e.Episodes, "mean_return": mean(e.Return), "min_return": known(e.Least), "max_return": known(e.Most), "mean_length": mean(e.Length), "failed": e.Failed,
		"policy_loss": learned(f.PolicyLoss), "value_loss": learned(f.ValueLoss), "entropy": learned(f.Entropy), "kl": learned(f.KL), "clip_fraction": learned(f.ClipFraction),
		"gradient_norm": learned(f.GradientNorm), "minibatches": f.Minibatches, "skipped": f.Skipped,
	}
}

// row is what an update gives to the host, f32[metrics + 1]: numbers in the order of metricNames, the means of the environment's objectives, and the weight of recent episodes.
func (g *program) row(numbers map[string]*graph.Array, e ended, r recent) *graph.Array {
	var all []*graph.Array
	names := g.metricNames()
	objectives := len(g.collect.play.Env.Spec().Objectives)
	for _, name := range names[:len(names)-objectives] {
		all = append(all, numbers[name])
	}
	given := 0
	if e.Objectives != nil {
		given = e.Objectives.Dim(0)
	}
	if given != objectives {
		graph.Throw("ppo", "the environment %s gives %d objectives, and its Spec names %d: name each", g.config.Env, given, objectives)
	}
	for i := range objectives {
		mean := graph.Div(graph.Index(e.Objectives, i), graph.Max(e.Episodes, 1))
		all = append(all, graph.Select(graph.Gt(e.Episodes, 0), mean, math.NaN()))
	}
	return graph.Stack(append(all, r.Weight), 0)
}
