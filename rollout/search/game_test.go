package search

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/board"
	_ "xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/xlabridge"
)

// toy is a linear network, which Go computes too.
type toy struct{ Policy, Value *graph.Array } // [3 edges, edges], [3 edges]

func (n toy) apply(observation *graph.Array) (logits, value *graph.Array) {
	x := graph.Flatten1D(observation)
	return graph.Dot(x, n.Policy), graph.Tanh(graph.Dot(x, n.Value))
}

func network(n toy, observation *graph.Array) (logits, value *graph.Array) {
	return n.apply(observation)
}

// position is a clique game on the host, played by the rules that the solver knows.
type position struct {
	set  [2]uint32
	over bool
}

// A compiled search of a game visits what a plain one visits, and a finished game is worth nothing any more. The short
// form has one game.
func TestPlainAndCompiledOnCliques(t *testing.T) {
	const n, edges, simulations = 5, 10, 60
	r := rand.New(rand.NewPCG(5, 5))
	draw := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	policy, values := draw(3*edges*edges), draw(3*edges)
	for i := range values {
		values[i] /= 5 // where tanh is 1, values differ by their rounding alone, which ByMixedValue scales up
	}
	net := toy{graph.Float32s(policy, 3*edges, edges), graph.Float32s(values)}
	for _, variant := range []board.Variant{board.Maker, board.Avoid} {
		if variant == board.Avoid && !long.On() {
			continue
		}
		g, err := board.Clique(variant, n, 3)
		require.NoError(t, err)
		evaluate := func(p position) (logits []float32, value float32) {
			logits = make([]float32, edges)
			mover := countBits(p.set) % 2
			var sum float32
			for e := range edges {
				for k, on := range []bool{p.set[mover]>>e&1 == 1, p.set[1-mover]>>e&1 == 1, mover == 1} {
					if on {
						sum += values[3*e+k]
						for a := range edges {
							logits[a] += policy[(3*e+k)*edges+a]
						}
					}
				}
			}
			for a := range edges {
				if (p.set[0]|p.set[1])>>a&1 == 1 && !p.over {
					logits[a] = illegalLogit
				}
			}
			return logits, float32(math.Tanh(float64(sum)))
		}
		play := func(p position, e int) (reward, discount float32, logits []float32, value float32, next position) {
			next = p
			if !p.over {
				mover := countBits(p.set) % 2
				if (p.set[0]|p.set[1])>>e&1 == 1 {
					reward, next.over = -1, true
				} else if next.set[mover] |= 1 << e; triangle(n, next.set[mover]) {
					reward, next.over = map[board.Variant]float32{board.Maker: 1, board.Avoid: -1}[variant], true
				}
				next.over = next.over || next.set[0]|next.set[1] == 1<<edges-1
			}
			logits, value = evaluate(next)
			if next.over {
				return reward, 0, logits, 0, next
			}
			return reward, -1, logits, value, next
		}
		policies := []Policy{DefaultGumbel(simulations), DefaultPUCT(simulations)}
		if !long.On() {
			policies = policies[:1]
		}
		for _, policy := range policies {
			m := NewModel(g, network, 1)
			noise := draw(edges)
			for i := range noise {
				noise[i] = float32(math.Abs(float64(noise[i]))) / edges
			}
			search := func(net toy, moves *graph.Array) *graph.Array {
				s, _ := g.Reset(random.New(0), board.Params{})
				s, _ = graph.Scan(
					func(s board.State[board.Edges], a *graph.Array) (board.State[board.Edges], graph.None) {
						next, _, _, _, _ := g.Step(random.New(0), s, a, board.Params{})
						return graph.MapTree2(func(old, new *graph.Array) *graph.Array {
							return graph.Select(graph.Lt(a, 0), old, new)
						}, s, next), graph.None{}
					}, s, moves)
				root := m.Root(net, s)
				root.Noise = graph.Float32s(noise)
				return Run(policy, net, random.New(1), root, m.Step).Tree.RootVisits()
			}
			run := xlabridge.Jit2(client(t), search)
			for game := range 6 {
				moves := []int32{-1, -1, -1, -1, -1}
				var p position
				for i, e := range r.Perm(edges)[:game%len(moves)] {
					moves[i] = int32(e)
					_, _, _, _, p = play(p, e)
				}
				if p.over {
					continue
				}
				logits, value := evaluate(p)
				legal := make([]bool, edges)
				for e := range legal {
					legal[e] = (p.set[0]|p.set[1])>>e&1 == 0
				}
				want := Plain[position]{Policy: policy, Step: play}.Run(PlainRoot[position]{State: p,
					PriorLogits: logits,
					Value:       value, Legal: legal, Noise: noise})
				got, err := run(net, graph.Int32s(moves))
				require.NoError(t, err)
				visits := graphtest.Floats(t, got)
				for e := range edges {
					require.EqualValues(t, want.Visits[e], visits[e], "%v %T, game %d, edge %d", variant, policy, game,
						e)
					require.True(t, legal[e] || visits[e] == 0, "an illegal move was searched")
				}
			}
		}
	}
}

