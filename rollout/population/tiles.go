// Package population cuts the trees of a population over devices, adds them up with results that do not depend on the
// number of devices, and copies them to and from the host.
package population

import "xlarun/graph"

// Tiles says how a list is cut: [device, tile, lane]. The list's items are a population's members, or groups of them. A
// device computes one tile after the other. The number of lanes does not depend on the number of devices, and all tiles
// are computed by the same code: this makes results equal to the byte on any number of devices.
//
// A second list of extra items may have tiles of its own. An example has 9 items, 0 to 8, and 5 extra ones, 9 to 13. It
// has 2 devices and tiles of 2 lanes. The table shows the items of each tile, where · is padding:
//
//	tile of a device   0       1       2       3       4
//	device 0           0 1     2 3     4 5     11 12   · ·
//	device 1           6 7     8 ·     · ·     9 10    13 ·
//	                   PerDevice = 3 of items  2 of extra items
//
// Tiles also have numbers over all devices. Tiles 0 to 4 have the items, and tiles 5 to 7 the extra ones. Tiles 5 and 7
// are on device 1, and tile 6 is on device 0. A tile of padding alone is not computed. A lane of padding is computed,
// and nothing reads its result.
type Tiles struct {
	Items     int // length of the list
	Lanes     int // items of a tile
	Devices   int
	PerDevice int // tiles of a device; those beyond the list's end are padding
	// Alone says that each device has a list of its own, which is one item of another list that is cut over the
	// devices. Devices is then 1, and nothing is gathered.
	Alone bool
	// Single says that the list is one tile on one device, which is computed without a loop: on an accelerator the loop
	// costs launches, and its spare row memory. Tiles of another list behind it are computed in a loop.
	Single bool
	span   span
	// Extra is the number of items of another list, in tiles of its own: see WithExtra.
	Extra     int
	extraEach int          // tiles of the other list on a device, behind its tiles of this one
	due       *graph.Array // see ExtraIf; nil: no tile of the other list is computed
}

// span is the part of the list that the devices compute now; zero: all of it.
type span struct{ first, count *graph.Array }

// Part returns the tiles of a part of the list: this device computes `count` tiles from tile `first` on, both i32[],
// and has room for perDevice tiles.
func (t Tiles) Part(first, count *graph.Array, perDevice int) Tiles {
	t.PerDevice, t.extraEach, t.span, t.Single = perDevice, 0, span{first, count}, false
	return t
}

// WithExtra returns the tiles with another list of so many items, in tiles of its own, whose numbers follow those of
// this list. Each list is cut over the devices by itself, as the other one is rarely due. Tiles of the other list are
// dealt one by one, first to the last device, which has the fewest of this list.
func (t Tiles) WithExtra(items int) Tiles {
	t.Extra = items
	t.extraEach = (t.ExtraTiles() + t.Devices - 1) / t.Devices
	return t
}

// ExtraTiles returns the number of tiles of the other list.
func (t Tiles) ExtraTiles() int { return (t.Extra + t.Lanes - 1) / t.Lanes }

// ExtraIf returns the tiles where Each computes those of the other list, too, if due is true, bool[]: all or none.
func (t Tiles) ExtraIf(due *graph.Array) Tiles {
	t.due = due
	return t
}

// Tile returns the number of a tile of this device, both i32[…]. Tiles of the other list follow all of this one.
func (t Tiles) Tile(local *graph.Array) *graph.Array { return t.numbers()(local) }

// numbers returns Tile. What depends on the device is computed here.
func (t Tiles) numbers() func(local *graph.Array) *graph.Array {
	first := t.First()
	if t.extraEach == 0 || t.Devices == 1 {
		return func(local *graph.Array) *graph.Array { return first.Add(local) }
	}
	extra := t.firstExtra().Add(t.Used())
	return func(local *graph.Array) *graph.Array {
		return graph.Select(local.Lt(t.PerDevice), first.Add(local), local.Sub(t.PerDevice).Mul(t.Devices).Add(extra))
	}
}

// firstExtra returns the number of this device's first tile in the other list, i32[].
func (t Tiles) firstExtra() *graph.Array {
	if t.Alone {
		return zero()
	}
	return graph.Sub(t.Devices-1, graph.AxisIndex(graph.DeviceAxis))
}

// Numbers returns the numbers of items in lanes that are numbered from the first tile on, both i32[…]. Items of the
// other list follow those of this one. Padding has numbers that are no item's of this list.
func (t Tiles) Numbers(lanes *graph.Array) *graph.Array {
	padding := t.Used()*t.Lanes - t.Items
	if t.Extra == 0 || padding == 0 {
		return lanes
	}
	return graph.Select(lanes.Lt(t.Used()*t.Lanes), lanes, lanes.Sub(padding))
}

