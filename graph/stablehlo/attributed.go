package stablehlo

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"xlarun/graph"
)

// attributed are the ops with attributes or regions, by name. An init function fills it, because they call each other.
var attributed map[string]func(m *importer, o *op, s *scope) []*graph.Array

func init() {
	attributed = map[string]func(m *importer, o *op, s *scope) []*graph.Array{
		"stablehlo.constant": constant, "stablehlo.iota": count, "stablehlo.compare": compare,
		"stablehlo.convert": convert, "stablehlo.bitcast_convert": bitcast, "stablehlo.reshape": reshape,
		"stablehlo.broadcast_in_dim": broadcast, "stablehlo.transpose": transpose, "stablehlo.slice": slice,
		"stablehlo.concatenate": concatenate, "stablehlo.pad": pad, "stablehlo.reverse": reverse,
		"stablehlo.dynamic_slice": dynamicSlice, "stablehlo.dynamic_update_slice": dynamicUpdateSlice,
		"stablehlo.dot_general": dotGeneral, "stablehlo.convolution": convolution, "stablehlo.reduce": reduce,
		"stablehlo.while": while, "stablehlo.case": branch, "call": callFunction, "func.call": callFunction,
		"stablehlo.composite": composite, "stablehlo.gather": gather,
		"stablehlo.fft": fourier, "stablehlo.select": selects,
		"stablehlo.scatter": scatter, "stablehlo.sort": sortBy, "chlo.top_k": topK,
		"stablehlo.reduce_window": reduceWindow, "stablehlo.select_and_scatter": selectAndScatter,
		"stablehlo.cholesky": cholesky, "stablehlo.triangular_solve": triangularSolve,
		"stablehlo.custom_call": customCall, "stablehlo.reduce_precision": reducePrecision,
		"stablehlo.rng_bit_generator": rngBitGenerator,
		// A sharding says on which devices a value lies, and a typed key has one.
		"sdy.sharding_constraint": func(m *importer, o *op, s *scope) []*graph.Array { return m.operands(o, s) },
		"stablehlo.optimization_barrier": func(m *importer, o *op, s *scope) []*graph.Array {
			return graph.Barrier(m.operands(o, s)...)
		},
	}
}

// result is the shape that the file gives to an op's only result.
func (m *importer) result(o *op) graph.Shape {
	all, err := resultShapes(o)
	if err != nil || len(all) != 1 {
		m.refuse(o, "it has %d types of results, want one", len(all))
	}
	return all[0]
}

// exactly returns the operands, of which there must be a number.
func (m *importer) exactly(o *op, s *scope, n int) []*graph.Array {
	all := m.operands(o, s)
	if len(all) != n {
		m.refuse(o, "it has %d operands, want %d", len(all), n)
	}
	return all
}

func constant(m *importer, o *op, s *scope) []*graph.Array {
	shape := m.result(o)
	b, err := dense(o.literal(), shape)
	if err != nil {
		m.refuse(o, "%v", err)
	}
	if shape.Rank() == 0 && len(o.results) == 1 {
		if t, err := graph.TensorFromBytes(shape, b); err == nil {
			s.numbers[o.results[0]] = t.Floats()[0]
		}
	}
	if len(b) != shape.Bytes() { // one element fills the shape
		return []*graph.Array{graph.FromBytes(graph.ShapeOf(shape.DType), b).BroadcastTo(shape.Dims...)}
	}
	return []*graph.Array{graph.FromBytes(shape, b)}
}

func count(m *importer, o *op, _ *scope) []*graph.Array {
	return []*graph.Array{graph.IotaAxis(m.result(o), m.scalar(o, "dim"))}
}

// comparisons are the directions of compare.
var comparisons = map[string]func(x, y any) *graph.Array{"EQ": graph.Eq, "NE": graph.Ne, "LT": graph.Lt, "LE": graph.Le,
	"GT": graph.Gt, "GE": graph.Ge}

func compare(m *importer, o *op, s *scope) []*graph.Array {
	x := m.exactly(o, s, 2)
	f, ok := comparisons[o.direction()]
	if !ok {
		m.refuse(o, "it compares by %s, want one of EQ, NE, LT, LE, GT, GE", short(o.direction()))
	}
	if strings.Contains(o.head, "TOTALORDER") {
		x[0], x[1] = totalOrder(x[0]), totalOrder(x[1])
	}
	return []*graph.Array{f(x[0], x[1])}
}

