package optim

import "xlarun/graph"

// FlattenedState is what Flattened keeps.
type FlattenedState struct{ Inner State }

type flattened struct{ inner Transform }

// Flattened applies a transform to all leaves as the one vector that they make end to end, in float32 where they
// differ, as optax.flatten does: for many small leaves a handful of operations in the place of as many for each. It is
// for transforms that treat each number by itself, or all of them alike (Adam, ClipByGlobalNorm), not for those that
// look at single leaves (Muon, masks).
func Flattened(inner Transform) Transform { return flattened{inner} }

// Joined is all leaves of a tree end to end, [numbers]: in their dtype, or in float32 where they differ.
func Joined(tree any) *graph.Array {
	leaves := graph.Leaves(tree)
	if len(leaves) == 0 {
		return graph.Zeros(graph.ShapeOf(graph.Float32, 0))
	}
	d := leaves[0].DType()
	for _, a := range leaves[1:] {
		if a.DType() != d {
			d = graph.Float32
		}
	}
	flat := make([]*graph.Array, len(leaves))
	for i, a := range leaves {
		flat[i] = graph.Flatten1D(a).Convert(d)
	}
	return graph.Concatenate(0, flat...)
}

func (f flattened) Init(params any) State { return FlattenedState{f.inner.Init(Joined(params))} }

func (f flattened) Update(grads any, state State, params any) (any, State) {
	s := stateOf[FlattenedState]("optim.Flattened", state)
	var whole any
	if params != nil {
		whole = Joined(params)
	}
	u, inner := f.inner.Update(Joined(grads), s.Inner, whole)
	all := u.(*graph.Array)
	leaves, tree := graph.Flatten(grads)
	at := 0
	for i, g := range leaves {
		part := graph.SliceAxis(all, 0, at, at+g.Size())
		leaves[i] = part.Reshape(g.Dims()...).Convert(g.DType())
		at += g.Size()
	}
	return tree.Unflatten(leaves), FlattenedState{inner}
}
