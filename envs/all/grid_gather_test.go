package all_test

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/envs/envtest"
	"xlarun/envs/grid"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

func gather(t *testing.T, height, width, view int) grid.Gather {
	t.Helper()
	g, err := grid.NewGather("Gather-Test-v1", height, width, view)
	require.NoError(t, err)
	return g
}

// floats returns the numbers of an array.
var floats = graphtest.Floats

func with(g grid.Gather, change func(p *grid.GatherParams)) grid.GatherParams {
	p := g.DefaultParams()
	change(&p)
	return p
}

// transition is a step and its results.
type transition struct{ Cells, X, Y, Obs, Reward, Returns, Truncated, Chance *graph.Array }

var moves = [][2]int{{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}}

// world is a grid as plain numbers: kinds of things, and where the agent is.
type world struct {
	height, width, view int
	cells               []float64
	y, x                int
	truth, proxy        float64
}

func (w *world) at(y, x int) float64 {
	if y < 0 || x < 0 || y >= w.height || x >= w.width {
		return 1
	}
	return w.cells[y*w.width+x]
}

// step is the rules: worth are the true rewards of a step, food, hazards and decoys, extra the proxy terms.
func (w *world) step(action int, chance uint32, worth, extra [4]float64) (reward float64) {
	if y, x := w.y+moves[action][0], w.x+moves[action][1]; w.at(y, x) != 1 {
		w.y, w.x = y, x
	}
	found := w.at(w.y, w.x)
	truth, paid := worth[0], extra[0]
	if found > 1 {
		truth, paid = truth+worth[int(found)-1], paid+extra[int(found)-1]
	}
	if found == 2 || found == 4 {
		w.cells[w.y*w.width+w.x] = 0
		empty := 0
		for _, c := range w.cells {
			if c == 0 {
				empty++
			}
		}
		kth := int(uint64(chance&(1<<21-1)) * uint64(empty) >> 21)
		if w.height*w.width > 2047 {
			kth = int(uint64(chance) * uint64(empty) >> 32)
		}
		for i, c := range w.cells {
			if c == 0 {
				if kth == 0 {
					w.cells[i] = found
				}
				kth--
			}
		}
	}
	w.truth, w.proxy = w.truth+truth, w.proxy+truth+paid
	return truth + paid
}

func (w *world) observation() (all []float64) {
	for kind := 1; kind <= 4; kind++ {
		for dy := -w.view / 2; dy <= w.view/2; dy++ {
			for dx := -w.view / 2; dx <= w.view/2; dx++ {
				seen := 0.
				if w.at(w.y+dy, w.x+dx) == float64(kind) {
					seen = 1
				}
				all = append(all, seen)
			}
		}
	}
	return all
}

