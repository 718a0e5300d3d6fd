package graph

import "math"

// francisEig is eigReference, see there, as a program of arrays: for one matrix x [n, n], the results of the op eig.
func francisEig(x *Array, vectors bool) []*Array {
	n, d := x.Dim(0), x.DType()
	if n == 1 {
		value := Reshape(x, 1)
		finite := IsFinite(value)
		outs := []*Array{Select(finite, value, math.NaN()), Select(finite, ZerosLike(value), math.NaN())}
		if !vectors {
			return outs
		}
		finite = IsFinite(x)
		return append(outs, Select(finite, OnesLike(x), math.NaN()), Select(finite, ZerosLike(x), math.NaN()))
	}
	scale := scaleOf(x)
	bad := Not(IsFinite(ReduceMax(Abs(x))))
	x = Select(bad, ZerosLike(x), Div(x, scale)) // the loops below end
	place, low, high := isolated(x)
	order := ArgSort(place, 0)
	x, by := balanced(Take(Take(x, order, 0), order, 1), low, high)
	small := scaleOf(x)
	scale = Mul(scale, small)
	m, z := hessenberg(Div(x, small))
	m, z, ended := francis(m, z)
	bad = Or(bad, Not(ended))
	blocks := blocksOfTwo(m)
	w := blocks.values()
	// Real and imaginary parts are rounded before they are put in order, so that equal ones stay equal.
	size := Abs(w.Im)
	grid := Mul(scaleOf(Concatenate(0, w.Re, size)), eigGridShare)
	round := func(x *Array) *Array { return Round(Div(x, grid)) }
	sorted := SortKV([]*Array{round(w.Re), round(size), w.Re, size, Iota(n)}, 0, 4)[4]
	nan := func(x *Array) *Array { return Select(bad, Full(Shape{DType: d}, math.NaN()), x) }
	outs := []*Array{nan(Mul(Take(w.Re, sorted, 0), scale)), nan(Mul(Take(w.Im, sorted, 0), scale))}
	if !vectors {
		return outs
	}
	t, u := blocks.triangle(m, z)
	v := u.dot(triangleSolutions(w, t))
	v = v.scaled(ExpandDims(by, 1)).each(func(x *Array) *Array { return Take(x, place, 0) })
	// Vectors of real values are real, the second of a pair is conjugate to the first.
	before := v.each(func(x *Array) *Array { return Concatenate(1, SliceAxis(x, 1, 0, 1), SliceAxis(x, 1, 0, n-1)) })
	second := ExpandDims(Lt(w.Im, 0), 0)
	v.Re = Select(second, before.Re, v.Re)
	v.Im = Select(ExpandDims(Eq(w.Im, 0), 0), ZerosLike(v.Im), Select(second, Neg(before.Im), v.Im))
	v = unitVectors(v)
	return append(outs, nan(Take(v.Re, sorted, 1)), nan(Take(v.Im, sorted, 1)))
}

// complexArray is an array of complex numbers.
type complexArray struct{ Re, Im *Array }

func (a complexArray) times(b complexArray) complexArray {
	return complexArray{Sub(Mul(a.Re, b.Re), Mul(a.Im, b.Im)), Add(Mul(a.Re, b.Im), Mul(a.Im, b.Re))}
}

func (a complexArray) dot(b complexArray) complexArray {
	return complexArray{Sub(Dot(a.Re, b.Re), Dot(a.Im, b.Im)), Add(Dot(a.Re, b.Im), Dot(a.Im, b.Re))}
}

func (a complexArray) plus(b complexArray) complexArray {
	return complexArray{Add(a.Re, b.Re), Add(a.Im, b.Im)}
}

func (a complexArray) conjugate() complexArray { return complexArray{a.Re, Neg(a.Im)} }

// each gives both parts to f.
func (a complexArray) each(f func(part *Array) *Array) complexArray {
	return complexArray{f(a.Re), f(a.Im)}
}

// scaled is a times a real array, and over a divided by one.
func (a complexArray) scaled(by *Array) complexArray {
	return complexArray{Mul(a.Re, by), Mul(a.Im, by)}
}

func (a complexArray) over(by *Array) complexArray { return complexArray{Div(a.Re, by), Div(a.Im, by)} }

