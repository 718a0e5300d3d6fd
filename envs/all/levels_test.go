package all_test

import (
	"image"
	"image/color"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/envs/levels"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// level is a state as plain numbers.
type level struct {
	side, reach int
	layers      [][]bool // of cells, row by row from the north
	x, y        int
}

func (w level) at(layer, x, y int) bool {
	wrap := func(i int) int { return (i%w.side + w.side) % w.side }
	return w.layers[layer][wrap(y)*w.side+wrap(x)]
}

// view is what an observation has of the layers.
func (w level) view() (all []float64) {
	for l := range w.layers {
		for dy := -w.reach; dy <= w.reach; dy++ {
			for dx := -w.reach; dx <= w.reach; dx++ {
				seen := 0.
				if w.at(l, w.x+dx, w.y+dy) {
					seen = 1
				}
				all = append(all, seen)
			}
		}
	}
	return all
}

func worldOf(t *testing.T, side int, field, x, y *graph.Array) level {
	t.Helper()
	w := level{side: side, reach: 2, x: int(floats(t, x)[0]), y: int(floats(t, y)[0])}
	words := floats(t, field)
	for l := range len(words) / side {
		layer := make([]bool, side*side)
		for i := range layer {
			layer[i] = int(words[l*side+i/side])>>(i%side)&1 == 1
		}
		w.layers = append(w.layers, layer)
	}
	return w
}

// episodes are recordings of a level with other parameters than its own, so that things are dense; of random play.
func episodes(t *testing.T, id, params string, steps int, each func(r *episode.Rollout, rec *episode.Recording)) {
	t.Helper()
	env, err := envs.Make(id)
	require.NoError(t, err)
	head, err := policy.HeadOf(env.Spec().Action)
	require.NoError(t, err)
	aimless := byRule{graph.None{}, func(_ []*graph.Array, _ any, _ *graph.Array, key random.Key) (any, *graph.Array) {
		return graph.None{}, random.Uniform(key, graph.ShapeOf(graph.Float32, head.Size()), 0, 1)
	}}
	_, given, err := episode.ReadEnvParams(env, pairs(t, params))
	require.NoError(t, err)
	r := &episode.Rollout{Env: env, Given: given, Policy: aimless, Head: head, Steps: steps, Episodes: 1}
	for seed := range int64(3) {
		rec, err := episode.Record(&xlabridge.Reference{}, r, aimless.Init(random.New(0)), random.New(seed))
		require.NoError(t, err)
		each(r, rec)
	}
}

var directions = [][2]int{{0, -1}, {1, 0}, {0, 1}, {-1, 0}, {0, 0}}

// follow holds a step from one level to the next against the rules: the move, what was found and is eaten, what grew.
// It gives what was found in each of the growing layers.
func follow(t *testing.T, before, after level, action, walls, growing int, density float64) (found []float64) {
	t.Helper()
	dx, dy := directions[action][0], directions[action][1]
	if walls >= 0 && before.at(walls, before.x+dx, before.y+dy) {
		dx, dy = 0, 0
	}
	wrap := func(i int) int { return (i + before.side) % before.side }
	x, y := wrap(before.x+dx), wrap(before.y+dy)
	require.Equal(t, []int{x, y}, []int{after.x, after.y})
	for l := range before.layers {
		eaten, there, fresh := 0., 0, 0
		for i, was := range before.layers[l] {
			here := i == y*before.side+x
			is := after.layers[l][i]
			switch {
			case here:
				require.False(t, is, "nothing is left where the forager stands")
				if was {
					eaten = 1
				}
			case was:
				require.True(t, is, "nothing vanishes")
			case is:
				fresh++
				for other := range before.layers {
					require.False(t, before.layers[other][i], "what grows takes a free cell")
					require.True(t, other == l || !after.layers[other][i], "each a cell of its own")
				}
			}
			if was {
				there++
			}
		}
		if l >= growing {
			require.Zero(t, fresh, "walls do not grow")
			continue
		}
		require.LessOrEqual(t, fresh, 1)
		if float64(there)-eaten >= float64(float32(density))*float64(before.side*before.side) {
			require.Zero(t, fresh, "there is enough")
		}
		found = append(found, eaten)
	}
	return found
}

// Each level's steps equal a plain implementation of its rules with loops over cells.
func TestLevelsFollowTheRules(t *testing.T) {
	eaten, grown := map[string]float64{}, map[string]int{}
	episodes(t, "Forage-L0-v1", "food=0.5", 40, func(r *episode.Rollout, rec *episode.Recording) {
		for i := range rec.Length {
			s, n := rec.State(i).(levels.ForageL0State), rec.State(i+1).(levels.ForageL0State)
			before, after := worldOf(t, 8, s.Field, s.X, s.Y), worldOf(t, 8, n.Field, n.X, n.Y)
			found := follow(t, before, after, int(floats(t, rec.Action(i+1))[0]), -1, 1, .5)
			require.Equal(t, found[0], rec.Rewards[i])
			require.Equal(t, after.view(), floats(t, r.Env.Observe(n, r.Env.DefaultParams())))
			eaten["l0"] += found[0]
			grown["l0"] += int(floats(t, n.Have)[0]-floats(t, s.Have)[0]) + int(found[0])
		}
	})
	episodes(t, "Forage-L1-v1", "food=0.25,poison=0.25,walls=0.2,cost=0.01,harm=0.05", 60,
		func(r *episode.Rollout, rec *episode.Recording) {
			for i := range rec.Length {
				s, n := rec.State(i).(levels.ForageL1State), rec.State(i+1).(levels.ForageL1State)
				before, after := worldOf(t, 16, s.Field, s.X, s.Y), worldOf(t, 16, n.Field, n.X, n.Y)
				found := follow(t, before, after, int(floats(t, rec.Action(i+1))[0]), 2, 2, .25)
				require.Equal(t, found[0]-found[1], rec.Rewards[i])
				energy := floats(t, s.Energy)[0] + .1*found[0] - .01 - .05*found[1]
				require.InDelta(t, min(max(energy, 0), 1), floats(t, n.Energy)[0], 1e-5)
				require.InDeltaSlice(t, append(after.view(), min(max(energy, 0), 1)),
					floats(t, r.Env.Observe(n, r.Env.DefaultParams())), 1e-5)
				eaten["l1 food"], eaten["l1 poison"] = eaten["l1 food"]+found[0], eaten["l1 poison"]+found[1]
			}
			require.Equal(t, floats(t, rec.State(rec.Length).(levels.ForageL1State).Energy)[0] <= 0, rec.Terminated)
		})
	episodes(t, "Forage-L2-v1", "berries=0.25,walls=0.2,speed=0.5,bite=3,reversal=0.2", 60,
		func(r *episode.Rollout, rec *episode.Recording) {
			for i := range rec.Length {
				s, n := rec.State(i).(levels.ForageL2State), rec.State(i+1).(levels.ForageL2State)
				before, after := worldOf(t, 16, s.Field, s.X, s.Y), worldOf(t, 16, n.Field, n.X, n.Y)
				found := follow(t, before, after, int(floats(t, rec.Action(i+1))[0]), 2, 2, .25)
				worth := found[0] - found[1]
				if floats(t, s.Good)[0] == 1 {
					worth = -worth
				}
				bites := (worth - rec.Rewards[i]) / 3
				require.Contains(t, []float64{0, 1, 2}, bites)
				eaten["bites"] += bites
				turned := floats(t, s.Good)[0] != floats(t, n.Good)[0]
				require.Equal(t, turned, floats(t, n.Cue)[0] == 1, "a cue is seen after a reversal, and then only")
				if turned {
					eaten["reversals"]++
				}
				// A predator comes nearer by at most a cell beyond what the forager's move does, or has just bitten.
				short := func(d float64) float64 { return float64((int(d)+8)&15 - 8) }
				hunters := make([]float64, 25)
				away := 0.
				for k := range 2 {
					dx, dy := short(float64(after.x-before.x)), short(float64(after.y-before.y))
					x, y := short(floats(t, s.East)[k]-dx), short(floats(t, s.South)[k]-dy)
					nx, ny := floats(t, n.East)[k], floats(t, n.South)[k]
					if nx == -8 && ny == -8 && distance(int(x), int(y)) <= 1 {
						away++
					} else {
						moved := distance(int(x), int(y)) - distance(int(nx), int(ny))
						require.Contains(t, []float64{0, 1}, moved)
						require.Equal(t, moved, distance(int(x-nx), int(y-ny)))
					}
					if nx >= -2 && nx <= 2 && ny >= -2 && ny <= 2 {
						hunters[int(ny+2)*5+int(nx+2)] = 1
					}
				}
				require.Equal(t, bites, away)
				cue := []float64{0, 0}
				if turned {
					cue[int(floats(t, n.Good)[0])] = 1
				}
				require.Equal(t, append(append(after.view(), hunters...), cue...),
					floats(t, r.Env.Observe(n, r.Env.DefaultParams())))
			}
			first := rec.State(0).(levels.ForageL2State)
			require.Equal(t, []float64{1}, floats(t, first.Cue))
		})
	for what, n := range eaten {
		require.Positive(t, n, what)
	}
	require.Positive(t, grown["l0"])
}

// Each state is drawn: what lies where, and the forager.
func TestLevelsAreDrawn(t *testing.T) {
	steps := envs.Steps
	field := func(side int, words ...map[int]int32) *graph.Array {
		all := make([]int32, side*len(words))
		for l, rows := range words {
			for row, word := range rows {
				all[l*side+row] = word
			}
		}
		return graph.Int32s(all, len(words), side)
	}
	zero3 := graph.Float32s([]float32{0, 0, 0})
	view3 := graph.Int32s([]int32{0, 0, 0})
	l1 := levels.ForageL1State{Field: field(16, map[int]int32{0: 1}, map[int]int32{0: 1 << 15}, map[int]int32{15: 1}),
		View: view3, Have: zero3, Energy: graph.Scalar(.5), X: steps(8), Y: steps(8), Time: steps(0)}
	for _, c := range []struct {
		id    string
		state any
		at    map[image.Point]color.RGBA // of a picture of 170 x 170 or 90 x 90 pixels: ten to a cell, five around
		size  int
	}{
		{"Forage-L0-v1", levels.ForageL0State{Field: field(8, map[int]int32{0: 1, 7: 1 << 7}),
			View: graph.Int32s([]int32{0}), Have: graph.Float32s([]float32{2}), X: steps(4), Y: steps(3),
			Time: steps(0)},
			map[image.Point]color.RGBA{{10, 10}: draw.Accent, {80, 80}: draw.Accent, {50, 42}: draw.Ink,
				{2, 2}: draw.Paper}, 90},
		{"Forage-L1-v1", l1, map[image.Point]color.RGBA{{10, 10}: draw.Accent, {160, 10}: draw.Signal,
			{10, 160}: draw.Steel, {90, 92}: draw.Ink, {40, 167}: draw.Wood, {130, 167}: draw.Paper}, 170},
		{"Forage-L2-v1", levels.ForageL2State{Field: field(16, map[int]int32{0: 1}, map[int]int32{0: 1 << 15},
			map[int]int32{15: 1}), View: view3, Have: zero3, East: graph.Int32s([]int32{-8, 3}),
			South: graph.Int32s([]int32{-8, 0}),
			Good:  steps(1), Cue: envs.False(), X: steps(8), Y: steps(8), Time: steps(0)},
			map[image.Point]color.RGBA{{10, 160}: draw.Steel, {160, 10}: draw.Wood, {90, 92}: draw.Ink,
				{120, 92}: draw.Signal}, 170},
	} {
		env, err := envs.Make(c.id)
		require.NoError(t, err)
		d := envs.TraitsOf(env).Draw
		require.NotNil(t, d)
		img, err := d(c.state, image.Pt(c.size, c.size))
		require.NoError(t, err)
		for p, want := range c.at {
			require.Equal(t, want, color.RGBAModel.Convert(img.At(p.X, p.Y)), "%s, pixel %v", c.id, p)
		}
	}
	env, err := envs.Make("Forage-L1-v1")
	require.NoError(t, err)
	d := envs.TraitsOf(env).Draw
	for _, x := range []float64{1e30, -1e30} {
		l1.Energy, l1.X = graph.Scalar(x), steps(1<<31-1)
		_, err = d(l1, image.Pt(50, 50))
		require.NoError(t, err, "far outside")
	}
	l1.Energy = graph.Scalar(0).Div(0)
	_, err = d(l1, image.Pt(50, 50))
	require.ErrorContains(t, err, "its state holds NaN")
}

func pairs(t *testing.T, text string) settings.Pairs {
	t.Helper()
	p, ok := settings.ParsePairs(text)
	require.True(t, ok)
	return p
}