// Random play follows the rules, written down with loops over cells, in each of its steps. The short form compiles the
// usual size, for half of the steps, and interprets fewer steps of the others.
func TestStepsFollowTheRules(t *testing.T) {
	client := xlatest.OpenCPU(t, 0)
	for i, c := range []struct {
		g             grid.Gather
		change        func(p *grid.GatherParams)
		height, width int // of the usable cells
	}{
		{gather(t, 16, 16, 7), func(*grid.GatherParams) {}, 16, 16}, // 1: as it is
		{gather(t, 16, 16, 7), func(p *grid.GatherParams) { // 2: all kinds of things, rewards that differ
			p.Food, p.Hazards, p.Decoys, p.ProxyStep, p.ProxyFood, p.ProxyHazard = graph.Scalar(.2), graph.Scalar(.2),
				graph.Scalar(.2), graph.Scalar(.125), graph.Scalar(-.25), graph.Scalar(.75)
		}, 16, 16},
		// 3: a view of several words, wider than the grid is high
		{gather(t, 5, 12, 9), func(p *grid.GatherParams) {
			p.Walls, p.Decoys = graph.Scalar(.05), graph.Scalar(.3)
		}, 5, 12},
		// 4: words of all bits, a view of one
		{gather(t, 20, 30, 3), func(p *grid.GatherParams) { p.Food = graph.Scalar(.5) }, 20, 30},
		{gather(t, 64, 22, 11), func(p *grid.GatherParams) {
			p.Walls, p.Height, p.Width = graph.Scalar(.05), envs.Steps(6), envs.Steps(9)
		}, 6, 9}, // 5: a part of the grid
		// 6: no cell is empty but the one that was
		{gather(t, 16, 16, 7), func(p *grid.GatherParams) {
			p.Walls, p.Food = graph.Scalar(0), graph.Scalar(1)
		}, 16, 16},
		{gather(t, 32, 32, 9), func(*grid.GatherParams) {}, 32, 32}, // 7: rows of two words
		// 8: rows of four words, the widest view, more cells than 21 bits can draw from
		{gather(t, 30, 90, 31), func(p *grid.GatherParams) { p.Food = graph.Scalar(.5) }, 30, 90},
	} {
		var b xlabridge.Backend = client
		played := 2000
		if !long.On() {
			if played = 1000; c.height != 16 {
				b, played = &xlabridge.Reference{}, 300
			}
		}
		p := with(c.g, c.change)
		p.MaxSteps = envs.Steps(played)
		// Parameters are inputs, so that cases of one size share a program.
		record := func(key random.Key, p grid.GatherParams) (out [2]any) {
			look := func(s grid.GatherState, obs, reward, truncated, chance *graph.Array) transition {
				return transition{c.g.Cells(s), s.X, s.Y, graph.Flatten1D(obs), reward, c.g.Objectives(s, p), truncated,
					chance}
			}
			state, obs := c.g.Reset(random.FoldIn(key, 0), p)
			out[0] = look(state, obs, graph.Scalar(0), envs.False(), envs.Steps(0))
			_, out[1] = graph.Scan(func(s grid.GatherState, i *graph.Array) (grid.GatherState, any) {
				k := random.FoldIn(key, i)
				act, step := random.Split2(k)
				action := c.g.Spec().Action.Sample(act)
				next, obs, reward, terminated, truncated := c.g.Step(step, s, action, p)
				m := look(next, obs, reward, terminated.Or(truncated), random.Bits(step, graph.Uint32))
				return next, []any{m, action}
			}, state, graph.Iota(played).Add(1))
			return out
		}
		out, err := xlabridge.Jit2(b, record)(random.New(int64(i)), p)
		require.NoError(t, err)
		first, rest := out[0].(transition), out[1].([]any)
		all, actions := rest[0].(transition), floats(t, rest[1].(*graph.Array))

		dims := first.Cells.Dims()
		require.Equal(t, graph.Int8, first.Cells.DType())
		w := &world{height: dims[0], width: dims[1], view: int(math.Sqrt(float64(first.Obs.Size() / 4))),
			cells: floats(t, first.Cells),
			y:     int(floats(t, first.Y)[0]), x: int(floats(t, first.X)[0])}
		for y := range w.height {
			for x := range w.width {
				if y >= c.height || x >= c.width {
					require.Equal(t, 1., w.at(y, x), "what is walled off")
				}
			}
		}
		if i != 5 {
			require.Zero(t, w.at(w.y, w.x), "the agent starts in an empty cell")
		}
		require.Equal(t, w.observation(), floats(t, first.Obs))
		param := func(all ...*graph.Array) (v [4]float64) {
			for i, a := range all {
				v[i] = floats(t, a)[0]
			}
			return v
		}
		worth, extra := param(p.StepReward, p.FoodReward, p.HazardReward, p.DecoyReward),
			param(p.ProxyStep, p.ProxyFood, p.ProxyHazard, p.ProxyDecoy)
		cells, xs, ys, obs := floats(t, all.Cells), floats(t, all.X), floats(t, all.Y), floats(t, all.Obs)
		rewards, returns, truncated, chances := floats(t, all.Reward), floats(t, all.Returns), floats(t, all.Truncated),
			floats(t, all.Chance)
		n, o := len(w.cells), first.Obs.Size()
		eaten := 0
		for s := range played {
			what := fmt.Sprintf("case %d, step %d", i+1, s+1)
			before := w.proxy
			require.InDelta(t, w.step(int(actions[s]), uint32(chances[s]), worth, extra), rewards[s], 1e-6, what)
			if w.proxy > before {
				eaten++
			}
			require.Equal(t, []int{w.y, w.x}, []int{int(ys[s]), int(xs[s])}, what)
			require.Equal(t, w.cells, cells[s*n:(s+1)*n], what)
			require.Equal(t, w.observation(), obs[s*o:(s+1)*o], what)
			require.InDelta(t, w.truth, returns[2*s], 1e-3*max(1, math.Abs(w.truth)), what)
			require.InDelta(t, w.proxy, returns[2*s+1], 1e-3*max(1, math.Abs(w.proxy)), what)
			require.Equal(t, s == played-1, truncated[s] == 1, what)
		}
		require.Greater(t, eaten, played/100, "case %d", i+1)
	}
}

