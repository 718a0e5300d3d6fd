package graph

import (
	"cmp"
	"math"
	"math/cmplx"
	"slices"
)

// Constants of the method. xlabridge/kernels/eig.c has them under the same names, and they must agree.
const (
	// eigMostTurns is the number of QR steps for one eigenvalue after which the iteration counts as failed; two are
	// usual.
	eigMostTurns = 60
	// eigMostRounds ends the scaling of rows and columns; three rounds are usual.
	eigMostRounds = 20
	// eigMostBalance is the logarithm of the largest scale in float64: eigenvectors in it do not overflow.
	eigMostBalance = 500
	// eigPhaseShare says which elements of an eigenvector are large: no common quotient of elements, such as a half, is
	// near.
	eigPhaseShare = .45
	// eigGridShare is the share of the largest part of an eigenvalue to which real and imaginary parts are rounded
	// before they are put in order: those that are equal stay equal in spite of rounding.
	eigGridShare = 0x1p-12
	// eigMostElement is the largest element of a triangle's eigenvector: a vector that grows further is made smaller.
	eigMostElement = 0x1p30
	// eigLeastGap is the smallest number that substitution divides by. It replaces smaller gaps of eigenvalues.
	eigLeastGap = 0x1p-1000
)

// eigReference is eig by plain loops: LAPACK's geev step by step. It balances the matrix, makes it upper Hessenberg by
// reflections, quasi-triangular by Francis's double shifts and triangular by complex rotations of the blocks that are
// left; substitution gives the eigenvectors of the triangle (Golub and Van Loan, 7.4 to 7.6).
func eigReference(a dense) (wr, wi []float64, vr, vi dense) {
	n := a.rows
	x := a.clone()
	scale := powerBelow(x.largest())
	if math.IsNaN(scale) || math.IsInf(scale, 0) {
		return notANumber(n)
	}
	for i := range x.v {
		x.v[i] /= scale
	}
	order, low, high := isolate(x)
	x = x.permuted(order)
	d := x.balance(low, high)
	z := x.hessenberg()
	if !x.francis(z) {
		return notANumber(n)
	}
	w, t, u := x.triangular(z)
	vectors := triangleVectors(w, t)
	columns := make([][]complex128, n)
	for j := range n {
		c := make([]complex128, n)
		for i := range n {
			for k := range j + 1 {
				c[order[i]] += u[i][k] * vectors[j][k]
			}
			c[order[i]] *= complex(d[i], 0)
		}
		if imag(w[j]) == 0 {
			for i, e := range c {
				c[i] = complex(real(e), 0)
			}
		} else if imag(w[j]) < 0 { // the second of a pair
			for i, e := range columns[j-1] {
				c[i] = cmplx.Conj(e)
			}
		}
		canonicalPhase(c)
		columns[j] = c
	}
	wr, wi, vr, vi = make([]float64, n), make([]float64, n), newDense(n, n), newDense(n, n)
	for k, from := range orderOfEigenvalues(w) {
		wr[k], wi[k] = scale*real(w[from]), scale*imag(w[from])
		for i, e := range columns[from] {
			vr.set(i, k, real(e))
			vi.set(i, k, imag(e))
		}
	}
	return wr, wi, vr, vi
}

func notANumber(n int) (wr, wi []float64, vr, vi dense) {
	nan := []float64{math.NaN()}
	all := dense{n, n, slices.Repeat(nan, n*n)}
	return slices.Repeat(nan, n), slices.Repeat(nan, n), all, all
}

// largest is the largest magnitude, and NaN where an element is.
func (m dense) largest() float64 {
	top := 0.
	for _, e := range m.v {
		top = math.Max(top, math.Abs(e))
	}
	return top
}

// powerBelow is the power of two at or below x, 1 where x is 0, and x where it is not finite.
func powerBelow(x float64) float64 {
	if x == 0 {
		return 1
	} else if math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	return math.Ldexp(1, math.Ilogb(x))
}

