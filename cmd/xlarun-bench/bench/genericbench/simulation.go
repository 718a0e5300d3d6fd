package genericbench

import (
	g "xlarun/graph"
	"xlarun/graph/linalg"
)

func rk4(rhs func(A) A, dt float64, n int) func(A) A {
	return func(s A) A {
		e, _ := g.Scan(func(s A, _ g.None) (A, g.None) {
			k1 := rhs(s)
			k2 := rhs(g.Add(s, g.Mul(dt/2, k1)))
			k3 := rhs(g.Add(s, g.Mul(dt/2, k2)))
			k4 := rhs(g.Add(s, g.Mul(dt, k3)))
			return g.Add(s, g.Mul(dt/6, g.Add(g.Add(k1, g.Mul(2., k2)), g.Add(g.Mul(2., k3), k4)))), g.None{}
		}, s, g.None{}, g.Length(n))
		return e
	}
}

func lorenz(s A) A {
	x, y, z := g.Index(s, 0), g.Index(s, 1), g.Index(s, 2)
	return g.Stack(In{g.Mul(10., g.Sub(y, x)), g.Sub(g.Mul(x, g.Sub(28., z)), y), g.Sub(g.Mul(x, y), g.Mul(8./3, z))},
		0)
}

func pendulum(s A) A {
	t1, t2, w1, w2 := g.Index(s, 0), g.Index(s, 1), g.Index(s, 2), g.Index(s, 3)
	d := g.Sub(t1, t2)
	den := g.Sub(3., g.Cos(g.Mul(2., d)))
	sd, cd := g.Sin(d), g.Cos(d)
	a1 := g.Div(g.Sub(g.Sub(g.Mul(-29.43, g.Sin(t1)), g.Mul(9.81, g.Sin(g.Sub(t1, g.Mul(2., t2))))),
		g.Mul(g.Mul(2., sd), g.Add(g.Square(w2), g.Mul(g.Square(w1), cd)))), den)
	a2 := g.Div(g.Mul(g.Mul(2., sd), g.Add(g.Add(g.Mul(2., g.Square(w1)), g.Mul(19.62, g.Cos(t1))),
		g.Mul(g.Square(w2), cd))), den)
	return g.Stack(In{w1, w2, a1, a2}, 0)
}

func scanN(n int, f func(In) In, init In) In {
	e, _ := g.Scan(func(c In, _ g.None) (In, g.None) { return f(c), g.None{} }, init, g.None{}, g.Length(n))
	return e
}

func cross(a, b A) A {
	i := func(x A, k int) A { return g.Index(x, k) }
	return g.Stack(In{
		g.Sub(g.Mul(i(a, 1), i(b, 2)), g.Mul(i(a, 2), i(b, 1))),
		g.Sub(g.Mul(i(a, 2), i(b, 0)), g.Mul(i(a, 0), i(b, 2))),
		g.Sub(g.Mul(i(a, 0), i(b, 1)), g.Mul(i(a, 1), i(b, 0))),
	}, 0)
}

func quatMul(a, b A) A {
	w, x, y, z := g.Index(a, 0), g.Index(a, 1), g.Index(a, 2), g.Index(a, 3)
	p, q, r, s := g.Index(b, 0), g.Index(b, 1), g.Index(b, 2), g.Index(b, 3)
	return g.Stack(In{
		g.Sub(g.Sub(g.Mul(w, p), g.Mul(x, q)), g.Add(g.Mul(y, r), g.Mul(z, s))),
		g.Add(g.Add(g.Mul(w, q), g.Mul(x, p)), g.Sub(g.Mul(y, s), g.Mul(z, r))),
		g.Add(g.Sub(g.Mul(w, r), g.Mul(x, s)), g.Add(g.Mul(y, p), g.Mul(z, q))),
		g.Add(g.Add(g.Mul(w, s), g.Mul(x, r)), g.Sub(g.Mul(z, p), g.Mul(y, q))),
	}, 0)
}

func init() {
	add("lorenz", func() In {
		return In{gen(1, 10, 4096, 3)}
	}, func(x In) In { return In{g.VMap(rk4(lorenz, 0.01, 200))(x[0])} })
	add("heat", func() In { return In{gen(1, 1, 128, 128)} }, func(x In) In {
		return scanN(500, func(c In) In {
			u := c[0]
			l := g.Sub(g.Add(g.Add(g.Roll(u, 1, 0), g.Roll(u, -1, 0)), g.Add(g.Roll(u, 1, 1), g.Roll(u, -1, 1))),
				g.Mul(4., u))
			return In{g.Add(u, g.Mul(.1, l))}
		}, x)
	})
	add("life", func() In { return In{geni(1, 2, 256, 256)} }, func(x In) In {
		return scanN(200, func(c In) In {
			b := c[0]
			n := g.ZerosLike(b)
			for dy := -1; dy <= 1; dy++ {
				for dx := -1; dx <= 1; dx++ {
					if dx != 0 || dy != 0 {
						n = g.Add(n, g.Roll(g.Roll(b, dy, 0), dx, 1))
					}
				}
			}
			return In{g.Convert(g.Or(g.Eq(n, 3), g.And(g.Eq(n, 2), g.Eq(b, 1))), g.Int32)}
		}, x)
	})
	add("kalman", func() In { return In{gen(1, 1, 512, 100, 2)} }, func(x In) In {
		dt := float32(.1)
		F := g.Float32s([]float32{1, 0, dt, 0, 0, 1, 0, dt, 0, 0, 1, 0, 0, 0, 0, 1}, 4, 4)
		H := g.Float32s([]float32{1, 0, 0, 0, 0, 1, 0, 0}, 2, 4)
		Q, R := g.Mul(.01, g.Eye(g.Float32, 4)), g.Mul(.5, g.Eye(g.Float32, 2))
		return In{g.VMap(func(zs A) A {
			_, xs := g.Scan(func(c In, z A) (In, A) {
				x := g.Dot(F, c[0])
				P := g.Add(g.Dot(g.Dot(F, c[1]), g.Transpose(F)), Q)
				S := g.Add(g.Dot(g.Dot(H, P), g.Transpose(H)), R)
				K := g.Dot(g.Dot(P, g.Transpose(H)), linalg.Inv(S))
				x = g.Add(x, g.Dot(K, g.Sub(z, g.Dot(H, x))))
				P = g.Dot(g.Sub(g.Eye(g.Float32, 4), g.Dot(K, H)), P)
				return In{x, P}, x
			}, In{g.Zeros(g.ShapeOf(g.Float32, 4)), g.Eye(g.Float32, 4)}, zs)
			return xs
		})(x[0])}
	})
	add("pendulum", func() In {
		return In{gen(1, 3, 4096, 4)}
	}, func(x In) In { return In{g.VMap(rk4(pendulum, .005, 100))(x[0])} })
	add("quaternion", func() In { return In{gen(1, 1, 4096, 4), gen(2, 1, 4096, 3)} }, func(x In) In {
		inertia := g.Float32s([]float32{1, 2, 3}, 3)
		return g.VMap2(func(q, w A) In { // a body that turns freely
			return scanN(200, func(s In) In {
				q, w := s[0], s[1]
				turned := quatMul(q, g.Concatenate(0, g.Zeros(f32s(1)), w))
				q = g.Add(q, g.Mul(.005, turned))
				q = g.Div(q, g.Sqrt(g.Sum(g.Square(q))))
				return In{q, g.Add(w, g.Mul(.01, g.Div(cross(g.Mul(inertia, w), w), inertia)))}
			}, In{q, w})
		})(x[0], x[1])
	})
}
