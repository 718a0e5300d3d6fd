package genericbench

import (
	g "xlarun/graph"
	"xlarun/graph/random"
)

// edges are the ends of edges of a graph.
func edges(nodes uint64, n int) In { return In{geni(1, nodes, n), geni(2, nodes, n)} }

func init() {
	add("bfs", func() In { return edges(4096, 32768) }, func(x In) In {
		far := g.Select(g.Eq(g.Iota(4096), 0), 0, 1_000_000)
		return scanN(16, func(s In) In {
			return In{g.Min(s[0], g.SegmentMin(g.Add(g.Take(s[0], x[0], 0), 1), x[1], 4096))}
		}, In{far})
	})
	add("pagerank", func() In { return edges(4096, 65536) }, func(x In) In {
		degree := g.Max(g.SegmentSum(g.Ones(f32s(65536)), x[0], 4096), 1.)
		return scanN(20, func(s In) In {
			sent := g.Take(g.Div(s[0], degree), x[0], 0)
			return In{g.Add(.15/4096, g.Mul(.85, g.SegmentSum(sent, x[1], 4096)))}
		}, In{g.Full(f32s(4096), 1./4096)})
	})
	add("bellman", func() In { return append(edges(1024, 8192), gen(3, 1, 8192)) }, func(x In) In {
		w := g.Abs(x[2])
		return In{g.VMap(func(source A) A {
			return scanN(16, func(s In) In {
				return In{g.Min(s[0], g.SegmentMin(g.Add(g.Take(s[0], x[0], 0), w), x[1], 1024))}
			}, In{g.Select(g.Eq(g.Iota(1024), source), 0., 1e6)})[0]
		})(g.Iota(8))}
	})
	add("floyd", func() In { return In{gen(1, 1, 128, 128)} }, func(x In) In {
		d, _ := g.Scan(func(d, k A) (A, g.None) {
			return g.Min(d, g.Add(g.ExpandDims(g.DynamicIndex(d, k, 1), 1), g.ExpandDims(g.DynamicIndex(d, k, 0), 0))),
				g.None{}
		}, g.Abs(x[0]), g.Iota(128))
		return In{d}
	})
	add("components", func() In { return edges(8192, 8192) }, func(x In) In {
		type st struct{ Label, Changed A }
		e := g.While(func(s st) A { return s.Changed }, func(s st) st {
			l := g.Min(s.Label, g.SegmentMin(g.Take(s.Label, x[0], 0), x[1], 8192))
			l = g.Min(l, g.SegmentMin(g.Take(l, x[1], 0), x[0], 8192))
			return st{l, g.Any(g.Ne(l, s.Label))}
		}, st{g.Iota(8192), g.Of(true)})
		return In{e.Label}
	})
	add("triangles", func() In { return In{geni(1, 10, 512, 512)} }, func(x In) In {
		a := g.Convert(g.Or(g.Eq(x[0], 0), g.Eq(g.Transpose(x[0]), 0)), g.Float32)
		return In{g.Sum(g.Mul(a, g.Dot(a, a)), 1)}
	})
	add("core", func() In { return edges(4096, 32768) }, func(x In) In {
		return scanN(20, func(s In) In { // peels nodes of fewer than 8 edges
			both := g.And(g.Take(s[0], x[0], 0), g.Take(s[0], x[1], 0))
			n := g.Convert(both, g.Int32)
			degree := g.Add(g.SegmentSum(n, x[0], 4096), g.SegmentSum(n, x[1], 4096))
			return In{g.And(s[0], g.Ge(degree, 10))}
		}, In{g.Full(g.ShapeOf(g.Bool, 4096), true)})
	})
	add("randomwalk", func() In { return In{geni(1, 4096, 4096, 16), random.New(2).Data} }, func(x In) In {
		at, visits := g.Iota(4096), g.Zeros(i32s(4096))
		type st struct{ At, Visits A }
		e, _ := g.Scan(func(s st, t A) (st, g.None) {
			i := random.Randint(random.FoldIn(random.Key{Data: x[1]}, t), i32s(4096), 0, 16)
			to := g.Take(g.Flatten1D(x[0]), g.Add(g.Mul(s.At, 16), i), 0)
			return st{to, g.ScatterAdd(s.Visits, to, g.Ones(i32s(4096)))}, g.None{}
		}, st{at, visits}, g.Iota(50))
		return In{e.At, e.Visits}
	})
	add("coo", func() In { return append(edges(16384, 262144), gen(3, 1, 262144), gen(4, 1, 16384)) }, func(x In) In {
		return In{g.SegmentSum(g.Mul(x[2], g.Take(x[3], x[0], 0)), x[1], 16384)}
	})
	add("coomatrix", func() In { return append(edges(4096, 32768), gen(3, 1, 32768), gen(4, 1, 4096, 64)) },
		func(x In) In {
			return In{g.SegmentSum(g.Mul(g.ExpandDims(x[2], 1), g.Take(x[3], x[0], 0)), x[1], 4096)}
		})
	add("ellpack", func() In { return In{geni(1, 16384, 16384, 16), gen(2, 1, 16384, 16), gen(3, 1, 16384)} },
		func(x In) In { return In{g.Sum(g.Mul(x[1], g.Take(x[2], x[0], 0)), 1)} })
	add("conjugate", func() In { return In{gen(1, 1, 128, 128)} }, func(x In) In {
		laplace := func(u A) A {
			s := shifts(border(u, 1))
			return g.Sub(g.Mul(4.1, u), total(s[1], s[3], s[5], s[7]))
		}
		dot := func(a, b A) A { return g.Sum(g.Mul(a, b)) }
		e := scanN(50, func(s In) In {
			u, r, p, rr := s[0], s[1], s[2], s[3]
			q := laplace(p)
			alpha := g.Div(rr, g.Add(dot(p, q), 1e-20))
			u, r = g.Add(u, g.Mul(alpha, p)), g.Sub(r, g.Mul(alpha, q))
			next := dot(r, r)
			return In{u, r, g.Add(r, g.Mul(g.Div(next, g.Add(rr, 1e-20)), p)), next}
		}, In{g.ZerosLike(x[0]), x[0], x[0], dot(x[0], x[0])})
		return e[:1]
	})
	add("boruvka", func() In { return edges(2048, 16384) }, func(x In) In { // a minimum spanning forest
		const nodes, n, far = 2048, 16384, 1 << 30
		i, weight := g.Iota(nodes), g.Rem(g.Mul(g.Iota(n), 7919), n)
		type st struct{ Component, Sum A }
		e, _ := g.Scan(func(s st, _ g.None) (st, g.None) {
			a, b := g.Take(s.Component, x[0], 0), g.Take(s.Component, x[1], 0)
			w := g.Select(g.Ne(a, b), weight, far)
			best := g.Min(g.SegmentMin(w, a, nodes), g.SegmentMin(w, b, nodes))
			fromA := g.And(g.Lt(w, far), g.Eq(w, g.Take(best, a, 0)))
			fromB := g.And(g.Lt(w, far), g.Eq(w, g.Take(best, b, 0)))
			parent := g.ScatterSet(i, g.Select(fromA, a, nodes), b)
			parent = g.ScatterSet(parent, g.Select(fromB, b, nodes), a)
			parent = g.Select(g.And(g.Eq(g.Take(parent, parent, 0), i), g.Lt(i, parent)), i, parent)
			for range 11 {
				parent = g.Take(parent, parent, 0)
			}
			chosen := g.Sum(g.Select(g.Or(fromA, fromB), w, 0))
			return st{g.Take(parent, s.Component, 0), g.Add(s.Sum, chosen)}, g.None{}
		}, st{i, g.Of(int32(0))}, g.None{}, g.Length(11))
		return In{e.Component, e.Sum}
	})
	add("coloring", func() In { return edges(4096, 32768) }, func(x In) In {
		priority, loop := g.Rem(g.Mul(g.Iota(4096), 2731), 4096), g.Eq(x[0], x[1])
		color, _ := g.Scan(func(color, round A) (A, g.None) {
			p := g.Select(g.Lt(color, 0), priority, -1)
			a, b := g.Select(loop, -1, g.Take(p, x[0], 0)), g.Select(loop, -1, g.Take(p, x[1], 0))
			most := g.Max(g.SegmentMax(a, x[1], 4096), g.SegmentMax(b, x[0], 4096))
			return g.Select(g.And(g.Lt(color, 0), g.Gt(p, most)), round, color), g.None{}
		}, g.Full(i32s(4096), -1), g.Iota(20))
		return In{color}
	})
	add("jaccard", func() In { return In{geni(1, 1<<31, 512, 16)} }, func(x In) In {
		a, b := g.ExpandDims(x[0], 0), g.ExpandDims(x[0], 1) // sets of neighbors, as bits
		both, any := g.Sum(g.PopCount(g.And(a, b)), 2), g.Sum(g.PopCount(g.Or(a, b)), 2)
		return In{g.Div(g.Convert(both, g.Float32), g.Convert(any, g.Float32))}
	})
	add("blocksparse", func() In {
		return In{geni(1, 64, 512), geni(2, 64, 512), gen(3, 1, 512, 32, 32), gen(4, 1, 2048, 64)}
	}, func(x In) In {
		blocks := g.Take(g.Reshape(x[3], 64, 32, 64), x[1], 0)
		return In{g.SegmentSum(g.Einsum("bij,bjk->bik", x[2], blocks), x[0], 64)}
	})
	add("sddmm", func() In { return append(edges(4096, 65536), gen(3, 1, 4096, 64), gen(4, 1, 4096, 64)) },
		func(x In) In { return In{g.Sum(g.Mul(g.Take(x[2], x[0], 0), g.Take(x[3], x[1], 0)), 1)} })
}
