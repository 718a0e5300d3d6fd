package population

import "xlarun/graph"

// Draws are random draws for the items of a list that is cut into tiles over the devices, such as the noise of an
// evolution's groups. Each draw is a tree of the same structure and shapes. Results are the same on every device and
// for any number of devices.
type Draws interface {
	// Items is the length of the list.
	Items() int
	// Sum returns Σ weights[i]·term(draw i), leaf by leaf in float32, added up tile by tile in a fixed order. weights
	// is f32[Items]. term returns a tree of arrays; nil stands for the draw itself.
	Sum(weights *graph.Array, term func(draw any) any) any
	// Outer returns Σ weights[i]·v·vᵀ with v = term(draw i), f32[n]: f32[n, n], added up as by Sum.
	Outer(weights *graph.Array, term func(draw any) *graph.Array) *graph.Array
	// Map returns term of every draw, leaves [Items, ...]. Each device needs memory for all of it.
	Map(term func(draw any) any) any
	// Each returns f of every item's number, i32[], leaves [Items, ...]. The devices share the work, and each needs
	// memory for all of it.
	Each(f func(item *graph.Array) any) any
	// All returns the draws, leaves [Items, ...]. Each device needs memory for all of it.
	All() any
}

// Stored returns draws that are stored on the devices. rows has leaves [RowCount, Lanes, dims...]: this device's
// tiles. perDevice is as for Each.
func Stored(t Tiles, perDevice *graph.Array, rows any) Draws {
	return &draws{Tiles: t, perDevice: perDevice, tile: func(i *graph.Array) any {
		return At(rows, i)
	}, all: func() any {
		return graph.MapTree(func(a *graph.Array) *graph.Array { return t.inOrder(t.Gather(a), t.Total()) }, rows)
	}}
}

// Regenerated returns draws that are drawn again, tile by tile, for each use. That takes longer, but memory for only
// one tile and one sum. keys are the keys of this device's items, leaves [RowCount, Lanes, dims...]. draw returns the
// draws of one tile, given its keys.
func Regenerated[K any](t Tiles, perDevice *graph.Array, keys K, draw func(keys K) any) Draws {
	tileOf := func(keys K, i *graph.Array) any { return draw(graph.Once(At(keys, i))) }
	all := func() any {
		keys := graph.MapTree(t.Gather, keys) // each device draws the tiles of all devices
		type loop struct {
			I    *graph.Array
			Rows any
		}
		rows := ZeroRows(t.Total()+1, shapeOf(func(i *graph.Array) any { return tileOf(keys, i) }))
		end := graph.While(func(c loop) *graph.Array {
			return c.I.Lt(trips(perDevice.Mul(t.Devices), t.Total()))
		}, func(c loop) loop {
			write := func(rows, x *graph.Array) *graph.Array { return graph.DynamicUpdateIndex(rows, x, c.I, 0) }
			return loop{c.I.Add(1), graph.MapTree2(write, c.Rows, tileOf(keys, c.I))}
		}, loop{zero(), rows})
		return graph.MapTree(func(a *graph.Array) *graph.Array { return t.inOrder(a, t.Total()+1) }, end.Rows)
	}
	return &draws{Tiles: t, perDevice: perDevice, running: true, all: all,
		tile: func(i *graph.Array) any { return tileOf(keys, i) }}
}

// Whole returns draws that are all on every device, leaves [items, ...].
func Whole(rows any) Draws { return whole{rows} }

type whole struct{ rows any }

func (w whole) Items() int                      { return graph.Leaves(w.rows)[0].Dim(0) }
func (w whole) All() any                        { return w.rows }
func (w whole) Map(term func(draw any) any) any { return graph.VMap(term)(w.rows) }

func (w whole) Each(f func(item *graph.Array) any) any { return graph.VMap(f)(graph.Iota(w.Items())) }

func (w whole) Sum(weights *graph.Array, term func(draw any) any) any {
	return sumRows(weights, w.rows, term)
}

func (w whole) Outer(weights *graph.Array, term func(draw any) *graph.Array) *graph.Array {
	return outerRows(weights, w.rows, term)
}

type draws struct {
	Tiles
	perDevice *graph.Array
	tile      func(i *graph.Array) any // leaves [Lanes, dims...]
	all       func() any
	running   bool // sums by RunningSum: less memory, slower on several devices
}

func (d *draws) Items() int { return d.Tiles.Items }
func (d *draws) All() any   { return d.all() }

func (d *draws) Sum(weights *graph.Array, term func(draw any) any) any {
	return d.sum(weights, func(w *graph.Array, tile any) any { return sumRows(w, tile, term) })
}

// sumRows returns Σ weights[i]·term(row i), leaf by leaf; term is nil for the row itself.
func sumRows(weights *graph.Array, rows any, term func(draw any) any) any {
	if term != nil {
		rows = graph.VMap(term)(rows)
	}
	return graph.MapTree(func(z *graph.Array) *graph.Array {
		flat := z.Reshape(z.Dim(0), graph.ShapeOf(z.DType(), z.Dims()[1:]...).Size())
		return weights.Dot(flat.Convert(graph.Float32)).Reshape(z.Dims()[1:]...)
	}, rows)
}

// outerRows returns Σ weights[i]·v·vᵀ with v = term(row i).
func outerRows(weights *graph.Array, rows any, term func(draw any) *graph.Array) *graph.Array {
	v := graph.VMap(term)(rows)
	return v.Mul(weights.ExpandDims(1)).Transpose(1, 0).Dot(v)
}

func (d *draws) Outer(weights *graph.Array, term func(draw any) *graph.Array) *graph.Array {
	return d.sum(weights, func(w *graph.Array, tile any) any { return outerRows(w, tile, term) }).(*graph.Array)
}

func (d *draws) Map(term func(draw any) any) any {
	one := func(i *graph.Array) any { return graph.VMap(term)(d.tile(i)) }
	rows := Each(d.Tiles, d.perDevice, RowsLike(d.Tiles, shapeOf(one)), one)
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		return graph.Once(d.inOrder(d.Gather(a), d.Total()))
	}, rows)
}

func (d *draws) Each(f func(item *graph.Array) any) any { return Map(d.Tiles, d.perDevice, f) }

// sum adds up the results of f for each tile's weights, f32[Lanes], and draws.
func (d *draws) sum(weights *graph.Array, f func(w *graph.Array, tile any) any) any {
	t := d.Tiles
	tiles := t.Total() + t.RowCount() - t.PerDevice
	padded := graph.Pad(weights, 0, []int{0}, []int{tiles*t.Lanes - t.Items})
	local := t.Local(padded.Reshape(tiles, t.Lanes))
	one := func(i *graph.Array) any { return f(graph.DynamicIndex(local, i, 0), d.tile(i)) }
	if d.running {
		return RunningSum(t, d.perDevice, one)
	}
	sums := Each(t, d.perDevice, RowsLike(t, shapeOf(one)), one)
	return graph.MapTree(t.Sum, sums)
}
