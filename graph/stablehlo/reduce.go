package stablehlo

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"xlarun/graph"
)

// reduction is a reduction by one op. A value init that is not neutral is combined with the result.
type reduction struct {
	reduce  func(x *graph.Array, axes ...int) *graph.Array
	combine func(x, y any) *graph.Array
	neutral float64
}

var reductions = map[string]reduction{
	"add":      {graph.Sum, graph.Add, 0},
	"multiply": {graph.Prod, graph.Mul, 1},
	"maximum":  {graph.ReduceMax, graph.Max, math.Inf(-1)},
	"minimum":  {graph.ReduceMin, graph.Min, math.Inf(1)},
	"and":      {graph.ReduceAnd, graph.And, 1},
	"or":       {graph.ReduceOr, graph.Or, 0},
	"xor":      {graph.ReduceXor, graph.Xor, 0},
}

// operandsOf are the operands and the initial values of a reduction, and the names of the latter: x, y, c, d, or in
// JAX's form (x init: c), (y init: d).
func (m *importer) operandsOf(o *op, s *scope) (x, init []*graph.Array, starts []string) {
	names := o.operands
	n := len(names) / 2
	if n == 0 || len(names) != 2*n {
		m.refuse(o, "it has %d operands, want an initial value for each", len(names))
	}
	pairs := strings.Contains(o.head, " init: ")
	for i := range n {
		at, start := i, n+i
		if pairs {
			at, start = 2*i, 2*i+1
		}
		x, init = append(x, m.value(o, s, names[at])), append(init, m.value(o, s, names[start]))
		starts = append(starts, names[start])
	}
	return x, init, starts
}

// reduce is a reduction by one op, JAX's argmax or argmin, or one by any region.
func reduce(m *importer, o *op, s *scope) []*graph.Array {
	axes := m.want(o, "dimensions")
	x, init, starts := m.operandsOf(o, s)
	by, single := o.single()
	r, known := reductions[by]
	if single && !known && len(o.regions) == 0 {
		m.refuse(o, "reducing by %s is not known here", by)
	}
	if !single || !known || len(x) != 1 {
		if out := argExtreme(o, s, axes, x, starts); out != nil {
			return out
		}
		return m.reduceBy(o, s, axes, x, init)
	}
	y := x[0]
	if len(axes) > 0 { // of no axes, the functions of graph reduce all
		y = r.reduce(y, axes...).Convert(y.DType())
	}
	if s.isNeutral(starts[0], by, y.DType()) {
		return []*graph.Array{y}
	}
	return []*graph.Array{r.combine(y, init[0])}
}

// isNeutral reports whether a value is the neutral element of a reduction.
func (s *scope) isNeutral(name, by string, d graph.DType) bool {
	n, ok := s.number(name)
	bits := by == "and" || by == "or" || by == "xor"
	least := by == "maximum" && n == worst(d, false) || by == "minimum" && n == worst(d, true)
	return ok && (n == reductions[by].neutral || least) && (!bits || d == graph.Bool)
}

// reduceBy reduces by any region: pairs of neighbors are combined until one element is left.
func (m *importer) reduceBy(o *op, s *scope, axes []int, x, init []*graph.Array) []*graph.Array {
	if len(o.regions) != 1 {
		m.refuse(o, "it has %d regions, want one", len(o.regions))
	}
	var rest []int
	for axis := range x[0].Rank() {
		if !slices.Contains(axes, axis) {
			rest = append(rest, axis)
		}
	}
	order := append(slices.Clone(axes), rest...)
	var dims []int
	n := 1
	for i, axis := range order {
		if axis < 0 || axis >= x[0].Rank() || len(order) != x[0].Rank() {
			m.refuse(o, "it reduces the axes %v of %s", axes, x[0].Shape())
		}
		if i < len(axes) {
			n *= x[0].Dim(axis)
		} else {
			dims = append(dims, x[0].Dim(axis))
		}
	}
	out := make([]*graph.Array, len(x))
	for i, start := range init {
		out[i] = start.BroadcastTo(dims...)
	}
	if n == 0 || out[0].Size() == 0 {
		return out
	}
	parts := make([]*graph.Array, len(x))
	for i := range x {
		parts[i] = x[i]
		if len(order) > 0 {
			parts[i] = x[i].Transpose(order...)
		}
		parts[i] = parts[i].Reshape(n, out[0].Size())
	}
	rows := func(start, limit, stride int) []*graph.Array {
		some := make([]*graph.Array, len(parts))
		for i, p := range parts {
			some[i] = graph.StridedSlice(p, []int{start, 0}, []int{limit, out[0].Size()}, []int{stride, 1})
		}
		return some
	}
	for ; n > 1; n = (n + 1) / 2 {
		next := m.combine(o, s, slices.Concat(rows(0, n-1, 2), rows(1, n, 2))...)
		if n%2 == 1 {
			for i, last := range rows(n-1, n, 1) {
				next[i] = graph.Concatenate(0, next[i], last)
			}
		}
		parts = next
	}
	for i := range parts {
		parts[i] = parts[i].Reshape(dims...)
	}
	return m.combine(o, s, append(out, parts...)...)
}

