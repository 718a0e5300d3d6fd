package optim

import (
	"slices"

	"xlarun/graph"
)

// FlattenedState is the state of Flattened.
type FlattenedState struct{ Inner State }

type flattened struct{ inner Transform }

// Flattened concatenates all leaves that are floats to one vector (Joined) and applies a transform to it, as
// optax.flatten does. This saves operations if there are many small leaves. It is for transforms that are elementwise
// or use only global norms (Adam, ClipByGlobalNorm), not for transforms of single leaves (Muon, masks).
func Flattened(inner Transform) Transform {
	wantTransform("Flattened", inner)
	return flattened{inner}
}

// Joined concatenates all leaves of a tree, [numbers]: in their dtype, or if the dtypes differ in float32, in float64
// if one of them is.
func Joined(tree any) *graph.Array {
	leaves := graph.Leaves(tree)
	if len(leaves) == 0 {
		return graph.Zeros(graph.ShapeOf(graph.Float32, 0))
	}
	d := leaves[0].DType()
	for _, a := range leaves[1:] {
		if a.DType() != d {
			d = widest(tree)
		}
	}
	flat := make([]*graph.Array, len(leaves))
	for i, a := range leaves {
		flat[i] = graph.Flatten1D(a).Convert(d)
	}
	return graph.Concatenate(0, flat...)
}

// floats is the leaves of a tree that are floats.
func floats(tree any) []*graph.Array {
	return slices.DeleteFunc(graph.Leaves(tree), func(a *graph.Array) bool { return !isFloat(a) })
}

func (f flattened) Init(params any) State {
	some := floats(params)
	if all := graph.Leaves(params); len(some) == 0 && len(all) > 0 {
		some = all[:1] // which the inner transform refuses
	}
	return FlattenedState{f.inner.Init(Joined(some))}
}

func (f flattened) Update(grads any, state State, params any) (any, State) {
	s := stateOf[FlattenedState]("optim.Flattened", state)
	var whole any
	if params != nil {
		whole = Joined(floats(params))
	}
	u, inner := f.inner.Update(Joined(floats(grads)), s.Inner, whole)
	all := u.(*graph.Array)
	leaves, tree := graph.Flatten(grads)
	at := 0
	for i, g := range leaves {
		if !isFloat(g) {
			continue
		}
		part := graph.SliceAxis(all, 0, at, at+g.Size())
		leaves[i] = part.Reshape(g.Dims()...).Convert(g.DType())
		at += g.Size()
	}
	return tree.Unflatten(leaves), FlattenedState{inner}
}
