package graph

import "math"

// Tensordot sums the products over the last n axes of x and the first n of y: result axes are x's other axes, then
// y's. Other pairs of axes are DotGeneral's.
func Tensordot(x, y *Array, n int) *Array {
	if n < 0 || n > x.Rank() || n > y.Rank() {
		throw("Tensordot", "got %d axes of %s and %s, want at most the ranks", n, x.shape, y.shape)
	}
	a := operandsOnly(x, y)
	return DotGeneral(a[0], a[1], nil, nil, rangeInts(x.Rank()-n, x.Rank()), rangeInts(0, n))
}

// operandsOnly promotes two arrays to one dtype and leaves their shapes.
func operandsOnly(x, y *Array) [2]*Array {
	d := Promote(x.DType(), y.DType())
	return [2]*Array{Convert(x, d), Convert(y, d)}
}

// Kron is the Kronecker product: blocks of y, each times an element of x. Missing leading axes count as size 1.
func Kron(x, y *Array) *Array {
	for x.Rank() < y.Rank() {
		x = ExpandDims(x, 0)
	}
	for y.Rank() < x.Rank() {
		y = ExpandDims(y, 0)
	}
	wide, tall, dims := make([]int, 0, 2*x.Rank()), make([]int, 0, 2*x.Rank()), make([]int, x.Rank())
	for i := range dims {
		wide, tall = append(wide, x.Dims()[i], 1), append(tall, 1, y.Dims()[i])
		dims[i] = x.Dims()[i] * y.Dims()[i]
	}
	return Reshape(Mul(Reshape(x, wide...), Reshape(y, tall...)), dims...)
}

// Meshgrid gives for each of the vectors a grid of its values: axis i of all grids runs along vector i, but the
// first two are exchanged, as NumPy has it by default ("xy": rows run along the second vector). See MeshgridIJ.
func Meshgrid(vectors ...*Array) []*Array {
	out := MeshgridIJ(vectors...)
	if len(out) > 1 {
		for i, g := range out {
			out[i] = MoveAxis(g, 0, 1)
		}
	}
	return out
}

// MeshgridIJ gives for each of the vectors a grid of its values: axis i of all grids runs along vector i.
func MeshgridIJ(vectors ...*Array) []*Array {
	dims := make([]int, len(vectors))
	for i, v := range vectors {
		if v.Rank() > 1 {
			throw("Meshgrid", "got %s as number %d, want a vector", v.shape, i)
		}
		dims[i] = v.Size()
	}
	out := make([]*Array, len(vectors))
	for i, v := range vectors {
		out[i] = broadcastInDim(Flatten1D(v), dims, []int{i})
	}
	return out
}

// IsClose returns whether |x - y| <= atol + rtol |y|; infinities are close to themselves, NaN to nothing.
func IsClose(x, y any, rtol, atol float64) *Array {
	a := floatOperands("IsClose", x, y)
	near := Le(Abs(Sub(a[0], a[1])), Add(atol, Mul(rtol, Abs(a[1]))))
	return Or(Eq(a[0], a[1]), And(near, And(IsFinite(a[0]), IsFinite(a[1]))))
}

// AllClose reports whether IsClose holds everywhere: a bool scalar.
func AllClose(x, y any, rtol, atol float64) *Array { return All(IsClose(x, y, rtol, atol)) }

