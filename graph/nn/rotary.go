package nn

import (
	"math"

	"xlarun/graph"
)

// Rotary turns pairs of features by angles in proportion to the position, so that products of queries and keys
// depend on their distance (Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021): x
// [positions, heads, depth] at the given positions, integers [positions]. Feature i is paired with feature i +
// depth/2 and turns by position * base^(-2i/depth); base is usually 10,000.
func Rotary(x, positions *graph.Array, base float64) *graph.Array {
	const op = "nn.Rotary"
	if x.Rank() != 3 || x.Dim(2)%2 != 0 || positions.Rank() != 1 || positions.Dim(0) != x.Dim(0) {
		graph.Throw(op, "got x %s and positions %s, want [positions, heads, depth] with an even depth, and [positions]",
			x.Shape(), positions.Shape())
	}
	half := x.Dim(2) / 2
	frequency := make([]float32, half)
	for i := range frequency {
		frequency[i] = float32(math.Pow(base, -float64(i)/float64(half)))
	}
	angle := positions.Convert(graph.Float32).ExpandDims(-1).Mul(graph.Float32s(frequency)).ExpandDims(1)
	cos, sin := angle.Cos(), angle.Sin()
	a := atLeastFloat32(x)
	p, q := graph.SliceAxis(a, 2, 0, half), graph.SliceAxis(a, 2, half, 2*half)
	return graph.Concatenate(2, p.Mul(cos).Sub(q.Mul(sin)), q.Mul(cos).Add(p.Mul(sin))).Convert(x.DType())
}

// AttentionCache is what a causal attention remembers of the last steps.
type AttentionCache struct {
	Keys   *graph.Array // [capacity, heads, depth]
	Values *graph.Array // [capacity, heads, depth]
	Count  *graph.Array // int32 scalar: steps so far
}

// Cache is an empty memory of the last steps, as many as capacity.
func (m MultiHeadAttention) Cache(capacity int) AttentionCache {
	wantSize("nn.MultiHeadAttention", "capacity", capacity)
	width := m.Key.W.Dim(1)
	zeros := graph.Zeros(graph.ShapeOf(m.Key.W.DType(), capacity, m.Heads, width/m.Heads))
	return AttentionCache{zeros, zeros, graph.Scalar(0, graph.Int32)}
}

// Step is causal attention one step at a time, with rotary positions: x [width] sees itself and the steps in the
// cache. The step takes the place of the oldest one when the cache is full.
func (m MultiHeadAttention) Step(cache AttentionCache, x *graph.Array) (AttentionCache, *graph.Array) {
	const op, base = "nn.MultiHeadAttention", 10000
	wantLast(op, "x", x, m.Query.W.Dim(0))
	capacity := cache.Keys.Dim(0)
	head := func(d Dense) *graph.Array {
		y := d.Apply(x)
		return y.Reshape(1, m.Heads, y.Size()/m.Heads)
	}
	at := cache.Count.Reshape(1)
	key := Rotary(head(m.Key), at, base)
	// By selection: under VMap a write at a place of its own in each lane would be a scatter.
	slot := graph.Iota(capacity).Eq(cache.Count.Mod(capacity)).Reshape(capacity, 1, 1)
	set := func(all, one *graph.Array) *graph.Array { return graph.Select(slot, one.Convert(all.DType()), all) }
	next := AttentionCache{set(cache.Keys, key), set(cache.Values, head(m.Value)), cache.Count.Add(1)}
	seen := graph.Iota(capacity).Le(cache.Count)
	y := DotProductAttention(Rotary(head(m.Query), at, base), next.Keys, next.Values, seen.Reshape(1, 1, capacity))
	return next, m.Out.Apply(y.Reshape(y.Size()))
}

// ApplyRotary is causal self-attention with rotary positions: x [positions, width] gives [positions, width]. It is
// Step for each position, with a cache that holds all.
func (m MultiHeadAttention) ApplyRotary(x *graph.Array) *graph.Array {
	const op, base = "nn.MultiHeadAttention", 10000
	wantMatrix(op, "x", x)
	n := x.Dim(0)
	at := graph.Iota(n)
	head := func(d Dense) *graph.Array {
		y := d.Apply(x)
		return y.Reshape(n, m.Heads, y.Dim(1)/m.Heads)
	}
	y := DotProductAttention(Rotary(head(m.Query), at, base), Rotary(head(m.Key), at, base), head(m.Value),
		CausalMask(n))
	return m.Out.Apply(y.Reshape(n, y.Dim(1)*y.Dim(2)))
}
