package graphtest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"xlarun/graph"
)

// Values draws inputs for a program.
func Values(r *rand.Rand) []*graph.Array {
	var out []*graph.Array
	for _, s := range Inputs() {
		c := graph.Case{Lo: -1, Hi: 1}
		if s.DType == graph.Int32 {
			c = graph.Case{Lo: 0, Hi: 2}
		}
		out = append(out, c.Input(r, s))
	}
	return out
}

// Runner runs a traced program on flat inputs.
type Runner func(p *graph.Program, in []*graph.Array) ([]*graph.Array, error)

// Interpreted is the Runner of the reference interpreter. It verifies the program first.
func Interpreted(p *graph.Program, in []*graph.Array) ([]*graph.Array, error) {
	if err := p.Graph.Verify(); err != nil {
		return nil, err
	}
	return p.Interpret(in, nil)
}

func call(run Runner, f func([]*graph.Array) []*graph.Array, in []*graph.Array) ([][]float64, error) {
	p, err := graph.Trace("random", f, in)
	if err != nil {
		return nil, err
	}
	outs, err := run(p, in)
	if err != nil {
		return nil, err
	}
	values := make([][]float64, len(outs))
	for i, o := range outs {
		if values[i], err = graph.Floats(o); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func near(what string, want, got [][]float64, tol float64) error {
	for i := range want {
		if len(want[i]) != len(got[i]) {
			return fmt.Errorf("%s: result %d has %d elements, want %d", what, i, len(got[i]), len(want[i]))
		}
		for k := range want[i] {
			w, g := want[i][k], got[i][k]
			if w != g && (math.IsInf(w, 0) || !(math.Abs(w-g) <= tol*(1+math.Abs(w)))) {
				return fmt.Errorf("%s: result %d element %d is %g, want %g", what, i, k, g, w)
			}
		}
	}
	return nil
}

// CheckSame compares another runner with the interpreter, for the program and (with reverse) its gradient.
func (p *Program) CheckSame(run Runner, reverse bool) error {
	in := Values(rand.New(rand.NewPCG(p.Seed, 1)))
	f := p.Fn
	if reverse {
		f = func(in []*graph.Array) []*graph.Array { return append(p.Fn(in), p.gradient(in)...) }
	}
	want, err := call(Interpreted, f, in)
	if err != nil {
		return err
	}
	got, err := call(run, f, in)
	if err != nil {
		return err
	}
	return near("compiled against interpreted", want, got, 1e-9)
}

func total(v []*graph.Array) *graph.Array {
	s := graph.Sum(v[0])
	for _, x := range v[1:] {
		s = graph.Add(s, graph.Sum(graph.Sin(x)))
	}
	return s
}

func (p *Program) gradient(in []*graph.Array) []*graph.Array {
	return graph.Grad(func(f []*graph.Array) *graph.Array {
		return total(p.Fn(append(append([]*graph.Array(nil), f...), in[3])))
	})(in[:3])
}

// Check checks the interpreter: VMap equals a loop, forward mode equals finite differences, and (with reverse) reverse
// mode is the transpose of forward mode.
func (p *Program) Check(reverse bool) error {
	r := rand.New(rand.NewPCG(p.Seed, 2))
	const lanes = 3
	var rows [][]*graph.Array
	for range lanes {
		rows = append(rows, Values(r))
	}
	columns := make([]*graph.Array, 4)
	for i := range columns {
		var col []*graph.Array
		for _, row := range rows {
			col = append(col, row[i])
		}
		columns[i] = graph.Stack(col, 0)
	}
	got, err := call(Interpreted, graph.VMap(p.Fn), columns)
	if err != nil {
		return fmt.Errorf("vmapped: %w", err)
	}
	last, err := call(Interpreted, graph.VMap(p.Fn, graph.BatchLast()), columns)
	if err != nil {
		return fmt.Errorf("vmapped, batch last: %w", err)
	}
	if err := near("batch last against batch first", got, last, 1e-10); err != nil {
		return err
	}
	want := make([][]float64, 3)
	for _, row := range rows {
		one, err := call(Interpreted, p.Fn, row)
		if err != nil {
			return err
		}
		for i := range one {
			want[i] = append(want[i], one[i]...)
		}
	}
	if err := near("vmapped against looped", want, got, 1e-10); err != nil {
		return err
	}

	in, tan := rows[0], rows[1]
	flag := in[3]
	f := func(v []*graph.Array) []*graph.Array { return p.Fn(append(append([]*graph.Array(nil), v...), flag)) }
	both := append(append([]*graph.Array(nil), in[:3]...), tan[:3]...)
	tangents, err := call(Interpreted, func(v []*graph.Array) []*graph.Array {
		_, t := graph.Jvp(f, v[:3], v[3:])
		return t
	}, both)
	if err != nil {
		return fmt.Errorf("jvp: %w", err)
	}
	const h = 1e-5
	moved := func(by float64) ([][]float64, error) {
		return call(Interpreted, func(v []*graph.Array) []*graph.Array {
			x := make([]*graph.Array, 3)
			for i := range x {
				x[i] = graph.Add(v[i], graph.Mul(v[3+i], by))
			}
			return f(x)
		}, both)
	}
	up, err := moved(h)
	if err != nil {
		return err
	}
	down, err := moved(-h)
	if err != nil {
		return err
	}
	for i := range up {
		for k := range up[i] {
			up[i][k] = (up[i][k] - down[i][k]) / (2 * h)
		}
	}
	if err := near("jvp against finite differences", up, tangents, 1e-5); err != nil {
		return err
	}
	if !reverse {
		return nil
	}
	ct := rows[2][:3]
	pulled, err := call(Interpreted, func(v []*graph.Array) []*graph.Array {
		_, pull := graph.Vjp(f, v[:3])
		return pull(v[3:])
	}, append(append([]*graph.Array(nil), in[:3]...), ct...))
	if err != nil {
		return fmt.Errorf("vjp: %w", err)
	}
	left, scale, err := inner(tangents, ct)
	if err != nil {
		return err
	}
	right, _, err := inner(pulled, tan[:3])
	if err != nil {
		return err
	}
	if math.Abs(left-right) > 1e-9*scale {
		return fmt.Errorf("<ct, J t> is %g, <J^T ct, t> is %g", left, right)
	}
	return nil
}

func inner(a [][]float64, b []*graph.Array) (sum, scale float64, err error) {
	scale = 1
	for i := range a {
		v, err := graph.Floats(b[i])
		if err != nil {
			return 0, 0, err
		}
		for k := range v {
			sum += a[i][k] * v[k]
			scale += math.Abs(a[i][k] * v[k])
		}
	}
	return sum, scale, nil
}
