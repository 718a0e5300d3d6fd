package optim

import "xlarun/graph"

// Mask selects leaves of a tree by their path (graph.Tree.Path: ".Hidden.W", "[2]") and the parameter.
type Mask func(path string, param *graph.Array) bool

// MatricesOnly is the usual mask of weight decay: parameters with at least two axes, not biases and scales.
func MatricesOnly(_ string, param *graph.Array) bool { return param.Rank() >= 2 }

// AddDecayedWeights adds decay times the parameters to the updates, for the leaves in the mask (nil: all).
func AddDecayedWeights(decay any, mask Mask) Transform {
	d := number("AddDecayedWeights", decay)
	t := Stateless(func(g, p *graph.Array) *graph.Array { return g.Add(graph.Mul(like(d, p), p)) })
	if mask == nil {
		return t
	}
	return Masked(t, mask)
}

// MaskedState is the inner transform's state for a map from path to leaf of the masked leaves.
type MaskedState struct {
	Inner State
}

type masked struct {
	inner Transform
	mask  Mask
}

// Masked applies a transform to the leaves in the mask; other updates pass through. A Chain of masked transforms gives
// each part of a model its own optimizer. Masked(Scale(0), mask) freezes leaves.
func Masked(inner Transform, mask Mask) Transform {
	if wantTransform("Masked", inner); mask == nil {
		graph.Throw("optim.Masked", "got a nil mask")
	}
	return masked{inner, mask}
}

// maskedLeaves gives the leaves of tree that the mask chooses by params, under their paths in params.
func (m masked) maskedLeaves(tree, params any) map[string]*graph.Array {
	checkSame("optim.Masked", "the gradients", tree, "the parameters", params)
	leaves := graph.Leaves(tree)
	ps, t := graph.Flatten(params)
	out := map[string]*graph.Array{}
	for i, p := range ps {
		if m.mask(t.Path(i), p) {
			out[t.Path(i)] = leaves[i]
		}
	}
	return out
}

func (m masked) Init(params any) State {
	return MaskedState{m.inner.Init(m.maskedLeaves(params, params))}
}

func (m masked) Update(grads any, state State, params any) (any, State) {
	s := stateOf[MaskedState]("optim.Masked", state)
	u, inner := m.inner.Update(m.maskedLeaves(grads, params), s.Inner, m.maskedLeaves(params, params))
	updates := u.(map[string]*graph.Array)
	leaves, tree := graph.Flatten(grads)
	out := make([]*graph.Array, len(leaves))
	for i, g := range leaves {
		out[i] = g
		if u, ok := updates[tree.Path(i)]; ok {
			out[i] = u
		}
	}
	return tree.Unflatten(out), MaskedState{inner}
}
