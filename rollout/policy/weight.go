package policy

import (
	"golang.org/x/sys/cpu"

	"xlarun/graph"
	"xlarun/graph/nn"
)

// Factors are what a member has of its own of a matrix W, f32[in, out], that many members share: the member's matrix is
// W + Scale·Aᵀ·B. None of the three: the matrix is W.
type Factors struct {
	A     *graph.Array `tree:"optional"` // f32[rank, in]
	B     *graph.Array `tree:"optional"` // f32[rank, out]
	Scale *graph.Array `tree:"optional"` // f32[]
}

// Shared is a member that has its matrices in common with others up to a change of low rank: what a strategy.Sharing
// makes in the place of its parameters, and a Sharer acts by. Under VMap the matrices are not mapped, so that one
// product of all members' vectors with a matrix serves them all.
type Shared struct {
	// Params is a tree as Init makes it. Its leaves with factors are the shared matrices, others are the member's own.
	Params  any
	Factors []Factors // of each leaf of Params, in order
}

// Sharer is a Preparer for members whose matrices are shared, too.
type Sharer interface {
	Preparer
	// PrepareShared is Prepare for such a member, without forming its matrices. What it copies of the shared ones is
	// copied in each generation.
	PrepareShared(s Shared) any
}

// Weight is a matrix that a policy multiplies vectors by.
type Weight struct {
	W      *graph.Array // f32[in, out]; turned f32[out, in]
	Own    Factors      // in and out as if it were not turned
	Turned bool         // the matrix is read along its inputs
}

// Times is x, f32[in], times the matrix: f32[out]. A matrix of half precision takes x and gives the product in its own
// dtype.
func (w Weight) Times(x *graph.Array) *graph.Array {
	x = fitting(x, w.W)
	y := graph.Dot
	if w.Turned {
		y = func(x, w *graph.Array) *graph.Array { return w.Dot(x) }
	}
	if w.Own.A == nil {
		return y(x, w.W)
	}
	return graph.AddLowRank(y(x, w.W), x, w.Own.A, w.Own.B, w.Own.Scale)
}

// split takes n matrices apart that lie side by side.
func (w Weight) split(n int) []Weight {
	parts := make([]Weight, n)
	for i, part := range graph.Split(w.W, n, 1) {
		parts[i] = Weight{W: part, Own: w.Own}
	}
	if w.Own.B != nil {
		for i, part := range graph.Split(w.Own.B, n, 1) {
			parts[i].Own.B = part
		}
	}
	return parts
}

// Layer is a Weight and what is added behind it.
type Layer struct {
	W Weight
	B *graph.Array // f32[out]
}

// Apply is x·W + B.
func (l Layer) Apply(x *graph.Array) *graph.Array { return l.W.Times(x).Add(l.B) }

// laying is how a policy lays out one member's parameters: the matrices by themselves, or those that are shared.
type laying struct{ shared map[*graph.Array]Factors } // nil: by themselves

// layingOf is the laying of a shared member.
func layingOf(s Shared) laying {
	l := laying{map[*graph.Array]Factors{}}
	leaves := graph.Leaves(s.Params)
	if len(leaves) != len(s.Factors) {
		graph.Throw("policy.Shared", "got factors of %d leaves for parameters of %d, want those of each leaf",
			len(s.Factors), len(leaves))
	}
	for i, leaf := range leaves {
		l.shared[leaf] = s.Factors[i]
	}
	return l
}

// ordered is a matrix with its inputs in another order: of the rows of [in, columns].
func (l laying) ordered(w *graph.Array, order func(rows *graph.Array) *graph.Array) *graph.Array {
	to := order(w)
	if own := l.shared[w]; own.A != nil {
		own.A = order(own.A.Transpose(1, 0)).Transpose(1, 0)
		l.shared[to] = own
	}
	return to
}

// weight is a matrix as it is multiplied by. With more it has so many rows and columns of zeros behind its own.
func (l laying) weight(w *graph.Array, more ...int) Weight {
	own := l.shared[w]
	if len(more) > 0 {
		w = padded(w, more...)
	}
	return Weight{W: w, Own: own}
}

// register is a vector register's worth of numbers on this machine. What a row has beyond a whole number of them is
// multiplied one number at a time: without padding, mlp:60,60 takes twice the time of mlp:64,64. More than is needed
// costs as much as it adds: rows of 40 numbers that are made 48 took 1.4 times as long.
var register = func() int {
	if cpu.X86.HasAVX512F {
		return 16
	}
	return 8
}()

// fill is how many units a layer lacks to whole vector registers (see register). Of shared matrices, which are
// multiplied by many vectors at once, none is lacking.
func (l laying) fill(units int) int {
	if l.shared != nil {
		return 0
	}
	return (register - units%register) % register
}

// last is the layer to the outputs, turned where it is narrow; it has more inputs than the parameters by so many that
// are zero.
func (l laying) last(d nn.Dense, more int) Layer {
	w := l.weight(d.W, more, 0)
	if d.W.Dim(1) < fewOutputs && l.shared == nil {
		w.W, w.Turned = w.W.Transpose(1, 0), true
	}
	return Layer{w, d.B}
}

// layer is a dense layer as it is.
func (l laying) layer(d nn.Dense) Layer { return Layer{l.weight(d.W), d.B} }