func (a complexArray) size() *Array { return Sqrt(Add(Square(a.Re), Square(a.Im))) }

// isolated is isolate: the place of each row, and the ends of what is left.
func isolated(x *Array) (place, low, high *Array) {
	type state struct{ Place, Rest, Low, High *Array }
	n, d := x.Dim(0), x.DType()
	index := Iota(n)
	others := Mul(Convert(Ne(x, 0), d), Sub(1, Eye(d, n)))
	end := ForiLoop(0, n, func(_ *Array, s state) state {
		rows := Mul(s.Rest, Convert(Eq(Dot(others, s.Rest), 0), d))
		columns := Mul(s.Rest, Convert(Eq(Dot(s.Rest, others), 0), d))
		row, column := Gt(ReduceMax(rows), 0), Gt(ReduceMax(columns), 0)
		chosen := Eq(index, Select(row, Sub(n-1, ArgMax(Reverse(rows, 0), 0)), ArgMax(columns, 0)))
		chosen = And(chosen, Or(row, column))
		s.High = Sub(s.High, Convert(row, Int32))
		s.Place = Select(chosen, Select(row, s.High, s.Low), s.Place)
		s.Low = Add(s.Low, Convert(And(Not(row), column), Int32))
		s.Rest = Select(chosen, 0, s.Rest)
		return s
	}, state{index, Ones(ShapeOf(d, n)), Scalar(0, Int32), Scalar(n, Int32)})
	count := CumSum(Convert(end.Rest, Int32), 0)
	return Select(Gt(end.Rest, 0), Sub(Add(end.Low, count), 1), end.Place), end.Low, end.High
}

// balanced is balance: the matrix, and the scale of each column.
func balanced(x, low, high *Array) (out, by *Array) {
	type state struct{ X, By, Changed, Round *Array }
	n, d := x.Dim(0), x.DType()
	index := Iota(n)
	inside := And(Ge(index, low), Lt(index, high))
	most := math.Exp2(mostBalance(d))
	end := While(func(s state) *Array { return And(s.Changed, Lt(s.Round, eigMostRounds)) }, func(s state) state {
		s.Changed, s.Round = ZerosLike(s.Changed), Add(s.Round, 1)
		return ForiLoop(0, n, func(i *Array, s state) state {
			here := Eq(index, i)
			others := Convert(And(inside, Not(here)), d)
			row, column := Dot(Abs(DynamicIndex(s.X, i, 0)), others), Dot(Abs(DynamicIndex(s.X, i, 1)), others)
			f := scaleOf(Mul(Div(Sqrt(row), Sqrt(column)), math.Sqrt2))
			scale := Mul(f, DynamicIndex(s.By, i, 0))
			pays := Lt(Add(Div(row, f), Mul(column, f)), Mul(Add(row, column), .95))
			for _, also := range []*Array{And(Ge(i, low), Lt(i, high)), Gt(row, 0), Gt(column, 0), Ge(scale, 1/most),
				Le(scale, most)} {
				pays = And(pays, also)
			}
			f = Select(And(here, pays), f, 1)
			s.X = Div(Mul(s.X, ExpandDims(f, 0)), ExpandDims(f, 1))
			return state{s.X, Mul(s.By, f), Or(s.Changed, pays), s.Round}
		}, s)
	}, state{x, Ones(ShapeOf(d, n)), Scalar(true), Scalar(0, Int32)})
	return end.X, end.By
}

// reflection returns v [n], tau [] and beta [] with (1 - tau v v^T) x = beta e. head is the first element of x. tail
// [n] has the other elements, and zeros elsewhere. first [n] marks the place of head.
func reflection(head, tail, first *Array) (v, tau, beta *Array) {
	scale := scaleOf(Concatenate(0, Reshape(head, 1), tail))
	head, tail = Div(head, scale), Div(tail, scale)
	below := Sum(Square(tail))
	norm := Sqrt(Add(Square(head), below))
	beta = Select(Ge(head, 0), Neg(norm), norm)
	zero := Eq(below, 0)
	safe := func(x *Array) *Array { return Select(zero, OnesLike(x), x) }
	v = Add(Convert(first, tail.DType()), Div(tail, safe(Sub(head, beta))))
	return v, Select(zero, 0, Div(Sub(beta, head), safe(beta))), Mul(Select(zero, head, beta), scale)
}

