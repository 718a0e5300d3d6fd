package all_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/grid"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// dense is Gather with an int8 for each cell of the grid and its margin: the form to compare field's bits with.
type dense struct{ height, width, view int }

type denseState struct {
	// i8[height + margin, width + margin]: 0 empty, 1 wall, 2 food, 3 hazard, 4 decoy
	Cells                   *graph.Array
	Y, X, Time              *graph.Array
	TrueReturn, ProxyReturn *graph.Array
}

func (d dense) step(key random.Key, s denseState, action *graph.Array,
	p grid.GatherParams) (next denseState, obs, reward *graph.Array) {
	reach := d.view / 2
	cell := func(y, x *graph.Array) *graph.Array {
		return graph.DynamicSlice(s.Cells, []*graph.Array{y.Add(reach), x.Add(reach)}, []int{1, 1}).Reshape()
	}
	put := func(cells, value, y, x *graph.Array) *graph.Array {
		return graph.DynamicUpdateSlice(cells, value.Convert(graph.Int8).Reshape(1, 1),
			[]*graph.Array{y.Add(reach), x.Add(reach)})
	}
	dy, dx := envs.Steps(0), envs.Steps(0)
	for a, m := range moves {
		is := action.Eq(a)
		dy, dx = graph.Select(is, m[0], dy), graph.Select(is, m[1], dx)
	}
	blocked := cell(s.Y.Add(dy), s.X.Add(dx)).Eq(1)
	next = denseState{Y: graph.Select(blocked, s.Y, s.Y.Add(dy)), X: graph.Select(blocked, s.X, s.X.Add(dx))}
	found := cell(next.Y, next.X).Convert(graph.Int32)
	eaten := found.Eq(2).Or(found.Eq(4))
	cells := put(s.Cells, graph.Select(eaten, 0, found), next.Y, next.X)

	inner := graph.SliceAxis(graph.SliceAxis(cells, 0, reach, reach+d.height), 1, reach, reach+d.width)
	free := inner.Eq(0).Convert(graph.Int32)
	counts := graph.Once(free.Sum(1))
	bits := graph.Bitcast(random.Bits(key, graph.Uint32), graph.Int32)
	kth := graph.ShiftRightLogical(bits.And(1<<21-1).Mul(counts.Sum()), 21)
	// the row first, then the cell in it; sums over pairs are faster than CumSum
	upTo := func(v *graph.Array) *graph.Array {
		i := graph.Iota(v.Dim(0))
		return graph.Select(i.ExpandDims(0).Le(i.ExpandDims(1)), v.ExpandDims(0), 0).Sum(1)
	}
	sums := graph.Once(upTo(counts))
	y := graph.Once(sums.Le(kth).Convert(graph.Int32).Sum().Min(d.height - 1))
	row := graph.DynamicSlice(free, []*graph.Array{y, envs.Steps(0)}, []int{1, d.width}).Reshape(d.width)
	before := graph.Select(graph.Iota(d.height).Eq(y), sums.Sub(counts), 0).Sum()
	x := upTo(row).Le(kth.Sub(before)).Convert(graph.Int32).Sum().Min(d.width - 1)
	now := graph.DynamicSlice(cells, []*graph.Array{y.Add(reach), x.Add(reach)}, []int{1, 1}).Reshape()
	next.Cells = put(cells, graph.Select(eaten, found, now.Convert(graph.Int32)), y, x)
	seen := graph.DynamicSlice(next.Cells, []*graph.Array{next.Y, next.X}, []int{d.view, d.view})
	layers := seen.ExpandDims(0).Eq(graph.Iota(4).Add(1).Reshape(4, 1, 1).Convert(graph.Int8))
	worth := func(step *graph.Array, things ...*graph.Array) *graph.Array {
		for i, each := range things {
			step = step.Add(found.Eq(2 + i).Convert(graph.Float32).Mul(each))
		}
		return step
	}
	meant := worth(p.StepReward, p.FoodReward, p.HazardReward, p.DecoyReward)
	reward = meant.Add(worth(p.ProxyStep, p.ProxyFood, p.ProxyHazard, p.ProxyDecoy))
	next.TrueReturn, next.ProxyReturn = s.TrueReturn.Add(meant), s.ProxyReturn.Add(reward)
	next.Time, _ = envs.Tick(s.Time, p.MaxSteps)
	return next, layers.Convert(graph.Float16), reward
}

// forms compiles programs that play episodes of random play of both forms, with all kinds of objects, and return sums
// of the observations of each step, weighted by layer and cell, plus the reward.
func forms(t testing.TB, b xlabridge.Backend, height, width, view, episodes,
	steps int) (bits, bytes func() *graph.Array) {
	g, err := grid.NewGather("Gather-Test-v1", height, width, view)
	require.NoError(t, err)
	d, p := dense{height, width, view}, g.DefaultParams()
	p.Hazards, p.Decoys = graph.Scalar(.05), graph.Scalar(.1)
	play := func(key random.Key, start func(grid.GatherState) any,
		step func(key random.Key, state any, action *graph.Array) (any, *graph.Array, *graph.Array)) *graph.Array {
		first, _ := g.Reset(random.FoldIn(key, 0), p)
		weights := graph.Iota(4 * view * view).Add(1).Convert(graph.Float32)
		_, sums := graph.Scan(func(state any, i *graph.Array) (any, *graph.Array) {
			act, draw := random.Split2(random.FoldIn(key, i))
			next, obs, reward := step(draw, state, g.Spec().Action.Sample(act))
			return next, graph.Flatten1D(obs).Convert(graph.Float32).Mul(weights).Sum().Add(reward)
		}, start(first), graph.Iota(steps).Add(1))
		return sums
	}
	compile := func(start func(grid.GatherState) any,
		step func(key random.Key, state any, action *graph.Array) (any, *graph.Array, *graph.Array),
	) func() *graph.Array {
		f := xlabridge.Jit(b, graph.VMap(func(key random.Key) *graph.Array { return play(key, start, step) }))
		keys := random.Split(random.New(3), episodes)
		return func() *graph.Array {
			out, err := f(keys)
			require.NoError(t, err)
			return out
		}
	}
	bits = compile(func(s grid.GatherState) any { return s },
		func(key random.Key, state any, action *graph.Array) (any, *graph.Array, *graph.Array) {
			next, obs, reward, _, _ := g.Step(key, state.(grid.GatherState), action, p)
			return next, obs, reward
		})
	bytes = compile(func(s grid.GatherState) any {
		cells := g.Cells(s)
		for axis := range 2 {
			cells = graph.Pad(cells, 1, []int{view / 2 * (1 - axis), view / 2 * axis},
				[]int{view / 2 * (1 - axis), view / 2 * axis})
		}
		return denseState{cells, s.Y, s.X, s.Time, s.TrueReturn, s.ProxyReturn}
	}, func(key random.Key, state any, action *graph.Array) (any, *graph.Array, *graph.Array) {
		return d.step(key, state.(denseState), action, p)
	})
	return bits, bytes
}

// Bits and bytes play the same episodes: interpreted, and in the long form compiled.
func TestBitsEqualBytes(t *testing.T) {
	var b xlabridge.Backend = &xlabridge.Reference{}
	if long.On() {
		b = xlatest.OpenCPU(t, 0)
	}
	bits, bytes := forms(t, b, 10, 30, 9, 8, 60)
	require.Equal(t, floats(t, bits()), floats(t, bytes()))
}
