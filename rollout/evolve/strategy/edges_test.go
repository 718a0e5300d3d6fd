package strategy

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// member is a member of a generation: its parameters, f32[n], its number and the generation, i32[].
type member struct{ X, Number, Generation *graph.Array }

// cliffs are functions without a maximum, of huge numbers, of equal numbers, and such that fail.
var cliffs = []struct {
	name string
	of   func(m member) *graph.Array
}{
	{"sphere", func(m member) *graph.Array { return m.X.Square().Sum().Neg() }},
	{"constant", func(m member) *graph.Array { return m.X.Sum().Mul(0) }},
	{"slope", func(m member) *graph.Array { return m.X.Sum() }},
	{"condition 1e14", func(m member) *graph.Array {
		n := m.X.Dim(0)
		power := graph.Iota(n).Convert(graph.Float32).Mul(float32(14 / math.Max(1, float64(n-1))))
		return graph.Pow(float32(10), power).Mul(m.X.Square()).Sum().Neg()
	}},
	{"half fail", func(m member) *graph.Array {
		return graph.Select(m.Number.Rem(2).Eq(0), math.NaN(), m.X.Square().Sum().Neg())
	}},
	{"all fail", func(m member) *graph.Array { return graph.FullLike(m.X.Sum(), math.NaN()) }},
	{"all fail at first", func(m member) *graph.Array {
		return graph.Select(m.Generation.Lt(20), math.NaN(), m.X.Square().Sum().Neg())
	}},
	{"signs", func(m member) *graph.Array { return m.X.Sum().Sign() }},
	{"huge", func(m member) *graph.Array { return m.X.Square().Sum().Mul(-1e37).Max(-3e38) }},
	{"huge steps", func(m member) *graph.Array {
		return graph.Select(m.Number.Rem(2).Eq(0), float32(3e38), float32(-3e38))
	}},
	{"outward", func(m member) *graph.Array { return m.X.Square().Sum().Min(3e38) }},
	{"one fails", func(m member) *graph.Array {
		return graph.Select(m.Number.Eq(0), math.NaN(), m.X.Abs().Sum().Neg().Exp())
	}},
}

// No member and no state is NaN on any of these functions, with any number of parameters and any sigma. The long form
// runs 1,000 generations compiled, the short form some generations of what failed once.
func TestNoStrategyBecomesNaN(t *testing.T) {
	var b xlabridge.Backend = &xlabridge.Reference{}
	generations := 32
	if long.On() {
		b, generations = xlatest.OpenCPU(t, 1), 1000
	}
	for _, c := range []struct {
		parameters, members int
		sigma               []float64 // the first that it takes; none: the default
		long                bool
	}{{1, 2, nil, false}, {5, 12, []float64{1e30, 1e8, 1e4}, false}, {5, 12, []float64{1e-37, 1e-3}, false},
		{5, 12, nil, true}, {24, 6, nil, true}} {
		for _, name := range general() {
			if !long.On() && c.long {
				continue
			}
			s := lookup(name)
			if len(c.sigma) > 0 {
				var err error
				for _, sigma := range c.sigma {
					if s, err = Make(name, settings.Values{"sigma": sigma}); err == nil {
						break
					}
				}
				if err != nil {
					continue // it has no sigma
				}
			}
			t.Run(fmt.Sprint(name, c), func(t *testing.T) {
				cling(t, b, s, name, c.parameters, c.members, generations)
			})
		}
	}
}

