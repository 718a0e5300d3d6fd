package stablehlo

import (
	"errors"
	"slices"
	"strings"

	"xlarun/graph"
)

// importer records the ops of functions.
type importer struct {
	file      string
	functions map[string]*function
	factors   map[*graph.Array]*graph.Array // Q by R, of LAPACK's QR
	depth     int
	ops       int // recorded so far
}

// A file that goes beyond these limits is damaged: functions that JAX exports do not call themselves.
const (
	maxDepth = 200     // of calls
	maxOps   = 1 << 22 // recorded, those of called functions at each call
)

// scope has the values of a function or a region by name, and the ops that made them. numbers has the scalar constants
// among them.
type scope struct {
	outer   *scope
	values  map[string]*graph.Array
	numbers map[string]float64
	ops     map[string]*op
}

func (s *scope) inner() *scope {
	return &scope{s, map[string]*graph.Array{}, map[string]float64{}, map[string]*op{}}
}

// definition returns the op that made a value; nil if it is a parameter.
func (s *scope) definition(name string) *op {
	for ; s != nil; s = s.outer {
		if _, ok := s.values[name]; ok {
			return s.ops[name]
		}
	}
	return nil
}

func (s *scope) value(name string) (*graph.Array, bool) {
	for ; s != nil; s = s.outer {
		if v, ok := s.values[name]; ok {
			return v, true
		}
	}
	return nil, false
}

// number returns a value that is a scalar constant.
func (s *scope) number(name string) (float64, bool) {
	for ; s != nil; s = s.outer {
		if _, ok := s.values[name]; ok {
			x, ok := s.numbers[name]
			return x, ok
		}
	}
	return 0, false
}

// call records a function.
func (m *importer) call(f *function, args []*graph.Array) []*graph.Array {
	return m.nested(f, func() []*graph.Array {
		s := (*scope)(nil).inner()
		for i, p := range f.params {
			s.values[p.name] = args[i]
		}
		return m.run(f.body, s)
	})
}

// nested records a function by its body.
func (m *importer) nested(f *function, body func() []*graph.Array) []*graph.Array {
	if m.depth++; m.depth > maxDepth {
		graph.Throw("stablehlo", "%s: functions call each other more than %d deep", m.file, maxDepth)
	}
	defer func() { m.depth-- }()
	out := body()
	same := func(a *graph.Array, want graph.Shape) bool { return a.Shape().Equal(want) }
	if !slices.EqualFunc(out, f.results, same) {
		graph.Throw("stablehlo", "%s: a function returns %d arrays that are not those of its head, %v", m.file,
			len(out), f.results)
	}
	return out
}

// run records the ops of a body and returns the values of its return.
func (m *importer) run(ops []*op, s *scope) []*graph.Array {
	for _, o := range ops {
		if m.ops++; m.ops > maxOps {
			m.refuse(o, "the functions have more than %d ops, each call counted", maxOps)
		}
		if isReturn(o) {
			return m.operands(o, s)
		}
		out := m.apply(o, s)
		want, err := resultShapes(o)
		if err != nil {
			m.refuse(o, "%v", err)
		}
		if len(out) != len(o.results) || len(want) != len(out) {
			m.refuse(o, "it has %d results, the file says %d", len(out), len(o.results))
		}
		for i, a := range out {
			if !a.Shape().Equal(want[i]) {
				m.refuse(o, "its result is %s, the file says %s", a.Shape(), want[i])
			}
			s.values[o.results[i]] = a
			if s.ops[o.results[i]] == nil || !isCall(o) { // an op of a function that was called inline stays
				s.ops[o.results[i]] = o
			}
			if unchanged[o.name] && a.Rank() == 0 {
				if x, ok := s.number(o.operands[0]); ok {
					s.numbers[o.results[i]] = x
				}
			}
		}
	}
	graph.Throw("stablehlo", "%s: a function has no return", m.file)
	return nil
}

func isReturn(o *op) bool {
	return o.name == "return" || o.name == "stablehlo.return" || o.name == "func.return"
}

func isCall(o *op) bool { return o.name == "call" || o.name == "func.call" }

// unchanged are ops that give the number of a scalar back.
var unchanged = map[string]bool{"stablehlo.broadcast_in_dim": true, "stablehlo.reshape": true}

// region records a region of an op, with values for its parameters.
func (m *importer) region(o *op, at int, s *scope, args []*graph.Array) []*graph.Array {
	g, in := o.regions[at], s.inner()
	if len(g.params) != len(args) {
		m.refuse(o, "its region %d has %d parameters, want %d", at, len(g.params), len(args))
	}
	for i, p := range g.params {
		in.values[p.name] = args[i]
	}
	return m.run(g.ops, in)
}

// resultShapes are the shapes that the file gives to the results of an op. Where it gives one shape for all operands
// and the result, that is the last.
func resultShapes(o *op) ([]graph.Shape, error) {
	if _, after, ok := strings.Cut(o.types, "->"); ok {
		return shapes(after)
	}
	all, err := shapes(o.types)
	if err == nil && len(all) > len(o.results) {
		all = all[len(all)-len(o.results):]
	}
	return all, err
}

// apply records one op. What a function of graph refuses is refused with the op's line.
func (m *importer) apply(o *op, s *scope) (out []*graph.Array) {
	err := graph.Try(func() {
		switch f, known := attributed[o.name]; {
		case known:
			out = f(m, o, s)
		case elementwise[o.name].operands > 0:
			f := elementwise[o.name]
			out = []*graph.Array{f.apply(m.exactly(o, s, f.operands))}
		default:
			m.refuse(o, "this op is not known here")
		}
	})
	var e *graph.Error
	switch errors.As(err, &e); {
	case e == nil:
	case e.Op == "stablehlo":
		panic(e)
	default:
		m.refuse(o, "%s: %s", e.Op, e.Msg)
	}
	return out
}

// refuse leaves the traced function with an error that names the op and its line.
func (m *importer) refuse(o *op, format string, args ...any) {
	graph.Throw("stablehlo", "%s:%d: %s: "+format, append([]any{m.file, o.line, o.name}, args...)...)
}

func (m *importer) operands(o *op, s *scope) []*graph.Array {
	var all []*graph.Array
	for _, name := range o.operands {
		all = append(all, m.value(o, s, name))
	}
	return all
}

func (m *importer) value(o *op, s *scope, name string) *graph.Array {
	v, ok := s.value(name)
	if !ok {
		m.refuse(o, "%s has no value", name)
	}
	return v
}
