package ppo

import (
	"xlarun/graph"
	"xlarun/rollout/population"
)

// envTile is a range of environments that are computed together.
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
		start[i] = graph.Scalar(0, graph.Int32)
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

// mapEnvs runs f on each tile of environments and joins the results: a tree with the environments on axis 0, and a tree
// with leaves [steps, environments, …]. perDevice is as for population.Each.
func mapEnvs[A, B any](t population.Tiles, perDevice *graph.Array, f func(tile envTile) (A, B)) (A, B) {
	if t.Items == t.Lanes {
		return f(envTile{count: t.Items})
	}
	type results = graph.Pair[packed[A], packed[B]]
	all := population.Blocks(t, perDevice, func(tile *graph.Array) results {
		a, b := f(envTile{tile.Mul(t.Lanes), t.Lanes})
		return graph.PairOf(pack(a), pack(mergeTree(b)))
	})
	all = graph.MapTree(func(a *graph.Array) *graph.Array { // without the padding of the last device
		return graph.SliceAxis(a, 0, 0, t.Items/t.Lanes)
	}, all)
	join := func(a *graph.Array) *graph.Array { // [tiles, steps x lanes, …]
		a = a.SplitAxis(1, a.Dim(1)/t.Lanes, t.Lanes).MoveAxis(0, 1)
		return a.MergeAxes(1, 2)
	}
	ends, rollouts := mergeTree(all.First.unpack()), graph.MapTree(join, all.Second.unpack())
	return graph.Once(graph.PairOf(ends, rollouts)).Unpack()
}

// scanPacked is graph.Scan of a step that returns a tree with leaves [n, …], which are written as rows.
func scanPacked[C, X, Y any](f func(carry C, x X) (C, Y), carry C, xs X, options ...graph.ScanOption) (C, Y) {
	carry, all := graph.Scan(func(carry C, x X) (C, packed[Y]) {
		carry, y := f(carry, x)
		return carry, pack(y)
	}, carry, xs, options...)
	return carry, all.unpack()
}

// maxPacked is the number of elements of a row up to which a leaf is packed.
const maxPacked = 64

// packed is a tree with leaves [n, …] of which the small leaves lie side by side. A loop that stacks such trees writes
// them as one array in each turn: each write is an operation, which takes longer than to compute a few numbers.
type packed[T any] struct {
	Arrays  []*graph.Array // u32[n, elements], then the large leaves; stacked, with one more axis in front
	packing *graph.Packing // of row i of all leaves
}

// pack packs a tree with leaves [n, …].
func pack[T any](tree T) packed[T] {
	row := graph.MapTree(func(a *graph.Array) *graph.Array {
		return graph.Abstract(graph.ShapeOf(a.DType(), a.Dims()[1:]...))
	}, tree)
	p := graph.NewPacking(row, func(leaf graph.Shape) graph.DType {
		switch leaf.DType {
		case graph.Float32, graph.Int32, graph.Uint32, graph.Bool:
			if leaf.Size() <= maxPacked {
				return graph.Uint32
			}
		}
		return graph.NotPacked
	})
	return packed[T]{p.Pack(tree), p}
}

// unpack returns the tree.
func (p packed[T]) unpack() T {
	tree, _ := p.packing.Unpack(p.Arrays).(T)
	return tree
}
