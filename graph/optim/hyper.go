package optim

import "xlarun/graph"

// HyperState is the state of InjectHyperparams.
type HyperState[H any] struct {
	Hyper H // any tree of scalar arrays, which can change between steps
	Inner State
}

type inject[H any] struct {
	hyper H
	build func(H) Transform
}

// InjectHyperparams keeps hyper-parameters (a tree of scalar arrays) in the state, so that they can change between
// steps without a new compilation. build makes the optimizer for given hyper-parameters.
//
//	type hyper struct{ Rate, Decay *graph.Array }
//	opt := optim.InjectHyperparams(hyper{graph.Scalar(1e-3), graph.Scalar(1e-4)}, func(h hyper) optim.Transform {
//		return optim.AdamW(h.Rate, optim.WeightDecay(h.Decay))
//	})
//
// Its state is a HyperState[H]; Hyper and SetHyper read and change it.
func InjectHyperparams[H any](hyper H, build func(H) Transform) Transform {
	if build == nil {
		graph.Throw("optim.InjectHyperparams", "got a nil function")
	}
	return inject[H]{hyper, build}
}

func (i inject[H]) Init(params any) State {
	if len(graph.Leaves(i.hyper)) == 0 {
		graph.Throw("optim.InjectHyperparams", "%T holds no arrays: numbers are part of the program, give them as "+
			"graph.Scalar", i.hyper)
	}
	inner := i.build(i.hyper)
	wantTransform("InjectHyperparams", inner)
	return HyperState[H]{i.hyper, inner.Init(params)}
}

func (i inject[H]) Update(grads any, state State, params any) (any, State) {
	s := stateOf[HyperState[H]]("optim.InjectHyperparams", state)
	updates, inner := i.build(s.Hyper).Update(grads, s.Inner, params)
	return updates, HyperState[H]{s.Hyper, inner}
}

// Hyper reads the hyper-parameters from the state of InjectHyperparams.
func Hyper[H any](state State) H { return stateOf[HyperState[H]]("optim.Hyper", state).Hyper }

// SetHyper is the state of InjectHyperparams with other hyper-parameters.
func SetHyper[H any](state State, hyper H) State {
	s := stateOf[HyperState[H]]("optim.SetHyper", state)
	return HyperState[H]{hyper, s.Inner}
}
