package population

import "xlarun/graph"

// Draws are what was drawn for each item of a list that is cut into tiles over the devices: of every group of an
// evolution's members its noise, a tree of the same structure and shapes for all. Results are the same on every device, and
// whatever the number of devices.
type Draws interface {
	// Items is the length of the list.
	Items() int
	// Sum is Σ weights[i]·term(draw i), leaf by leaf in float32; weights is f32[Items], term (nil: the draw itself) gives a
	// tree of arrays. It is added up tile by tile in a fixed order.
	Sum(weights *graph.Array, term func(draw any) any) any
	// Outer is Σ weights[i]·v·vᵀ with v = term(draw i), f32[n]: f32[n, n], added up as Sum is.
	Outer(weights *graph.Array, term func(draw any) *graph.Array) *graph.Array
	// Map is term of every draw, a tree of arrays, in order: the leaves get an axis 0 of Items. It is for terms that are
	// small: they take that much room on every device.
	Map(term func(draw any) any) any
	// All is the draws in order: the leaves get an axis 0 of Items. It takes that much room on every device.
	All() any
}

// Kept are draws that lie on the devices: leaves [PerDevice+1, lanes, dims...] of this device's tiles. count is the tiles
// of a device, as Each wants it.
func Kept(t Tiles, count *graph.Array, rows any) Draws {
	return &draws{Tiles: t, count: count, tile: func(i *graph.Array) any { return At(rows, i) }, all: func() any {
		return graph.MapTree(func(a *graph.Array) *graph.Array { return t.inOrder(t.Gather(a), t.Total()) }, rows)
	}}
}

// Redrawn are draws that are not kept: what is asked for is drawn again, tile by tile, and sums are added up as they come. It takes
// longer and the room of one tile and one sum. keys are those of this device's items, u32[PerDevice+1, lanes, 2]; draw makes the draws of one tile's keys.
func Redrawn(t Tiles, count, keys *graph.Array, draw func(keys *graph.Array) any) Draws {
	again := func(keys, i *graph.Array) any { return draw(graph.Barrier(graph.DynamicIndex(keys, i, 0))[0]) }
	return &draws{Tiles: t, count: count, running: true, tile: func(i *graph.Array) any { return again(keys, i) }, all: func() any {
		keys := t.Gather(keys) // the tiles of all devices are drawn on each of them
		type loop struct {
			I    *graph.Array
			Rows any
		}
		zero := graph.Zeros(graph.ShapeOf(graph.Int32))
		room := graph.MapTree(func(a *graph.Array) *graph.Array {
			return graph.Zeros(graph.ShapeOf(a.DType(), append([]int{t.Total() + 1}, a.Dims()...)...))
		}, again(keys, zero))
		end := graph.While(func(c loop) *graph.Array { return graph.Lt(c.I, graph.Mul(count, t.Devices)) }, func(c loop) loop {
			write := func(rows, x *graph.Array) *graph.Array { return graph.DynamicUpdateIndex(rows, x, c.I, 0) }
			return loop{graph.Add(c.I, 1), graph.MapTree2(write, c.Rows, again(keys, c.I))}
		}, loop{zero, room})
		return graph.MapTree(func(a *graph.Array) *graph.Array { return t.inOrder(a, t.Total()+1) }, end.Rows)
	}}
}

type draws struct {
	Tiles
	count *graph.Array
	tile  func(i *graph.Array) any // leaves [lanes, dims...]
	all   func() any
	// running: sums take the room of one tile's, and longer on several devices.
	running bool
}

// inOrder makes a list of tiles, [tiles, lanes, dims...]: [Items, dims...].
func (t Tiles) inOrder(a *graph.Array, tiles int) *graph.Array {
	flat := graph.Reshape(a, append([]int{tiles * t.Lanes}, a.Dims()[2:]...)...)
	return graph.SliceAxis(flat, 0, 0, t.Items)
}

func (d *draws) Items() int { return d.Tiles.Items }
func (d *draws) All() any   { return d.all() }

func (d *draws) Sum(weights *graph.Array, term func(draw any) any) any {
	return d.sum(weights, func(w *graph.Array, tile any) any {
		if term != nil {
			tile = graph.VMap(term)(tile)
		}
		return graph.MapTree(func(z *graph.Array) *graph.Array {
			size := 1
			for _, n := range z.Dims()[1:] {
				size *= n
			}
			sum := graph.Dot(w, graph.Convert(graph.Reshape(z, z.Dim(0), size), graph.Float32))
			return graph.Reshape(sum, z.Dims()[1:]...)
		}, tile)
	})
}

func (d *draws) Outer(weights *graph.Array, term func(draw any) *graph.Array) *graph.Array {
	return d.sum(weights, func(w *graph.Array, tile any) any {
		v := graph.VMap(term)(tile)
		return graph.Dot(graph.Transpose(graph.Mul(v, graph.ExpandDims(w, 1)), 1, 0), v)
	}).(*graph.Array)
}

func (d *draws) Map(term func(draw any) any) any {
	one := func(i *graph.Array) any { return graph.VMap(term)(d.tile(i)) }
	rows := Each(d.Tiles, d.count, RowsLike(d.Tiles, one(graph.Zeros(graph.ShapeOf(graph.Int32)))), one)
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		return graph.Barrier(d.inOrder(d.Gather(a), d.Total()))[0]
	}, rows)
}

// sum adds up what each tile gives for its weights, f32[lanes], and draws.
func (d *draws) sum(weights *graph.Array, tile func(w *graph.Array, tile any) any) any {
	t := d.Tiles
	padded := graph.Pad(weights, 0, []int{0}, []int{(t.Total()+1)*t.Lanes - t.Items})
	local := t.Local(graph.Reshape(padded, t.Total()+1, t.Lanes))
	one := func(i *graph.Array) any { return tile(graph.DynamicIndex(local, i, 0), d.tile(i)) }
	if d.running {
		return Running(t, d.count, one)
	}
	sums := Each(t, d.count, RowsLike(t, one(graph.Zeros(graph.ShapeOf(graph.Int32)))), one)
	return graph.MapTree(t.Sum, sums)
}

// MapOf is Draws.Map with the types of the draws and of the terms.
func MapOf[D, T any](d Draws, term func(draw D) T) T {
	return d.Map(func(draw any) any { return term(draw.(D)) }).(T)
}

// SumOf is Draws.Sum with the types of the draws and of the terms.
func SumOf[D, T any](d Draws, weights *graph.Array, term func(draw D) T) T {
	return d.Sum(weights, func(draw any) any { return term(draw.(D)) }).(T)
}
