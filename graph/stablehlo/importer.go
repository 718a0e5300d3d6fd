package stablehlo

import (
	"regexp"
	"slices"
	"strings"

	"xlarun/graph"
)

// importer records the ops of functions.
type importer struct {
	file      string
	functions map[string]*function
	depth     int
	ops       int // recorded so far
}

// A file that goes beyond these limits is damaged: functions that JAX exports do not call themselves.
const (
	maxDepth = 200     // of calls
	maxOps   = 1 << 22 // recorded, those of called functions at each call
)

// scope has the values of a function or a region, by name. numbers has the scalar constants among them.
type scope struct {
	outer   *scope
	values  map[string]*graph.Array
	numbers map[string]float64
}

func (s *scope) inner() *scope { return &scope{s, map[string]*graph.Array{}, map[string]float64{}} }

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
	if m.depth++; m.depth > maxDepth {
		graph.Throw("stablehlo", "%s: functions call each other more than %d deep", m.file, maxDepth)
	}
	defer func() { m.depth-- }()
	s := (*scope)(nil).inner()
	for i, p := range f.params {
		s.values[p.name] = args[i]
	}
	out := m.run(f.body, s)
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
		if o.name == "return" || o.name == "stablehlo.return" || o.name == "func.return" {
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
		}
	}
	graph.Throw("stablehlo", "%s: a function has no return", m.file)
	return nil
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

// apply records one op.
func (m *importer) apply(o *op, s *scope) []*graph.Array {
	if f, ok := elementwise[o.name]; ok {
		args := m.operands(o, s)
		if len(args) != f.operands {
			m.refuse(o, "it has %d operands, want %d", len(args), f.operands)
		}
		return []*graph.Array{f.apply(args)}
	}
	if f, ok := attributed[o.name]; ok {
		return f(m, o, s)
	}
	m.refuse(o, "this op is not known here")
	return nil
}

// refuse leaves the traced function with an error that names the op and its line.
func (m *importer) refuse(o *op, format string, args ...any) {
	graph.Throw("stablehlo", "%s:%d: %s: "+format, append([]any{m.file, o.line, o.name}, args...)...)
}

var valueName = regexp.MustCompile(`%\w+(?:#\d+)?`)

// names are the names of an op's operands.
func (o *op) names() []string { return valueName.FindAllString(o.head, -1) }

func (m *importer) operands(o *op, s *scope) []*graph.Array {
	var all []*graph.Array
	for _, name := range o.names() {
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