// Grids of other sizes, and parameters at their ends, keep what every environment promises, in the short form for the
// first 60 steps.
func TestOtherSizes(t *testing.T) {
	steps := 60
	if long.On() {
		steps = 1000
	}
	for _, s := range [][3]int{{3, 4, 3}, {9, 20, 13}, {1, 1, 5}, {32, 32, 9}} {
		require.NoError(t, envtest.CheckSteps(envs.Erase(gather(t, s[0], s[1], s[2])), steps), "%v", s)
	}
	for _, c := range []struct {
		height, width, view int
		want                string
	}{{0, 4, 3, "got 0 as height"}, {257, 4, 3, "got 257 as height, want a whole number from 1 to 256"},
		{4, 0, 3, "got 0 as width"}, {4, 4, 4, "got 4 as view, want an odd number from 3 to 31"},
		{4, 4, 1, "got 1 as view"}, {4, 4, 33, "got 33 as view"}, {4, 4, -3, "got -3 as view"}} {
		_, err := grid.NewGather("Gather-Test-v1", c.height, c.width, c.view)
		require.ErrorContains(t, err, c.want)
	}
	// Where all is wall the agent stays in the first cell.
	g := gather(t, 4, 4, 3)
	p := with(g, func(p *grid.GatherParams) { p.Walls = graph.Scalar(1) })
	s, obs := g.Reset(random.New(1), p)
	for _, a := range []int{0, 1, 2, 3, 4, -1, 5} {
		var reward *graph.Array
		s, obs, reward, _, _ = g.Step(random.New(2), s, envs.Steps(a), p)
		require.Equal(t, []float64{0, 0}, append(floats(t, s.Y), floats(t, s.X)...))
		require.InDelta(t, -.01, floats(t, reward)[0], 1e-7)
	}
	require.Equal(t, append([]float64{1, 1, 1, 1, 1, 1, 1, 1, 1}, make([]float64, 27)...),
		floats(t, graph.Flatten1D(obs)))
}

// Grown things are as likely in each empty cell, the agent's own among them, and so is the start.
func TestGrowthIsEven(t *testing.T) {
	g := gather(t, 3, 3, 3)
	p := with(g, func(p *grid.GatherParams) { p.Walls, p.Food = graph.Scalar(0), graph.Scalar(0) })
	start, _ := g.Reset(random.New(3), p)
	start.X, start.Y = envs.Steps(0), envs.Steps(0)
	// food east of the agent, a hazard in the last cell
	start.Field = graph.Int32s([]int32{-1, ^14, ^14, ^14, -1, 0, 4, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0}, 4, 5)
	start.View = graph.Int32s([]int32{0, 1 << 5, 0, 0}, 4, 1)
	type found struct{ Cells, X, Y *graph.Array }
	out, err := xlabridge.Jit(xlatest.OpenCPU(t, 0), func(keys random.Key) found {
		return graph.VMap(func(key random.Key) found {
			next, _, _, _, _ := g.Step(key, start, envs.Steps(4), p)
			fresh, _ := g.Reset(key, p)
			return found{g.Cells(next), fresh.X, fresh.Y}
		})(keys)
	})(random.Split(random.New(5), 9000))
	require.NoError(t, err)
	var grown, starts [9]float64
	cells, xs, ys := floats(t, out.Cells), floats(t, out.X), floats(t, out.Y)
	for i := range 9000 {
		for c, kind := range cells[9*i : 9*i+9] {
			if kind == 2 {
				grown[c]++
			}
		}
		starts[int(3*ys[i]+xs[i])]++
	}
	require.Zero(t, grown[8], "the hazard's cell is not empty")
	for c := range 8 {
		require.InDelta(t, 1125, grown[c], 130) // four standard deviations
	}
	for c := range 9 {
		require.InDelta(t, 1000, starts[c], 120)
	}
}

// The whole picture: each kind of thing, the agent, what it sees.
func TestDraw(t *testing.T) {
	g := gather(t, 16, 16, 7)
	p := with(g, func(p *grid.GatherParams) { p.Hazards, p.Decoys = graph.Scalar(.05), graph.Scalar(.08) })
	s, _ := g.Reset(random.New(11), p)
	s, err := graph.Eval(s)
	require.NoError(t, err)
	img, err := g.Draw(s, image.Pt(510, 510))
	require.NoError(t, err)
	cells := floats(t, g.Cells(s))
	ay, ax := int(floats(t, s.Y)[0]), int(floats(t, s.X)[0])
	seen := map[float64]int{}
	for y := range 16 {
		for x := range 16 {
			// 30 pixels a cell, 15 around; a point a third above and left of the middle, on the rim of discs
			got := color.RGBAModel.Convert(img.At(15+30*x+15, 15+30*y+8)).(color.RGBA)
			want := map[float64]color.RGBA{1: draw.Steel, 2: draw.Accent, 3: draw.Signal, 4: draw.Wood}[cells[16*y+x]]
			if y == ay && x == ax {
				want = draw.Ink
			}
			if want == (color.RGBA{}) {
				continue
			}
			require.Equal(t, want, got, "row %d, column %d", y, x)
			seen[cells[16*y+x]]++
		}
	}
	require.Len(t, seen, 5)
}
