package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/rollout/population"
)

// floats returns the numbers of an array.
var floats = graphtest.Floats

type (
	dense  struct{ W, B *graph.Array }
	params struct{ Layers []dense }
)

func TestRavel(t *testing.T) {
	tree := params{Layers: []dense{
		{W: graph.Float32s([]float32{1, 2, 3, 4, 5, 6}, 2, 3), B: graph.Float32s([]float32{7, 8, 9})},
		{W: graph.Float32s([]float32{10, 11, 12}, 3, 1), B: graph.Float32s([]float32{13})},
	}}
	l := population.LayoutOf(tree)
	require.Equal(t, 13, l.Size())
	v := l.Ravel(tree)
	require.Equal(t, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, floats(t, v))
	back := l.Unravel(v).(params)
	require.Equal(t, []int{2, 3}, back.Layers[0].W.Dims())
	require.Equal(t, []float64{4, 5, 6}, floats(t, back.Layers[0].W.Index(1)))
	require.Equal(t, []float64{13}, floats(t, back.Layers[1].B))
	for _, c := range []struct {
		f    func()
		want string
	}{
		{func() { l.Unravel(graph.Zeros(graph.ShapeOf(graph.Float32, 12))) }, "got f32[12], want f32[13]"},
		{func() { l.Ravel(params{}) }, "got a tree of 0 leaves, want 4"},
		{func() { population.LayoutOf([]*graph.Array{graph.Iota(3)}) }, "parameter [0] is i32[3], want float32"},
	} {
		require.ErrorContains(t, graph.Try(c.f), c.want)
	}
}

func TestCutTiles(t *testing.T) {
	for _, c := range []struct {
		items, lanes, devices, perDevice int
	}{{128, 64, 1, 2}, {128, 64, 2, 1}, {129, 64, 2, 2}, {1, 64, 8, 1}, {1000, 10, 8, 13}} {
		got := population.CutTiles(c.items, c.lanes, c.devices)
		require.Equal(t, c.perDevice, got.PerDevice, "%+v", c)
		require.GreaterOrEqual(t, got.Total()*got.Lanes, c.items)
	}
}

// Each runs the tiles without padding, in order.
func TestEachTile(t *testing.T) {
	tiles := population.CutTiles(5, 2, 1) // 3 tiles
	tiles.PerDevice = 4                   // and one of padding
	f := func(perDevice *graph.Array) *graph.Array {
		return population.Each(tiles, perDevice, tiles.Rows(graph.Float32, 2), func(i *graph.Array) *graph.Array {
			x := i.Convert(graph.Float32)
			return graph.Stack([]*graph.Array{x.Add(1), x.Mul(10)}, 0)
		})
	}
	p, err := graph.TraceArgs("tiles", []any{graph.Of(int32(4))}, graph.TraceOptions{}, func(args []any) any {
		return f(args[0].(*graph.Array))
	})
	require.NoError(t, err)
	out, err := p.Interpret([]*graph.Array{graph.Of(int32(4))}, nil)
	require.NoError(t, err)
	require.Equal(t, []float64{1, 0, 2, 10, 3, 20, 0, 0, 0, 0}, floats(t, out[0]))
}

// Map equals a loop over the items, for all tiles, without padding.
func TestMap(t *testing.T) {
	type result struct {
		Square *graph.Array // f32[]
		Row    *graph.Array // i32[2]
	}
	for i, c := range []struct{ items, lanes int }{{5, 2}, {4, 2}, {1, 3}, {7, 1}, {3, 8}} {
		tiles := population.CutTiles(c.items, c.lanes, 1)
		p, err := graph.TraceArgs("map", []any{tiles.Count()}, graph.TraceOptions{}, func(args []any) any {
			return population.Map(tiles, args[0].(*graph.Array), func(i *graph.Array) result {
				return result{i.Convert(graph.Float32).Square(),
					graph.Stack([]*graph.Array{i, i.Add(100)}, 0)}
			})
		})
		require.NoError(t, err)
		out, err := p.Interpret([]*graph.Array{tiles.Count()}, nil)
		require.NoError(t, err)
		var squares, rows []float64
		for n := range c.items {
			squares = append(squares, float64(n*n))
			rows = append(rows, float64(n), float64(n+100))
		}
		require.Equal(t, []int{c.items, 2}, out[1].Dims(), "case %d", i)
		require.Equal(t, squares, floats(t, out[0]), "case %d", i)
		require.Equal(t, rows, floats(t, out[1]), "case %d", i)
	}
}