// reflectLeft gives (1 - tau v v^T) x, and reflectRight x (1 - tau v v^T).
func reflectLeft(x, v, tau *Array) *Array { return Sub(x, Outer(Mul(v, tau), Dot(v, x))) }

func reflectRight(x, v, tau *Array) *Array { return Sub(x, Outer(Dot(x, v), Mul(v, tau))) }

// hessenberg gives m, zero below the first subdiagonal, and z with z m z^T = x.
func hessenberg(x *Array) (m, z *Array) {
	type state struct{ M, Z *Array }
	n := x.Dim(0)
	index := Iota(n)
	end := ForiLoop(0, max(n-2, 0), func(k *Array, s state) state {
		column := DynamicIndex(s.M, k, 1)
		below, first := Gt(index, Add(k, 1)), Eq(index, Add(k, 1))
		v, tau, beta := reflection(DynamicIndex(column, Add(k, 1), 0), Select(below, column, 0), first)
		m := reflectRight(reflectLeft(s.M, v, tau), v, tau)
		column = Select(below, 0, Select(first, beta, DynamicIndex(m, k, 1)))
		return state{DynamicUpdateIndex(m, column, k, 1), reflectRight(s.Z, v, tau)}
	}, state{x, Eye(x.DType(), n)})
	return end.M, end.Z
}

// francis is dense.francis, for m and z of a Hessenberg form.
func francis(m, z *Array) (block, turned, ended *Array) {
	type state struct{ M, Z, High, Turn *Array }
	n, d := m.Dim(0), m.DType()
	row, column := matrixIndices("eig", m)
	index, top := Iota(n), ReduceMax(Abs(m))
	end := While(func(s state) *Array { return And(Gt(s.High, 0), Le(s.Turn, eigMostTurns)) }, func(s state) state {
		diagonal, none := Abs(Diagonal(s.M, 0, 1)), Zeros(ShapeOf(d, 1))
		left := Abs(Concatenate(0, none, Diagonal(s.M, 0, 1, -1))) // of the diagonal's elements
		near := Add(diagonal, Concatenate(0, none, SliceAxis(diagonal, 0, 0, n-1)))
		near = Select(Or(Eq(near, 0), Gt(s.Turn, eigMostTurns/2)), top, near)
		small := Or(And(Le(left, Mul(near, Finfo(d).Eps)), Le(index, s.High)), Eq(left, 0))
		s.M = Select(And(Eq(row, Add(column, 1)), ExpandDims(small, 1)), 0, s.M)
		low := ReduceMax(Select(And(small, Le(index, s.High)), index, 0))
		done := Lt(Sub(s.High, low), 2)
		s.M, s.Z = doubleShift(s.M, s.Z, low, Select(done, low, s.High), Add(s.Turn, 1))
		return state{s.M, s.Z, Select(done, Sub(low, 1), s.High), Select(done, 0, Add(s.Turn, 1))}
	}, state{m, z, Scalar(n-1, Int32), Scalar(0, Int32)})
	return end.M, end.Z, Le(end.High, 0)
}

