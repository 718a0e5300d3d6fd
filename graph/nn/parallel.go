package nn

import "xlarun/graph"

// Parallel is Apply by graph.AssociativeScan: it combines steps in pairs instead of one after the other. It is for long
// sequences on accelerators, where launching a step costs more than its arithmetic. Sums round in another order.
func (l LI) Parallel(v, x *graph.Array) (last, all *graph.Array) {
	const op = "nn.LI"
	wantTime(op, x)
	if x.Dim(0) == 0 {
		return l.Apply(v, x)
	}
	wantState(op, "state v", v, x.Index(0))
	all = graph.AssociativeScan(leak.then, leak{Keep: decayed(l.Beta).BroadcastTo(x.Dims()...), Add: x}).apply(v)
	return all.Index(x.Dim(0) - 1), all
}

// Parallel is Apply by graph.AssociativeScan, for layers without feedback. Sums round in another order, so that a spike
// can differ if a potential is within rounding error of the threshold.
//
// For given spikes the potentials are a linear recurrence, and the potentials determine the spikes. Parallel starts
// from no spikes and alternates the two until the spikes no longer change. A potential depends only on earlier spikes,
// so each iteration corrects at least one more spike of each unit. There are at most n+1 iterations, where n is the
// largest number of spikes of one unit. The derivative equals the derivative of Apply, with surrogates, and is one
// linear recurrence.
//
// It is for sequences with few spikes on accelerators. On one CPU core Apply is faster: for 64 units and 1,000 steps
// Parallel took as long without spikes, 3 times as long with 4 spikes a unit, 20 times as long with 70.
func (l LIF) Parallel(v, x *graph.Array) (last, spikes *graph.Array) {
	const op = "nn.LIF"
	wantTime(op, x)
	if l.Wh != nil {
		graph.Throw(op, "got feedback weights %s in Parallel, want none: feedback is not linear, use Apply",
			l.Wh.Shape())
	}
	if x.Dim(0) == 0 {
		return l.Apply(v, x)
	}
	wantState(op, "state v", v, x.Index(0))
	train := graph.CustomJvp(lifSequence.solve, func(s, t lifSequence) (lifTrain, lifTrain) {
		r := s.solve()
		return r, s.tangent(r, t, l.Surrogate)
	})(lifSequence{Beta: decayed(l.Beta).BroadcastTo(x.Dims()...), Threshold: l.Threshold.BroadcastTo(x.Dims()...),
		V: v, X: x})
	return train.Potentials.Index(x.Dim(0)), train.Spikes
}

// lifSequence is the inputs of a LIF along time.
type lifSequence struct {
	Beta, Threshold *graph.Array // [steps, units]
	V               *graph.Array // [units]
	X               *graph.Array // [steps, units]
}

// lifTrain is the potentials and spikes of a LIF along time.
type lifTrain struct {
	Potentials *graph.Array // [steps+1, units]: before each step, and after the last
	Spikes     *graph.Array // [steps, units]
}

// recurrence solves h' = keep*h + add from start: [steps+1, units], start included.
func recurrence(keep, add, start *graph.Array) *graph.Array {
	return graph.Concatenate(0, start.ExpandDims(0), graph.AssociativeScan(leak.then,
		leak{Keep: keep, Add: add}).apply(start))
}

// previousPotentials is the potentials before each step: all except the last.
func (r lifTrain) previousPotentials() *graph.Array {
	return graph.SliceAxis(r.Potentials, 0, 0, r.Spikes.Dim(0))
}

// solve finds the fixed point: spikes whose potentials produce the same spikes.
func (s lifSequence) solve() lifTrain {
	fromSpikes := func(spikes *graph.Array) lifTrain {
		return lifTrain{Spikes: spikes, Potentials: recurrence(s.Beta, s.X.Sub(spikes.Mul(s.Threshold)), s.V)}
	}
	type carry struct {
		Train   lifTrain
		Changed *graph.Array // bool[]: whether the last iteration changed the spikes
	}
	end := graph.While(func(c carry) *graph.Array { return c.Changed }, func(c carry) carry {
		spikes := Surrogate{}.Spike(c.Train.previousPotentials().Sub(s.Threshold))
		return carry{fromSpikes(spikes), spikes.Ne(c.Train.Spikes).Any()}
	}, carry{fromSpikes(graph.ZerosLike(s.X)), graph.Of(true)})
	return end.Train
}

// tangent is the derivative of r along t. With the surrogate derivative g of the spikes,
//
//	ds = g*(dv - dThreshold)
//	dv' = (Beta - Threshold*g)*dv + dBeta*v + dx + (Threshold*g - s)*dThreshold
func (s lifSequence) tangent(r lifTrain, t lifSequence, surrogate Surrogate) lifTrain {
	g := surrogate.derivative()(r.previousPotentials().Sub(s.Threshold))
	reset := s.Threshold.Mul(g)
	add := t.Beta.Mul(r.previousPotentials()).Add(t.X).Add(reset.Sub(r.Spikes).Mul(t.Threshold))
	d := lifTrain{Spikes: r.Spikes, Potentials: recurrence(s.Beta.Sub(reset), add, t.V)}
	d.Spikes = g.Mul(d.previousPotentials().Sub(t.Threshold))
	return d
}
