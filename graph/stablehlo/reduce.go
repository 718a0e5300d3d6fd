package stablehlo

import (
	"math"
	"regexp"
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
	"stablehlo.add":      {graph.Sum, graph.Add, 0},
	"stablehlo.multiply": {graph.Prod, graph.Mul, 1},
	"stablehlo.maximum":  {graph.ReduceMax, graph.Max, math.Inf(-1)},
	"stablehlo.minimum":  {graph.ReduceMin, graph.Min, math.Inf(1)},
	"stablehlo.and":      {graph.ReduceAnd, graph.And, 1},
	"stablehlo.or":       {graph.ReduceOr, graph.Or, 0},
}

var appliesPattern = regexp.MustCompile(` applies ([\w.]+) across`)

// reduce is a reduction by one op, or JAX's argmax or argmin.
func reduce(m *importer, o *op, s *scope) []*graph.Array {
	axes := m.want(o, "dimensions")
	names := o.names()
	if len(o.regions) > 0 {
		return argExtreme(m, o, s, axes, names)
	}
	applies := appliesPattern.FindStringSubmatch(o.head)
	if applies == nil || len(names) != 2 {
		m.refuse(o, "want one operand and one op")
	}
	r, ok := reductions[applies[1]]
	if !ok {
		m.refuse(o, "reducing by %s is not known here", applies[1])
	}
	x, init := m.value(o, s, names[0]), m.value(o, s, names[1])
	y := x
	if len(axes) > 0 { // of no axes, the functions of graph reduce all
		y = r.reduce(x, axes...).Convert(x.DType())
	}
	bits := applies[1] == "stablehlo.and" || applies[1] == "stablehlo.or"
	if n, ok := s.number(names[1]); ok && n == r.neutral && (!bits || x.DType() == graph.Bool) {
		return []*graph.Array{y}
	}
	return []*graph.Array{r.combine(y, init)}
}

// argExtremeOps are the ops of the reducer that JAX writes for argmax, with their operands: x and y are values, i and j
// their indices, a digit is the result of an earlier op. argmin has LT in place of GT.
var argExtremeOps = []string{"compare GT x y", "compare NE x x", "or 0 1", "compare EQ x y", "compare LT i j",
	"and 3 4", "or 2 5", "select 2 x y", "select 6 i j", "return 7 8"}

// argExtreme recognises JAX's argmax and argmin along one axis: a reduction of values and of their indices.
func argExtreme(m *importer, o *op, s *scope, axes []int, names []string) []*graph.Array {
	ops := reducerOps(o)
	least := len(ops) > 0 && ops[0] == "compare LT x y"
	if least {
		ops[0] = argExtremeOps[0]
	}
	if !slices.Equal(ops, argExtremeOps) || len(axes) != 1 || len(names) != 4 {
		m.refuse(o, "a reducer of the ops %s is not known here, except JAX's argmax and argmin",
			strings.Join(ops, ", "))
	}
	x, indices := m.value(o, s, names[0]), m.value(o, s, names[2])
	init, known := s.number(names[1])
	first, knownFirst := s.number(names[3])
	if !known || !knownFirst || first != 0 || init != worst(x.DType(), least) {
		m.refuse(o, "argmax and argmin are known only with the initial values that JAX gives them")
	}
	best := graph.ArgMax
	if least {
		best = graph.ArgMin
	}
	at := best(x, axes[0])
	pick := func(a *graph.Array) *graph.Array {
		return graph.TakeAlongAxis(a, at.ExpandDims(axes[0]), axes[0]).Squeeze(axes[0])
	}
	return []*graph.Array{pick(x), pick(indices)}
}

// reducerOps describes the ops of a reducer of values and indices in the words of argExtremeOps.
func reducerOps(o *op) (ops []string) {
	words := map[string]string{}
	for i, p := range o.params {
		words[p.name] = []string{"x", "y", "i", "j"}[min(i, 3)]
	}
	for i, inner := range o.regions[0] {
		text := strings.TrimPrefix(inner.name, "stablehlo.")
		if text == "compare" {
			direction, _, _ := strings.Cut(strings.TrimSpace(inner.head), ",")
			text += " " + direction
		}
		for _, name := range inner.names() {
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
