package nn

import (
	"math"
	"reflect"

	"xlarun/graph"
)

// CTC is minus the logarithm of the probability that a sequence of logits spells a label, a scalar (Graves et al.,
// "Connectionist temporal classification", 2006). Each step gives a class or a blank. Repeated classes count once
// unless a blank lies between. logits is [steps, classes], label [n] integers; steps and length are the numbers of
// them that count, the first ones, integer scalars or Go integers. The blank is class 0. A label that does not fit into
// the steps has a loss of about 1e5 for each class that does not. A label that counts and is not a class gives NaN, as
// does a number beyond those that there are.
func CTC(logits, label *graph.Array, steps, length any) *graph.Array {
	const op = "nn.CTC"
	if logits.Rank() != 2 || label.Rank() != 1 || !label.DType().IsInt() {
		graph.Throw(op, "got logits %s and a label %s, want [steps, classes] and integers [n]", logits.Shape(),
			label.Shape())
	}
	label = graph.IndexArray(op, label)
	count, letters := wholeNumber(op, "steps", steps), wholeNumber(op, "length", length)
	// The logarithm of a probability of next to nothing, instead of -Inf, whose derivatives would be NaN.
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
		return graph.SelectTree(s.At.Lt(count), forward{after, class}, f), graph.None{}
	}, forward{graph.Iota(n + 1).Convert(logs.DType()).Min(1).Mul(never),
		graph.Full(graph.ShapeOf(logs.DType(), n), never)},
		step{blank, emit, graph.Iota(logits.Dim(0))})
	all := into(last.Blank, last.Class)
	within := func(v *graph.Array, most int) *graph.Array { return v.Ge(0).And(v.Le(most)) }
	spelled := within(label, logits.Dim(1)-1).Or(graph.Iota(n).Ge(letters)).All()
	ok := spelled.And(within(count, logits.Dim(0))).And(within(letters, n))
	return graph.Select(ok, graph.Select(graph.Iota(n+1).Eq(letters), all, 0).Sum().Neg(), math.NaN())
}

// wholeNumber reads an integer scalar or a Go integer in a dtype that holds sizes of axes. A Go integer that int32 does
// not hold is moved to its limits, which are the size of nothing.
func wholeNumber(op, name string, v any) *graph.Array {
	if a, ok := v.(*graph.Array); ok && a != nil {
		if !a.DType().IsInt() || a.Rank() != 0 {
			graph.Throw(op, "%s is %s, want one integer: use graph.VMap for many", name, a.Shape())
		}
		return graph.IndexArray(op, a)
	}
	switch r := reflect.ValueOf(v); {
	case !r.IsValid():
	case r.CanInt():
		return graph.Scalar(int32(max(math.MinInt32, min(r.Int(), math.MaxInt32))), graph.Int32)
	case r.CanUint():
		return graph.Scalar(int32(min(r.Uint(), math.MaxInt32)), graph.Int32)
	case r.CanFloat():
		graph.Throw(op, "%s is %v, a %T, want an integer", name, v, v)
	}
	graph.Throw(op, "%s is a %T, want an integer or an integer scalar array", name, v)
	return nil
}
