package genericbench

import (
	g "xlarun/graph"
	"xlarun/graph/linalg"
	"xlarun/graph/random"
)

func init() {
	add("chain", func() In { return In{gen(1, 2, 10_000_000)} }, func(x In) In {
		y := g.Mul(g.Sin(x[0]), g.Exp(g.Neg(g.Square(x[0]))))
		y = g.Add(g.Tanh(y), g.Div(x[0], g.Add(1., g.Abs(y))))
		return In{g.Add(g.Sqrt(g.Abs(y)), g.Log1p(g.Square(y)))}
	})
	add("softmax", func() In { return In{gen(1, 5, 4096, 1024)} }, func(x In) In { return In{g.Softmax(x[0], 1)} })
	add("sort1m", func() In { return In{gen(1, 1, 1_000_000)} }, func(x In) In { return In{g.Sort(x[0], 0)} })
	add("matmul", func() In {
		return In{gen(1, 1, 1024, 1024), gen(2, 1, 1024, 1024)}
	}, func(x In) In { return In{g.MatMul(x[0], x[1])} })
	add("batchmm", func() In {
		return In{gen(1, 1, 1024, 16, 16), gen(2, 1, 1024, 16, 16)}
	}, func(x In) In { return In{g.MatMul(x[0], x[1])} })
	add("cholsolve", func() In { return In{gen(1, 1, 64, 64, 64), gen(2, 1, 64, 64)} }, func(x In) In {
		return In{g.VMap2(func(a, b A) A {
			l := linalg.Cholesky(g.Add(g.Dot(a, g.Transpose(a)), g.Mul(4., g.Eye(g.Float32, 64))))
			return linalg.CholeskySolve(l, b)
		})(x[0], x[1])}
	})
	add("normals", func() In { return In{random.New(1).Data} }, func(x In) In {
		return In{random.Normal(random.Key{Data: x[0]}, f32s(5_000_000))}
	})
	add("solve", func() In { return In{gen(1, 1, 1024, 8, 8), gen(2, 1, 1024, 8)} }, func(x In) In {
		return In{g.VMap2(func(a, b A) A { return linalg.Solve(g.Add(a, g.Mul(4., g.Eye(g.Float32, 8))), b) })(x[0],
			x[1])}
	})
}
