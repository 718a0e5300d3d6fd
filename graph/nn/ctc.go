package nn

import (
	"math"

	"xlarun/graph"
)

// CTC is minus the logarithm of the probability that a sequence of logits spells a label, a scalar (Graves et al.,
// "Connectionist temporal classification", 2006). Each step gives a class or a blank. Repeated classes count once
// unless a blank lies between. logits is [steps, classes], label [n] integers; steps and length are the numbers of
// them that count, the first ones, arrays or Go numbers. The blank is class 0. A label that does not fit into the steps
// has a loss of about 1e5 for each class that does not. A label that counts and is not a class gives NaN, as does a
// number beyond those that there are.
func CTC(logits, label *graph.Array, steps, length any) *graph.Array {
	const op = "nn.CTC"
	if logits.Rank() != 2 || label.Rank() != 1 || !label.DType().IsInt() {
		graph.Throw(op, "got logits %s and a label %s, want [steps, classes] and integers [n]", logits.Shape(),
			label.Shape())
	}
	// The logarithm of a probability of next to nothing, in place of -Inf, whose derivatives would be NaN.
	const never = -1e5
	n := label.Dim(0)
	logs := graph.LogSoftmax(atLeastFloat32(logits), -1)
	repeat := graph.Zeros(graph.ShapeOf(logs.DType(), n)) // 1: the next class is the same
	if n > 1 {
		equal := graph.SliceAxis(label, 0, 0, n-1).Eq(graph.SliceAxis(label, 0, 1, n)).Convert(logs.DType())
		repeat = graph.Concatenate(0, equal, graph.Zeros(graph.ShapeOf(logs.DType(), 1)))
	}
	blank := graph.IndexAxis(logs, 1, 0)
	emit := graph.Take(logs, label, 1)
	// forward is the logarithms of the probabilities of all spellings so far that end in a blank after so many
	// classes, [n+1], and in a class, [n].
	type forward struct{ Blank, Class *graph.Array }
	into := func(blank, more *graph.Array) *graph.Array {
		return graph.Concatenate(0, graph.SliceAxis(blank, 0, 0, 1),
			graph.LogAddExp(graph.SliceAxis(blank, 0, 1, n+1), more))
	}
	type step struct{ Blank, Class, At *graph.Array }
	last, _ := graph.Scan(func(f forward, s step) (forward, graph.None) {
		// A repeated class needs a blank before it, another one comes without.
		before := into(f.Blank, f.Class.Add(graph.Mul(never, repeat)))
		class := graph.LogAddExp(graph.SliceAxis(before, 0, 0, n).Add(s.Class), f.Class.Add(s.Class))
		after := into(before.Add(s.Blank), f.Class.Add(s.Blank).Add(graph.Mul(never, graph.Sub(1, repeat))))
		return graph.SelectTree(s.At.Lt(steps), forward{after, class}, f), graph.None{}
	}, forward{graph.Iota(n + 1).Convert(logs.DType()).Min(1).Mul(never),
		graph.Full(graph.ShapeOf(logs.DType(), n), never)},
		step{blank, emit, graph.Iota(logits.Dim(0))})
	all := into(last.Blank, last.Class)
	within := func(v any, most int) *graph.Array { return graph.And(graph.Ge(v, 0), graph.Le(v, most)) }
	spelled := within(label, logits.Dim(1)-1).Or(graph.Iota(n).Ge(length)).All()
	ok := spelled.And(within(steps, logits.Dim(0))).And(within(length, n))
	return graph.Select(ok, graph.Select(graph.Iota(n+1).Eq(length), all, 0).Sum().Neg(), math.NaN())
}
