package graph

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
		out[i] = BroadcastInDim(Flatten1D(v), dims, []int{i})
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