// isolate orders rows and columns so that the matrix is block triangular: before low and from high on its diagonal
// holds eigenvalues. Of a matrix that a permutation makes triangular nothing is left between.
func isolate(x dense) (order []int, low, high int) {
	n := x.rows
	order, high = make([]int, n), n
	rest := rangeInts(0, n)
	alone := func(i int, element func(j int) float64) bool {
		return !slices.ContainsFunc(rest, func(j int) bool { return j != i && element(j) != 0 })
	}
	for len(rest) > 0 {
		row, column := -1, -1
		for k, i := range rest {
			if alone(i, func(j int) float64 { return x.at(i, j) }) {
				row = k
			}
			if column < 0 && alone(i, func(j int) float64 { return x.at(j, i) }) {
				column = k
			}
		}
		switch {
		case row >= 0:
			high--
			order[high] = rest[row]
			rest = slices.Delete(rest, row, row+1)
		case column >= 0:
			order[low] = rest[column]
			low++
			rest = slices.Delete(rest, column, column+1)
		default:
			copy(order[low:], rest)
			return order, low, high
		}
	}
	return order, low, high
}

func (m dense) permuted(order []int) dense {
	out := newDense(m.rows, m.cols)
	for i, from := range order {
		for j, column := range order {
			out.set(i, j, m.at(from, column))
		}
	}
	return out
}

// mostBalance is eigMostBalance for numbers of the type d.
func mostBalance(d DType) float64 {
	if d == Float64 {
		return eigMostBalance
	}
	return 60
}

// balance scales rows and columns low … high-1 by powers of two until each row is about as large as its column, and
// returns the scale of each column (Parlett and Reinsch, "Balancing a matrix", 1969).
func (m dense) balance(low, high int) (d []float64) {
	d = slices.Repeat([]float64{1}, m.rows)
	for range eigMostRounds {
		changed := false
		for i := low; i < high; i++ {
			row, column := 0., 0.
			for j := low; j < high; j++ {
				if j != i {
					row += math.Abs(m.at(i, j))
					column += math.Abs(m.at(j, i))
				}
			}
			if row == 0 || column == 0 {
				continue
			}
			f := powerBelow(math.Sqrt2 * math.Sqrt(row) / math.Sqrt(column))
			if math.Abs(math.Log2(d[i]*f)) > eigMostBalance || row/f+column*f >= .95*(row+column) {
				continue
			}
			changed = true
			d[i] *= f
			for j := range m.rows {
				m.set(j, i, m.at(j, i)*f)
			}
			for j := range m.rows {
				m.set(i, j, m.at(i, j)/f)
			}
		}
		if !changed {
			break
		}
	}
	return d
}

// reflector gives v with v[0] = 1 and tau such that (1 - tau v v^T) x has zeros behind its first element, beta.
func reflector(x []float64) (v []float64, tau, beta float64) {
	below := 0.
	for _, e := range x[1:] {
		below = math.Hypot(below, e)
	}
	v = make([]float64, len(x))
	v[0] = 1
	if below == 0 {
		return v, 0, x[0]
	}
	beta = -math.Copysign(math.Hypot(x[0], below), x[0])
	for i := 1; i < len(x); i++ {
		v[i] = x[i] / (x[0] - beta)
	}
	return v, (beta - x[0]) / beta, beta
}

// reflectRows reflects rows first, first+1, …, and reflectColumns columns.
func (m dense) reflectRows(first int, v []float64, tau float64) {
	for j := range m.cols {
		s := 0.
		for i, e := range v {
			s += e * m.at(first+i, j)
		}
		for i, e := range v {
			m.set(first+i, j, m.at(first+i, j)-tau*s*e)
		}
	}
}

func (m dense) reflectColumns(first int, v []float64, tau float64) {
	for i := range m.rows {
		s := 0.
		for j, e := range v {
			s += e * m.at(i, first+j)
		}
		for j, e := range v {
			m.set(i, first+j, m.at(i, first+j)-tau*s*e)
		}
	}
}

