package optim

import (
	"fmt"
	"reflect"
	"slices"

	"xlarun/graph"
)

// State is the state of a Transform: a tree whose type depends on the transform (AdamState, …).
type State any

// Transform maps gradients to updates, the numbers to be added to the parameters. Trees are passed as any; Step and
// Update give them their types back.
type Transform interface {
	// Init makes the state for parameters of this structure and these shapes.
	Init(params any) State
	// Update maps gradients to updates of the same structure. params are the parameters before the step.
	Update(grads any, state State, params any) (updates any, next State)
}

// Update applies a transform to gradients and returns the updates and the next state. Step adds them to the parameters.
// Update also applies transforms to other trees, such as an EMA to parameters.
func Update[P any](t Transform, grads P, state State, params P) (P, State) {
	wantTransform("Update", t)
	updates, next := t.Update(grads, state, params)
	u, ok := updates.(P)
	if !ok && updates != nil { // nil is the empty tree of a type that is an interface
		graph.Throw("optim.Update", "%T returned updates of type %T, want %T", t, updates, u)
	}
	return u, next
}

// Step is one step of an optimizer: the new parameters, in the dtypes they had, and the next state.
func Step[P any](t Transform, params, grads P, state State) (P, State) {
	checkSame("optim.Step", "the gradients", grads, "the parameters", params)
	updates, next := Update(t, grads, state, params)
	return ApplyUpdates(params, updates), next
}

// StepIf is Step if ok (a bool scalar) is true; else parameters and state do not change. It selects at run time, so
// that infinities and NaNs of a skipped step have no effect. Loss scaling (package precision) skips steps whose
// gradients overflow.
func StepIf[P any](ok *graph.Array, t Transform, params, grads P, state State) (P, State) {
	if ok == nil {
		graph.Throw("optim.StepIf", "the condition is nil, want a bool scalar")
	}
	if ok.DType() != graph.Bool || ok.Rank() != 0 {
		graph.Throw("optim.StepIf", "the condition is %s, want a bool scalar", ok.Shape())
	}
	p, s := Step(t, params, grads, state)
	choose := func(yes, no *graph.Array) *graph.Array { return graph.Select(ok, yes, no) }
	return graph.MapTree2(choose, p, params), graph.MapTree2(choose, s, state)
}

// ApplyUpdates adds updates to parameters, in the parameters' dtypes.
func ApplyUpdates[P any](params, updates P) P {
	next, _ := zip("optim.ApplyUpdates", func(x []*graph.Array) *graph.Array {
		return cast(x[0].Add(x[1]), x[0])
	}, params, updates).(P)
	return next
}

// chain is the transforms of Chain.
type chain []Transform

// Chain applies transforms one after the other: each gets the updates of the one before it. Its state is a []State, one
// for each.
func Chain(ts ...Transform) Transform {
	wantTransform("Chain", ts...)
	return chain(ts)
}

// wantTransform refuses transforms that are nil.
func wantTransform(op string, ts ...Transform) {
	for i, t := range ts {
		if t == nil {
			graph.Throw("optim."+op, "transform %d is nil: give one, such as Chain() for none", i)
		}
	}
}

func (c chain) Init(params any) State {
	states := make([]State, len(c))
	for i, t := range c {
		states[i] = t.Init(params)
	}
	return states
}

func (c chain) Update(grads any, state State, params any) (any, State) {
	old := stateOf[[]State]("optim.Chain", state)
	if len(old) != len(c) {
		graph.Throw("optim.Chain", "got the states of %d transforms, want %d: pass the state that this chain's "+
			"Init made", len(old), len(c))
	}
	next := make([]State, len(c))
	for i, t := range c {
		grads, next[i] = t.Update(grads, old[i], params)
	}
	return grads, next
}

// stateless is a transform without state.
type stateless struct {
	update func(grads, params any) any
}

func (s stateless) Init(any) State { return graph.None{} }
func (s stateless) Update(grads any, state State, params any) (any, State) {
	return s.update(grads, params), state
}

// Stateless makes a transform from a function that maps a leaf's gradient and parameter (equal shapes) to its update.
func Stateless(f func(grad, param *graph.Array) *graph.Array) Transform {
	if f == nil {
		graph.Throw("optim.Stateless", "got a nil function")
	}
	return stateless{func(grads, params any) any {
		return zip("optim.Stateless", func(x []*graph.Array) *graph.Array { return f(x[0], x[1]) }, grads, params)
	}}
}

