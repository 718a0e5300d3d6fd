package ppo

import (
	"maps"
	"math"
	"slices"
	"strings"

	"xlarun/graph"
	"xlarun/rollout/episode"
	"xlarun/rollout/ppo/auxiliary"
	"xlarun/rollout/run"
)

// metrics are the metrics of an update in their order. join makes one number of the numbers of several agents, without
// NaN; nil: the mean.
var metrics = []struct {
	name string
	join func(numbers []float64) float64
}{
	{"recent_return", nil}, {"episodes", total}, {"mean_return", nil}, {"min_return", slices.Min[[]float64]},
	{"max_return", slices.Max[[]float64]}, {"mean_length", nil},
	{"policy_loss", nil}, {"value_loss", nil}, {"entropy", nil}, {"kl", nil}, {"clip_fraction", nil},
	{"explained_variance", nil}, {"gradient_norm", nil}, {"minibatches", nil},
	{"learning_rate", nil}, {"loss_scale", nil}, {"failed", total}, {"skipped", total},
}

func total(all []float64) (sum float64) {
	for _, x := range all {
		sum += x
	}
	return sum
}

// overAgents joins a metric of each agent; NaN if all are NaN.
func overAgents(name string, each []float64) float64 {
	numbers := slices.DeleteFunc(slices.Clone(each), math.IsNaN)
	if len(numbers) == 0 {
		return math.NaN()
	}
	for _, m := range metrics {
		if m.name == name && m.join != nil {
			return m.join(numbers)
		}
	}
	if join := evalJoins[name]; join != nil {
		return join(numbers)
	}
	return total(numbers) / float64(len(numbers))
}

// auxiliaryLoss is the metric of an auxiliary loss. It is there if there is one.
const auxiliaryLoss = "auxiliary_loss"

// metricNames returns the names of an algorithm's metrics, then the reports of an auxiliary loss, of the environment,
// such as success, and of the policy, and then the names of the environment's objectives, such as true_return and
// proxy_return.
func metricNames(a algorithm, play *episode.Rollout, auxiliary bool, reports ...string) (names []string) {
	for _, m := range metrics {
		names = append(names, m.name)
	}
	names = a.metrics(names)
	if auxiliary {
		names = append(names, auxiliaryLoss)
	}
	names = append(append(names, reports...), play.Reports()...)
	return append(names, objectiveNames(play.Env.Spec().Objectives, names)...)
}

func (g *program) metricNames() []string {
	return metricNames(g.algorithm, g.play, g.auxiliary != nil, auxiliary.TraitsOf(g.auxiliary).Reports...)
}

// objectiveNames returns the metrics of an environment's objectives. Names that others has already get a prefix.
func objectiveNames(objectives, others []string) (names []string) {
	for _, name := range objectives {
		name = strings.ReplaceAll(name, " ", "_")
		for name == run.EnvSteps || slices.Contains(others, name) || slices.Contains(names, name) {
			name = "objective_" + name
		}
		names = append(names, name)
	}
	return names
}

// Measures returns the names of a run's metrics.
func (c *Config) Measures() []string {
	r, err := c.Rollout()
	if err != nil {
		return nil
	}
	further, err := auxiliary.Make(c.Auxiliary, c.Parted.Under(auxiliaryPrefix))
	if err != nil {
		return nil
	}
	names := metricNames(&proximal{}, r, further != nil, auxiliary.TraitsOf(further).Reports...)
	return append(append(names, c.evalNames(2)...), run.EnvSteps)
}

// episodes are statistics of the episodes that ended in an update, f32[] each. Failed counts episodes whose return is
// not finite; the other fields leave these out. Objectives are the sums of the environment's objectives, f32[k]; nil if
// it has none.
type episodes struct {
	Count, Return, Least, Most, Length, Failed *graph.Array
	Objectives                                 *graph.Array `tree:"optional"`
	// Reports are the sums of the finite reports of environment and policy, f32[k], and Reported how many there are,
	// f32[k]; nil if there are none.
	Reports, Reported *graph.Array `tree:"optional"`
}

// episodesOf returns the episodes that ended in a rollout.
func episodesOf(t transition) episodes {
	done := t.done().And(t.Return.IsFinite())
	where := func(x *graph.Array, otherwise float64) *graph.Array { return graph.Select(done, x, otherwise) }
	e := episodes{
		Count:  done.Convert(graph.Float32).Sum(),
		Return: where(t.Return, 0).Sum(),
		Least:  graph.Flatten1D(where(t.Return, math.Inf(1))).ReduceMin(0),
		Most:   graph.Flatten1D(where(t.Return, math.Inf(-1))).ReduceMax(0),
		Length: where(t.Length.Convert(graph.Float32), 0).Sum(),
		Failed: t.done().And(done.Not()).Convert(graph.Float32).Sum(),
	}
	if o := t.Objectives; o != nil {
		counts := done.ExpandDims(-1).BroadcastTo(o.Dims()...)
		e.Objectives = graph.MergeAxes(graph.Select(counts, o, 0.), 0, 2).Sum(0)
	}
	if r := t.Reports; r != nil {
		counts := done.ExpandDims(-1).BroadcastTo(r.Dims()...).And(r.IsFinite())
		e.Reports = graph.MergeAxes(graph.Select(counts, r, 0.), 0, 2).Sum(0)
		e.Reported = graph.MergeAxes(counts.Convert(graph.Float32), 0, 2).Sum(0)
	}
	return e
}

