package genericbench

import (
	"math"

	g "xlarun/graph"
	"xlarun/graph/random"
)

func init() {
	add("popmlp", func() In {
		return In{gen(1, .3, 512, 16, 64), gen(2, .2, 512, 64, 64), gen(3, .2, 512, 64, 4), gen(4, 1, 512, 32, 16)}
	}, func(x In) In {
		return In{g.VMap(func(p In) A {
			return g.Dot(g.Tanh(g.Dot(g.Tanh(g.Dot(p[3], p[0])), p[1])), p[2])
		})(x)}
	})
	add("rank", func() In { return In{gen(1, 1, 8192), gen(2, 1, 8192, 64)} }, func(x In) In {
		n := 8192
		r := g.Convert(g.ArgSort(g.ArgSort(g.Neg(x[0]), 0), 0), g.Float32)
		u := g.Max(0., g.Sub(math.Log(float64(n)/2+1), g.Log(g.Add(r, 1.))))
		u = g.Sub(g.Div(u, g.Sum(u)), 1/float64(n))
		return In{g.Dot(u, x[1])}
	})
	add("pairwise", func() In { return In{gen(1, 1, 1024, 64)} }, func(x In) In {
		d := g.VMap(func(a A) A {
			return g.VMap(func(b A) A { return g.Sqrt(g.Sum(g.Square(g.Sub(a, b)))) })(x[0])
		})(x[0])
		v, _ := g.TopK(g.Neg(d), 11)
		return In{g.Mean(g.Neg(v), 1)}
	})
	add("tournament", func() In {
		return In{gen(1, 1, 4096, 128), gen(2, 1, 4096), random.New(7).Data}
	}, func(x In) In {
		i := random.Randint(random.Key{Data: x[2]}, g.ShapeOf(g.Int32, 4096, 4), 0, 4096)
		w := g.ArgMax(g.Take(x[1], i, 0), 1)
		p := g.Squeeze(g.TakeAlongAxis(i, g.ExpandDims(w, 1), 1), 1)
		return In{g.Take(x[0], p, 0)}
	})
}
