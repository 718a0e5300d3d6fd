// Package population holds what is done with a whole population's trees: how they are cut over the devices, sums over them
// that do not depend on the devices, and their way to the host and back.
package population

import "xlarun/graph"

// Tiles is how a list (of a population's members, or of groups of them) is cut: [device, tile, lane]. A device runs its
// tiles one after the other, each from start to end. The number of lanes does not depend on the number of devices, and
// every tile is computed by the same code whatever that number is: this is what makes results equal to the byte.
type Tiles struct {
	Items     int // length of the list
	Lanes     int // items of a tile
	Devices   int
	PerDevice int // tiles of a device; those beyond the list's end are padding
	// Alone tells that each device has a list of its own (of one item of another list that is cut over the devices), with Devices 1: nothing
	// of it is gathered.
	Alone bool
}

// TilesLoop is the name of the loop over a device's tiles; see graph.Node.LoopName.
const TilesLoop = "tiles"

// CutTiles cuts a list over devices. The last tiles are padding where it does not divide evenly.
func CutTiles(items, lanes, devices int) Tiles {
	tiles := (items + lanes - 1) / lanes
	return Tiles{Items: items, Lanes: lanes, Devices: devices, PerDevice: (tiles + devices - 1) / devices}
}

// Total is the number of tiles, padding included.
func (t Tiles) Total() int { return t.Devices * t.PerDevice }

// First is the number of this device's first tile, an int32 scalar.
func (t Tiles) First() *graph.Array {
	if t.Alone {
		return graph.Zeros(graph.ShapeOf(graph.Int32))
	}
	return graph.Mul(graph.AxisIndex(graph.DeviceAxis), t.PerDevice)
}

// Rows is room for one result of each of this device's tiles: zeros, [PerDevice+1, dims...].
//
// The last row stays empty. The compiler treats an array of one row in another way than longer ones, and what is read
// from it as the same in all turns of the loop: with one more row, a device with one tile is compiled like all others.
func (t Tiles) Rows(d graph.DType, dims ...int) *graph.Array {
	return graph.Zeros(graph.ShapeOf(d, append([]int{t.PerDevice + 1}, dims...)...))
}

// RowsLike is room for one result of each of this device's tiles, as Rows, for results that are trees like the given one.
func RowsLike[T any](t Tiles, item T) T {
	return graph.MapTree(func(a *graph.Array) *graph.Array { return t.Rows(a.DType(), a.Dims()...) }, item)
}

// At is row i, an int32 scalar, of a tree of Rows.
func At[T any](rows T, i *graph.Array) T {
	return graph.MapTree(func(a *graph.Array) *graph.Array { return graph.DynamicIndex(a, i, 0) }, rows)
}

// Each runs f on this device's tiles, one after the other, and writes the results into rows, a tree of Rows with the
// structure of R; local is the tile's number on this device, an int32 scalar. Tiles beyond the list's end are not run:
// their rows stay as they are.
//
// perDevice must be an int32 scalar whose value is PerDevice, and an input of the program: a loop whose length the
// compiler does not know is never unrolled into its surroundings, where the same formulas could be compiled another way.
func Each[R any](t Tiles, perDevice *graph.Array, rows R, f func(local *graph.Array) R) R {
	type loop struct {
		I    *graph.Array
		Rows R
	}
	used := (t.Items + t.Lanes - 1) / t.Lanes
	count := graph.Min(perDevice, graph.Sub(used, t.First()))
	return graph.NamedWhile(TilesLoop, func(c loop) *graph.Array { return graph.Lt(c.I, count) }, func(c loop) loop {
		write := func(rows, x *graph.Array) *graph.Array { return graph.DynamicUpdateIndex(rows, x, c.I, 0) }
		return loop{graph.Add(c.I, 1), graph.MapTree2(write, c.Rows, f(c.I))}
	}, loop{graph.Zeros(graph.ShapeOf(graph.Int32)), rows}).Rows
}

// Running adds up what f gives for every tile of all devices: the sum of Each's rows by Sum, to the byte, in the room of one
// result on each device. Devices take turns, each going on from what the one before it came to. perDevice is as for Each.
func Running[R any](t Tiles, perDevice *graph.Array, f func(local *graph.Array) R) R {
	type loop struct {
		I   *graph.Array
		Sum R
	}
	zero := graph.Zeros(graph.ShapeOf(graph.Int32))
	start := loop{zero, graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Zeros(a.Shape()) }, f(zero))}
	used := (t.Items + t.Lanes - 1) / t.Lanes
	count := graph.Min(perDevice, graph.Sub(used, t.First()))
	turn := func(of *graph.Array, sum R) R {
		mine := count
		if !t.Alone {
			mine = graph.Select(graph.Eq(of, graph.AxisIndex(graph.DeviceAxis)), count, 0)
		}
		sum = graph.NamedWhile(TilesLoop, func(c loop) *graph.Array { return graph.Lt(c.I, mine) }, func(c loop) loop {
			leaves, tree := graph.Flatten(f(c.I))
			one, _ := tree.Unflatten(graph.Barrier(leaves...)).(R)
			return loop{graph.Add(c.I, 1), graph.MapTree2(func(sum, a *graph.Array) *graph.Array { return graph.Add(sum, a) }, c.Sum, one)}
		}, loop{zero, sum}).Sum
		if t.Alone {
			return sum
		}
		return graph.MapTree(func(a *graph.Array) *graph.Array {
			return graph.DynamicIndex(graph.AllGather(a, graph.DeviceAxis), of, 0)
		}, sum)
	}
	devices := graph.Quo(graph.Mul(perDevice, t.Devices), t.PerDevice) // a length that the compiler does not know
	return graph.While(func(c loop) *graph.Array { return graph.Lt(c.I, devices) }, func(c loop) loop {
		return loop{graph.Add(c.I, 1), turn(c.I, c.Sum)}
	}, start).Sum
}

