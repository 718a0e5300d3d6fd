package genericbench

import (
	g "xlarun/graph"
	"xlarun/graph/nn"
)

func f32s(dims ...int) g.Shape { return g.ShapeOf(g.Float32, dims...) }

func sgd(p, gr In, rate float64) In {
	return g.MapTree2(func(p, d A) A { return g.Sub(p, g.Mul(rate, d)) }, p, gr)
}

func cnn(p In, x A) A { // x [28,28,1]
	h := g.MaxPool(g.Relu(g.Add(g.Conv(x, p[0], g.SamePadding()), p[1])), []int{2, 2}, g.Strides(2, 2))
	h = g.MaxPool(g.Relu(g.Add(g.Conv(h, p[2], g.SamePadding()), p[3])), []int{2, 2}, g.Strides(2, 2))
	return dense(g.Flatten1D(h), p[4], p[5])
}

func cnnIn() In {
	return In{gen(1, .4, 3, 3, 1, 16), gen(2, .1, 16), gen(3, .15, 3, 3, 16, 32), gen(4, .1, 32), gen(5, .05, 1568, 10),
		gen(6, .1, 10),
		gen(7, 1, 64, 28, 28, 1), geni(8, 10, 64)}
}

func attend(p In, x A) A { // x [128,128], 4 heads
	h := func(i int) A { return g.Reshape(g.Dot(x, p[i]), 128, 4, 32) }
	a := g.Softmax(g.Mul(1/5.656854249, g.Einsum("qhd,khd->hqk", h(0), h(1))), 2)
	return g.Dot(g.Reshape(g.Einsum("hqk,khd->qhd", a, h(2)), 128, 128), p[3])
}

func residual(p In, x A) A { // x [128]
	for i := range 6 {
		q := p[6*i : 6*i+6]
		h := nn.LayerNorm{Scale: q[0], Bias: q[1], Epsilon: 1e-6}.Apply(x)
		x = g.Add(x, dense(nn.GeluTanh(dense(h, q[2], q[3])), q[4], q[5]))
	}
	return x
}

var spike = g.CustomVjp(
	func(v A) A { return g.Convert(g.Gt(v, 0.), g.Float32) },
	func(v A) (A, A) { return g.Convert(g.Gt(v, 0.), g.Float32), v },
	func(v, ct A) A { return g.Div(ct, g.Square(g.Add(1., g.Mul(10., g.Abs(v))))) })

func lif(p In, x A) A { // x [100,64]: the mean of the outputs' potentials [10]
	type st struct{ V1, V2 A }
	_, o := g.Scan(func(s st, x A) (st, A) {
		v1 := g.Add(g.Mul(.9, s.V1), g.Dot(x, p[0]))
		s1 := spike(g.Sub(v1, 1.))
		v1 = g.Sub(v1, s1)
		v2 := g.Add(g.Mul(.95, s.V2), g.Dot(s1, p[1]))
		return st{v1, v2}, v2
	}, st{g.Zeros(f32s(256)), g.Zeros(f32s(10))}, x)
	return g.Mean(o, 0)
}

func lifIn() In {
	return In{gen(1, .3, 64, 256), gen(2, .1, 256, 10), gen(3, 1, 64, 100, 64), geni(4, 10, 64)}
}

func init() {
	add("mlptrain", func() In {
		return In{gen(1, .05, 784, 256), gen(2, .1, 256), gen(3, .1, 256, 10), gen(4, .1, 10), gen(5, 1, 128, 784),
			geni(6, 10, 128)}
	}, func(x In) In {
		l, gr := g.ValueAndGrad(func(p In) A {
			return g.Mean(g.VMap2(func(x, y A) A {
				return nn.CrossEntropy(dense(g.Relu(dense(x, p[0], p[1])), p[2], p[3]), y)
			})(x[4], x[5]))
		})(x[:4])
		return append(In{l}, sgd(x[:4], gr, .1)...)
	})
	add("cnntrain", cnnIn, func(x In) In {
		l, gr := g.ValueAndGrad(func(p In) A {
			return g.Mean(g.VMap2(func(i, y A) A { return nn.CrossEntropy(cnn(p, i), y) })(x[6], x[7]))
		})(x[:6])
		return append(In{l}, sgd(x[:6], gr, .1)...)
	})
	add("attention", func() In {
		return In{gen(1, .15, 128, 128), gen(2, .15, 128, 128), gen(3, .15, 128, 128), gen(4, .15, 128, 128),
			gen(5, 1, 8, 128, 128)}
	}, func(x In) In {
		l, gr := g.ValueAndGrad(func(x In) A {
			return g.Mean(g.Square(g.VMap(func(s A) A { return attend(x[:4], s) })(x[4])))
		})(x)
		return append(In{l}, gr...)
	})
	add("embed", func() In {
		return In{gen(1, 1, 10000, 64), gen(2, .1, 64, 10), geni(3, 10000, 64, 64), geni(4, 10, 64)}
	}, func(x In) In {
		l, gr := g.ValueAndGrad(func(p In) A {
			return g.Mean(g.VMap2(func(i, y A) A {
				return nn.CrossEntropy(g.Dot(g.Mean(g.Take(p[0], i, 0), 0), p[1]), y)
			})(x[2], x[3]))
		})(x[:2])
		return append(In{l}, gr...)
	})
	add("liftrain", lifIn, func(x In) In {
		l, gr := g.ValueAndGrad(func(p In) A {
			return g.Mean(g.VMap2(func(s, y A) A { return nn.CrossEntropy(lif(p, s), y) })(x[2], x[3]))
		})(x[:2])
		return append(In{l}, gr...)
	})
	add("manymlp", func() In {
		return In{gen(1, 1, 64, 2, 16), gen(2, .1, 64, 16), gen(3, .5, 64, 16, 1), gen(4, .1, 64, 1), gen(5, 1, 64, 2)}
	}, func(x In) In {
		data := x[4]
		y := g.Mul(g.Sign(g.IndexAxis(data, 1, 0)), g.Sign(g.IndexAxis(data, 1, 1)))
		return g.VMap(func(p In) In {
			return scanN(100, func(p In) In {
				return sgd(p, g.Grad(func(p In) A {
					o := g.Squeeze(dense(g.Tanh(dense(data, p[0], p[1])), p[2], p[3]), 1)
					return g.Mean(g.Square(g.Sub(o, y)))
				})(p), .1)
			}, p)
		})(x[:4])
	})
	add("residual", func() In {
		var p In
		for i := range uint64(6) {
			p = append(p, gen(10*i+1, 1, 128), gen(10*i+2, .1, 128), gen(10*i+3, .1, 128, 256), gen(10*i+4, .1, 256),
				gen(10*i+5, .1, 256, 128), gen(10*i+6, .1, 128))
		}
		return append(p, gen(99, 1, 256, 128))
	}, func(x In) In {
		l, gr := g.ValueAndGrad(func(p In) A {
			return g.Mean(g.Square(g.VMap(func(v A) A { return residual(p, v) })(x[36])))
		})(x[:36])
		return append(In{l}, sgd(x[:36], gr, .01)...)
	})
}