func countBits(set [2]uint32) (n int) {
	for both := set[0] | set[1]; both != 0; both &= both - 1 {
		n++
	}
	return n
}

func triangle(n int, set uint32) bool {
	for a := range n {
		for b := a + 1; b < n; b++ {
			for c := b + 1; c < n; c++ {
				if set>>board.Edge(n, a, b)&1+set>>board.Edge(n, a, c)&1+set>>board.Edge(n, b, c)&1 == 3 {
					return true
				}
			}
		}
	}
	return false
}

// uniform knows nothing: what a search finds with it, it found itself.
func uniform(actions int) Network[graph.None] {
	return func(graph.None, *graph.Array) (*graph.Array, *graph.Array) {
		return graph.Zeros(graph.ShapeOf(graph.Float32, actions)), graph.Scalar(0)
	}
}

// Outputs of a network that are NaN do not lead the search out of its tree: PUCT's interpreted, in the long form
// compiled.
func TestOutputsThatAreNoNumbers(t *testing.T) {
	for _, p := range []Policy{DefaultPUCT(20), DefaultGumbel(20)} {
		g := board.TicTacToe()
		m := NewModel(g, func(bad, o *graph.Array) (*graph.Array, *graph.Array) {
			x := graph.Select(graph.Gt(graph.Sum(o), 2), bad, graph.Scalar(.5))
			return graph.BroadcastTo(x, 9), x
		}, 1)
		var b xlabridge.Backend = client(t)
		if _, ok := p.(PUCT); ok && !long.On() {
			b = &xlabridge.Reference{}
		}
		search := xlabridge.Jit2(b, func(k random.Key, bad *graph.Array) *graph.Array {
			s, _ := g.Reset(k, board.Params{})
			return Run(p, bad, k, m.Root(bad, s), m.Step).Tree.RootVisits()
		})
		for number, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32} {
			visits, err := search(random.New(0), graph.Scalar(bad))
			require.NoError(t, err)
			v := graphtest.Floats(t, visits)
			total := 0.
			for _, n := range v {
				total += n
			}
			require.Equal(t, 20., total, "case %d, %T: %v", number, p, v)
		}
	}
}