// Count is the number of a device's tiles, as Each wants it within a program: give it to the program as an input.
func (t Tiles) Count() *graph.Array { return graph.Of(int32(t.PerDevice)) }

// Blocks runs f for every tile of all devices, whose number is an int32 scalar: leaves [Total, …], the same on every device. perDevice is as for Each.
func Blocks[R any](t Tiles, perDevice *graph.Array, f func(tile *graph.Array) R) R {
	mine := t.First() // within the loop it would keep the compiler from making one function of it
	one := func(local *graph.Array) R { return f(graph.Add(mine, local)) }
	rows := Each(t, perDevice, RowsLike(t, one(graph.Zeros(graph.ShapeOf(graph.Int32)))), one)
	return graph.MapTree(t.Gather, rows)
}

// Map runs f for every item of the list, whose number is an int32 scalar, tile by tile on all devices: leaves [Items, …], in
// the list's order and the same on every device. perDevice is as for Each, options are those of the vmap over a tile's items.
func Map[R any](t Tiles, perDevice *graph.Array, f func(item *graph.Array) R, options ...graph.VMapOption) R {
	all := Blocks(t, perDevice, func(tile *graph.Array) R {
		return graph.VMap(f, options...)(graph.Add(graph.Iota(t.Lanes), graph.Mul(tile, t.Lanes)))
	})
	return graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Barrier(t.inOrder(a, t.Total()))[0] }, all)
}

// Gather collects Rows of all devices: [Total, dims...], in the list's order, the same on every device.
func (t Tiles) Gather(rows *graph.Array) *graph.Array {
	mine := graph.SliceAxis(rows, 0, 0, t.PerDevice)
	if t.Alone {
		return mine
	}
	return graph.Reshape(graph.AllGather(mine, graph.DeviceAxis), append([]int{t.Total()}, rows.Dims()[1:]...)...)
}

// Sum adds Rows of all devices up, in the list's order: [dims...], the same on every device.
//
// It is a loop and not graph.Sum: how a reduction groups its additions is the compiler's choice, which sees through the
// shapes to how many devices there are.
func (t Tiles) Sum(rows *graph.Array) *graph.Array {
	all := t.Gather(rows)
	sum, _ := graph.Scan(func(sum, row *graph.Array) (*graph.Array, graph.None) {
		return graph.Add(sum, row), graph.None{}
	}, graph.Zeros(graph.ShapeOf(all.DType(), all.Dims()[1:]...)), all)
	return sum
}

// PairSum adds Rows of all devices up: neighbours, then neighbours among their sums, and so on, [dims...], the same on every device. Where a device's tiles are all that some of
// these sums are of, it adds them up by itself and hands over one row; the sums are the same. The number of tiles must be a power of two, without padding of its last tile.
func (t Tiles) PairSum(rows *graph.Array) *graph.Array {
	of := func(all *graph.Array, n int) *graph.Array {
		level := make([]*graph.Array, n)
		for i := range level {
			level[i] = graph.Index(all, i)
		}
		for ; len(level) > 1; level = level[:len(level)/2] {
			for i := range len(level) / 2 {
				level[i] = graph.Add(level[2*i], level[2*i+1])
			}
		}
		return level[0]
	}
	tiles := t.Items / t.Lanes
	if t.PerDevice*t.Devices != tiles || t.PerDevice&(t.PerDevice-1) != 0 {
		return of(t.Gather(rows), tiles)
	}
	own := t
	own.PerDevice = 1
	return of(own.Gather(graph.ExpandDims(of(rows, t.PerDevice), 0)), t.Devices)
}

// Fold joins Rows of all devices, in the list's order: two at a time, from what one row of zeros and the first give on. The result, a tree of one
// row, is the same on every device. It is a loop for the same reason as Sum.
func Fold[T any](t Tiles, rows T, and func(sum, row T) T) T {
	all := graph.MapTree(t.Gather, rows)
	zero := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Zeros(graph.ShapeOf(a.DType(), a.Dims()[1:]...)) }, all)
	sum, _ := graph.Scan(func(sum, row T) (T, graph.None) { return and(sum, row), graph.None{} }, zero, all)
	return sum
}

// Local takes this device's part of all, [Total+1, dims...], and one row more: [PerDevice+1, dims...], as Rows.
func (t Tiles) Local(all *graph.Array) *graph.Array {
	start := make([]*graph.Array, all.Rank())
	for i := range start {
		start[i] = graph.Zeros(graph.ShapeOf(graph.Int32))
	}
	start[0] = t.First()
	return graph.DynamicSlice(all, start, append([]int{t.PerDevice + 1}, all.Dims()[1:]...))
}