// stateOf converts a state to its type.
func stateOf[S any](op string, state State) S {
	s, ok := state.(S)
	if !ok {
		graph.Throw(op, "got a state of type %T, want %s: pass the state that this optimizer's Init made", state,
			reflect.TypeFor[S]())
	}
	return s
}

// checkSame throws unless two trees have the same leaves, in shape too.
func checkSame(op, whatA string, a any, whatB string, b any) {
	la, ta := graph.Flatten(a)
	lb, tb := graph.Flatten(b)
	if d := differ(la, ta, lb, tb); d != "" {
		graph.Throw(op, "%s and %s differ: %s", whatA, whatB, d)
	}
}

// differ describes how two trees differ in leaves or in the dims of their float leaves; "" if they do not.
func differ(a []*graph.Array, at *graph.Tree, b []*graph.Array, bt *graph.Tree) string {
	for i := range min(len(a), len(b)) {
		switch {
		case at.Path(i) != bt.Path(i):
			return fmt.Sprintf("leaf %d is %s in one and %s in the other", i, at.Path(i), bt.Path(i))
		case isFloat(a[i]) && !a[i].Shape().Equal(graph.ShapeOf(a[i].DType(), b[i].Dims()...)):
			return fmt.Sprintf("leaf %s is %s in one and %s in the other", at.Path(i), a[i].Shape(), b[i].Shape())
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("they have %d and %d leaves", len(a), len(b))
	}
	return ""
}

// zip maps f over the leaves of trees with the same leaves, into the structure of the first. Leaves of the first that
// are not floats do not change.
func zip(op string, f func(x []*graph.Array) *graph.Array, trees ...any) any {
	first, tree := graph.Flatten(trees[0])
	columns := make([][]*graph.Array, len(trees))
	columns[0] = first
	for i, t := range trees[1:] {
		leaves, other := graph.Flatten(t)
		if d := differ(first, tree, leaves, other); d != "" {
			graph.Throw(op, "the trees of gradients, parameters and state differ: %s; pass the state that Init made "+
				"for these parameters", d)
		}
		columns[i+1] = leaves
	}
	out := make([]*graph.Array, len(first))
	for i, a := range first {
		if !isFloat(a) {
			out[i] = a
			continue
		}
		row := make([]*graph.Array, len(columns))
		for j, c := range columns {
			row[j] = c[i]
		}
		out[i] = f(row)
	}
	return tree.Unflatten(out)
}

// zeros is a tree of zeros like the given one of parameters; float leaves are in dtype d where it is not 0. Updates
// leave whole numbers as they are, so it refuses parameters without any float.
func zeros(tree any, d graph.DType) any {
	leaves := graph.Leaves(tree)
	if len(leaves) > 0 && !slices.ContainsFunc(leaves, isFloat) {
		graph.Throw("optim", "got parameters of which none is a float, the first is %s: an update would change "+
			"nothing; convert them", leaves[0].Shape())
	}
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		if d != 0 && isFloat(a) {
			return graph.Zeros(graph.ShapeOf(d, a.Dims()...))
		}
		return graph.ZerosLike(a)
	}, tree)
}

func isFloat(a *graph.Array) bool { return a.DType().IsFloat() }

// cast converts a to b's dtype, so that state and parameters keep their dtypes.
func cast(a, b *graph.Array) *graph.Array { return a.Convert(b.DType()) }

// wide is the dtype to count and accumulate in for leaf a.
func wide(a *graph.Array) graph.DType {
	if a.DType() == graph.Float64 {
		return graph.Float64
	}
	return graph.Float32
}

// widest is the dtype of what an optimizer computes for all leaves together: float64 if one of them is, else float32.
func widest(params any) graph.DType {
	d := graph.Float32
	for _, p := range graph.Leaves(params) {
		if p.DType() == graph.Float64 {
			d = graph.Float64
		}
	}
	return d
}

// increment adds one to a count and stops at the largest int32.
func increment(count *graph.Array) *graph.Array {
	const most = 1<<31 - 1
	return graph.Select(count.Lt(most), count.Add(1), count)
}

// zeroCount is the count before the first step.
func zeroCount() *graph.Array { return graph.Scalar(0, graph.Int32) }
