package optim

import (
	"math"

	"xlarun/graph"
)

// MuonState is the state of ScaleByMuon.
type MuonState struct {
	Count *graph.Array // int32 scalar: steps taken
	Mu    any          // average of the gradients, like the parameters
}

type scaleByMuon struct{ c config }

// ScaleByMuon replaces the average of a matrix's gradients, with Nesterov momentum, by a nearly orthogonal matrix with
// the same singular vectors. It uses five Newton-Schulz steps (Jordan et al., "Muon: an optimizer for hidden layers in
// neural networks", 2024). All leaves must be matrices; see Masked. Its state is a MuonState. Options: Momentum (the
// average's decay rate, default 0.95), Eps, MomentDType.
func ScaleByMuon(opts ...Option) Transform {
	c := configure("ScaleByMuon", config{momentum: .95, eps: 1e-8}, opts, "Momentum", "Eps", "MomentDType")
	return scaleByMuon{c}
}

// Muon is ScaleByMuon for matrices [in, out], times sqrt(max(1, out/in)) and the learning rate, with decoupled weight
// decay; all other parameters use AdamW with Nesterov momentum. Embeddings and the output layer are matrices too; use
// Masked to optimize them with Adam. Options: Momentum, Eps, MomentDType, WeightDecay (of matrices, default 0),
// DecayMask, and B1, B2, EpsRoot for AdamW.
func Muon(learningRate any, opts ...Option) Transform {
	defaults := config{b1: .9, b2: .999, eps: 1e-8, epsRoot: 0., momentum: .95, weightDecay: 0.}
	c := configure("Muon", defaults, opts, "Momentum", "Eps", "MomentDType", "WeightDecay", "DecayMask", "B1",
		"B2", "EpsRoot")
	adam := c
	adam.nesterov = true
	matrix := func(_ string, p *graph.Array) bool { return p.Rank() == 2 && isFloat(p) }
	other := func(path string, p *graph.Array) bool { return !matrix(path, p) }
	shape := Stateless(func(g, _ *graph.Array) *graph.Array {
		return graph.Mul(math.Sqrt(max(1, float64(g.Dim(1))/float64(max(g.Dim(0), 1)))), g)
	})
	return Chain(
		Masked(Chain(scaleByMuon{c}, shape, AddDecayedWeights(c.weightDecay, c.mask),
			ScaleByLearningRate(learningRate)), matrix),
		Masked(Chain(scaleByAdam(adam), ScaleByLearningRate(learningRate)), other),
	)
}

func (m scaleByMuon) Init(params any) State {
	return MuonState{zeroCount(), zeros(params, m.c.momentDType)}
}

func (m scaleByMuon) Update(grads any, state State, _ any) (any, State) {
	const op = "optim.Muon"
	s := stateOf[MuonState](op, state)
	beta, count := m.c.momentum, increment(s.Count)
	mu := zip(op, func(x []*graph.Array) *graph.Array { return moment(x[0], x[1], beta) }, grads, s.Mu)
	updates := zip(op, func(x []*graph.Array) *graph.Array {
		if x[0].Rank() != 2 {
			graph.Throw(op, "got a gradient %s, want matrices: choose them with Masked", x[0].Shape())
		}
		ahead, g := debias(x[1], beta, increment(count)), debias(x[0], beta, count)
		return newtonSchulz(graph.Mul(like(beta, ahead), ahead).Add(graph.Mul(like(sub(1., beta), g), g)), m.c.eps)
	}, grads, mu)
	return updates, MuonState{count, keep(op, mu, s.Mu)}
}

// newtonSchulz moves the singular values of a matrix near 1, by five steps of an odd polynomial of degree 5. Its
// coefficients maximize the slope at 0 (Jordan et al.).
func newtonSchulz(x *graph.Array, eps any) *graph.Array {
	tall := x.Dim(0) > x.Dim(1)
	if tall {
		x = graph.MatrixTranspose(x)
	}
	norm := x.Square().Sum().Sqrt()
	x = x.Div(norm.Add(like(eps, norm)))
	for range 5 {
		gram := x.Dot(graph.MatrixTranspose(x))
		p := graph.Mul(-4.7750, gram).Add(graph.Mul(2.0315, gram.Dot(gram)))
		x = graph.Mul(3.4445, x).Add(p.Dot(x))
	}
	if tall {
		x = graph.MatrixTranspose(x)
	}
	return x
}
