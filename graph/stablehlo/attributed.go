package stablehlo

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"xlarun/graph"
)

// attributed are the ops with attributes or regions, by name. An init function fills it, because they call each other.
var attributed map[string]func(m *importer, o *op, s *scope) []*graph.Array

func init() {
	attributed = map[string]func(m *importer, o *op, s *scope) []*graph.Array{
		"stablehlo.constant": constant, "stablehlo.iota": count, "stablehlo.compare": compare,
		"stablehlo.convert": convert, "stablehlo.bitcast_convert": convert, "stablehlo.reshape": reshape,
		"stablehlo.broadcast_in_dim": broadcast, "stablehlo.transpose": transpose, "stablehlo.slice": slice,
		"stablehlo.concatenate": concatenate, "stablehlo.pad": pad, "stablehlo.reverse": reverse,
		"stablehlo.dynamic_slice": dynamicSlice, "stablehlo.dynamic_update_slice": dynamicUpdateSlice,
		"stablehlo.dot_general": dotGeneral, "stablehlo.convolution": convolution, "stablehlo.reduce": reduce,
		"stablehlo.while": while, "stablehlo.case": branch, "call": callFunction, "func.call": callFunction,
		"stablehlo.composite": composite, "stablehlo.gather": gather,
		"stablehlo.fft": fourier,
		// A sharding says on which devices a value lies, and a typed key has one.
		"sdy.sharding_constraint":        func(m *importer, o *op, s *scope) []*graph.Array { return m.operands(o, s) },
		"stablehlo.optimization_barrier": func(m *importer, o *op, s *scope) []*graph.Array { return m.operands(o, s) },
	}
}

// list reads the numbers of an attribute: "dims = [0, 1]". ok is false if the op does not have it.
func (o *op) list(name string) (numbers []int, ok bool) {
	_, after, ok := strings.Cut(o.head, name+" = [")
	if !ok {
		return nil, false
	}
	inside, _, _ := strings.Cut(after, "]")
	return numbersIn(inside), true
}

var numberPattern = regexp.MustCompile(`-?\d+`)

func numbersIn(text string) []int {
	numbers := []int{}
	for _, word := range numberPattern.FindAllString(text, -1) {
		n, _ := strconv.Atoi(word)
		numbers = append(numbers, n)
	}
	return numbers
}

// want is list of an attribute that the op must have.
func (m *importer) want(o *op, name string) []int {
	numbers, ok := o.list(name)
	if !ok {
		m.refuse(o, "it has no %s", name)
	}
	return numbers
}

// scalar reads a number of an attribute: "dim = 0".
func (m *importer) scalar(o *op, name string) int {
	_, after, ok := strings.Cut(o.head, name+" = ")
	number := numberPattern.FindString(after)
	n, err := strconv.Atoi(number)
	if !ok || err != nil {
		m.refuse(o, "it has no %s", name)
	}
	return n
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
	b, err := dense(o.head, shape)
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
	direction, _, _ := strings.Cut(strings.TrimSpace(o.head), ",")
	f, ok := comparisons[direction]
	if !ok || strings.Contains(o.head, "TOTALORDER") {
		m.refuse(o, "it compares by %s, want one of EQ, NE, LT, LE, GT, GE without TOTALORDER",
			short(strings.TrimSpace(o.head)))
	}
	return []*graph.Array{f(x[0], x[1])}
}

func convert(m *importer, o *op, s *scope) []*graph.Array {
	x, to := m.exactly(o, s, 1)[0], m.result(o).DType
	if o.name == "stablehlo.bitcast_convert" {
		return []*graph.Array{graph.Bitcast(x, to)}
	}
	return []*graph.Array{x.Convert(to)}
}

func reshape(m *importer, o *op, s *scope) []*graph.Array {
	return []*graph.Array{m.exactly(o, s, 1)[0].Reshape(m.result(o).Dims...)}
}

// broadcast puts the operand's axes at the places that dims gives.
func broadcast(m *importer, o *op, s *scope) []*graph.Array {
	x, to, dims := m.exactly(o, s, 1)[0], m.result(o), m.want(o, "dims")
	if len(dims) != x.Rank() || !slices.IsSorted(dims) {
		m.refuse(o, "dims = %v of an operand %s: want an increasing place for each axis", dims, x.Shape())
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

// pairPattern is an attribute with a list for each operand: "contracting_dims = [1] x [0]".
var pairPattern = regexp.MustCompile(`(\w+) = \[([\d, ]*)\] x \[([\d, ]*)\]`)

func dotGeneral(m *importer, o *op, s *scope) []*graph.Array {
	x := m.exactly(o, s, 2)
	var batch, contract [2][]int
	for _, p := range pairPattern.FindAllStringSubmatch(o.head, -1) {
		lists := [2][]int{numbersIn(p[2]), numbersIn(p[3])}
		switch p[1] {
		case "batching_dims":
			batch = lists
		case "contracting_dims":
			contract = lists
		}
	}
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

func callFunction(m *importer, o *op, s *scope) []*graph.Array {
	_, after, _ := strings.Cut(o.head, "@")
	name, _, _ := strings.Cut(after, "(")
	f, ok := m.functions[strings.Trim(name, `"`)]
	args := m.operands(o, s)
	if !ok || len(args) != len(f.params) {
		m.refuse(o, "there is no function @%s of %d arguments", name, len(args))
	}
	return m.call(f, args)
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

var sizesPattern = regexp.MustCompile(`slice_sizes = array<i64: ([\d, ]*)>`)

// gather reads windows at computed places.
func gather(m *importer, o *op, s *scope) []*graph.Array {
	x := m.exactly(o, s, 2)
	sizes := sizesPattern.FindStringSubmatch(o.head)
	if sizes == nil {
		m.refuse(o, "it has no slice_sizes")
	}
	if at := m.scalar(o, "index_vector_dim"); at != x[1].Rank()-1 {
		m.refuse(o, "index_vector_dim = %d: want the last axis of the indices, %s", at, x[1].Shape())
	}
	dims := graph.GatherDims{Sizes: numbersIn(sizes[1])}
	for name, list := range map[string]*[]int{"offset_dims": &dims.Window, "collapsed_slice_dims": &dims.Collapsed,
		"operand_batching_dims": &dims.Batch, "start_indices_batching_dims": &dims.IndexBatch,
		"start_index_map": &dims.Coordinates} {
		*list, _ = o.list(name)
	}
	return []*graph.Array{graph.Gather(x[0], x[1], dims)}
}

// branch is a case of two branches, JAX's cond.
func branch(m *importer, o *op, s *scope) []*graph.Array {
	index := m.exactly(o, s, 1)[0]
	if len(o.regions) != 2 {
		m.refuse(o, "it has %d branches, want 2", len(o.regions))
	}
	run := func(i int) func() []*graph.Array {
		return func() []*graph.Array { return m.run(o.regions[i], s.inner()) }
	}
	return graph.Cond(index.Eq(0), run(0), run(1)) // any other index means the last branch
}
