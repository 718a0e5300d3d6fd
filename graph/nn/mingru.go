package nn

import (
	"xlarun/graph"
	"xlarun/graph/precision"
	"xlarun/graph/random"
)

// MinGRU is a gated recurrent unit whose gate and candidate do not depend on the state (Feng et al., "Were RNNs all we
// needed?", 2024, section 3.1). The weights of both are side by side:
//
//	z = sigmoid(x·W_z + B_z)
//	h' = (1-z)*h + z*(x·W_h + B_h)
//
// The state is a linear recurrence, so that Apply computes all steps at once.
type MinGRU struct {
	W         *graph.Array // [in, 2*hidden]: z, h
	B         *graph.Array `tree:"optional"` // [2*hidden]: z, h; nil: no bias
	Precision precision.Policy
}

// NewMinGRU makes a unit from in features to hidden ones. Options: Weights, Bias, NoBias, Precision. Its parts are
// drawn from random.SplitN(key, 3): W's two matrices, B.
func NewMinGRU(key random.Key, in, hidden int, opts ...Option) MinGRU {
	const op = "nn.NewMinGRU"
	c := readOptions(op, opts, "Weights", "Bias", "NoBias", "Precision")
	wantSize(op, "in", in)
	wantSize(op, "hidden", hidden)
	k := random.SplitN(key, 3)
	m := MinGRU{W: gates(c.weights, k[:2], c.shape(in, hidden)), Precision: c.precision}
	if !c.noBias {
		m.B = c.bias(k[2], c.shape(2*hidden))
	}
	return m
}

// Hidden is the size of the state.
func (m MinGRU) Hidden() int { return m.W.Dim(1) / 2 }

// Start is the state before the first step: zeros [hidden], in the parameters' type.
func (m MinGRU) Start() *graph.Array { return graph.Zeros(graph.ShapeOf(m.W.DType(), m.Hidden())) }

// leak is a step h' = Keep*h + Add. Where Restart is true, it is h' = Add. Two consecutive steps combine to one (then).
type leak struct {
	Keep, Add *graph.Array
	Restart   *graph.Array `tree:"optional"`
}

func (a leak) then(b leak) leak {
	both := leak{Keep: a.Keep.Mul(b.Keep), Add: b.apply(a.Add)}
	if b.Restart != nil {
		both.Restart = a.Restart.Or(b.Restart)
	}
	return both
}

func (a leak) apply(h *graph.Array) *graph.Array {
	next := a.Keep.Mul(h).Add(a.Add)
	if a.Restart == nil {
		return next
	}
	return graph.Select(a.Restart.ExpandDims(-1), a.Add, next)
}

func (m MinGRU) leak(x *graph.Array) leak {
	parts := graph.Split(affine("nn.MinGRU", m.Precision, x, m.W, m.B), 2, -1)
	z := Sigmoid(parts[0])
	return leak{Keep: Sigmoid(parts[0].Neg()), Add: z.Mul(parts[1])}
}

// Step maps the state h [hidden] and an input x [in] to the next state, which keeps h's type; axes before the last one
// stay.
func (m MinGRU) Step(h, x *graph.Array) *graph.Array {
	wantLast("nn.MinGRU", "state h", h, m.Hidden())
	return m.leak(x).apply(toCompute(m.Precision, h)).Convert(h.DType())
}

// Apply runs along time: from the state h [hidden] and inputs x [steps, in] to the last state and all states [steps,
// hidden]. graph.AssociativeScan combines the steps in pairs. The optional restart, a bool vector [steps], is true in
// the first step of each episode: the state before that step is zero.
func (m MinGRU) Apply(h, x *graph.Array, restart ...*graph.Array) (last, states *graph.Array) {
	const op = "nn.MinGRU"
	wantTime(op, x)
	wantLast(op, "state h", h, m.Hidden())
	steps := m.leak(x)
	switch {
	case len(restart) > 1 || len(restart) == 1 && (restart[0].DType() != graph.Bool || restart[0].Rank() != 1 ||
		restart[0].Dim(0) != x.Dim(0)):
		graph.Throw(op, "got restarts %v for %d steps, want one bool vector [%d]", restart, x.Dim(0), x.Dim(0))
	case len(restart) == 1:
		steps.Restart = restart[0]
	}
	s := graph.AssociativeScan(leak.then, steps).apply(toCompute(m.Precision, h))
	if x.Dim(0) == 0 {
		return h, toOutput(m.Precision, s)
	}
	return s.Index(x.Dim(0) - 1).Convert(h.DType()), toOutput(m.Precision, s)
}