// IsExtra reports whether a tile of this device, i32[], is of the other list: bool[].
func (t Tiles) IsExtra(local *graph.Array) *graph.Array { return t.Tile(local).Ge(t.Used()) }

// TilesLoop is the name of the loop over a device's tiles; see graph.Node.LoopName.
const TilesLoop = "tiles"

// CutTiles cuts a list over devices. If it does not divide evenly, the last tiles are padding.
func CutTiles(items, lanes, devices int) Tiles {
	tiles := (items + lanes - 1) / lanes
	return Tiles{Items: items, Lanes: lanes, Devices: devices, PerDevice: (tiles + devices - 1) / devices}
}

// Total returns the number of this list's tiles, padding included.
func (t Tiles) Total() int { return t.Devices * t.PerDevice }

// Used returns the number of tiles without padding.
func (t Tiles) Used() int { return (t.Items + t.Lanes - 1) / t.Lanes }

// First returns the number of this device's first tile, i32[].
func (t Tiles) First() *graph.Array {
	if t.span.first != nil {
		return t.span.first
	}
	if t.Alone {
		return zero()
	}
	return graph.AxisIndex(graph.DeviceAxis).Mul(t.PerDevice)
}

// count returns the number of this device's tiles without padding, i32[], and how many of these are of this list.
func (t Tiles) count(perDevice *graph.Array) (all, own *graph.Array) {
	due := func(tiles any) *graph.Array { return graph.Select(t.due, tiles, graph.Scalar(0, graph.Int32)) }
	if t.span.count != nil {
		end := graph.Scalar(t.Used(), graph.Int32)
		if t.due != nil {
			end = end.Add(due(t.ExtraTiles()))
		}
		all = t.span.count.Min(end.Sub(t.First()))
		return all, all
	}
	own = perDevice.Min(graph.Sub(t.Used(), t.First()))
	if t.due == nil {
		own = t.trips(own)
		return own, own
	}
	own = own.Max(0)
	extra := graph.Sub(t.ExtraTiles()+t.Devices-1, t.firstExtra())
	return own.Add(due(graph.Quo(extra, t.Devices))), own
}

// trips is graph.TripCount for the loop over this device's tiles. The number of iterations stays unknown if there may
// be fewer.
func (t Tiles) trips(count *graph.Array) *graph.Array {
	if t.span.count != nil || t.due != nil || t.Total() != t.Used() {
		return count
	}
	return trips(count, t.PerDevice)
}

// trips is graph.TripCount for a loop over n tiles. A loop of one iteration stays unknown: the compiler drops one that
// it knows, and then compiles the tile together with its surroundings.
func trips(count *graph.Array, n int) *graph.Array {
	if n < 2 {
		return count
	}
	return graph.TripCount(count, n)
}

func zero() *graph.Array { return graph.Scalar(0, graph.Int32) }

// RowCount returns the number of rows of Rows: those of this device's tiles, and one more unless Single.
func (t Tiles) RowCount() int {
	if t.Single {
		return t.PerDevice + t.extraEach
	}
	return t.PerDevice + t.extraEach + 1
}

// Rows returns zeros for one result of each of this device's tiles, [RowCount, dims...].
//
// The last row is not used. XLA compiles an array of one row in another way than longer ones, and treats reads from it
// as equal in all iterations of a loop. With one more row, a device with one tile gets the same code as others.
func (t Tiles) Rows(d graph.DType, dims ...int) *graph.Array {
	return graph.Zeros(graph.ShapeOf(d, append([]int{t.RowCount()}, dims...)...))
}

// RowsLike returns Rows for results that are trees like item.
func RowsLike[T any](t Tiles, item T) T { return ZeroRows(t.RowCount(), item) }

// ZeroRows returns zeros for n trees like item: leaves [n, dims...].
func ZeroRows[T any](n int, item T) T {
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		return graph.Zeros(graph.ShapeOf(a.DType(), append([]int{n}, a.Dims()...)...))
	}, item)
}

// At returns row i, i32[], of a tree of Rows.
func At[T any](rows T, i *graph.Array) T {
	return graph.MapTree(func(a *graph.Array) *graph.Array { return graph.DynamicIndex(a, i, 0) }, rows)
}