// doubleShift is dense.doubleShift. It does nothing where low is high.
func doubleShift(m, z, low, high, turn *Array) (shifted, turned *Array) {
	type state struct{ M, Z *Array }
	index := Iota(m.Dim(0))
	h := func(i *Array, di int, j *Array, dj int) *Array { // m at row i+di and column j+dj
		return DynamicIndex(DynamicIndex(m, Add(i, int32(di)), 0), Add(j, int32(dj)), 0)
	}
	x, y := h(high, -1, high, -1), h(high, 0, high, 0)
	w := Mul(h(high, -1, high, 0), h(high, 0, high, -1))
	s := Add(Abs(h(high, 0, high, -1)), Abs(h(high, -1, high, -2)))
	odd := Eq(Rem(turn, 10), 0)
	other := Add(y, Mul(s, .75))
	x, y, w = Select(odd, other, x), Select(odd, other, y), Select(odd, Mul(Square(s), -.4375), w)
	x, y = Sub(x, h(low, 0, low, 0)), Sub(y, h(low, 0, low, 0))
	start := Concatenate(0, Reshape(Add(Div(Sub(Mul(x, y), w), h(low, 1, low, 0)), h(low, 0, low, 1)), 1),
		Reshape(Sub(Sub(Sub(h(low, 1, low, 1), h(low, 0, low, 0)), x), y), 1), Reshape(h(low, 2, low, 1), 1))
	start = Take(start, Min(Max(Sub(index, low), 0), 2), 0) // at rows low, low+1 and low+2
	end := ForiLoop(low, high, func(k *Array, s state) state {
		before := DynamicIndex(s.M, Sub(k, 1), 1)
		opens := Eq(k, low)
		column := Select(opens, start, before)
		first, below := Eq(index, k), And(Gt(index, k), Le(index, Min(Add(k, 2), high)))
		v, tau, beta := reflection(DynamicIndex(column, k, 0), Select(below, column, 0), first)
		m := reflectRight(reflectLeft(s.M, v, tau), v, tau)
		cleared := DynamicUpdateIndex(m, Select(first, beta, Select(below, 0, before)), Sub(k, 1), 1)
		return state{Select(opens, m, cleared), reflectRight(s.Z, v, tau)}
	}, state{m, z})
	return end.M, end.Z
}

// twoBlocks holds, for each pair of neighboring rows of a quasi-triangular matrix, the block [[a, b], [c, d]]. isBlock
// marks the pairs that are one.
type twoBlocks struct {
	diagonal, isBlock, sub *Array
	first, second          complexArray // eigenvalues of each block
}

func blocksOfTwo(m *Array) twoBlocks {
	n := m.Dim(0)
	diagonal, c := Diagonal(m, 0, 1), Diagonal(m, 0, 1, -1)
	a, d := SliceAxis(diagonal, 0, 0, n-1), SliceAxis(diagonal, 0, 1, n)
	bc := Mul(Diagonal(m, 0, 1, 1), c)
	p := Mul(Sub(a, d), .5)
	q := Add(Square(p), bc)
	pair := Lt(q, 0)
	root := Sqrt(Abs(q))
	z := Add(p, Select(Lt(p, 0), Neg(root), root))
	none := ZerosLike(c)
	quotient := Select(Eq(z, 0), none, Div(bc, Select(Eq(z, 0), OnesLike(z), z)))
	return twoBlocks{diagonal, Ne(c, 0), c,
		complexArray{Add(d, Select(pair, p, z)), Select(pair, root, none)},
		complexArray{Select(pair, Add(d, p), Sub(d, quotient)), Select(pair, Neg(root), none)}}
}

// values are the eigenvalues [n] of the matrix.
func (b twoBlocks) values() complexArray {
	n := b.diagonal.Size()
	place := func(x *Array, before int) *Array { return Pad(x, 0, []int{before}, []int{1 - before}) }
	marks := Pad(Convert(b.isBlock, Int32), 0, []int{1}, []int{1})
	first, second := Gt(SliceAxis(marks, 0, 1, n+1), 0), Gt(SliceAxis(marks, 0, 0, n), 0)
	part := func(a, b, otherwise *Array) *Array {
		return Select(first, place(a, 0), Select(second, place(b, 1), otherwise))
	}
	return complexArray{part(b.first.Re, b.second.Re, b.diagonal),
		part(b.first.Im, b.second.Im, ZerosLike(b.diagonal))}
}

