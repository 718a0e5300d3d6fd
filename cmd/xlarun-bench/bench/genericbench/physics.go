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
	add("boltzmann", func() In { return In{gen(1, .1, 9, 64, 128)} }, func(x In) In { // a fluid on a lattice
		across, down := []int{0, 1, 0, -1, 0, 1, -1, -1, 1}, []int{0, 0, 1, 0, -1, 1, 1, -1, -1}
		weight := []float64{4. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 36, 1. / 36, 1. / 36, 1. / 36}
		start := make(In, 9)
		for k, w := range weight {
			start[k] = g.Mul(w, g.Add(1., g.Index(x[0], k)))
		}
		return scanN(50, func(s In) In {
			f := g.Unstack(s[0], 0)
			rho := total(f...)
			ux := g.Div(g.Sub(total(f[1], f[5], f[8]), total(f[3], f[6], f[7])), rho)
			uy := g.Div(g.Sub(total(f[2], f[5], f[6]), total(f[4], f[7], f[8])), rho)
			square := g.Mul(1.5, g.Add(g.Square(ux), g.Square(uy)))
			next := make(In, 9)
			for k, w := range weight {
				u := g.Add(g.Mul(3*float64(across[k]), ux), g.Mul(3*float64(down[k]), uy))
				rest := g.Mul(g.Mul(w, rho), g.Sub(g.Add(g.Add(1., u), g.Mul(.5, g.Square(u))), square))
				next[k] = g.Roll(g.Roll(g.Add(g.Mul(.4, f[k]), g.Mul(.6, rest)), down[k], 0), across[k], 1)
			}
			return In{g.Stack(next, 0)}
		}, In{g.Stack(start, 0)})
	})
	add("maxwell", func() In { return In{gen(1, 1, 256, 256)} }, func(x In) In { // fields on staggered grids
		cut := func(u A, axis, from int) A { return g.SliceAxis(u, axis, from, from+255) }
		pad := func(u A, axis, before int) A {
			lo, hi := make([]int, 2), make([]int, 2)
			lo[axis], hi[axis] = before, 1-before
			return g.Pad(u, 0., lo, hi)
		}
		slope := func(u A, axis, before int) A { return pad(g.Sub(cut(u, axis, 1), cut(u, axis, 0)), axis, before) }
		return scanN(100, func(s In) In {
			hx, hy := g.Sub(s[1], g.Mul(.5, slope(s[0], 0, 0))), g.Add(s[2], g.Mul(.5, slope(s[0], 1, 0)))
			return In{g.Add(s[0], g.Mul(.5, g.Sub(slope(hy, 1, 1), slope(hx, 0, 1)))), hx, hy}
		}, In{x[0], g.ZerosLike(x[0]), g.ZerosLike(x[0])})
	})
	add("cloth", func() In { return In{gen(1, .02, 32, 32, 3)} }, func(x In) In {
		i := g.Convert(g.Iota(32), g.Float32)
		grid := g.MeshgridIJ(i, i)
		start := g.Add(x[0], g.Stack(In{grid[0], grid[1], g.ZerosLike(grid[0])}, 2))
		gravity, fixed := g.Float32s([]float32{0, 0, -.002}, 3), g.ExpandDims(g.Eq(grid[0], 0.), 2)
		return scanN(50, func(s In) In {
			p := g.Add(g.Sub(g.Mul(1.99, s[0]), g.Mul(.99, s[1])), gravity)
			for range 3 {
				for axis := range 2 { // threads pull their ends to a distance of 1
					d := g.Sub(g.SliceAxis(p, axis, 1, 32), g.SliceAxis(p, axis, 0, 31))
					length := g.Sqrt(g.Sum(g.Square(d), 2))
					d = g.Mul(g.ExpandDims(g.Mul(.25, g.Sub(1., g.Div(1., length))), 2), d)
					lo, hi := make([]int, 3), make([]int, 3)
					lo[axis], hi[axis] = 1, 1
					p = g.Add(p, g.Sub(g.Pad(d, 0., make([]int, 3), hi), g.Pad(d, 0., lo, make([]int, 3))))
				}
				p = g.Select(fixed, start, p)
			}
			return In{p, s[0]}
		}, In{start, start})[:1]
	})
}