// Each runs f on this device's tiles, one after the other, and writes the results into rows, a tree of Rows. local is
// the tile's number on this device, i32[]. Tiles beyond the list's end are not run; their rows stay as they are.
//
// perDevice, i32[], must be an input of the program with the value PerDevice (see Count). XLA never unrolls a loop
// whose length it does not know. Unrolled, a tile could be compiled together with its surroundings, in another way.
// Accelerators get the length of a loop of several tiles, if no device has padding: their compilers unroll no loop as
// large as a tile, and one whose length is known needs no answer from the host after each iteration.
func Each[R any](t Tiles, perDevice *graph.Array, rows R, f func(local *graph.Array) R) R {
	from := zero()
	if t.Single {
		first := graph.MapTree(func(a *graph.Array) *graph.Array { return a.ExpandDims(0) }, f(zero()))
		if t.RowCount() == 1 {
			return first
		}
		rows = graph.MapTree2(func(rows, x *graph.Array) *graph.Array {
			return graph.Concatenate(0, x, graph.SliceAxis(rows, 0, 1, rows.Dim(0)))
		}, rows, first)
		if t.due == nil {
			return rows
		}
		from = graph.Scalar(1, graph.Int32)
	}
	type loop struct {
		I    *graph.Array
		Rows R
	}
	count, own := t.count(perDevice)
	return graph.NamedWhile(TilesLoop, func(c loop) *graph.Array { return c.I.Lt(count) }, func(c loop) loop {
		local := c.I
		if t.due != nil && t.Total() != t.Used() {
			local = graph.Select(c.I.Lt(own), c.I, c.I.Sub(own).Add(t.PerDevice)) // without padding
		}
		write := func(rows, x *graph.Array) *graph.Array { return graph.DynamicUpdateIndex(rows, x, local, 0) }
		return loop{c.I.Add(1), graph.MapTree2(write, c.Rows, f(local))}
	}, loop{from, rows}).Rows
}

// RunningSum adds up the results of f for the tiles of all devices. It is the same as Each followed by Sum, to the
// byte, with memory for only one result. Devices take turns: each starts from the sum of the one before. perDevice is
// as for Each.
func RunningSum[R any](t Tiles, perDevice *graph.Array, f func(local *graph.Array) R) R {
	if t.Single {
		return graph.Once(f(zero()))
	}
	type loop struct {
		I   *graph.Array
		Sum R
	}
	start := loop{zero(), graph.MapTree(func(a *graph.Array) *graph.Array {
		return graph.Zeros(a.Shape())
	}, shapeOf(f))}
	count, _ := t.count(perDevice)
	trip := func(device *graph.Array, sum R) R {
		mine := count
		if !t.Alone {
			mine = graph.Select(device.Eq(graph.AxisIndex(graph.DeviceAxis)), count, 0)
			if t.Devices == 1 {
				mine = t.trips(mine)
			}
		}
		sum = graph.NamedWhile(TilesLoop, func(c loop) *graph.Array { return c.I.Lt(mine) }, func(c loop) loop {
			result := graph.Once(f(c.I))
			return loop{c.I.Add(1), graph.AddTree(c.Sum, result)}
		}, loop{zero(), sum}).Sum
		if t.Alone {
			return sum
		}
		return graph.MapTree(func(a *graph.Array) *graph.Array {
			return graph.DynamicIndex(graph.AllGather(a, graph.DeviceAxis), device, 0)
		}, sum)
	}
	// a length that a CPU's compiler does not know
	devices := graph.TripCount(graph.Quo(perDevice.Mul(t.Devices), t.PerDevice), t.Devices)
	return graph.While(func(c loop) *graph.Array { return c.I.Lt(devices) }, func(c loop) loop {
		return loop{c.I.Add(1), trip(c.I, c.Sum)}
	}, start).Sum
}

// shapeOf is a tree with the shapes of f's results.
func shapeOf[R any](f func(tile *graph.Array) R) R {
	return graph.EvalShape(func() R { return f(zero()) })
}

// Count returns the number of a device's tiles, i32[]: the value of the program's input perDevice.
func (t Tiles) Count() *graph.Array { return graph.Of(int32(t.PerDevice)) }

// Blocks runs f for the tiles of all devices. tile is the tile's number, i32[]. The result's leaves are as those of
// GatherAll. perDevice is as for Each.
func Blocks[R any](t Tiles, perDevice *graph.Array, f func(tile *graph.Array) R) R {
	number := t.numbers() // outside of the loop, so that its body can be one function
	one := func(local *graph.Array) R { return f(number(local)) }
	rows := Each(t, perDevice, RowsLike(t, shapeOf(one)), one)
	return graph.MapTree(t.GatherAll, rows)
}

// Map runs f for every item of the list, tile by tile on all devices. item is its number, i32[]. The result's leaves
// are [Items, ...] in the list's order, the same on every device, or [Items+Extra, ...] of both lists with ExtraIf.
// perDevice is as for Each; options are those of the vmap over a tile's items.
func Map[R any](t Tiles, perDevice *graph.Array, f func(item *graph.Array) R, options ...graph.VMapOption) R {
	all := Blocks(t, perDevice, func(tile *graph.Array) R {
		return graph.VMap(f, options...)(t.Numbers(graph.Iota(t.Lanes).Add(tile.Mul(t.Lanes))))
	})
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		items := t.inOrder(a, a.Dim(0))
		if t.due != nil {
			items = graph.Concatenate(0, items, t.ExtraInOrder(a.MergeAxes(0, 2), 0))
		}
		return graph.Once(items)
	}, all)
}

