package genericbench

import (
	g "xlarun/graph"
	"xlarun/graph/random"
)

func dense(x, w, b A) A { return g.Add(g.MatMul(x, w), b) }

func wins(m A) A { // m bool [6,7]
	line := func(dy, dx int) A {
		h, w := 6-3*dy, 7-3*abs(dx)
		all := A(nil)
		for k := range 4 {
			y, x := k*dy, k*dx
			if dx < 0 {
				x = 3 + k*dx
			}
			s := g.Slice(m, []int{y, x}, []int{y + h, x + w})
			if all == nil {
				all = s
			} else {
				all = g.And(all, s)
			}
		}
		return g.Any(all)
	}
	return g.Or(g.Or(line(0, 1), line(1, 0)), g.Or(line(1, 1), line(1, -1)))
}

func abs(x int) int { return max(x, -x) }

func init() {
	add("gridworld", func() In {
		return In{gen(1, 1, 1024, 25, 4), gen(2, 1, 16, 16), random.Split(random.New(3), 1024).Data}
	}, func(x In) In {
		wall := g.Gt(x[1], .6)
		pad := g.Pad(g.Convert(wall, g.Float32), 1., []int{2, 2}, []int{2, 2})
		moves := g.Int32s([]int32{0, 1, 1, 0, 0, -1, -1, 0}, 4, 2)
		type st struct{ Pos, Ret A }
		r := g.VMap2(func(w A, key random.Key) A {
			e, _ := g.Scan(func(s st, t A) (st, g.None) {
				view := g.DynamicSlice(pad, []A{g.Index(s.Pos, 0), g.Index(s.Pos, 1)}, []int{5, 5})
				logits := g.Dot(g.Flatten1D(view), w)
				a := random.Categorical(random.FoldIn(key, t), logits, 0)
				to := g.Clamp(0, g.Add(s.Pos, g.Take(moves, a, 0)), 15)
				hit := g.DynamicIndex(g.DynamicIndex(wall, g.Index(to, 0), 0), g.Index(to, 1), 0)
				pos := g.Select(hit, s.Pos, to)
				goal := g.All(g.Eq(pos, g.Int32s([]int32{12, 12})))
				return st{g.Select(goal, g.Int32s([]int32{3, 3}), pos), g.Add(s.Ret, g.Select(goal, 1., -.01))},
					g.None{}
			}, st{g.Int32s([]int32{3, 3}), g.Scalar(0)}, g.Iota(200))
			return g.Add(e.Ret, g.Mul(.1, g.Convert(g.Sum(e.Pos), g.Float32)))
		})(x[0], random.Key{Data: x[2]})
		return In{r}
	})
	add("gae", func() In {
		return In{gen(1, 1, 128, 1024), gen(2, 1, 129, 1024), geni(3, 20, 128, 1024)}
	}, func(x In) In {
		not := g.Select(g.Eq(x[2], 0), 0., 1.)
		v, next := g.SliceAxis(x[1], 0, 0, 128), g.SliceAxis(x[1], 0, 1, 129)
		delta := g.Sub(g.Add(x[0], g.Mul(.99, g.Mul(next, not))), v)
		_, adv := g.Scan(func(c A, s In) (A, A) {
			c = g.Add(s[0], g.Mul(.99*.95, g.Mul(s[1], c)))
			return c, c
		}, g.Zeros(g.ShapeOf(g.Float32, 1024)), In{delta, not}, g.ReverseScan())
		return In{adv, g.Add(adv, v)}
	})
	add("connect4", func() In { return In{random.Split(random.New(5), 1024).Data} }, func(x In) In {
		type st struct{ Board, Player, Done, Winner A }
		e := g.VMap(func(key random.Key) st {
			e, _ := g.Scan(func(s st, t A) (st, g.None) {
				u := random.Uniform(random.FoldIn(key, t), g.ShapeOf(g.Float32, 7), 0., 1.)
				col := g.ArgMax(g.Select(g.Eq(g.Index(s.Board, 0), 0), u, -1.), 0)
				row := g.Sub(g.Sum(g.Convert(g.Eq(g.DynamicIndex(s.Board, col, 1), 0), g.Int32)), 1)
				b := g.DynamicUpdateSlice(s.Board, g.Reshape(s.Player, 1, 1), []A{row, col})
				b = g.Select(s.Done, s.Board, b)
				won := g.And(wins(g.Eq(b, s.Player)), g.Not(s.Done))
				return st{b, g.Neg(s.Player), g.Or(s.Done, won), g.Select(won, s.Player, s.Winner)}, g.None{}
			}, st{g.Zeros(g.ShapeOf(g.Int32, 6, 7)), g.Of(1), g.Of(false), g.Of(0)}, g.Iota(42))
			return e
		})(random.Key{Data: x[0]})
		return In{e.Board, e.Winner}
	})
	add("prefix", func() In { return In{gen(1, 1, 100000), random.New(2).Data} }, func(x In) In {
		p := g.Abs(x[0])
		c := g.CumSum(p, 0)
		u := g.Add(g.Convert(g.Iota(4096), g.Float32), random.Uniform(random.Key{Data: x[1]},
			g.ShapeOf(g.Float32, 4096), 0., 1.))
		i := g.SearchSorted(c, g.Mul(u, g.Div(g.Index(c, -1), 4096.)), false)
		return In{g.Take(p, i, 0)}
	})
	add("ucb", func() In { return In{gen(1, 1, 256, 512)} }, func(x In) In {
		kids := make([]int32, 512*4)
		for i := range kids {
			if kids[i] = int32(i + 1); kids[i] >= 512 {
				kids[i] = -1
			}
		}
		children := g.Int32s(kids, 512, 4)
		return g.VMap(func(prior A) In {
			return scanN(16, func(c In) In {
				n, w := c[0], c[1]
				leaf := g.While(func(i A) A { return g.Ge(g.Index(g.Take(children, i, 0), 3), 0) }, func(i A) A {
					ch := g.Take(children, i, 0)
					nc := g.Take(n, ch, 0)
					u := g.Add(g.Div(g.Take(w, ch, 0), g.Add(nc, 1.)),
						g.Mul(g.Take(prior, ch, 0), g.Div(g.Sqrt(g.Take(n, i, 0)), g.Add(nc, 1.))))
					return g.DynamicIndex(ch, g.ArgMax(u, 0), 0)
				}, g.Of(0))
				v := g.Sin(g.Mul(10., g.Take(prior, leaf, 0)))
				type st struct{ I, N, W A }
				e := g.While(func(s st) A { return g.Ge(s.I, 0) }, func(s st) st {
					return st{g.Select(g.Gt(s.I, 0), g.Quo(g.Sub(s.I, 1), 4), -1), g.ScatterAdd(s.N, s.I, g.Scalar(1)),
						g.ScatterAdd(s.W, s.I, v)}
				}, st{leaf, n, w})
				return In{e.N, e.W}
			}, In{g.Zeros(g.ShapeOf(g.Float32, 512)), g.Zeros(g.ShapeOf(g.Float32, 512))})
		})(x[0])
	})
	add("bandit", func() In { return In{gen(1, 1, 1024, 10), random.Split(random.New(4), 1024).Data} }, func(x In) In {
		return In{g.VMap2(func(means A, key random.Key) A { // the arm with the highest bound, 200 times
			type st struct{ N, Sum, Total A }
			e, _ := g.Scan(func(s st, t A) (st, g.None) {
				bound := g.Add(g.Div(s.Sum, g.Max(s.N, 1.)),
					g.Sqrt(g.Div(g.Mul(2., g.Log(g.Add(g.Convert(t, g.Float32), 1.))), g.Max(s.N, 1.))))
				arm := g.ArgMax(g.Select(g.Eq(s.N, 0.), 1e6, bound), 0)
				reward := g.Add(g.Take(means, arm, 0),
					g.Mul(.1, random.Uniform(random.FoldIn(key, t), g.ShapeOf(g.Float32), -1., 1.)))
				return st{g.ScatterAdd(s.N, arm, g.Scalar(1)), g.ScatterAdd(s.Sum, arm, reward),
					g.Add(s.Total, reward)}, g.None{}
			}, st{g.Zeros(f32s(10)), g.Zeros(f32s(10)), g.Scalar(0)}, g.Iota(200))
			return e.Total
		})(x[0], random.Key{Data: x[1]})}
	})
}