// hessenberg makes m zero below the first subdiagonal and returns the product z of the reflections: before it was
// z m z^T.
func (m dense) hessenberg() (z dense) {
	n := m.rows
	z = identity(n)
	for k := range n - 2 {
		v, tau, beta := reflector(m.column(k)[k+1:])
		m.reflectRows(k+1, v, tau)
		m.reflectColumns(k+1, v, tau)
		z.reflectColumns(k+1, v, tau)
		m.set(k+1, k, beta)
		for i := k + 2; i < n; i++ {
			m.set(i, k, 0)
		}
	}
	return z
}

// francis leaves blocks of one and two rows on the diagonal of the Hessenberg matrix m. It turns the columns of z with
// it, and reports whether it came to an end.
func (m dense) francis(z dense) bool {
	high, turn := m.rows-1, 0
	top := m.largest()
	for high >= 0 {
		for i := 1; i <= high; i++ {
			near := math.Abs(m.at(i, i)) + math.Abs(m.at(i-1, i-1))
			if near == 0 || turn > eigMostTurns/2 {
				near = top
			}
			if math.Abs(m.at(i, i-1)) <= Finfo(Float64).Eps*near {
				m.set(i, i-1, 0)
			}
		}
		low := high
		for low > 0 && m.at(low, low-1) != 0 {
			low--
		}
		if high-low < 2 {
			high, turn = low-1, 0
			continue
		}
		if turn++; turn > eigMostTurns {
			return false
		}
		m.doubleShift(z, low, high, turn)
	}
	return true
}

// doubleShift is one step with both eigenvalues of the last two rows as shifts, for the block from low to high. Each
// tenth step takes other shifts, lest it go in a circle (as EISPACK's hqr).
func (m dense) doubleShift(z dense, low, high, turn int) {
	h := m.at
	x, y, w := h(high-1, high-1), h(high, high), h(high-1, high)*h(high, high-1)
	if turn%10 == 0 {
		s := math.Abs(h(high, high-1)) + math.Abs(h(high-1, high-2))
		x, w = y+.75*s, -.4375*s*s
		y = x
	}
	// The first column of (m - s1)(m - s2) for the shifts s1 and s2, over its factor h(low+1, low).
	x, y = x-h(low, low), y-h(low, low)
	c := []float64{(x*y-w)/h(low+1, low) + h(low, low+1), h(low+1, low+1) - h(low, low) - x - y, h(low+2, low+1)}
	for k := low; k < high; k++ {
		if k > low {
			c = m.column(k - 1)[k:min(k+3, high+1)]
		}
		v, tau, beta := reflector(c)
		m.reflectRows(k, v, tau)
		m.reflectColumns(k, v, tau)
		z.reflectColumns(k, v, tau)
		if k > low {
			m.set(k, k-1, beta)
			for i := range c[1:] {
				m.set(k+1+i, k-1, 0)
			}
		}
	}
}

// triangular rotates the blocks of two rows: eigenvalues w, of a pair the one above the real axis first, and the
// triangle t with u t u^H = z m z^T.
func (m dense) triangular(z dense) (w []complex128, t, u [][]complex128) {
	n := m.rows
	t, u = complexRows(m), complexRows(z)
	for k := range n {
		w = append(w, complex(m.at(k, k), 0))
	}
	for k := range n - 1 {
		if m.at(k+1, k) == 0 {
			continue
		}
		a, b, c, d := real(t[k][k]), m.at(k, k+1), m.at(k+1, k), m.at(k+1, k+1)
		w[k], w[k+1] = eigenvaluesOfTwo(a, b, c, d)
		p, q := w[k]-complex(d, 0), complex(c, 0) // the eigenvector
		size := complex(math.Hypot(cmplx.Abs(p), c), 0)
		p, q = p/size, q/size
		for j := range n {
			x, y := t[k][j], t[k+1][j]
			t[k][j], t[k+1][j] = cmplx.Conj(p)*x+q*y, p*y-q*x
		}
		for _, rows := range [][][]complex128{t, u} {
			for _, row := range rows {
				x, y := row[k], row[k+1]
				row[k], row[k+1] = p*x+q*y, cmplx.Conj(p)*y-q*x
			}
		}
	}
	return w, t, u
}