// ExtraInOrder returns the items of the other list, given an axis with the lanes of all tiles: [..., Extra, ...].
func (t Tiles) ExtraInOrder(lanes *graph.Array, axis int) *graph.Array {
	first := t.Used() * t.Lanes
	return graph.SliceAxis(lanes, axis, first, first+t.Extra)
}

// inOrder makes [tiles, Lanes, dims...] a list in order, [Items, dims...].
func (t Tiles) inOrder(a *graph.Array, tiles int) *graph.Array {
	flat := a.Reshape(append([]int{tiles * t.Lanes}, a.Dims()[2:]...)...)
	return graph.SliceAxis(flat, 0, 0, t.Items)
}

// Gather collects the Rows of all devices: [Total, dims...] in the list's order, the same on every device.
func (t Tiles) Gather(rows *graph.Array) *graph.Array {
	local := graph.SliceAxis(rows, 0, 0, t.PerDevice)
	if t.Alone {
		return local
	}
	return graph.AllGather(local, graph.DeviceAxis).Reshape(append([]int{t.Total()}, rows.Dims()[1:]...)...)
}

// GatherAll is Gather with the tiles of the other list behind those of this one, which then have no padding.
func (t Tiles) GatherAll(rows *graph.Array) *graph.Array {
	if t.extraEach == 0 {
		return t.Gather(rows)
	}
	local := graph.SliceAxis(rows, 0, 0, t.PerDevice+t.extraEach)
	if t.Alone {
		return local
	}
	all := graph.AllGather(local, graph.DeviceAxis)
	own := graph.SliceAxis(all, 1, 0, t.PerDevice).MergeAxes(0, 2)
	other := graph.SliceAxis(graph.Reverse(all, 0), 1, t.PerDevice, local.Dim(0)).MoveAxis(1, 0).MergeAxes(0, 2)
	return graph.Concatenate(0, graph.SliceAxis(own, 0, 0, t.Used()), other)
}

// Sum adds up the Rows of all devices in the list's order: [dims...], the same on every device.
//
// It is a loop because the compiler chooses how graph.Sum groups its additions, and sees the number of devices in the
// shapes.
func (t Tiles) Sum(rows *graph.Array) *graph.Array {
	all := t.Gather(rows)
	sum, _ := graph.Scan(func(sum, row *graph.Array) (*graph.Array, graph.None) {
		return sum.Add(row), graph.None{}
	}, graph.Zeros(graph.ShapeOf(all.DType(), all.Dims()[1:]...)), all)
	return sum
}

// PairSum adds up the Rows of all devices as a tree: neighbors, then neighbors among their sums, and so on:
// [dims...], the same on every device. If a device's tiles are a whole branch, it adds them up by itself and hands over
// one row; the result is the same. The number of tiles must be a power of two, and the last tile without padding.
func (t Tiles) PairSum(rows *graph.Array) *graph.Array {
	tiles := t.Items / t.Lanes
	if t.PerDevice*t.Devices != tiles || t.PerDevice&(t.PerDevice-1) != 0 {
		return pairSum(t.Gather(rows), tiles)
	}
	single := t
	single.PerDevice = 1
	return pairSum(single.Gather(pairSum(rows, t.PerDevice).ExpandDims(0)), t.Devices)
}

// pairSum is PairSum of the first n rows of an array.
func pairSum(rows *graph.Array, n int) *graph.Array {
	level := make([]*graph.Array, n)
	for i := range level {
		level[i] = rows.Index(i)
	}
	for ; len(level) > 1; level = level[:len(level)/2] {
		for i := range len(level) / 2 {
			level[i] = level[2*i].Add(level[2*i+1])
		}
	}
	return level[0]
}

// FoldRows joins the rows of all tiles in the list's order: and(... and(and(zeros, row 0), row 1) ...). The result, a
// tree of one row, is the same on every device. It is a loop for the same reason as Sum.
func FoldRows[T any](all T, and func(sum, row T) T) T {
	zeros := graph.MapTree(func(a *graph.Array) *graph.Array {
		return graph.Zeros(graph.ShapeOf(a.DType(), a.Dims()[1:]...))
	}, all)
	sum, _ := graph.Scan(func(sum, row T) (T, graph.None) { return and(sum, row), graph.None{} }, zeros, all)
	return sum
}

// Local returns this device's part of all, [Total+RowCount-PerDevice, dims...], as Rows: [RowCount, dims...].
func (t Tiles) Local(all *graph.Array) *graph.Array {
	start := make([]*graph.Array, all.Rank())
	for i := range start {
		start[i] = zero()
	}
	start[0] = t.First()
	return graph.DynamicSlice(all, start, append([]int{t.RowCount()}, all.Dims()[1:]...))
}
