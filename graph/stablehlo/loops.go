package stablehlo

import (
	"math"
	"slices"

	"xlarun/graph"
)

// while is a loop. A loop with a counter is a scan, which has gradients.
func while(m *importer, o *op, s *scope) []*graph.Array {
	init := make([]*graph.Array, len(o.inits))
	for i, name := range o.inits {
		init[i] = m.value(o, s, name)
	}
	if len(o.regions) != 2 {
		m.refuse(o, "it has %d regions, want a condition and a body", len(o.regions))
	}
	body := func(carry []*graph.Array) []*graph.Array {
		next := m.region(o, 1, s, carry)
		if len(next) != len(init) {
			m.refuse(o, "its body returns %d values, want %d", len(next), len(init))
		}
		return next
	}
	if trips, ok := o.trips(s); ok {
		if trips <= 0 {
			return init
		}
		out, _ := graph.Scan(func(carry []*graph.Array, _ graph.None) ([]*graph.Array, graph.None) {
			return body(carry), graph.None{}
		}, init, graph.None{}, graph.Length(trips))
		return out
	}
	return graph.While(func(carry []*graph.Array) *graph.Array {
		test := m.region(o, 0, s, carry)
		if len(test) != 1 {
			m.refuse(o, "its condition returns %d values, want one", len(test))
		}
		return test[0]
	}, body, init)
}

// maxTrips bounds what counts as a loop of known length.
const maxTrips = 1 << 40

// trips returns how often a loop with a counter runs: it begins at a constant, runs as long as it is less than a
// constant, and each iteration adds 1.
func (o *op) trips(s *scope) (n int, ok bool) {
	cond, body := o.regions[0], o.regions[1]
	tests, next := cond.returned(), body.returned()
	if len(tests) != 1 || len(next) != len(o.inits) || len(body.params) != len(o.inits) {
		return 0, false
	}
	test := definition(cond.ops, tests[0])
	if test == nil || test.name != "stablehlo.compare" || test.direction() != "LT" || len(test.operands) != 2 {
		return 0, false
	}
	sides := test.operands
	at := slices.IndexFunc(cond.params, func(p param) bool { return p.name == sides[0] })
	if at < 0 || at >= len(next) {
		return 0, false
	}
	limit, known := constantIn(cond.ops, sides[1], s)
	start, begins := s.number(o.inits[at])
	step := definition(body.ops, next[at])
	if !known || !begins || step == nil || step.name != "stablehlo.add" {
		return 0, false
	}
	terms := step.operands
	if len(terms) != 2 || terms[0] != body.params[at].name {
		return 0, false
	}
	if one, ok := constantIn(body.ops, terms[1], s); !ok || one != 1 || limit-start > maxTrips {
		return 0, false
	}
	if start != math.Trunc(start) || limit != math.Trunc(limit) { // float counters: they stay while loops
		return 0, false
	}
	return int(limit - start), true
}

// returned are the names of the values that a region returns.
func (g region) returned() []string {
	if len(g.ops) == 0 {
		return nil
	}
	return g.ops[len(g.ops)-1].operands
}

// definition returns the op of a body that makes a value; nil if it comes from outside.
func definition(ops []*op, name string) *op {
	for _, o := range ops {
		for _, r := range o.results {
			if r == name {
				return o
			}
		}
	}
	return nil
}

// constantIn returns the number of a scalar constant that a body or what is around it makes.
func constantIn(ops []*op, name string, s *scope) (float64, bool) {
	o := definition(ops, name)
	if o == nil {
		return s.number(name)
	}
	if o.name != "stablehlo.constant" {
		return 0, false
	}
	shape, err := resultShapes(o)
	if err != nil || len(shape) != 1 || shape[0].Rank() != 0 {
		return 0, false
	}
	b, err := dense(o.literal(), shape[0])
	if err != nil {
		return 0, false
	}
	t, err := graph.TensorFromBytes(shape[0], b)
	if err != nil {
		return 0, false
	}
	return t.Floats()[0], true
}
