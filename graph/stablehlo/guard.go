package stablehlo

import (
	"math"
	"slices"

	"xlarun/graph"
)

// JAX exports functions such as erf_inv as their formulas: a select between two of them by a threshold. The formula
// that is not selected may have an infinite derivative where it does not count, and in reverse mode infinity times 0 is
// NaN. JAX has a rule for the function instead. So such a formula is computed from the threshold wherever it is not
// selected, and an infinite factor is 1 there. The results are the same.

// singular are the elementwise ops whose derivative is infinite or undefined somewhere.
var singular = []string{"stablehlo.sqrt", "stablehlo.rsqrt", "stablehlo.cbrt", "stablehlo.log",
	"stablehlo.log_plus_one", "stablehlo.divide", "stablehlo.power", "stablehlo.atan2"}

// mostGuarded bounds the ops of a formula that is computed again.
const mostGuarded = 64

// selects is a select whose formulas are guarded: a singular one, if the condition compares with a constant, and one
// with an infinite constant.
func selects(m *importer, o *op, s *scope) []*graph.Array {
	x, names := m.exactly(o, s, 3), o.operands
	if !x[0].Shape().Equal(graph.ShapeOf(graph.Bool, x[1].Dims()...)) {
		return []*graph.Array{graph.Select(x[0], x[1], x[2])}
	}
	selected := []*graph.Array{1: x[0], 2: x[0].Not()}
	guard := func(at int, value string, otherwise *graph.Array) {
		if formula := s.formula(names[at], value); formula != nil {
			in := s.inner()
			in.values[value] = graph.Select(selected[at], m.value(o, s, value), otherwise)
			for _, step := range formula {
				in.values[step.results[0]] = m.apply(step, in)[0]
			}
			x[at] = m.value(o, in, names[at])
		}
	}
	if value, threshold, at := s.condition(names[0]); at > 0 {
		guard(at, value, m.value(o, s, threshold))
	}
	for at := 1; at <= 2; at++ {
		if factor := s.infiniteFactor(names[at]); factor != "" {
			guard(at, factor, graph.OnesLike(x[at]))
		}
	}
	return []*graph.Array{graph.Select(x[0], x[1], x[2])}
}

// infiniteFactor returns the infinite constant that a product has as a factor; "" if there is none.
func (s *scope) infiniteFactor(product string) string {
	o := s.definition(product)
	if o == nil || o.name != "stablehlo.multiply" {
		return ""
	}
	for _, name := range o.operands {
		if c := s.constantOf(name); c != nil && startsInfinite(c) {
			return name
		}
	}
	return ""
}

// startsInfinite reports whether the first element of a constant is infinite.
func startsInfinite(o *op) bool {
	all, err := resultShapes(o)
	if err != nil || len(all) != 1 || !all[0].DType.IsFloat() {
		return false
	}
	b, err := dense(o.literal(), all[0])
	width := graph.ItemSize(all[0].DType)
	if err != nil || len(b) < width {
		return false
	}
	t, err := graph.TensorFromBytes(graph.ShapeOf(all[0].DType), b[:width])
	return err == nil && math.IsInf(t.Floats()[0], 0)
}

// condition reads a comparison of a value with a constant, the threshold. at is the operand of the select that counts
// at the threshold itself; 0 if the condition is another one.
func (s *scope) condition(name string) (value, threshold string, at int) {
	o := s.definition(name)
	if o == nil || o.name != "stablehlo.compare" || len(o.operands) != 2 {
		return "", "", 0
	}
	value, threshold = o.operands[0], o.operands[1]
	if s.constantOf(threshold) == nil {
		return "", "", 0
	}
	return value, threshold, map[string]int{"LT": 2, "GT": 2, "LE": 1, "GE": 1}[o.direction()]
}

// constantOf is the constant that a value is, or is the numbers of; nil if it is none.
func (s *scope) constantOf(name string) *op {
	o := s.definition(name)
	for o != nil && unchanged[o.name] && len(o.operands) == 1 {
		o = s.definition(o.operands[0])
	}
	if o == nil || o.name != "stablehlo.constant" {
		return nil
	}
	return o
}

// formula lists the ops by which a value depends on another one, in order. It is nil if one of them is not elementwise,
// if they are many, or if none is singular, unless the other one is a constant.
func (s *scope) formula(value, from string) (ops []*op) {
	depends := map[string]bool{from: true}
	known := map[string]bool{from: true}
	ok, isSingular := true, s.constantOf(from) != nil
	var visit func(name string) bool
	visit = func(name string) bool {
		if known[name] {
			return depends[name]
		}
		known[name] = true
		o := s.definition(name)
		if o == nil || o.name == "stablehlo.constant" {
			return false
		}
		for _, operand := range o.operands {
			depends[name] = visit(operand) || depends[name]
		}
		if depends[name] {
			_, isElementwise := elementwise[o.name]
			ok = ok && (isElementwise || o.name == "stablehlo.select") && len(ops) < mostGuarded
			isSingular = isSingular || slices.Contains(singular, o.name)
			ops = append(ops, o)
		}
		return depends[name]
	}
	if !visit(value) || !ok || !isSingular {
		return nil
	}
	return ops
}