// Both lists are cut over the devices by themselves. They were cut as one list once, and then a list of two tiles with
// one of an evaluation left the second of two devices without work wherever no evaluation was due.
func TestTilesOfTwoLists(t *testing.T) {
	for _, c := range []struct {
		items, extra, devices int
		tiles, withExtra      []float64 // of each device
	}{
		{4, 2, 1, []float64{2}, []float64{3}},
		{4, 2, 2, []float64{1, 1}, []float64{1, 2}},
		{3, 1, 3, []float64{1, 1, 0}, []float64{1, 1, 1}},
		{9, 5, 2, []float64{3, 2}, []float64{4, 4}},
		{10, 7, 3, []float64{2, 2, 1}, []float64{3, 3, 3}},
		{2, 1, 4, []float64{1, 0, 0, 0}, []float64{1, 0, 0, 1}},
		{8, 0, 2, []float64{2, 2}, []float64{2, 2}},
	} {
		for _, due := range []bool{false, true} {
			tiles := population.CutTiles(c.items, 2, c.devices).WithExtra(c.extra)
			if c.extra > 0 {
				tiles = tiles.ExtraIf(graph.Scalar(due))
			}
			type result struct{ Items, Rows *graph.Array }
			got := graph.VMap(func(perDevice *graph.Array) result {
				items := population.Map(tiles, perDevice, func(item *graph.Array) *graph.Array { return item.Add(10) })
				one := func(local *graph.Array) *graph.Array { return graph.OnesLike(local) }
				return result{items, population.Each(tiles, perDevice, tiles.Rows(graph.Int32), one).Sum()}
			}, graph.AxisName(graph.DeviceAxis))(tiles.Count().BroadcastTo(c.devices))
			var want []float64
			for i := range c.items + c.extra {
				if i < c.items || due {
					want = append(want, float64(10+i))
				} else {
					want = append(want, 0)
				}
			}
			for device := range c.devices {
				require.Equal(t, want, floats(t, got.Items.Index(device)), "%+v, due %v", c, due)
			}
			played := c.tiles
			if due {
				played = c.withExtra
			}
			require.Equal(t, played, floats(t, got.Rows), "%+v, due %v", c, due)
		}
	}
}

// PairSum is the same tree of additions on any number of devices, to the bit.
func TestPairSum(t *testing.T) {
	rows := []float32{1e8, 1, -1e8, 3, .1, 7e7, -7e7, .3}
	want := ((rows[0] + rows[1]) + (rows[2] + rows[3])) + ((rows[4] + rows[5]) + (rows[6] + rows[7]))
	for _, devices := range []int{1, 2, 3, 4, 8} {
		tiles := population.CutTiles(len(rows), 1, devices)
		own := make([]float32, devices*(tiles.PerDevice+1)) // of each device, and the row that stays empty
		for i, x := range rows {
			own[i/tiles.PerDevice*(tiles.PerDevice+1)+i%tiles.PerDevice] = x
		}
		sums := graph.VMap(tiles.PairSum, graph.AxisName(graph.DeviceAxis))(
			graph.Float32s(own, devices, tiles.PerDevice+1))
		for _, got := range floats(t, sums) {
			require.Equal(t, float64(want), got, "%d devices", devices)
		}
	}
}

// Draws that are whole on a device add up as a loop does.
func TestWholeDraws(t *testing.T) {
	d := population.Whole(graph.Float32s([]float32{1, 2, 3, 4, 5, 6}, 3, 2))
	w := graph.Float32s([]float32{1, -1, .5})
	require.Equal(t, 3, d.Items())
	require.Equal(t, []float64{.5, 1}, floats(t, d.Sum(w, nil).(*graph.Array)))
	double := func(draw any) any { return graph.Mul(2, draw.(*graph.Array)) }
	require.Equal(t, []float64{1, 2}, floats(t, d.Sum(w, double).(*graph.Array)))
	require.Equal(t, []float64{2, 4, 6, 8, 10, 12}, floats(t, d.Map(double).(*graph.Array)))
	require.Equal(t, []float64{1 - 9 + 12.5, 2 - 12 + 15, 2 - 12 + 15, 4 - 16 + 18},
		floats(t, d.Outer(w, func(draw any) *graph.Array {
			return draw.(*graph.Array)
		})))
}
