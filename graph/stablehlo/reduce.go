package stablehlo

import (
	"math"
	"regexp"
	"slices"
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
func reduce(m *machine, o *op, s *scope) []*graph.Array {
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

// argExtremeOps are the ops of the reducer that JAX writes for argmax (GT) and argmin (LT).
var argExtremeOps = []string{"compare", "compare", "or", "compare", "compare", "and", "or", "select", "select",
	"return"}

// argExtreme recognises JAX's argmax and argmin along one axis: a reduction of values and of their indices.
func argExtreme(m *machine, o *op, s *scope, axes []int, names []string) []*graph.Array {
	var ops, directions []string
	for _, inner := range o.regions[0] {
		ops = append(ops, strings.TrimPrefix(inner.name, "stablehlo."))
		if inner.name == "stablehlo.compare" {
			direction, _, _ := strings.Cut(strings.TrimSpace(inner.head), ",")
			directions = append(directions, direction)
		}
	}
	if !slices.Equal(ops, argExtremeOps) || len(axes) != 1 || len(names) != 4 || len(directions) != 4 ||
		!slices.Equal(directions[1:], []string{"NE", "EQ", "LT"}) || directions[0] != "GT" && directions[0] != "LT" {
		m.refuse(o, "a reducer of the ops %s is not known here, except JAX's argmax and argmin",
			strings.Join(ops, ", "))
	}
	x, indices := m.value(o, s, names[0]), m.value(o, s, names[2])
	best := graph.ArgMax
	if directions[0] == "LT" {
		best = graph.ArgMin
	}
	at := best(x, axes[0])
	pick := func(a *graph.Array) *graph.Array {
		return graph.TakeAlongAxis(a, at.ExpandDims(axes[0]), axes[0]).Squeeze(axes[0])
	}
	return []*graph.Array{pick(x), pick(indices)}
}
