package ppo

import (
	"xlarun/graph"
	"xlarun/rollout/population"
)

// envTile is some of the environments, which are computed together.
type envTile struct {
	first *graph.Array // i32[]: number of the first; nil: 0
	count int
}

// rows returns the tile's rows of an array whose environments are along an axis.
func (t envTile) rows(a *graph.Array, axis int) *graph.Array {
	if a.Dim(axis) == t.count {
		return a
	}
	start := make([]*graph.Array, a.Rank())
	for i := range start {
		start[i] = graph.Zeros(graph.ShapeOf(graph.Int32))
	}
	start[axis] = t.first
	sizes := append([]int{}, a.Dims()...)
	sizes[axis] = t.count
	return graph.DynamicSlice(a, start, sizes)
}

// rowsOf returns the tile's rows of a tree.
func rowsOf[T any](t envTile, tree T, axis int) T {
	return graph.MapTree(func(a *graph.Array) *graph.Array { return t.rows(a, axis) }, tree)
}

// mapEnvs runs f on each tile of environments and joins what it returns: a tree with the environments on axis 0, and
// one with leaves [steps, environments, …]. perDevice is as for population.Each.
func mapEnvs[A, B any](t population.Tiles, perDevice *graph.Array, f func(tile envTile) (A, B)) (A, B) {
	if t.Items == t.Lanes {
		return f(envTile{count: t.Items})
	}
	ends, rollouts := blocksPacked(t, perDevice, func(tile *graph.Array) (A, B) {
		a, b := f(envTile{tile.Mul(t.Lanes), t.Lanes})
		return a, mergeTree(b)
	})
	join := func(a *graph.Array) *graph.Array { // [tiles, steps x lanes, …]
		a = graph.SplitAxis(a, 1, a.Dim(1)/t.Lanes, t.Lanes).MoveAxis(0, 1)
		return graph.MergeAxes(a, 1, 2)
	}
	return graph.Once(graph.PairOf(mergeTree(ends), graph.MapTree(join, rollouts))).Unpack()
}

// blocksPacked is population.Blocks of two trees whose leaves have an axis of one size in front, without the padding of
// the last device.
func blocksPacked[A, B any](t population.Tiles, perDevice *graph.Array, f func(tile *graph.Array) (A, B)) (A, B) {
	var unpackA func([]*graph.Array) A
	var unpackB func([]*graph.Array) B
	type leaves = graph.Pair[[]*graph.Array, []*graph.Array]
	all := population.Blocks(t, perDevice, func(tile *graph.Array) (packed leaves) {
		a, b := f(tile)
		packed.First, unpackA = pack(a)
		packed.Second, unpackB = pack(b)
		return packed
	})
	all = graph.MapTree(func(a *graph.Array) *graph.Array { return graph.SliceAxis(a, 0, 0, t.Items/t.Lanes) }, all)
	return unpackA(all.First), unpackB(all.Second)
}

// scanPacked is graph.Scan of a step that returns a tree with leaves [n, …].
func scanPacked[C, X, Y any](f func(carry C, x X) (C, Y), carry C, xs X, options ...graph.ScanOption) (C, Y) {
	var unpack func([]*graph.Array) Y
	carry, packed := graph.Scan(func(carry C, x X) (C, []*graph.Array) {
		next, y := f(carry, x)
		var packed []*graph.Array
		packed, unpack = pack(y)
		return next, packed
	}, carry, xs, options...)
	return carry, unpack(packed)
}

// maxPacked is the number of elements up to which a leaf is packed.
const maxPacked = 64

// pack writes the small leaves of a tree side by side, so that a loop that stacks them writes one array a turn. Each
// write is an operation of its own, which for a few numbers takes longer than to compute them. The tree's leaves are
// [n, …]. pack returns the rows u32[n, …] of the small leaves, then the others. unpack returns the tree, with one more
// axis in front.
func pack[T any](tree T) (packed []*graph.Array, unpack func(packed []*graph.Array) T) {
	leaves, t := graph.Flatten(tree)
	var columns, others []*graph.Array
	for _, a := range leaves {
		if isPacked(a) {
			columns = append(columns, toWords(a))
		} else {
			others = append(others, a)
		}
	}
	if len(columns) > 0 {
		others = append([]*graph.Array{graph.Concatenate(1, columns...)}, others...)
	}
	return others, func(packed []*graph.Array) T {
		out := make([]*graph.Array, len(leaves))
		var words *graph.Array
		others := packed
		if len(columns) > 0 {
			words, others = packed[0], packed[1:]
		}
		column := 0
		for i, a := range leaves {
			if !isPacked(a) {
				out[i], others = others[0], others[1:]
				continue
			}
			size := a.Size() / a.Dim(0)
			out[i] = fromWords(graph.SliceAxis(words, 2, column, column+size), a)
			column += size
		}
		whole, _ := t.Unflatten(out).(T)
		return whole
	}
}

// isPacked tells whether the rows of a leaf are small and of a dtype that fits 32 bits.
func isPacked(a *graph.Array) bool {
	switch a.DType() {
	case graph.Float32, graph.Int32, graph.Uint32, graph.Bool:
		return a.Size()/a.Dim(0) <= maxPacked
	}
	return false
}

// toWords returns a leaf [n, …] as u32[n, size].
func toWords(a *graph.Array) *graph.Array {
	size := a.Size() / a.Dim(0)
	switch a.DType() {
	case graph.Bool:
		a = a.Convert(graph.Uint32)
	case graph.Float32, graph.Int32:
		a = graph.Bitcast(a, graph.Uint32)
	}
	return a.Reshape(a.Dim(0), size)
}

// fromWords returns u32[turns, n, size] with the dtype and the shape of like, [n, …], along axis 0.
func fromWords(words, like *graph.Array) *graph.Array {
	a := words.Reshape(append([]int{words.Dim(0)}, like.Dims()...)...)
	switch like.DType() {
	case graph.Bool:
		return a.Ne(0)
	case graph.Float32, graph.Int32:
		return graph.Bitcast(a, like.DType())
	}
	return a
}