// Expm is the exponential of a square matrix, float32 or float64: a Padé approximation of the matrix over a power of
// two, squared as often (Higham, "The scaling and squaring method for the matrix exponential revisited", 2005). It is
// NaN where the 1-norm of x is above 1.6e10 or not finite: so many squarings leave no digit. JAX's is from 3e5 on.
func Expm(x *Array) *Array {
	if x = square("Expm", x); x.Rank() > 2 {
		return VMap(Expm)(x)
	}
	// The approximation's order, its numerator and the largest 1-norm that it is good for.
	b, most := []float64{17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1}, 3.925724783138660
	if x.DType() == Float64 {
		b = []float64{64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
			10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}
		most = 5.371920351148152
	}
	const mostSquarings = 32
	norm := StopGradient(ReduceMax(Sum(Abs(x), 0)))
	halvings := Clamp(0, Ceil(Log2(Div(norm, most))), mostSquarings)
	x = Mul(x, Exp2(Neg(halvings)))
	power, one := Dot(x, x), Eye(x.DType(), x.Dim(0))
	even, odd := Mul(one, b[0]), Mul(one, b[1])
	p := one
	for i := 2; i < len(b); i += 2 {
		if p = Dot(p, power); i == 2 {
			p = power
		}
		even, odd = Add(even, Mul(p, b[i])), Add(odd, Mul(p, b[i+1]))
	}
	odd = Dot(x, odd)
	r := Solve(Sub(even, odd), Add(even, odd))
	r = ForiLoop(0, mostSquarings, func(i, r *Array) *Array {
		return Cond(Lt(Convert(i, halvings.DType()), halvings), func() *Array {
			return Dot(r, r)
		}, func() *Array { return r })
	}, r)
	return Select(Le(norm, most*(1<<mostSquarings)), r, FullLike(r, math.NaN()))
}

// LeastSquares is what Lstsq finds.
type LeastSquares struct {
	X         *Array // [n], or [n, k]: the solution, of several the shortest
	Residuals *Array // sum of the squared differences for each column of b: a scalar, or [k]
	Rank      *Array // int32 scalar: singular values of a that count
	Singular  *Array // [min(m, n)]: singular values of a
}

// Lstsq solves a x = b for the x with the least squared difference: a [m, n], b [m] or [m, k], float32 or float64.
// Singular values below rcond (default: the dtype's epsilon times the larger side) times the largest one count as
// zero. Derivatives of X hold while the rank stays the same, and do not need distinct singular values as JAX's do.
func Lstsq(a, b *Array, rcond ...float64) LeastSquares {
	const name = "Lstsq"
	a = matrix(name, a)
	if a.Rank() > 2 {
		throw(name, "got %s, want one matrix: use VMap for a batch of them", a.shape)
	}
	if len(rcond) > 1 || b.Rank() < 1 || b.Rank() > 2 || b.Dim(0) != a.Dim(0) {
		throw(name, "got a %s, b %s and %d values of rcond; want [m, n], [m] or [m, k], and one value or none", a.shape,
			b.shape, len(rcond))
	}
	b = Convert(b, a.DType())
	least := float64(max(a.Dim(0), a.Dim(1))) * 0x1p-23
	if a.DType() == Float64 {
		least *= 0x1p-29
	}
	if len(rcond) == 1 {
		least = rcond[0]
	}
	type problem struct{ A, B, U, S, VT *Array }
	u, s, vt := SVD(a)
	x := CustomJvp(func(in problem) *Array {
		return shortest(in.U, in.S, in.VT, in.B, least)
	}, func(in, t problem) (*Array, *Array) { // of x = a⁺ b; see Pinv
		p, x := Pinv(in.A, least), shortest(in.U, in.S, in.VT, in.B, least)
		pt, tt := MatrixTranspose(p), MatrixTranspose(t.A)
		change := Dot(p, Sub(t.B, Dot(t.A, x)))
		change = Add(change, Dot(p, Dot(pt, Dot(tt, Sub(in.B, Dot(in.A, x))))))
		far := Dot(tt, Dot(pt, x))
		return x, Add(change, Sub(far, Dot(p, Dot(in.A, far))))
	})(problem{a, b, u, s, vt})
	return LeastSquares{x, Sum(Square(Sub(b, Dot(a, x))), 0), Sum(Convert(countsOf(s, least), Int32)), s}
}

// countsOf reports which of the singular values s [k] count: those of least times the largest and more.
func countsOf(s *Array, least float64) *Array {
	return And(Gt(s, 0), Ge(s, Mul(least, index(s, 0, 0))))
}

// shortest is the shortest x for which a x is nearest to b, where a is u s vt.
func shortest(u, s, vt, b *Array, least float64) *Array {
	counts := countsOf(s, least)
	inverse := Select(counts, Reciprocal(Select(counts, s, 1)), 0)
	y := Dot(MatrixTranspose(u), b)
	if y.Rank() == 2 {
		inverse = ExpandDims(inverse, 1)
	}
	return Dot(MatrixTranspose(vt), Mul(inverse, y))
}
