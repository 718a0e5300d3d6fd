package policy

import (
	"golang.org/x/sys/cpu"

	"xlarun/graph"
	"xlarun/graph/nn"
)

// Factors are one member's change of low rank to a matrix W, f32[in, out], that many members share: the member's matrix
// is W + Scale·Aᵀ·B. Without factors it is W.
type Factors struct {
	A     *graph.Array `tree:"optional"` // f32[rank, in]
	B     *graph.Array `tree:"optional"` // f32[rank, out]
	Scale *graph.Array `tree:"optional"` // f32[]
}

// Shared is a member whose matrices differ from other members' by a change of low rank. A strategy makes it
// (strategy.Traits.Shared), and a policy takes it (Form.Shared). Under VMap the matrices are not mapped, so that one
// matrix product serves all members.
type Shared struct {
	// Params is a tree as Init returns it. Leaves with factors are the shared matrices, others are the member's own.
	Params  any
	Factors []Factors // of each leaf of Params, in order
}

// Weight is a matrix that a policy multiplies vectors by.
type Weight struct {
	W      *graph.Array // f32[in, out]; f32[out, in] if Turned
	Own    Factors      // not transposed
	Turned bool         // W is transposed
}

// Times returns x·W, f32[out], for x, f32[in]. With a matrix of half precision, x and the product have its dtype.
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

// split separates n matrices that lie side by side.
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

// Layer is a dense layer.
type Layer struct {
	W Weight
	B *graph.Array // f32[out]
}

// Apply returns x·W + B.
func (l Layer) Apply(x *graph.Array) *graph.Array { return l.W.Times(x).Add(l.B) }

// laying lays out one member's parameters. shared has the factors of matrices that members share; it is nil for a
// member with matrices of its own.
type laying struct{ shared map[*graph.Array]Factors }

// layingOf returns the laying of a shared member.
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

// ordered returns a matrix with its inputs in another order. order permutes the rows of [in, columns].
func (l laying) ordered(w *graph.Array, order func(rows *graph.Array) *graph.Array) *graph.Array {
	to := order(w)
	if change := l.shared[w]; change.A != nil {
		change.A = order(change.A.Transpose(1, 0)).Transpose(1, 0)
		l.shared[to] = change
	}
	return to
}

// weight returns a matrix to multiply by, with pad[0] rows and pad[1] columns of zeros appended.
func (l laying) weight(w *graph.Array, pad ...int) Weight {
	change := l.shared[w]
	if len(pad) > 0 {
		w = padded(w, pad...)
	}
	return Weight{W: w, Own: change}
}

// register is how many float32 numbers fit into a vector register of this machine. The rest of a row is multiplied one
// number at a time: without padding, mlp:60,60 takes twice the time of mlp:64,64. Needless padding costs as much as it
// adds: rows of 40 numbers that were padded to 48 took 1.4 times as long.
var register = func() int {
	if cpu.X86.HasAVX512F {
		return 16
	}
	return 8
}()

// fill returns the number of units that pad a layer to whole vector registers (see register). Shared matrices are not
// padded, because they are multiplied by many vectors at once.
func (l laying) fill(units int) int {
	if l.shared != nil {
		return 0
	}
	return (register - units%register) % register
}

// last returns the layer to the outputs, transposed if it is narrow, with more inputs whose weights are zero.
func (l laying) last(d nn.Dense, pad int) Layer {
	w := l.weight(d.W, pad, 0)
	if d.W.Dim(1) < fewOutputs && l.shared == nil {
		w.W, w.Turned = w.W.Transpose(1, 0), true
	}
	return Layer{w, d.B}
}

// layer returns a dense layer as it is.
func (l laying) layer(d nn.Dense) Layer { return Layer{l.weight(d.W), d.B} }