// cling searches all cliffs side by side.
func cling(t *testing.T, b xlabridge.Backend, s *Erased, name string, n, members, generations int) {
	members = max(members, s.LeastPopulation)
	members = (members + s.GroupSize - 1) / s.GroupSize * s.GroupSize
	groups, shape := members/s.GroupSize, []int{n}
	if !s.Flat && n%2 == 0 {
		shape = []int{n / 2, 2}
	}
	type lane struct {
		State      any
		Generation *graph.Array
	}
	type seen struct {
		State  []*graph.Array // bool[]: of each leaf, it has NaN
		Member *graph.Array   // bool[]: a member has
		Mean   *graph.Array   // f32[]: the largest distance of a parameter from the start
	}
	first, err := graph.Eval(s.Init(graph.Ones(graph.ShapeOf(graph.Float32, shape...)), members))
	require.NoError(t, err)
	step := func(l lane, function *graph.Array) (lane, seen) {
		key := random.FoldIn(random.FoldIn(random.New(3), function), l.Generation)
		draws := graph.Once(drawsOf(s, l.State, graph.Once(random.Split(key, groups)), groups))
		all := genomesOf(s, l.State, draws).Reshape(members, n)
		fitness := graph.VMap2(func(x, number *graph.Array) *graph.Array {
			var branches []func() *graph.Array
			for _, c := range cliffs {
				branches = append(branches, func() *graph.Array { return c.of(member{x, number, l.Generation}) })
			}
			return graph.Switch(function, branches...)
		})(all, graph.Iota(members))
		fitness = graph.Select(fitness.IsFinite(), fitness, math.NaN())
		next := tell(s, l.State, fitness, population.Whole(draws))
		x := seen{Member: all.IsNaN().Any(),
			Mean: s.Mean(next).(*graph.Array).Sub(1).Abs().ReduceMax()}
		for _, leaf := range graph.Leaves(next) {
			x.State = append(x.State, leaf.Ne(leaf).Any())
		}
		return lane{next, l.Generation.Add(1)}, x
	}
	chunk := min(50, generations)
	type result struct {
		Lanes lane
		Seen  seen // [functions, generations]
	}
	run := xlabridge.Jit(b, func(l lane) result {
		return graph.VMap2(func(l lane, function *graph.Array) result {
			end, x := graph.Scan(func(l lane, _ *graph.Array) (lane, seen) { return step(l, function) }, l,
				graph.Iota(chunk))
			return result{end, x}
		})(l, graph.Iota(len(cliffs)))
	})
	lanes, err := graph.Eval(graph.MapTree(func(a *graph.Array) *graph.Array {
		return a.BroadcastTo(append([]int{len(cliffs)}, a.Dims()...)...)
	}, lane{first, graph.Of(int32(0))}))
	require.NoError(t, err)
	for done := 0; done < generations; done += chunk {
		got, err := run(lanes)
		require.NoError(t, err)
		lanes = got.Lanes
		flags := func(a *graph.Array) []float64 { return floatsOf(t, a.Convert(graph.Float32)) }
		for i, bad := range flags(got.Seen.Member) {
			require.Zero(t, bad, "%s, generation %d: a member is NaN", cliffs[i/chunk].name, done+i%chunk)
		}
		for k, leaf := range got.Seen.State {
			for i, bad := range flags(leaf) {
				require.Zero(t, bad, "%s, generation %d: leaf %d of the state is NaN", cliffs[i/chunk].name,
					done+i%chunk, k)
			}
		}
		for i, moved := range floatsOf(t, got.Seen.Mean) {
			if what := cliffs[i/chunk].name; (s.Steady && what == "constant") || what == "all fail" {
				require.InDelta(t, 0, moved, 1e-6, "%s, generation %d: the mean moved", what, done+i%chunk)
			}
		}
	}
}

// Settings refuse a sigma that the first generation would cut. The square of iamalgam's is in a covariance.
func TestLargestSigma(t *testing.T) {
	for _, name := range general() {
		if !lookup(name).Steady {
			continue
		}
		most := map[string]float64{"iamalgam": 1e4, "iamalgamu": 1e4}[name]
		if most == 0 {
			most = float64(maxDeviation)
		}
		_, err := Make(name, settings.Values{"sigma": most})
		require.NoError(t, err, name)
		_, err = Make(name, settings.Values{"sigma": 2 * most})
		require.ErrorContains(t, err, fmt.Sprintf("strategy.sigma: got %v, want a number ", 2*most), name)
	}
}
