package graph

import "math"

// Jacobi's method in its parallel form (Brent and Luk, "The solution of singular-value and symmetric eigenvalue
// problems on multiprocessor arrays", 1985): rows 0 … h-1 are paired with rows h … 2h-1, all pairs are rotated at once,
// then the rows move on by one place in a round-robin. After 2h-1 steps, a sweep, every row has met every other one and
// is back in its place.

// maxSweeps ends the iteration where it cannot converge; some ten sweeps are usual.
const maxSweeps = 40

// jacobiAngles gives cosines and sines [h, 1] that make the symmetric matrices [[p, r], [r, q]] diagonal, by the
// smaller of the two angles (Golub and Van Loan, "Matrix computations", 4th ed., 8.5.2).
func jacobiAngles(p, q, r *Array) (c, s *Array) {
	tau := Div(Sub(q, p), Mul(r, 2))
	t := Div(Select(Ge(tau, 0), OnesLike(tau), FullLike(tau, -1)), Add(Abs(tau), Sqrt(Add(Square(tau), 1))))
	t = Select(Eq(r, 0), ZerosLike(t), t)
	c = Div(1, Sqrt(Add(Square(t), 1)))
	return ExpandDims(c, 1), ExpandDims(Mul(t, c), 1)
}

// rotatePairs turns the rows of x [2h, n] pair by pair and moves them on by one place of the round-robin.
func rotatePairs(x, c, s *Array) *Array {
	h := x.Dim(0) / 2
	top, bottom := SliceAxis(x, 0, 0, h), SliceAxis(x, 0, h, 2*h)
	top, bottom = Sub(Mul(c, top), Mul(s, bottom)), Add(Mul(s, top), Mul(c, bottom))
	if h == 1 {
		return Concatenate(0, top, bottom)
	}
	return Concatenate(0, SliceAxis(top, 0, 0, 1), SliceAxis(bottom, 0, 0, 1), SliceAxis(top, 0, 1, h-1),
		SliceAxis(bottom, 0, 1, h), SliceAxis(top, 0, h-1, h))
}

// pairing is the way to read the pairs of a symmetric matrix and to turn the rows of an array by them.
type pairing struct {
	// elements returns p, q and r [h] of the matrices [[p, r], [r, q]] of the pairs.
	elements func(x *Array) (p, q, r *Array)
	// rotate is rotatePairs.
	rotate func(x, c, s *Array) *Array
	// mostSteps is the most steps in an iteration of the loop.
	mostSteps int
}

// slicedPairs reads and turns rows by slices.
var slicedPairs = pairing{elements: func(x *Array) (p, q, r *Array) {
	m, h := x.Dim(0), x.Dim(0)/2
	diagonal := Diagonal(x, 0, 1)
	r = Diagonal(Slice(x, []int{0, h}, []int{h, m}), 0, 1)
	return SliceAxis(diagonal, 0, 0, h), SliceAxis(diagonal, 0, h, m), r
}, rotate: rotatePairs, mostSteps: 1}

// takenPairs reads and turns rows by their numbers, with the same results. On a GPU that is a part of the kernels that
// read them, where each diagonal and each concatenation is a kernel of its own.
var takenPairs = pairing{elements: func(x *Array) (p, q, r *Array) {
	m, h := x.Dim(0), x.Dim(0)/2
	all, diagonal := Reshape(x, m*m), Mul(Iota(h), m+1)
	return Take(all, diagonal, 0), Take(all, Add(diagonal, h*(m+1)), 0), Take(all, Add(diagonal, h), 0)
}, rotate: func(x, c, s *Array) *Array {
	m, h := x.Dim(0), x.Dim(0)/2
	// The row that rotatePairs moves to place i.
	i := Iota(m)
	from := Select(Lt(i, 2), Mul(i, h), Select(Lt(i, h), Sub(i, 1), Select(Lt(i, m-1), Add(i, 1), h-1)))
	isTop := Lt(from, h)
	pair := Select(isTop, from, Sub(from, h))
	cosine, sine := Take(c, pair, 0), Take(s, pair, 0)
	isTop = ExpandDims(isTop, 1)
	top, bottom := Take(x, pair, 0), Take(x, Add(pair, h), 0)
	return Add(Mul(Select(isTop, cosine, sine), top), Mul(Select(isTop, Neg(sine), cosine), bottom))
}, mostSteps: 8}

// jacobi is the state of an iteration: x is being made diagonal (or orthogonal, row by row), w [m, m] collects the
// rotations, off says how far x still was from its goal before the last sweep, and before the one before that.
type jacobi struct{ X, W, Off, Before, Sweep *Array }

// iterate runs sweeps until off is at most goal, or stops shrinking while it is already small. An iteration of a
// sweep's loop has up to mostSteps steps.
func (j jacobi) iterate(goal float64, mostSteps int, step func(x, w *Array) (*Array, *Array),
	off func(x *Array) *Array) jacobi {
	small, length := math.Sqrt(goal), j.X.Dim(0)-1
	steps := min(mostSteps, length)
	for length%steps != 0 {
		steps--
	}
	return While(func(j jacobi) *Array {
		shrinks := Or(Gt(j.Off, small), Le(j.Off, Mul(j.Before, .5)))
		return And(And(Gt(j.Off, goal), shrinks), Lt(j.Sweep, maxSweeps))
	}, func(j jacobi) jacobi {
		type pair struct{ X, W *Array }
		end, _ := Scan(func(p pair, _ None) (pair, None) {
			x, w := step(p.X, p.W)
			return pair{x, w}, None{}
		}, pair{j.X, j.W}, None{}, Length(length), Unroll(steps))
		return jacobi{end.X, end.W, off(end.X), j.Off, Add(j.Sweep, 1)}
	}, j)
}

// even adds a row (and, for square matrices, a column) of zeros if there is an odd number: rotations leave it alone.
func even(x *Array, columns bool) *Array {
	if x.Dim(0)%2 == 0 {
		return x
	}
	after := []int{1, 0}
	if columns {
		after[1] = 1
	}
	return Pad(x, 0, []int{0, 0}, after)
}
