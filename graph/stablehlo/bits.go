package stablehlo

import "xlarun/graph"

// unsigned are the whole numbers of a width in bytes.
var unsigned = map[int]graph.DType{1: graph.Uint8, 2: graph.Uint16, 4: graph.Uint32, 8: graph.Uint64}

// bitcast reads the bits of numbers as those of another dtype. A narrower dtype has one more axis, a wider one has one
// less; the lowest bits come first.
func bitcast(m *importer, o *op, s *scope) []*graph.Array {
	x, to := m.exactly(o, s, 1)[0], m.result(o).DType
	from, width := graph.ItemSize(x.DType()), graph.ItemSize(to)
	if from == width {
		return []*graph.Array{graph.Bitcast(x, to)}
	}
	if unsigned[from] == 0 || unsigned[width] == 0 || x.DType() == graph.Bool || to == graph.Bool {
		m.refuse(o, "it reads %s as %s", x.Shape(), m.result(o))
	}
	bits := graph.Bitcast(x, unsigned[from])
	if from > width {
		var parts []*graph.Array
		for i := range from / width {
			parts = append(parts, graph.ShiftRightLogical(bits, 8*width*i).Convert(unsigned[width]))
		}
		return []*graph.Array{graph.Bitcast(graph.Stack(parts, x.Rank()), to)}
	}
	last := x.Rank() - 1
	if last < 0 || x.Dim(last)*from != width {
		m.refuse(o, "it reads %s as %s", x.Shape(), m.result(o))
	}
	all := graph.Zeros(m.result(o)).Convert(unsigned[width])
	for i := range width / from {
		part := graph.IndexAxis(bits, last, i).Convert(unsigned[width])
		all = graph.Or(all, graph.ShiftLeft(part, 8*from*i))
	}
	return []*graph.Array{graph.Bitcast(all, to)}
}

// layouts are the bits of exponents and mantissas of floats.
var layouts = map[graph.DType][2]int{graph.Float16: {5, 10}, graph.BFloat16: {8, 7}, graph.Float32: {8, 23},
	graph.Float64: {11, 52}}

// reducePrecision rounds floats to those of fewer bits, to the nearest, ties to even. What is too large is infinite,
// what is too small is zero. Its derivative is that of the identity; JAX rounds the derivative, too.
func reducePrecision(m *importer, o *op, s *scope) []*graph.Array {
	x := m.exactly(o, s, 1)[0]
	var exponent, mantissa int
	format, _ := o.attribute("format") // e5m10
	if bits := numbersIn(format); len(bits) == 2 {
		exponent, mantissa = bits[0], bits[1]
	} else {
		exponent, mantissa = m.scalar(o, "exponent_bits"), m.scalar(o, "mantissa_bits")
	}
	full, ok := layouts[x.DType()]
	if !ok || exponent < 1 || mantissa < 1 {
		m.refuse(o, "it has %d bits of exponents and %d of mantissas for %s", exponent, mantissa, x.Shape())
	}
	d := unsigned[graph.ItemSize(x.DType())]
	round := func(x *graph.Array) *graph.Array {
		bits := graph.Bitcast(x, d)
		number := func(n uint64) *graph.Array { return graph.Scalar(n, graph.Uint64).Convert(d) }
		if drop := full[1] - mantissa; drop > 0 {
			odd := graph.And(graph.ShiftRightLogical(bits, drop), number(1))
			bits = graph.Add(bits, graph.Add(odd, number(1<<(drop-1)-1)))
			bits = graph.And(bits, graph.Not(number(1<<drop-1)))
		}
		if exponent < full[0] {
			bias, reduced := uint64(1)<<(full[0]-1)-1, uint64(1)<<(exponent-1)-1
			exponents := number((1<<full[0] - 1) << full[1])
			size := graph.And(bits, exponents)
			sign := graph.And(bits, number(1<<(full[0]+full[1])))
			bits = graph.Select(graph.Gt(size, number((bias+reduced)<<full[1])), graph.Or(sign, exponents), bits)
			bits = graph.Select(graph.Le(size, number((bias-reduced)<<full[1])), sign, bits)
		}
		return graph.Select(graph.Ne(x, x), x, graph.Bitcast(bits, x.DType()))
	}
	return []*graph.Array{graph.CustomJvp(round, func(x, t *graph.Array) (*graph.Array, *graph.Array) {
		return round(x), t
	})(x)}
}
