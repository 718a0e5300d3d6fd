package genericbench

import (
	g "xlarun/graph"
	"xlarun/graph/random"
)

func init() {
	add("nbody", func() In { return In{gen(1, 1, 256, 3), gen(2, .1, 256, 3)} }, func(x In) In {
		return scanN(20, func(s In) In {
			d := g.Sub(g.ExpandDims(s[0], 0), g.ExpandDims(s[0], 1))
			r := g.Add(g.Sum(g.Square(d), 2), .01)
			force := g.Sum(g.Mul(d, g.ExpandDims(g.Div(1., g.Mul(r, g.Sqrt(r))), 2)), 1)
			v := g.Add(s[1], g.Mul(1e-4, force))
			return In{g.Add(s[0], g.Mul(.01, v)), v}
		}, x)
	})
	add("wave", func() In { return In{gen(1, 1, 256, 256)} }, func(x In) In {
		return scanN(100, func(s In) In {
			u := s[0]
			around := total(g.Roll(u, 1, 0), g.Roll(u, -1, 0), g.Roll(u, 1, 1), g.Roll(u, -1, 1))
			return In{g.Add(g.Sub(g.Mul(2., u), s[1]), g.Mul(.2, g.Sub(around, g.Mul(4., u)))), u}
		}, In{x[0], x[0]})[:1]
	})
	add("ising", func() In { return In{geni(1, 2, 128, 128), random.New(2).Data} }, func(x In) In {
		i := g.Iota(128)
		parity := g.Rem(g.Add(g.ExpandDims(i, 0), g.ExpandDims(i, 1)), 2)
		e, _ := g.Scan(func(s, t A) (A, g.None) {
			for half := range 2 {
				u := random.Uniform(random.FoldIn(random.Key{Data: x[1]}, g.Add(g.Mul(t, 2), half)), f32s(128, 128), 0.,
					1.)
				around := total(g.Roll(s, 1, 0), g.Roll(s, -1, 0), g.Roll(s, 1, 1), g.Roll(s, -1, 1))
				flip := g.And(g.Lt(u, g.Exp(g.Mul(-.88, g.Mul(s, around)))), g.Eq(parity, half))
				s = g.Select(flip, g.Neg(s), s)
			}
			return s, g.None{}
		}, g.Convert(g.Sub(g.Mul(2, x[0]), 1), g.Float32), g.Iota(50))
		return In{e}
	})
	add("springs", func() In { return In{gen(1, 1, 1024), gen(2, 1, 1024)} }, func(x In) In {
		return scanN(500, func(s In) In {
			d := g.Sub(g.SliceAxis(s[0], 0, 1, 1024), g.SliceAxis(s[0], 0, 0, 1023))
			f := g.Sub(g.Pad(d, 0., []int{0}, []int{1}), g.Pad(d, 0., []int{1}, []int{0}))
			v := g.Mul(.999, g.Add(s[1], g.Mul(.05, f)))
			return In{g.Add(s[0], g.Mul(.05, v)), v}
		}, x)
	})
	add("plasma", func() In { return In{gen(1, 1, 16384), gen(2, .1, 16384)} }, func(x In) In {
		return scanN(50, func(s In) In { // particles in 64 cells
			cell := g.Clamp(0, g.Convert(g.Mul(s[0], 64.), g.Int32), 63)
			density := g.SegmentSum(g.Full(f32s(16384), 1./256), cell, 64)
			field := g.CumSum(g.Sub(g.Mean(density), density), 0)
			v := g.Add(s[1], g.Mul(.001, g.Take(field, cell, 0)))
			at := g.Add(s[0], g.Mul(.01, v))
			return In{g.Sub(at, g.Floor(at)), v}
		}, In{g.Mul(.5, g.Add(x[0], 1.)), x[1]})[1:]
	})
	add("poisson", func() In { return In{gen(1, 1, 128, 128)} }, func(x In) In {
		return scanN(200, func(s In) In {
			n := shifts(border(s[0], 1))
			return In{g.Mul(.25, g.Sub(total(n[1], n[3], n[5], n[7]), x[0]))}
		}, In{g.ZerosLike(x[0])})
	})
	add("advect", func() In {
		return In{gen(1, 1, 128, 128), gen(2, 2, 128, 128), gen(3, 2, 128, 128)}
	}, func(x In) In {
		at := g.Convert(g.Iota(128), g.Float32)
		grid := g.MeshgridIJ(at, at)
		return scanN(20, func(s In) In {
			i := g.Convert(g.Clamp(0, g.Round(g.Sub(grid[0], x[1])), 127), g.Int32)
			j := g.Convert(g.Clamp(0, g.Round(g.Sub(grid[1], x[2])), 127), g.Int32)
			from := g.Take(g.Flatten1D(s[0]), g.Add(g.Mul(i, 128), j), 0)
			return In{g.Add(g.Mul(.9, from), g.Mul(.1, s[0]))}
		}, x[:1])
	})
	add("lif", func() In { return In{gen(1, .3, 64, 256), gen(2, .1, 256, 10), gen(3, 1, 64, 100, 64)} },
		func(x In) In {
			return In{g.VMap(func(s A) A { return lif(x[:2], s) })(x[2])}
		})
}