// triangle is dense.triangular: t and u with u t u^H = z m z^T.
func (b twoBlocks) triangle(m, z *Array) (t, u complexArray) {
	type state struct{ T, U complexArray }
	type rotation struct {
		P complexArray
		Q *Array
		K *Array
	}
	n := m.Dim(0)
	p := complexArray{Sub(b.first.Re, SliceAxis(b.diagonal, 0, 1, n)), b.first.Im}
	scale := Max(Max(Abs(p.Re), Abs(p.Im)), Abs(b.sub))
	scale = Select(b.isBlock, scale, OnesLike(scale))
	p, q := p.over(scale), Div(b.sub, scale)
	norm := Sqrt(Add(Add(Square(p.Re), Square(p.Im)), Square(q)))
	norm = Select(b.isBlock, norm, OnesLike(norm))
	p, q = p.over(norm), Div(q, norm)
	p = complexArray{Select(b.isBlock, p.Re, OnesLike(p.Re)), Select(b.isBlock, p.Im, ZerosLike(p.Im))}
	q = Select(b.isBlock, q, ZerosLike(q))
	end, _ := Scan(func(s state, r rotation) (state, None) {
		// along is the axis of the two rows or columns, p the factor of the first.
		turn := func(x complexArray, along int, p complexArray) complexArray {
			k := Add(r.K, 1)
			lines := func(i *Array) complexArray {
				return x.each(func(x *Array) *Array { return DynamicIndex(x, i, along) })
			}
			one, two := lines(r.K), lines(k)
			newOne := p.times(one).plus(two.scaled(r.Q))
			newTwo := p.conjugate().times(two).plus(one.scaled(Neg(r.Q)))
			write := func(x, one, two *Array) *Array {
				return DynamicUpdateIndex(DynamicUpdateIndex(x, one, r.K, along), two, k, along)
			}
			return complexArray{write(x.Re, newOne.Re, newTwo.Re), write(x.Im, newOne.Im, newTwo.Im)}
		}
		return state{turn(turn(s.T, 0, r.P.conjugate()), 1, r.P), turn(s.U, 1, r.P)}, None{}
	}, state{complexArray{m, ZerosLike(m)}, complexArray{z, ZerosLike(z)}}, rotation{p, q, Iota(n - 1)})
	return end.T, end.U
}

// triangleSolutions is triangleVectors, the vectors in columns.
func triangleSolutions(w, t complexArray) complexArray {
	type row struct {
		T complexArray
		W complexArray
		I *Array
	}
	n, d := t.Re.Dim(0), t.Re.DType()
	rows := Iota(n)
	least := Max(Mul(ReduceMax(Triu(t.size(), 0)), Finfo(d).Eps), 0x1p-60)
	empty := Zeros(t.Re.shape)
	x, _ := Scan(func(x complexArray, r row) (complexArray, None) {
		after := Gt(rows, r.I)
		sum := r.T.each(func(t *Array) *Array { return Select(after, t, 0) }).dot(x)
		gap := complexArray{Sub(r.W.Re, w.Re), Sub(r.W.Im, w.Im)}
		tiny := Lt(gap.size(), least)
		gap = complexArray{Select(tiny, least, gap.Re), Select(tiny, 0, gap.Im)}
		here := sum.times(gap.conjugate()).over(Neg(Square(gap.size())))
		here = complexArray{Select(Eq(rows, r.I), 1, here.Re), Select(Eq(rows, r.I), 0, here.Im)}
		size := here.size()
		by := Select(Gt(size, eigMostElement), Div(1, Max(size, 1)), 1)
		x = complexArray{DynamicUpdateIndex(x.Re, here.Re, r.I, 0), DynamicUpdateIndex(x.Im, here.Im, r.I, 0)}
		return x.scaled(ExpandDims(by, 0)), None{}
	}, complexArray{empty, empty}, row{t, w, rows}, ReverseScan())
	return x
}

// unitVectors gives the columns of v the norm 1 and the phase of canonicalPhase.
func unitVectors(v complexArray) complexArray {
	top := ReduceMax(Max(Abs(v.Re), Abs(v.Im)), 0)
	v = v.over(ExpandDims(Select(Gt(top, 0), top, OnesLike(top)), 0))
	size := v.size()
	first := leadingElements(v)
	lead := v.each(func(x *Array) *Array { return TakeAlongAxis(x, first, 0) })
	length := Mul(TakeAlongAxis(size, first, 0), Sqrt(Sum(Square(size), 0)))
	return v.times(lead.conjugate().over(Select(Gt(length, 0), length, OnesLike(length))))
}

// leadingElements is the row [1, n] of the element of each column that is made real and positive.
func leadingElements(v complexArray) *Array {
	size := Add(Square(v.Re), Square(v.Im))
	large := Ge(size, Mul(ReduceMax(size, 0), eigPhaseShare*eigPhaseShare))
	return ExpandDims(ArgMax(Convert(large, Int32), 0), 0)
}