// noMetrics returns the metrics of no minibatch.
func (g *program) noMetrics() lossMetrics {
	zero := graph.Scalar(0)
	l := losses{Policy: zero, Value: zero, Entropy: zero, KL: zero, ClipFraction: zero}
	if g.auxiliary != nil {
		l.Auxiliary = zero
	}
	if reports := auxiliary.TraitsOf(g.auxiliary).Reports; reports != nil {
		l.Reports = graph.Zeros(graph.ShapeOf(graph.Float32, len(reports)))
	}
	return lossMetrics{l, zero, zero, zero}
}

// means returns the means over the minibatches, given the sums.
func (m lossMetrics) means() lossMetrics {
	n := m.Minibatches.Max(1)
	means := graph.MapTree(func(x *graph.Array) *graph.Array { return x.Div(n) }, m)
	means.Minibatches, means.Skipped = m.Minibatches, m.Skipped
	return means
}

// explainedVariance returns the share of the variance of targets that values explain: 1 is all, below 0 is worse than
// the mean of targets.
func explainedVariance(values, targets *graph.Array) *graph.Array {
	of := func(x *graph.Array) *graph.Array {
		return x.Sub(between(x, graph.Reduction{}, x.Mean())).Square().Mean()
	}
	variance, residual := of(graph.Flatten1D(targets)), of(graph.Flatten1D(targets.Sub(values)))
	return graph.Select(variance.Gt(0), graph.Sub(1, residual.Div(variance.Max(1e-30))), 0.)
}

// metricsRow returns the metrics of an update from s to next, f32[metrics + 1], in the order of metricNames. The last
// number is the weight of recent episodes. Metrics of episodes are NaN if no episode ended, metrics of minibatches if
// all minibatches were skipped.
func (u *update) metricsRow(s, next State, values, targets *graph.Array, e episodes, m lossMetrics) *graph.Array {
	ended, learned := e.Count.Gt(0), m.Minibatches.Gt(0)
	ofEpisodes := func(x *graph.Array) *graph.Array { return graph.Select(ended, x, math.NaN()) }
	mean := func(x *graph.Array) *graph.Array { return ofEpisodes(x.Div(e.Count.Max(1))) }
	ofLosses := func(x *graph.Array) *graph.Array { return graph.Select(learned, x, math.NaN()) }
	numbers := map[string]*graph.Array{
		"recent_return": next.Recent.mean(), "episodes": e.Count, "mean_return": mean(e.Return),
		"min_return": ofEpisodes(e.Least), "max_return": ofEpisodes(e.Most), "mean_length": mean(e.Length),
		"failed": e.Failed, "policy_loss": ofLosses(m.Losses.Policy), "value_loss": ofLosses(m.Losses.Value),
		"entropy": ofLosses(m.Losses.Entropy), "kl": ofLosses(m.Losses.KL),
		"clip_fraction": ofLosses(m.Losses.ClipFraction), "gradient_norm": ofLosses(m.GradientNorm),
		"minibatches": m.Minibatches, "skipped": m.Skipped, "learning_rate": u.LearningRate,
		"loss_scale": next.Scale.Factor(), "explained_variance": explainedVariance(values, targets),
	}
	if a := m.Losses.Auxiliary; a != nil {
		numbers[auxiliaryLoss] = ofLosses(a)
	}
	for i, name := range auxiliary.TraitsOf(u.auxiliary).Reports {
		numbers[name] = ofLosses(m.Losses.Reports.Index(i))
	}
	for i, name := range u.play.Reports() {
		count := e.Reported.Index(i)
		numbers[name] = graph.Select(count.Gt(0), e.Reports.Index(i).Div(count.Max(1)), math.NaN())
	}
	maps.Copy(numbers, u.measure(s.Update, u.in.Updates))
	names, objectives := u.metricNames(), u.play.Env.Spec().Objectives
	var row []*graph.Array
	for _, name := range names[:len(names)-len(objectives)] {
		row = append(row, numbers[name])
	}
	found := 0
	if e.Objectives != nil {
		found = e.Objectives.Dim(0)
	}
	if found != len(objectives) {
		graph.Throw("ppo", "the environment %s returns %d objectives, and its Spec names %d: name each objective",
			u.config.Env, found, len(objectives))
	}
	for i := range objectives {
		row = append(row, mean(e.Objectives.Index(i)))
	}
	return graph.Stack(append(row, next.Recent.Weight), 0)
}
