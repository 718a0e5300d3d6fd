package ppo

import (
	"math"
	"slices"
	"strings"

	"xlarun/envs"
	"xlarun/graph"
)

// metricNames are the numbers of an update, in their order.
var metricNames = []string{"recent_return", "episodes", "mean_return", "min_return", "max_return", "mean_length", "policy_loss", "value_loss", "entropy", "kl", "clip_fraction",
	"explained_variance", "gradient_norm", "minibatches", "learning_rate", "loss_scale", "failed", "skipped"}

// metrics are metricNames, and behind them those of the environment's objectives: true_return and proxy_return where what is paid is not what is meant.
func (g *program) metrics() []string {
	if g.own != nil {
		return exploredMetrics(g.collect.play.Env.Spec())
	}
	return metricsOf(g.collect.play.Env.Spec())
}

func metricsOf(spec envs.Spec) []string {
	return append(slices.Clone(metricNames), objectiveNames(spec.Objectives)...)
}

// objectiveNames are the metrics of an environment's objectives.
func objectiveNames(objectives []string) (names []string) {
	for _, name := range objectives {
		name = strings.ReplaceAll(name, " ", "_")
		if slices.Contains(metricNames, name) {
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
	return append(metricsOf(r.Env.Spec()), "env_steps")
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

// figuresOf are the numbers of an update, in the order of program.metrics; those of episodes are NaN where none ended, the recent return is where none has yet, and
// those of minibatches are where all were skipped.
func figuresOf(e ended, r recent, f figures, rate, scale, explained *graph.Array) *graph.Array {
	some := graph.Gt(e.Episodes, 0)
	known := func(x *graph.Array) *graph.Array { return graph.Select(some, x, math.NaN()) }
	mean := func(x *graph.Array) *graph.Array { return known(graph.Div(x, graph.Max(e.Episodes, 1))) }
	taught := graph.Gt(f.Minibatches, 0)
	learned := func(x *graph.Array) *graph.Array { return graph.Select(taught, x, math.NaN()) }
	all := []*graph.Array{
		r.mean(), e.Episodes, mean(e.Return), known(e.Least), known(e.Most), mean(e.Length),
		learned(f.PolicyLoss), learned(f.ValueLoss), learned(f.Entropy), learned(f.KL), learned(f.ClipFraction), explained, learned(f.GradientNorm),
		f.Minibatches, rate, scale, e.Failed, f.Skipped,
	}
	if e.Objectives != nil {
		for i := range e.Objectives.Dim(0) {
			all = append(all, mean(graph.Index(e.Objectives, i)))
		}
	}
	return graph.Stack(all, 0)
}
