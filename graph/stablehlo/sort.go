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

// order finds the order of a comparison by what it says about a few numbers. Its ops only compare and choose among its
// operands, zeros, infinities and NaN, so of one key only its place among these counts, and all places are tried. Of
// several keys each is tried so, while the others are 0 and 1.
func (m *importer) order(o *op, s *scope, x []*graph.Array) (by order, ok bool) {
	if len(o.regions) != 1 || len(o.regions[0].params) != 2*len(x) {
		return by, false
	}
	g := o.regions[0]
	used := map[string]bool{}
	for _, inner := range g.ops {
		for _, name := range inner.operands {
			used[name] = true
		}
		switch strings.TrimPrefix(inner.name, "stablehlo.") {
		case "and", "or", "not": // of whole numbers they are no choices
			out, err := resultShapes(inner)
			if err != nil || len(out) != 1 || out[0].DType != graph.Bool {
				return by, false
			}
		}
	}
	for i := range x {
		if used[g.params[2*i].name] || used[g.params[2*i+1].name] {
			by.keys = append(by.keys, i)
		}
	}
	var tries []pair
	for i := range by.keys {
		some := []pair{{}}
		for j, k := range by.keys {
			var longer []pair
			for _, p := range some {
				for _, v := range probes(x[k].DType(), i != j) {
					longer = append(longer, pair{append(slices.Clone(p.left), v[0]),
						append(slices.Clone(p.right), v[1])})
				}
			}
			if some = longer; len(some) > mostPairs {
				return by, false
			}
		}
		tries = append(tries, some...)
	}
	for _, by.descending = range []bool{false, true} {
		if len(by.keys) > 0 && by.is(tries, func(p pair) (bool, bool) {
			values := map[string]float64{}
			for i, k := range by.keys {
				values[g.params[2*k].name], values[g.params[2*k+1].name] = p.left[i], p.right[i]
			}
			return g.compares(s, values)
		}) {
			return by, true
		}
	}
	return by, false
}

// pair are the numbers of the keys that a comparison is tried on.
type pair struct{ left, right []float64 }

// mostPairs bounds the pairs that a key among several is tried on.
const mostPairs = 1 << 16

// probes are pairs of numbers of a dtype: two of each kind in either order, or a few.
func probes(d graph.DType, few bool) (pairs [][2]float64) {
	if few {
		return [][2]float64{{0, 0}, {0, 1}, {1, 0}}
	}
	numbers := []float64{-2, -1, 0, 1, 2}
	switch {
	case d.IsFloat():
		numbers = append(numbers, math.Inf(-1), math.Copysign(0, -1), math.Inf(1), math.NaN())
	case d == graph.Bool:
		numbers = []float64{0, 1}
	case d.IsUnsigned():
		numbers = []float64{0, 1, 2}
	}
	for _, x := range numbers {
		for _, y := range numbers {
			pairs = append(pairs, [2]float64{x, y})
		}
	}
	return pairs
}

// is reports whether a comparison has this order. A comparison may say anything of -0 and 0, and that no number comes
// before NaN, nor NaN before a number.
func (by order) is(tries []pair, compare func(p pair) (before, known bool)) bool {
	for _, p := range tries {
		got, known := compare(p)
		want, free, unordered := false, false, false
		for i := len(p.left) - 1; i >= 0; i-- {
			x, y := p.left[i], p.right[i]
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
	return true
}

// compares computes a region that chooses among numbers, and whose and, or and not are of bools. known is false if it
// has another op, or a number of its own.
func (g region) compares(s *scope, values map[string]float64) (result, known bool) {
	truth := map[bool]float64{true: 1}
	for _, o := range g.ops {
		var in []float64
		for _, name := range o.operands {
			v, ok := values[name]
			if !ok {
				if v, ok = s.number(name); !ok || !apart(v) {
					return false, false
				}
			}
			in = append(in, v)
		}
		var out float64
		switch name := strings.TrimPrefix(o.name, "stablehlo."); {
		case name == "constant" && len(in) == 0:
			v, ok := constantIn(g.ops, o.results[0], s)
			if !ok || !apart(v) {
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

// apart reports whether a number is a constant that comparisons may have: probes has numbers on all its sides.
func apart(x float64) bool { return x == 0 || x != x || math.IsInf(x, 0) }

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