// What is no number behind an action is the same to the kernel, its operations and the plain search, and no illegal
// action is played for it. The short form interprets the search by Gumbel.
func TestIllegalActionsBesideNoNumbers(t *testing.T) {
	const actions, simulations = 5, 20
	legal := []bool{false, true, true, false, true}
	noise := []float32{.3, .2, .15, .25, .1}
	type given struct{ Root, Rewards, Logits, Values *graph.Array } // [A] each, of the root and after its actions
	type outcome struct{ Visits, Action, Weights *graph.Array }
	number := 0
	for _, p := range []Policy{DefaultPUCT(simulations), DefaultGumbel(simulations)} {
		f := func(g given) outcome {
			step := func(_ graph.None, _ random.Key, a, _ *graph.Array) (Step, *graph.Array) {
				logits := graph.Select(graph.Eq(graph.Iota(actions), 1), graph.DynamicIndex(g.Logits, a, 0),
					graph.Mul(.25, graph.Convert(graph.Iota(actions), graph.Float32)))
				return Step{graph.DynamicIndex(g.Rewards, a, 0), graph.Scalar(-1), logits,
					graph.DynamicIndex(g.Values, a, 0)}, a
			}
			r := Run(p, graph.None{}, random.New(0), Root[*graph.Array]{PriorLogits: g.Root, Value: graph.Scalar(.1),
				Embedding: graph.Of(int32(0)),
				Legal:     graph.Of(legal), Noise: graph.Float32s(noise), Temperature: graph.Scalar(1000)}, step)
			return outcome{r.Tree.RootVisits(), r.Action, r.ActionWeights}
		}
		runs := []func(given) (outcome, error){xlabridge.Jit(&xlabridge.Reference{}, f)}
		if _, ok := p.(PUCT); ok || long.On() {
			runs = append(runs, xlabridge.Jit(client(t), f))
		}
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for kind, what := range []string{"root's logit", "reward", "logit", "value"} {
				for _, action := range []int{0, 1, 3, 4} {
					number++
					x := [4][]float32{{.5, .25, -.5, 0, .75}, {.5, -.25, .125, 0, .3}, {.5, .25, .75, -1, 0},
						{.2, -.4, .6, .8, -.1}}
					x[kind][action] = float32(bad)
					name := []any{"case %d, %T: %s %v at action %d", number, p, what, bad, action}
					want := Plain[int]{Policy: p, Step: func(_, a int) (float32, float32, []float32, float32, int) {
						return x[1][a], -1, []float32{0, x[2][a], .5, .75, 1}, x[3][a], a
					}}.Run(PlainRoot[int]{PriorLogits: x[0], Value: .1, Legal: legal, Noise: noise})
					g := given{graph.Float32s(x[0]), graph.Float32s(x[1]), graph.Float32s(x[2]), graph.Float32s(x[3])}
					for _, run := range runs {
						got, err := run(g)
						require.NoError(t, err)
						visits := graphtest.Floats(t, got.Visits)
						weights := graphtest.Floats(t, got.Weights)
						played, err := graph.Float(got.Action)
						require.NoError(t, err)
						require.True(t, legal[int(played)], name...)
						total := 0.
						for a, n := range want.Visits {
							require.EqualValues(t, n, visits[a], name...)
							require.True(t, legal[a] || visits[a] == 0 && weights[a] == 0, name...)
							total += weights[a]
						}
						require.InDelta(t, 1, total, 1e-5, name...)
					}
					require.True(t, legal[want.Action], name...)
				}
			}
		}
	}
}

// An environment of one player: values keep their sign, and are discounted.
func TestOnePlayer(t *testing.T) {
	g, err := board.Ramsey(4, 3)
	require.NoError(t, err)
	m := NewModel(g, uniform(12), .9)
	s, _ := g.Reset(random.New(0), board.Params{})
	step, next := m.Step(graph.None{}, random.New(0), graph.Of(int32(3)), Position[board.RamseyState]{s, envs.False()})
	for want, x := range map[float64]*graph.Array{.9: step.Discount, 1. / 6: step.Reward} {
		got, err := graph.Float(x)
		require.NoError(t, err)
		require.InDelta(t, want, got, 1e-6)
	}
	require.Equal(t, "i32[]", next.State.Time.Shape().String())
}

