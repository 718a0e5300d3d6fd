package nn

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// MultiHeadAttention is attention with several heads (Vaswani et al., "Attention is all you need", 2017, section 3.2).
type MultiHeadAttention struct {
	Query, Key, Value Dense // [width, width]: heads side by side
	Out               Dense // [width, width]
	Heads             int
	Causal            bool // Apply lets a position see itself and earlier positions only
}

// NewMultiHeadAttention makes an attention over features of the given width, a multiple of heads. Options: Causal,
// Weights, Bias, NoBias, Precision. Query, Key, Value and Out are drawn from random.SplitN(key, 4).
func NewMultiHeadAttention(key random.Key, heads, width int, opts ...Option) MultiHeadAttention {
	const op = "nn.NewMultiHeadAttention"
	c := readOptions(op, opts, "Causal", "Weights", "Bias", "NoBias", "Precision")
	if heads < 1 || width < 1 || width%heads != 0 {
		graph.Throw(op, "got %d heads and a width of %d, want heads of equal size", heads, width)
	}
	var dense []Option
	for _, o := range opts {
		if o.name != "Causal" {
			dense = append(dense, o)
		}
	}
	k := random.SplitN(key, 4)
	layer := func(i int) Dense { return NewDense(k[i], width, width, dense...) }
	return MultiHeadAttention{Query: layer(0), Key: layer(1), Value: layer(2), Out: layer(3), Heads: heads,
		Causal: c.causal}
}

// Apply is self-attention: x [positions, width] gives [positions, width].
func (m MultiHeadAttention) Apply(x *graph.Array) *graph.Array {
	var mask *graph.Array
	if m.Causal {
		wantMatrix("nn.MultiHeadAttention", "x", x)
		mask = CausalMask(x.Dim(0))
	}
	return m.Attend(x, x, mask)
}

// Attend is cross-attention from q [queries, width] to kv [positions, width]: [queries, width]. mask is a bool array
// that broadcasts to [heads, queries, positions]: whether a query sees a position. nil: all queries see all positions.
func (m MultiHeadAttention) Attend(q, kv, mask *graph.Array) *graph.Array {
	const op = "nn.MultiHeadAttention"
	wantMatrix(op, "q", q)
	wantMatrix(op, "kv", kv)
	heads := func(x *graph.Array) *graph.Array {
		if m.Heads < 1 || x.Dim(-1)%m.Heads != 0 {
			graph.Throw(op, "Heads is %d, want a number that divides %d features", m.Heads, x.Dim(-1))
		}
		return x.Reshape(x.Dim(0), m.Heads, x.Dim(-1)/m.Heads)
	}
	y := DotProductAttention(heads(m.Query.Apply(q)), heads(m.Key.Apply(kv)), heads(m.Value.Apply(kv)), mask)
	return m.Out.Apply(y.Reshape(y.Dim(0), y.Dim(1)*y.Dim(2)))
}

func wantMatrix(op, name string, x *graph.Array) {
	if x == nil || x.Rank() != 2 {
		graph.Throw(op, "%s is %v, want [positions, width]: graph.VMap adds a batch axis", name, x)
	}
}

// CausalMask lets position i of n see the positions 0 to i: bool [n, n].
func CausalMask(n int) *graph.Array {
	s := graph.ShapeOf(graph.Int32, n, n)
	return graph.IotaAxis(s, 0).Ge(graph.IotaAxis(s, 1))
}

// DotProductAttention gives softmax(q·k / sqrt(depth))·v for each head: q [queries, heads, depth], k [positions, heads,
// depth] and v [positions, heads, n] give [queries, heads, n]. mask is a bool array that broadcasts to [heads, queries,
// positions], or nil. A query that sees no position takes the mean of all. The softmax is in float32 or float64.
func DotProductAttention(q, k, v, mask *graph.Array) *graph.Array {
	const op = "nn.DotProductAttention"
	if q.Rank() != 3 || k.Rank() != 3 || v.Rank() != 3 || q.Dim(1) != k.Dim(1) || k.Dim(1) != v.Dim(1) ||
		q.Dim(2) != k.Dim(2) || k.Dim(0) != v.Dim(0) {
		graph.Throw(op, "q, k, v are %s, %s, %s; want [queries, heads, depth], [positions, heads, depth], "+
			"[positions, heads, n]", q.Shape(), k.Shape(), v.Shape())
	}
	scores := atLeastFloat32(graph.Einsum("qhd,khd->hqk", q.Div(math.Sqrt(float64(q.Dim(2)))), k))
	if mask != nil {
		// The lowest finite number: with -Inf a query that sees no position would be 0/0.
		scores = graph.Select(mask.BroadcastTo(scores.Dims()...), scores, -math.MaxFloat32)
	}
	weights := graph.Softmax(scores, -1).Convert(v.DType())
	return graph.Einsum("hqk,khd->qhd", weights, v)
}
