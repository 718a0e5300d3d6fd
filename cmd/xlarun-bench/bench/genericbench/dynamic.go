package genericbench

import g "xlarun/graph"

func init() {
	add("viterbi", func() In { return In{gen(1, 1, 32, 32), gen(2, 1, 64, 128, 32)} }, func(x In) In {
		return In{g.VMap(func(emit A) A {
			best, from := g.Scan(func(s, e A) (A, A) {
				all := g.Add(g.ExpandDims(s, 1), x[0])
				return g.Add(g.ReduceMax(all, 0), e), g.ArgMax(all, 0)
			}, g.Zeros(f32s(32)), emit)
			_, path := g.Scan(func(i, from A) (A, A) { return g.Take(from, i, 0), i }, g.ArgMax(best, 0), from,
				g.ReverseScan())
			return path
		})(x[1])}
	})
	add("knapsack", func() In { return In{geni(1, 50, 100), geni(2, 100, 100)} }, func(x In) In {
		i := g.Iota(4096)
		best, _ := g.Scan(func(b A, item In) (A, g.None) {
			left := g.Sub(i, g.Add(item[0], 1))
			with := g.Add(g.Take(b, g.Max(left, 0), 0), item[1])
			return g.Max(b, g.Select(g.Ge(left, 0), with, 0)), g.None{}
		}, g.Zeros(i32s(4096)), x)
		return In{best}
	})
	add("subsequence", func() In { return In{geni(1, 4, 64, 256), geni(2, 4, 64, 256)} }, func(x In) In {
		return In{g.VMap2(func(a, b A) A { // the longest common one
			row, _ := g.Scan(func(row, c A) (A, g.None) {
				before := g.Pad(g.SliceAxis(row, 0, 0, 255), 0, []int{1}, []int{0})
				return g.CumMax(g.Max(row, g.Add(before, g.Convert(g.Eq(b, c), g.Int32))), 0), g.None{}
			}, g.Zeros(i32s(256)), a)
			return row
		})(x[0], x[1])}
	})
	add("levenshtein", func() In { return In{geni(1, 26, 64, 128), geni(2, 26, 64, 128)} }, func(x In) In {
		i := g.Iota(129)
		return In{g.VMap2(func(a, b A) A {
			row, _ := g.Scan(func(row, c A) (A, g.None) {
				changed := g.Add(g.SliceAxis(row, 0, 0, 128), g.Convert(g.Ne(b, c), g.Int32))
				r := g.Min(g.Add(row, 1), g.Pad(changed, 1000, []int{1}, []int{0}))
				return g.Add(g.CumMin(g.Sub(r, i), 0), i), g.None{}
			}, i, a)
			return g.Index(row, 128)
		})(x[0], x[1])}
	})
	add("valueiteration", func() In { return In{geni(1, 1024, 1024, 8), gen(2, 1, 1024, 8)} }, func(x In) In {
		return scanN(100, func(s In) In {
			return In{g.ReduceMax(g.Add(x[1], g.Mul(.95, g.Take(s[0], x[0], 0))), 1)}
		}, In{g.Zeros(f32s(1024))})
	})
	add("forward", func() In { return In{gen(1, 1, 32, 32), gen(2, 1, 64, 128, 32)} }, func(x In) In {
		return In{g.VMap(func(emit A) A { // the likelihood of a hidden Markov model
			s, _ := g.Scan(func(s, e A) (A, g.None) {
				return g.Add(g.LogSumExp(g.Add(g.ExpandDims(s, 1), x[0]), 0), e), g.None{}
			}, g.Zeros(f32s(32)), emit)
			return g.LogSumExp(s)
		})(x[1])}
	})
	add("coins", func() In { return In{geni(1, 60, 32)} }, func(x In) In {
		i := g.Iota(8192)
		ways, _ := g.Scan(func(w, coin A) (A, g.None) { // each coin once, modulo 10007
			left := g.Sub(i, g.Add(coin, 1))
			return g.Rem(g.Add(w, g.Select(g.Ge(left, 0), g.Take(w, g.Max(left, 0), 0), 0)), 10007), g.None{}
		}, g.Select(g.Eq(i, 0), 1, 0), x[0])
		return In{ways}
	})
	add("alignment", func() In { return In{geni(1, 4, 64, 128), geni(2, 4, 64, 128)} }, func(x In) In {
		i := g.Iota(128)
		return In{g.VMap2(func(a, b A) A { // local, along diagonals
			type st struct{ Last, Before, Best A }
			shift := func(x A) A { return g.Pad(g.SliceAxis(x, 0, 0, 127), 0, []int{1}, []int{0}) }
			e, _ := g.Scan(func(s st, d A) (st, g.None) {
				j := g.Sub(d, i)
				inside := g.And(g.Ge(j, 0), g.Lt(j, 128))
				equal := g.Select(g.Eq(a, g.Take(b, g.Clamp(0, j, 127), 0)), 3, -2)
				gap := g.Sub(g.Max(s.Last, shift(s.Last)), 2)
				score := g.Select(inside, g.Max(g.Max(0, g.Add(shift(s.Before), equal)), gap), 0)
				return st{score, s.Last, g.Max(s.Best, score)}, g.None{}
			}, st{g.Zeros(i32s(128)), g.Zeros(i32s(128)), g.Zeros(i32s(128))}, g.Iota(255))
			return g.ReduceMax(e.Best)
		})(x[0], x[1])}
	})
	add("parenthesis", func() In { return In{gen(1, 1, 8, 65)} }, func(x In) In { // the order of matrix products
		const n = 64
		k, i := g.ExpandDims(g.Iota(n), 1), g.ExpandDims(g.Iota(n), 0)
		return In{g.VMap(func(p A) A {
			p = g.Add(g.Abs(p), .1)
			cost, _ := g.Scan(func(c, l A) (A, g.None) { // c[l,i]: of the l+1 matrices from i on
				at := g.Add(g.Mul(g.Clamp(0, g.Sub(g.Sub(l, k), 1), n-1), n), g.Min(g.Add(g.Add(i, k), 1), n-1))
				right := g.Take(g.Flatten1D(c), at, 0)
				last := g.Take(p, g.Min(g.Add(g.Add(g.Iota(n), l), 1), n), 0)
				middle := g.Take(p, g.Min(g.Add(g.Add(i, k), 1), n), 0)
				join := g.Mul(g.Mul(g.SliceAxis(p, 0, 0, n), last), middle)
				all := g.Select(g.Lt(k, l), g.Add(g.Add(c, right), join), 1e6)
				return g.DynamicUpdateIndex(c, g.ReduceMin(all, 0), l, 0), g.None{}
			}, g.Zeros(f32s(n, n)), g.Arange(1, n, 1))
			return g.IndexAxis(cost, 1, 0)
		})(x[0])}
	})
}