// totalOrder are numbers in the order of floats that puts -0 before 0 and NaN outside of the infinities, by its sign.
func totalOrder(x *graph.Array) *graph.Array {
	to, ok := map[graph.DType]graph.DType{graph.Float16: graph.Int16, graph.BFloat16: graph.Int16,
		graph.Float32: graph.Int32, graph.Float64: graph.Int64}[x.DType()]
	if !ok {
		return x
	}
	bits := graph.Bitcast(x, to)
	sign := graph.ShiftRightArithmetic(bits, 8*graph.ItemSize(to)-1) // all bits of a negative number
	return graph.Xor(bits, graph.ShiftRightLogical(sign, 1))
}

func convert(m *importer, o *op, s *scope) []*graph.Array {
	return []*graph.Array{m.exactly(o, s, 1)[0].Convert(m.result(o).DType)}
}

func reshape(m *importer, o *op, s *scope) []*graph.Array {
	return []*graph.Array{m.exactly(o, s, 1)[0].Reshape(m.result(o).Dims...)}
}

// broadcast puts the operand's axes at the places that dims gives.
func broadcast(m *importer, o *op, s *scope) []*graph.Array {
	x, to, dims := m.exactly(o, s, 1)[0], m.result(o), m.want(o, "dims")
	if len(dims) != x.Rank() {
		m.refuse(o, "dims = %v of an operand %s: want a place for each axis", dims, x.Shape())
	}
	if !slices.IsSorted(dims) {
		order := make([]int, len(dims))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return dims[i] - dims[j] })
		x = x.Transpose(order...)
		slices.Sort(dims)
	}
	places := slices.Repeat([]int{1}, to.Rank())
	for i, d := range dims {
		if d < 0 || d >= to.Rank() {
			m.refuse(o, "dims = %v of a result %s", dims, to)
		}
		places[d] = x.Dim(i)
	}
	return []*graph.Array{x.Reshape(places...).BroadcastTo(to.Dims...)}
}

func transpose(m *importer, o *op, s *scope) []*graph.Array {
	x := m.exactly(o, s, 1)[0]
	if x.Rank() == 0 {
		return []*graph.Array{x}
	}
	return []*graph.Array{x.Transpose(m.want(o, "dims")...)}
}

func slice(m *importer, o *op, s *scope) []*graph.Array {
	x := m.exactly(o, s, 1)[0]
	if start, ok := o.list("start_indices"); ok {
		return []*graph.Array{graph.StridedSlice(x, start, m.want(o, "limit_indices"), m.want(o, "strides"))}
	}
	_, after, _ := strings.Cut(o.head, "[")
	inside, _, _ := strings.Cut(after, "]")
	var start, limit, stride []int
	for part := range strings.SplitSeq(inside, ",") {
		switch n := numbersIn(part); len(n) {
		case 0:
		case 2:
			start, limit, stride = append(start, n[0]), append(limit, n[1]), append(stride, 1)
		case 3:
			start, limit, stride = append(start, n[0]), append(limit, n[1]), append(stride, n[2])
		default:
			m.refuse(o, "got the bounds %s, want start:limit or start:limit:stride", short(part))
		}
	}
	return []*graph.Array{graph.StridedSlice(x, start, limit, stride)}
}

func concatenate(m *importer, o *op, s *scope) []*graph.Array {
	return []*graph.Array{graph.Concatenate(m.scalar(o, "dim"), m.operands(o, s)...)}
}

func pad(m *importer, o *op, s *scope) []*graph.Array {
	x := m.exactly(o, s, 2)
	return []*graph.Array{graph.PadConfig(x[0], x[1], m.want(o, "low"), m.want(o, "high"), m.want(o, "interior"))}
}

func reverse(m *importer, o *op, s *scope) []*graph.Array {
	x, dims := m.exactly(o, s, 1)[0], m.want(o, "dims")
	if len(dims) == 0 {
		return []*graph.Array{x}
	}
	return []*graph.Array{graph.Reverse(x, dims...)}
}

func dynamicSlice(m *importer, o *op, s *scope) []*graph.Array {
	x := m.operands(o, s)
	if len(x) == 0 {
		m.refuse(o, "it has no operands")
	}
	return []*graph.Array{graph.DynamicSlice(x[0], x[1:], m.want(o, "sizes"))}
}

func dynamicUpdateSlice(m *importer, o *op, s *scope) []*graph.Array {
	x := m.operands(o, s)
	if len(x) < 2 {
		m.refuse(o, "it has %d operands, want at least 2", len(x))
	}
	return []*graph.Array{graph.DynamicUpdateSlice(x[0], x[1], x[2:])}
}