func TestWhatIsRefused(t *testing.T) {
	root := Root[graph.None]{PriorLogits: graph.Zeros(graph.ShapeOf(graph.Float32, 4)), Value: graph.Scalar(0)}
	good := func(graph.None, random.Key, *graph.Array, graph.None) (Step, graph.None) {
		zero := graph.Scalar(0)
		return Step{zero, zero, root.PriorLogits, zero}, graph.None{}
	}
	bad := func(s Step) Recurrent[graph.None, graph.None] {
		return func(graph.None, random.Key, *graph.Array, graph.None) (Step, graph.None) { return s, graph.None{} }
	}
	with := func(f func(*PUCT)) Policy { p := DefaultPUCT(5); f(&p); return p }
	gumbel := func(f func(*Gumbel)) Policy { p := DefaultGumbel(5); f(&p); return p }
	zero := graph.Scalar(0)
	for number, c := range []struct {
		policy Policy
		root   func(r *Root[graph.None])
		f      Recurrent[graph.None, graph.None]
		want   string
	}{
		{DefaultPUCT(0), nil, good, "got 0 simulations, want 1 or more"},
		{DefaultGumbel(-3), nil, good, "got -3 simulations"},
		{with(func(p *PUCT) { p.Nodes = -1 }), nil, good, "got -1 nodes"},
		{with(func(p *PUCT) { p.Fraction = 1.5 }), nil, good, "fraction is 1.5, want 0 to 1"},
		{with(func(p *PUCT) { p.Fraction = math.NaN() }), nil, good, "fraction is NaN"},
		{with(func(p *PUCT) { p.Alpha = 0 }), nil, good, "concentration is 0"},
		{with(func(p *PUCT) { p.Base = 0 }), nil, good, "Base is 0"},
		{with(func(p *PUCT) { p.Transform = 7 }), nil, good, "transform 7"},
		{with(func(p *PUCT) { p.Transform = ByMinMax }), nil, good, "bounded by 0 and 0"},
		{gumbel(func(g *Gumbel) { g.Considered = 0 }), nil, good, "got 0 considered actions"},
		{gumbel(func(g *Gumbel) { g.Scale = -1 }), nil, good, "scale is -1"},
		{DefaultPUCT(3), func(r *Root[graph.None]) {
			r.PriorLogits = graph.Zeros(graph.ShapeOf(graph.Float32, 2, 4))
		}, good, "graph.VMap maps a search over games"},
		{DefaultPUCT(3), func(r *Root[graph.None]) {
			r.PriorLogits = graph.Zeros(graph.ShapeOf(graph.Float32, 0))
		}, good, "want f32[actions]"},
		{DefaultPUCT(3), func(r *Root[graph.None]) { r.Value = nil }, good, "no logits or no value"},
		{DefaultPUCT(3), func(r *Root[graph.None]) {
			r.Legal = graph.Of([]bool{true})
		}, good, "legal actions are bool[1], want bool[4]"},
		{DefaultPUCT(3), func(r *Root[graph.None]) { r.Noise = zero }, good, "noise is f32[], want f32[4]"},
		{DefaultPUCT(3), func(r *Root[graph.None]) { r.Temperature = r.PriorLogits }, good, "temperature is f32[4]"},
		{DefaultPUCT(3), nil, bad(Step{nil, zero, root.PriorLogits, zero}), "reward is nil"},
		{DefaultPUCT(3), nil, bad(Step{zero, zero, zero, zero}), "logits is f32[], want f32[4]"},
	} {
		r := root
		if c.root != nil {
			c.root(&r)
		}
		err := graph.Try(func() { Run(c.policy, graph.None{}, random.New(0), r, c.f) })
		require.ErrorContains(t, err, c.want, "case %d", number)
	}
	pendulum, err := envs.Make("Pendulum-v1")
	require.NoError(t, err)
	err = graph.Try(func() { NewModel(pendulum, uniform(1), 1) })
	require.ErrorContains(t, err, "want Discrete")
}

// Bytes returns the size of the arrays.
func TestBytes(t *testing.T) {
	require.Equal(t, 64*51*(4*(12+5*16)+20), Options{Simulations: 50}.Bytes(64, 15, 20))
}