// argExtremes are the ops of reducers of argmax, with their operands: x and y are values, i and j their indices, a
// digit is the result of an earlier op. argmin has LT instead of GT. The second is lower.Export's for whole numbers.
var argExtremes = [][]string{
	{"compare GT x y", "compare NE x x", "or 0 1", "compare EQ x y", "compare LT i j", "and 3 4", "or 2 5",
		"select 2 x y", "select 6 i j", "return 7 8"},
	{"compare GT x y", "compare EQ x y", "compare LT i j", "and 1 2", "or 0 3", "select 0 x y", "select 4 i j",
		"return 5 6"},
}

// argExtreme recognizes argmax and argmin along one axis: a reduction of values and of their indices. It is nil for any
// other reduction.
func argExtreme(o *op, s *scope, axes []int, x []*graph.Array, starts []string) []*graph.Array {
	if len(axes) != 1 || len(x) != 2 || len(o.regions) != 1 || len(o.regions[0].params) != 4 {
		return nil
	}
	ops := o.regions[0].describe("x", "i", "y", "j")
	least := len(ops) > 0 && ops[0] == "compare LT x y"
	if least {
		ops[0] = "compare GT x y"
	}
	init, known := s.number(starts[0])
	first, knownFirst := s.number(starts[1])
	if !slices.ContainsFunc(argExtremes, func(want []string) bool { return slices.Equal(ops, want) }) || !known ||
		!knownFirst || first != 0 || init != worst(x[0].DType(), least) {
		return nil
	}
	best := graph.ArgMax
	if least {
		best = graph.ArgMin
	}
	at := best(x[0], axes[0])
	pick := func(a *graph.Array) *graph.Array {
		return graph.TakeAlongAxis(a, at.ExpandDims(axes[0]), axes[0]).Squeeze(axes[0])
	}
	return []*graph.Array{pick(x[0]), pick(x[1])}
}

// describe writes the ops of a region with words for its parameters and with numbers for the results of its ops.
func (g region) describe(params ...string) (ops []string) {
	words := map[string]string{}
	for i, p := range g.params {
		words[p.name] = params[i]
	}
	for i, inner := range g.ops {
		text := strings.TrimPrefix(inner.name, "stablehlo.")
		if text == "compare" {
			text += " " + inner.direction()
		}
		for _, name := range inner.operands {
			text += " " + words[name]
		}
		for _, name := range inner.results {
			words[name] = strconv.Itoa(i)
		}
		ops = append(ops, text)
	}
	return ops
}

// worst is the least number of a dtype, with which a maximum begins; the greatest one for a minimum.
func worst(d graph.DType, greatest bool) float64 {
	signed := map[graph.DType]int{graph.Int8: 8, graph.Int16: 16, graph.Int32: 32, graph.Int64: 64}
	unsigned := map[graph.DType]int{graph.Uint8: 8, graph.Uint16: 16, graph.Uint32: 32, graph.Uint64: 64}
	switch bits, isUnsigned := unsigned[d]; {
	case signed[d] > 0 && greatest:
		return math.Ldexp(1, signed[d]-1) - 1
	case signed[d] > 0:
		return -math.Ldexp(1, signed[d]-1)
	case isUnsigned && greatest:
		return math.Ldexp(1, bits) - 1
	case isUnsigned:
		return 0
	case greatest:
		return math.Inf(1)
	}
	return math.Inf(-1)
}