func dotGeneral(m *importer, o *op, s *scope) []*graph.Array {
	x := m.exactly(o, s, 2)
	batch, contract := o.pair("batching_dims", "lhs_batching_dimensions", "rhs_batching_dimensions"),
		o.pair("contracting_dims", "lhs_contracting_dimensions", "rhs_contracting_dimensions")
	var options []graph.DotOption
	d := m.result(o).DType
	switch of := [3]graph.DType{x[0].DType(), x[1].DType(), d}; of {
	case [3]graph.DType{d, d, d}:
	case [3]graph.DType{graph.BFloat16, graph.BFloat16, graph.Float32},
		[3]graph.DType{graph.Float16, graph.Float16, graph.Float32},
		[3]graph.DType{graph.Int8, graph.Int8, graph.Int32}:
		options = append(options, graph.PreferredDType(d))
	default: // sums have the result's dtype
		x[0], x[1] = x[0].Convert(d), x[1].Convert(d)
	}
	y := graph.DotGeneral(x[0], x[1], batch[0], batch[1], contract[0], contract[1], options...)
	return []*graph.Array{y.Convert(d)}
}

var calleePattern = regexp.MustCompile(`@("[^"]*"|[\w.$-]+)`)

func callFunction(m *importer, o *op, s *scope) []*graph.Array {
	name := o.target()
	f, ok := m.functions[name]
	args := m.operands(o, s)
	if !ok || len(args) != len(f.params) {
		m.refuse(o, "there is no function @%s of %d arguments", name, len(args))
	}
	if body := f.inline(o, fmt.Sprintf("%%%d/", m.ops)); body != nil {
		return m.nested(f, func() []*graph.Array { return m.run(body, s) })
	}
	return m.call(f, args)
}

// inline is the function's body with the names of a call: its operands, its results, and for values in between names
// with a prefix. So the scope of the call knows what made each value. It is nil if an op has regions, or if a result is
// a parameter or another result.
func (f *function) inline(call *op, prefix string) (body []*op) {
	if len(f.body) == 0 || len(call.results) == 0 {
		return nil
	}
	names := map[string]string{}
	for i, p := range f.params {
		names[p.name] = call.operands[i]
	}
	last := f.body[len(f.body)-1]
	if !isReturn(last) || len(last.operands) != len(call.results) {
		return nil
	}
	results := map[string]string{}
	for i, name := range last.operands {
		if names[name] != "" || results[name] != "" {
			return nil
		}
		results[name] = call.results[i]
	}
	for _, o := range f.body {
		if len(o.regions) > 0 {
			return nil
		}
		step := *o
		step.operands, step.results = nil, nil
		for _, name := range o.operands {
			step.operands = append(step.operands, cmp.Or(names[name], prefix+name)) // the latter has no value
		}
		for _, name := range o.results {
			names[name] = cmp.Or(results[name], prefix+name)
			step.results = append(step.results, names[name])
		}
		body = append(body, &step)
	}
	return body
}

// topK is chlo.top_k, along the last axis.
func topK(m *importer, o *op, s *scope) []*graph.Array {
	values, indices := graph.TopK(m.exactly(o, s, 1)[0], m.scalar(o, "k"))
	return []*graph.Array{values, indices}
}

var compositePattern = regexp.MustCompile(`^ "([\w.]+)" .*decomposition = @([\w.$-]+)`)

// composite is an op with a name and a function that computes the same.
func composite(m *importer, o *op, s *scope) []*graph.Array {
	names := compositePattern.FindStringSubmatch(o.head)
	if names == nil {
		m.refuse(o, "it has no decomposition")
	}
	args := m.operands(o, s)
	if f, ok := elementwise[names[1]]; ok && f.operands == len(args) {
		return []*graph.Array{f.apply(args)}
	}
	f, ok := m.functions[names[2]]
	if !ok || len(args) != len(f.params) {
		m.refuse(o, "there is no function @%s of %d arguments", names[2], len(args))
	}
	return m.call(f, args)
}

// branch is a case. An index outside means the last branch.
func branch(m *importer, o *op, s *scope) []*graph.Array {
	index := m.exactly(o, s, 1)[0]
	n := len(o.regions)
	if n == 0 {
		m.refuse(o, "it has no branches")
	}
	run := make([]func() []*graph.Array, n)
	for i := range run {
		run[i] = func() []*graph.Array { return m.region(o, i, s, nil) }
	}
	if n == 2 {
		return graph.Cond(index.Eq(0), run[0], run[1])
	}
	return graph.Switch(graph.Select(index.Lt(0), n-1, index), run...)
}
