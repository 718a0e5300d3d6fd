package optim

import (
	"math"

	"xlarun/graph"
)

// PlateauState is the state of ReduceOnPlateau.
type PlateauState struct {
	Loss     *graph.Array // float32 scalar: the loss of the step to come, which SetLoss writes
	Best     *graph.Array // float32 scalar: the smallest loss so far
	Waiting  *graph.Array // int32 scalar: steps since it was reached
	Scale    *graph.Array // float32 scalar: the factor of the updates
	Cooldown *graph.Array // int32 scalar: steps for which Waiting still stands still
}

// Plateau says when ReduceOnPlateau reduces; the zero value of a field is its default.
type Plateau struct {
	Factor   float64 // of the scale at a reduction, between 0 and 1, default 0.1
	Patience int     // steps without a smaller loss before a reduction, default 10
	Relative float64 // a loss is smaller if it is below (1 - Relative) times the best one, default 1e-4
	Cooldown int     // steps after a reduction that do not count, default 0
	Least    float64 // of the scale, default 0
}

type reduceOnPlateau struct{ p Plateau }

// ReduceOnPlateau multiplies updates by a scale, at first 1, which it reduces when the loss has stopped falling. It
// stands after an optimizer in a Chain. SetLoss gives it the loss before each step; steps without it, or with NaN,
// do not count. Its state is a PlateauState. See also torch.optim.lr_scheduler.ReduceLROnPlateau.
func ReduceOnPlateau(p Plateau) Transform {
	if p.Factor == 0 {
		p.Factor = .1
	}
	if p.Patience == 0 {
		p.Patience = 10
	}
	if p.Relative == 0 {
		p.Relative = 1e-4
	}
	if !(p.Factor > 0 && p.Factor < 1) || p.Patience < 1 || p.Patience > math.MaxInt32 || !(p.Relative > 0 &&
		p.Relative <= 1) || p.Cooldown < 0 || p.Cooldown > math.MaxInt32 || !(p.Least >= 0) {
		refuse("ReduceOnPlateau: got %+v, want a factor between 0 and 1, a patience of at least 1, a relative "+
			"difference up to 1, a cooldown of at least 0 and a least scale of at least 0", p)
	}
	return reduceOnPlateau{p}
}

// SetLoss is a state with the loss of the step to come: of ReduceOnPlateau, or of a Chain that holds one.
func SetLoss(state State, loss *graph.Array) State {
	const op = "optim.SetLoss"
	if loss == nil || loss.Rank() != 0 {
		graph.Throw(op, "got the loss %v, want a scalar", loss)
	}
	next, found := setLoss(state, loss.Convert(graph.Float32))
	if !found {
		graph.Throw(op, "got a state of type %T, want that of ReduceOnPlateau, or of a Chain with it", state)
	}
	return next
}

func setLoss(state State, loss *graph.Array) (next State, found bool) {
	switch s := state.(type) {
	case PlateauState:
		s.Loss = loss
		return s, true
	case []State:
		out := make([]State, len(s))
		for i, inner := range s {
			var here bool
			out[i], here = setLoss(inner, loss)
			found = found || here
		}
		return out, found
	}
	return state, false
}

func (r reduceOnPlateau) Init(any) State {
	return PlateauState{graph.Scalar(math.NaN()), graph.Scalar(math.Inf(1)), zeroCount(), graph.Scalar(1), zeroCount()}
}

func (r reduceOnPlateau) Update(grads any, state State, _ any) (any, State) {
	const op = "optim.ReduceOnPlateau"
	s := stateOf[PlateauState](op, state)
	better := s.Loss.Lt(graph.Mul(1-r.p.Relative, s.Best))
	waiting := graph.Select(better, 0, graph.Select(s.Loss.IsNaN(), s.Waiting, increment(s.Waiting)))
	cooling := s.Cooldown.Gt(0)
	reduce := waiting.Ge(r.p.Patience).And(cooling.Not())
	scale := graph.Select(reduce, s.Scale.Mul(r.p.Factor), s.Scale)
	scale = graph.Select(cooling, s.Scale, scale.Max(r.p.Least))
	next := PlateauState{Loss: s.Loss, Best: graph.Select(better, s.Loss, s.Best), Scale: scale,
		Waiting:  graph.Select(cooling.Or(reduce), 0, waiting),
		Cooldown: graph.Select(cooling, s.Cooldown.Sub(1), graph.Select(reduce, int32(r.p.Cooldown), 0))}
	return zip(op, func(x []*graph.Array) *graph.Array { return graph.Mul(like(scale, x[0]), x[0]) }, grads), next
}
