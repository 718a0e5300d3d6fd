package genericbench

import (
	"math"

	g "xlarun/graph"
	"xlarun/graph/stats"
)

func i32s(dims ...int) g.Shape { return g.ShapeOf(g.Int32, dims...) }

// total adds up.
func total(terms ...A) A {
	sum := terms[0]
	for _, t := range terms[1:] {
		sum = g.Add(sum, t)
	}
	return sum
}

// shifts are the windows [h,w] of an image [h+2,w+2], row by row.
func shifts(p A) (all In) {
	h, w := p.Dim(0)-2, p.Dim(1)-2
	for y := range 3 {
		for x := range 3 {
			all = append(all, g.Slice(p, []int{y, x}, []int{y + h, x + w}))
		}
	}
	return all
}

func border(x A, n int) A { return g.Pad(x, 0., []int{n, n}, []int{n, n}) }

func init() {
	add("blur", func() In { return In{gen(1, 1, 16, 256, 256)} }, func(x In) In {
		along := func(x A, axis int) A {
			pad := make([]int, 3)
			pad[axis] = 2
			p := g.Pad(x, 0., pad, pad)
			var all In
			for i, w := range []float64{1, 4, 6, 4, 1} {
				all = append(all, g.Mul(w/16, g.SliceAxis(p, axis, i, i+256)))
			}
			return total(all...)
		}
		return In{along(along(x[0], 1), 2)}
	})
	add("sobel", func() In { return In{gen(1, 1, 512, 512)} }, func(x In) In {
		s := shifts(border(x[0], 1))
		dx := g.Sub(total(s[2], g.Mul(2., s[5]), s[8]), total(s[0], g.Mul(2., s[3]), s[6]))
		dy := g.Sub(total(s[6], g.Mul(2., s[7]), s[8]), total(s[0], g.Mul(2., s[1]), s[2]))
		return In{g.Sqrt(g.Add(g.Square(dx), g.Square(dy)))}
	})
	add("medianfilter", func() In { return In{gen(1, 1, 256, 256)} }, func(x In) In {
		return In{g.IndexAxis(g.Sort(g.Stack(shifts(border(x[0], 1)), 2), 2), 2, 4)}
	})
	add("histogram", func() In { return In{gen(1, 1, 1_000_000)} }, func(x In) In {
		counts, _ := stats.Histogram(x[0], 64, -1, 1)
		return In{counts}
	})
	add("equalize", func() In { return In{geni(1, 200, 512, 512)} }, func(x In) In {
		c := g.CumSum(stats.Bincount(x[0], 256), 0)
		table := g.Quo(g.Mul(g.Sub(c, g.Index(c, 0)), 255), g.Sub(512*512, g.Index(c, 0)))
		return In{g.Take(table, x[0], 0)}
	})
	add("rotate", func() In { return In{gen(1, 1, 256, 256), gen(2, 3, 8)} }, func(x In) In {
		flat := g.Flatten1D(x[0])
		at := g.Sub(g.Convert(g.Iota(256), g.Float32), 127.5)
		grid := g.MeshgridIJ(at, at)
		return In{g.VMap(func(angle A) A {
			s, c := g.Sin(angle), g.Cos(angle)
			y := g.Clamp(0, g.Add(g.Add(g.Mul(c, grid[0]), g.Mul(s, grid[1])), 127.5), 254.99)
			x := g.Clamp(0, g.Add(g.Sub(g.Mul(c, grid[1]), g.Mul(s, grid[0])), 127.5), 254.99)
			y0, x0 := g.Floor(y), g.Floor(x)
			fy, fx := g.Sub(y, y0), g.Sub(x, x0)
			i := g.Convert(g.Add(g.Mul(y0, 256.), x0), g.Int32)
			pixel := func(d int) A { return g.Take(flat, g.Add(i, d), 0) }
			top := g.Add(g.Mul(pixel(0), g.Sub(1., fx)), g.Mul(pixel(1), fx))
			bottom := g.Add(g.Mul(pixel(256), g.Sub(1., fx)), g.Mul(pixel(257), fx))
			return g.Add(g.Mul(top, g.Sub(1., fy)), g.Mul(bottom, fy))
		})(x[1])}
	})
	add("dilate", func() In { return In{gen(1, 1, 8, 256, 256)} }, func(x In) In {
		return In{g.ReduceWindow(x[0], "max", []int{1, 5, 5}, g.SamePadding())}
	})
	add("boxsum", func() In { return In{gen(1, 1, 1024, 1024)} }, func(x In) In {
		c := g.Pad(g.CumSum(g.CumSum(x[0], 0), 1), 0., []int{1, 1}, []int{0, 0})
		at := func(y, x int) A { return g.Slice(c, []int{y, x}, []int{y + 1010, x + 1010}) }
		return In{g.Add(g.Sub(g.Sub(at(15, 15), at(0, 15)), at(15, 0)), at(0, 0))}
	})
	add("autocorrelation", func() In { return In{gen(1, 1, 64, 4096)} }, func(x In) In {
		return In{g.VMap(func(x A) A {
			x = g.Sub(x, g.Mean(x))
			var all In
			for lag := range 64 {
				all = append(all, g.Sum(g.Mul(g.SliceAxis(x, 0, 0, 4096-lag), g.SliceAxis(x, 0, lag, 4096))))
			}
			c := g.Stack(all, 0)
			return g.Div(c, g.Index(c, 0))
		})(x[0])}
	})
	add("mandelbrot", func() In { return In{gen(1, 1, 256, 256)} }, func(x In) In {
		at := g.Sub(g.Mul(g.Convert(g.Iota(256), g.Float32), 3./256), 2.)
		grid := g.MeshgridIJ(g.Add(at, .5), at)
		cr, ci := g.Add(grid[1], g.Mul(1e-3, x[0])), grid[0]
		e := scanN(64, func(s In) In {
			inside := g.Le(g.Add(g.Square(s[0]), g.Square(s[1])), 4.)
			r := g.Add(g.Sub(g.Square(s[0]), g.Square(s[1])), cr)
			i := g.Add(g.Mul(g.Mul(2., s[0]), s[1]), ci)
			return In{g.Select(inside, r, s[0]), g.Select(inside, i, s[1]), g.Add(s[2], g.Convert(inside, g.Int32))}
		}, In{g.ZerosLike(cr), g.ZerosLike(cr), g.Zeros(i32s(256, 256))})
		return In{e[2]}
	})
	add("kmeans", func() In { return In{gen(1, 1, 4096, 16), gen(2, 1, 32, 16)} }, func(x In) In {
		return scanN(10, func(s In) In {
			d := g.Sub(g.Sum(g.Square(s[0]), 1), g.Mul(2., g.Dot(x[0], g.Transpose(s[0]))))
			of := g.ArgMin(d, 1)
			n := g.SegmentSum(g.Ones(f32s(4096)), of, 32)
			return In{g.Div(g.SegmentSum(x[0], of, 32), g.ExpandDims(g.Max(n, 1.), 1))}
		}, In{x[1]})
	})
	add("dct", func() In { return In{gen(1, 1, 4096, 8, 8)} }, func(x In) In {
		basis := make([]float32, 64) // of the cosine transform of blocks of 8 x 8
		for k := range 8 {
			for n := range 8 {
				basis[8*k+n] = float32(.5 * math.Cos(math.Pi*(float64(n)+.5)*float64(k)/8))
			}
		}
		c := g.Float32s(basis, 8, 8)
		return In{g.Round(g.Mul(16., g.VMap(func(b A) A { return g.Dot(g.Dot(c, b), g.Transpose(c)) })(x[0])))}
	})
	add("bilateral", func() In { return In{gen(1, 1, 256, 256)} }, func(x In) In {
		p := border(x[0], 2)
		sum, weights := g.ZerosLike(x[0]), g.ZerosLike(x[0])
		for dy := range 5 {
			for dx := range 5 {
				s := g.Slice(p, []int{dy, dx}, []int{dy + 256, dx + 256})
				far := float64((dy-2)*(dy-2)+(dx-2)*(dx-2)) / 8
				w := g.Exp(g.Sub(-far, g.Mul(10., g.Square(g.Sub(s, x[0])))))
				sum, weights = g.Add(sum, g.Mul(w, s)), g.Add(weights, w)
			}
		}
		return In{g.Div(sum, weights)}
	})
	add("hough", func() In { return In{gen(1, 100, 2048, 2)} }, func(x In) In { // lines through points
		angle := g.Mul(g.Convert(g.Iota(180), g.Float32), math.Pi/180)
		along := func(k int, f A) A { return g.Mul(g.ExpandDims(g.IndexAxis(x[0], 1, k), 1), g.ExpandDims(f, 0)) }
		r := g.Add(along(0, g.Cos(angle)), along(1, g.Sin(angle)))
		at := g.Add(g.Convert(g.Floor(g.Add(r, 160.)), g.Int32), g.Mul(g.ExpandDims(g.Iota(180), 0), 320))
		return In{g.ScatterAdd(g.Zeros(i32s(180*320)), g.Flatten1D(at), g.Ones(i32s(2048*180)))}
	})
	add("distance", func() In { return In{geni(1, 500, 512, 512)} }, func(x In) In { // to the next point
		d, i := g.Select(g.Eq(x[0], 0), 0., 1e4), g.Convert(g.Iota(512), g.Float32)
		for axis := range 2 {
			at := g.ExpandDims(i, 1-axis)
			before := g.Add(g.CumMin(g.Sub(d, at), axis), at)
			after := g.Sub(g.CumMin(g.Add(d, at), axis, g.Reversed()), at)
			d = g.Min(before, after)
		}
		return In{d}
	})
	add("floodfill", func() In { return In{geni(1, 3, 96, 96)} }, func(x In) In {
		open := g.Ne(x[0], 0)
		type st struct{ Label, Changed A }
		e := g.While(func(s st) A { return s.Changed }, func(s st) st {
			n := shifts(g.Pad(s.Label, 10000, []int{1, 1}, []int{1, 1}))
			l := g.Min(g.Min(g.Min(n[1], n[3]), g.Min(n[5], n[7])), s.Label)
			l = g.Select(open, l, 10000)
			return st{l, g.Any(g.Ne(l, s.Label))}
		}, st{g.Select(open, g.Reshape(g.Iota(96*96), 96, 96), 10000), g.Of(true)})
		return In{e.Label}
	})
}
