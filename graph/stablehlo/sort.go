package stablehlo

import (
	"math"
	"slices"
	"strings"

	"xlarun/graph"
)

// order says by which of its operands a sort sorts.
type order struct {
	keys       []int
	descending bool
}

// sortBy sorts arrays together along an axis.
func sortBy(m *importer, o *op, s *scope) []*graph.Array {
	x := m.operands(o, s)
	if len(x) == 0 {
		m.refuse(o, "it has no operands")
	}
	by, ok := m.order(o, s, x)
	if !ok {
		m.refuse(o, "its comparison is no order of numbers that is known here")
	}
	places := slices.Clone(by.keys)
	for i := range x {
		if !slices.Contains(places, i) {
			places = append(places, i)
		}
	}
	operands := make([]*graph.Array, len(x))
	for i, place := range places {
		operands[i] = x[place]
	}
	var options []graph.SortOption
	if by.descending {
		options = append(options, graph.Descending())
	}
	out := make([]*graph.Array, len(x))
	for i, y := range graph.SortKV(operands, m.scalar(o, "dim"), len(by.keys), options...) {
		out[places[i]] = y
	}
	return out
}

// order finds the order of a comparison by what it says about a few numbers of each kind. Its ops only choose among
// its operands and constants, so it treats other numbers alike.
func (m *importer) order(o *op, s *scope, x []*graph.Array) (by order, ok bool) {
	if len(o.regions) != 1 || len(o.regions[0].params) != 2*len(x) {
		return by, false
	}
	g := o.regions[0]
	used := map[string]bool{}
	for _, inner := range g.ops {
		for _, name := range inner.names() {
			used[name] = true
		}
	}
	tuples := [][]float64{{}}
	for i := range x {
		if !used[g.params[2*i].name] && !used[g.params[2*i+1].name] {
			continue
		}
		by.keys = append(by.keys, i)
		var longer [][]float64
		for _, t := range tuples {
			for _, v := range probes(x[i].DType(), len(by.keys) > 1) {
				longer = append(longer, append(slices.Clone(t), v))
			}
		}
		if tuples = longer; len(tuples) > mostTuples {
			return by, false
		}
	}
	for _, by.descending = range []bool{false, true} {
		if len(by.keys) > 0 && by.is(tuples, func(left, right []float64) (bool, bool) {
			values := map[string]float64{}
			for i, k := range by.keys {
				values[g.params[2*k].name], values[g.params[2*k+1].name] = left[i], right[i]
			}
			return g.compares(s, values)
		}) {
			return by, true
		}
	}
	return by, false
}

// mostTuples bounds the numbers of several keys that a comparison is tried on.
const mostTuples = 1 << 9

// probes are a few numbers of a dtype: of a float, all kinds of them.
func probes(d graph.DType, few bool) []float64 {
	switch {
	case few:
		return []float64{0, 1}
	case d.IsFloat():
		return []float64{math.Inf(-1), -1, math.Copysign(0, -1), 0, 1, math.Inf(1), math.NaN()}
	case d == graph.Bool || d.IsUnsigned():
		return []float64{0, 1}
	}
	return []float64{-1, 0, 1}
}

// is reports whether a comparison has this order. A comparison may say anything of -0 and 0, and that no number comes
// before NaN, nor NaN before a number.
func (by order) is(tuples [][]float64, compare func(left, right []float64) (before, known bool)) bool {
	for _, left := range tuples {
		for _, right := range tuples {
			got, known := compare(left, right)
			want, free, unordered := false, false, false
			for i := len(left) - 1; i >= 0; i-- {
				x, y := left[i], right[i]
				if by.descending {
					x, y = y, x
				}
				unordered = unordered || x != x || y != y
				free = free || x == y && math.Signbit(x) != math.Signbit(y)
				switch {
				case x < y || x == x && y != y:
					want = true
				case y < x || y == y && x != x:
					want = false
				}
			}
			if !known || got != want && !free && !(unordered && !got) {
				return false
			}
		}
	}
	return true
}

// compares computes a region that chooses among numbers. known is false if it has another op.
func (g region) compares(s *scope, values map[string]float64) (result, known bool) {
	truth := map[bool]float64{true: 1}
	for _, o := range g.ops {
		var in []float64
		for _, name := range o.names() {
			v, ok := values[name]
			if !ok {
				if v, ok = s.number(name); !ok {
					return false, false
				}
			}
			in = append(in, v)
		}
		var out float64
		switch name := strings.TrimPrefix(o.name, "stablehlo."); {
		case name == "constant" && len(in) == 0:
			v, ok := constantIn(g.ops, o.results[0], s)
			if !ok {
				return false, false
			}
			out = v
		case name == "compare" && len(in) == 2:
			x, y := in[0], in[1]
			if strings.Contains(o.head, "TOTALORDER") {
				x, y = rank(x), rank(y)
			}
			out = truth[map[string]bool{"EQ": x == y, "NE": x != y, "LT": x < y, "LE": x <= y, "GT": x > y,
				"GE": x >= y}[o.direction()]]
		case name == "select" && len(in) == 3:
			if out = in[2]; in[0] != 0 {
				out = in[1]
			}
		case name == "and" && len(in) == 2:
			out = in[0] * in[1]
		case name == "or" && len(in) == 2:
			out = max(in[0], in[1])
		case name == "not" && len(in) == 1:
			out = 1 - in[0]
		case name == "return" && len(in) == 1:
			return in[0] != 0, true
		default:
			return false, false
		}
		if len(o.results) != 1 {
			return false, false
		}
		values[o.results[0]] = out
	}
	return false, false
}

// rank are the places of probes in the order of floats that tells -0 from 0.
func rank(x float64) float64 {
	switch {
	case x != x:
		return 9
	case math.IsInf(x, 0):
		return math.Copysign(8, x)
	case x == 0:
		return math.Copysign(1, x)
	}
	return 2 * x
}
