package genericbench

import (
	"math"

	g "xlarun/graph"
	"xlarun/graph/random"
)

func init() {
	density := func(z A) A { // of a ring
		r := g.Sqrt(g.Sum(g.Square(z), -1))
		return g.Mul(-8., g.Square(g.Sub(r, 2.)))
	}
	add("metropolis", func() In { return In{gen(1, 1, 1024, 2), random.New(2).Data} }, func(x In) In {
		e, _ := g.Scan(func(z, t A) (A, g.None) {
			k := random.Split(random.FoldIn(random.Key{Data: x[1]}, t), 2)
			to := g.Add(z, random.Uniform(k.At(0), f32s(1024, 2), -.5, .5))
			u := random.Uniform(k.At(1), f32s(1024), 0., 1.)
			take := g.Lt(g.Log(u), g.Sub(density(to), density(z)))
			return g.Select(g.ExpandDims(take, 1), to, z), g.None{}
		}, x[0], g.Iota(200))
		return In{g.Mean(e, 0), g.Sum(g.Square(e), 1)}[:1]
	})
	add("hamiltonian", func() In { return In{gen(1, 1, 256, 16), gen(2, 1, 256, 16)} }, func(x In) In {
		energy := func(z A) A { // of a banana
			a, b := g.SliceAxis(z, 0, 0, 8), g.SliceAxis(z, 0, 8, 16)
			return g.Sum(g.Add(g.Square(g.Sub(1., a)), g.Mul(5., g.Square(g.Sub(b, g.Square(a))))))
		}
		slope := g.Grad(energy)
		return g.VMap(func(s In) In {
			return scanN(200, func(s In) In {
				v := g.Sub(s[1], g.Mul(.005, slope(s[0])))
				z := g.Add(s[0], g.Mul(.01, v))
				return In{z, g.Sub(v, g.Mul(.005, slope(z)))}
			}, s)
		})(x)
	})
	add("particles", func() In { return In{gen(1, 1, 50), random.New(2).Data} }, func(x In) In {
		type st struct{ Z, Sum A }
		k := random.Key{Data: x[1]}
		e, _ := g.Scan(func(s st, in In) (st, g.None) { // a bootstrap filter
			key := random.Split(random.FoldIn(k, in[1]), 2)
			z := g.Add(g.Mul(.9, s.Z), random.Uniform(key.At(0), f32s(4096), -.5, .5))
			w := g.Exp(g.Mul(-2., g.Square(g.Sub(z, in[0]))))
			c := g.CumSum(w, 0)
			u := g.Add(g.Convert(g.Iota(4096), g.Float32), random.Uniform(key.At(1), f32s(), 0., 1.))
			i := g.SearchSorted(c, g.Mul(u, g.Div(g.Index(c, -1), 4096.)), false)
			return st{g.Take(z, i, 0), g.Add(s.Sum, g.Mean(w))}, g.None{}
		}, st{g.Zeros(f32s(4096)), g.Scalar(0)}, In{x[0], g.Iota(50)})
		return In{e.Sum}
	})
	add("resampling", func() In { return In{gen(1, 1, 1024), random.New(2).Data} }, func(x In) In {
		i := random.Randint(random.Key{Data: x[1]}, i32s(1024, 1024), 0, 1024)
		return In{g.Sort(g.Mean(g.Take(x[0], i, 0), 1), 0)} // the bootstrap's means
	})
	add("drawtokens", func() In { return In{gen(1, 4, 128, 4096), random.New(2).Data} }, func(x In) In {
		best, _ := g.TopK(x[0], 50)
		kept := g.Select(g.Ge(x[0], g.SliceAxis(best, 1, 49, 50)), x[0], math.Inf(-1))
		u := random.Uniform(random.Key{Data: x[1]}, f32s(128, 4096), 1e-6, 1.)
		return In{g.ArgMax(g.Sub(kept, g.Log(g.Neg(g.Log(u)))), 1)}
	})
	add("mapelites", func() In { return In{gen(1, 1, 1024, 16), random.New(2).Data} }, func(x In) In {
		type st struct{ Fit, Members A }
		e, _ := g.Scan(func(s st, t A) (st, g.None) { // an archive of 1024 cells, 512 children a generation
			k := random.Split(random.FoldIn(random.Key{Data: x[1]}, t), 2)
			parents := g.Take(s.Members, random.Randint(k.At(0), i32s(512), 0, 1024), 0)
			child := g.Add(parents, random.Uniform(k.At(1), f32s(512, 16), -.1, .1))
			fit := g.Neg(g.Sum(g.Square(child), 1))
			place := g.Convert(g.Clamp(0, g.Mul(16., g.Add(g.SliceAxis(child, 1, 0, 2), 1.)), 31), g.Int32)
			cell := g.Add(g.Mul(g.IndexAxis(place, 1, 0), 32), g.IndexAxis(place, 1, 1))
			best := g.ScatterMax(s.Fit, cell, fit)
			wins := g.And(g.Eq(fit, g.Take(best, cell, 0)), g.Gt(fit, g.Take(s.Fit, cell, 0)))
			return st{best, g.ScatterSet(s.Members, g.Select(wins, cell, 1024), child)}, g.None{}
		}, st{g.Full(f32s(1024), -1e6), x[0]}, g.Iota(100))
		return In{e.Fit, e.Members}
	})
	add("gibbs", func() In { return In{gen(1, 3, 2048), random.New(2).Data} }, func(x In) In {
		key := random.Key{Data: x[1]}
		mean, _ := g.Scan(func(mean, t A) (A, g.None) { // of 8 components of a mixture
			k := random.Split(random.FoldIn(key, t), 2)
			logits := g.Mul(-2., g.Square(g.Sub(g.ExpandDims(x[0], 1), mean)))
			u := random.Uniform(k.At(0), f32s(2048, 8), 1e-6, 1.)
			of := g.ArgMax(g.Sub(logits, g.Log(g.Neg(g.Log(u)))), 1)
			n := g.SegmentSum(g.Ones(f32s(2048)), of, 8)
			sum := g.SegmentSum(x[0], of, 8)
			noise := g.Div(random.Normal(k.At(1), f32s(8)), g.Sqrt(g.Add(1., g.Mul(4., n))))
			return g.Add(g.Div(sum, g.Add(.25, n)), noise), g.None{}
		}, g.Linspace(-3, 3, 8), g.Iota(50))
		return In{mean}
	})
	add("halton", func() In { return In{geni(1, 1000, 65536)} }, func(x In) In { // a quasi-random integral
		product := g.Ones(f32s(65536))
		for _, base := range []int{2, 3, 5, 7} {
			i := g.Add(g.Add(g.Iota(65536), g.Mul(0, x[0])), 1)
			u, part := g.Zeros(f32s(65536)), 1.
			for digits := 1; digits < 65537; digits *= base {
				part /= float64(base)
				u = g.Add(u, g.Mul(part, g.Convert(g.Rem(i, base), g.Float32)))
				i = g.Quo(i, base)
			}
			product = g.Mul(product, g.Mul(math.Pi/2, g.Sin(g.Mul(math.Pi, u))))
		}
		return In{g.Mean(product), product}
	})
}