// eigenvaluesOfTwo returns the eigenvalues of [[a, b], [c, d]].
func eigenvaluesOfTwo(a, b, c, d float64) (first, second complex128) {
	p := (a - d) / 2
	if q := p*p + b*c; q < 0 {
		first = complex(d+p, math.Sqrt(-q))
		return first, cmplx.Conj(first)
	} else if z := p + math.Copysign(math.Sqrt(q), p); z != 0 {
		return complex(d+z, 0), complex(d-b*c/z, 0)
	}
	return complex(d, 0), complex(d, 0)
}

func complexRows(m dense) [][]complex128 {
	out := make([][]complex128, m.rows)
	for i := range out {
		for j := range m.cols {
			out[i] = append(out[i], complex(m.at(i, j), 0))
		}
	}
	return out
}

// triangleVectors solves (t - w_j) x_j = 0 with x_jj = 1. A difference of eigenvalues below rounding counts as
// rounding, and a vector that grows too large is made smaller: so equal eigenvalues have vectors, if parallel ones.
func triangleVectors(w []complex128, t [][]complex128) [][]complex128 {
	n := len(w)
	least := 0.
	for i := range n {
		for j := i; j < n; j++ {
			least = math.Max(least, cmplx.Abs(t[i][j]))
		}
	}
	least = math.Max(least*Finfo(Float64).Eps, eigLeastGap)
	vectors := make([][]complex128, n)
	for j := range n {
		x := make([]complex128, n)
		x[j] = 1
		for i := j - 1; i >= 0; i-- {
			var sum complex128
			for k := i + 1; k <= j; k++ {
				sum += t[i][k] * x[k]
			}
			gap := w[i] - w[j]
			if cmplx.Abs(gap) < least {
				gap = complex(least, 0)
			}
			x[i] = -sum / gap
			if size := cmplx.Abs(x[i]); size > eigMostElement {
				for k := i; k <= j; k++ {
					x[k] /= complex(size, 0)
				}
			}
		}
		vectors[j] = x
	}
	return vectors
}

// canonicalPhase makes the norm 1 and the first of the large elements real and positive.
func canonicalPhase(v []complex128) {
	top, norm := 0., 0.
	for _, e := range v {
		top = math.Max(top, cmplx.Abs(e))
		norm = math.Hypot(norm, cmplx.Abs(e))
	}
	if lead := slices.IndexFunc(v, func(e complex128) bool { return cmplx.Abs(e) >= eigPhaseShare*top }); norm > 0 {
		turn := cmplx.Conj(v[lead]) / complex(cmplx.Abs(v[lead])*norm, 0)
		for i := range v {
			v[i] *= turn
		}
	}
}

// orderOfEigenvalues puts them in ascending order of the real part, then of the imaginary part's size. Pairs stay
// together.
func orderOfEigenvalues(w []complex128) []int {
	top := 0.
	for _, e := range w {
		top = math.Max(top, math.Max(math.Abs(real(e)), math.Abs(imag(e))))
	}
	grid := powerBelow(top) * eigGridShare
	order := rangeInts(0, len(w))
	slices.SortStableFunc(order, func(i, j int) int {
		x, y := w[i], w[j]
		round := func(x float64) float64 { return math.RoundToEven(x / grid) }
		return cmp.Or(cmp.Compare(round(real(x)), round(real(y))),
			cmp.Compare(round(math.Abs(imag(x))), round(math.Abs(imag(y)))),
			cmp.Compare(real(x), real(y)), cmp.Compare(math.Abs(imag(x)), math.Abs(imag(y))))
	})
	return order
}
