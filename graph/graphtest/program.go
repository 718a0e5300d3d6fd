// Package graphtest makes random programs that nest the transforms of package graph. Tests check that compiled programs
// equal interpreted ones, VMap equals loops, and derivatives equal finite differences. It also has what tests of arrays
// share.
package graphtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"xlarun/graph"
)

// Program is a random function of a fixed set of inputs: a float64 scalar, a vector of 3, a matrix of 2 x 3, and an
// int32 flag, which decides branches. All its operations are smooth in the floats and keep values small.
type Program struct {
	Seed  uint64
	Steps []Step
}

// Step computes one value from earlier ones and adds it to the pool.
type Step struct {
	Kind  string
	A, B  int // indices of earlier values, modulo the number of values with a fitting shape
	K     int // a small number, for some kinds
	Body  []Step
	Other []Step // the second branch of a cond
}

// Inputs are the shapes of every Program's inputs.
func Inputs() []graph.Shape {
	return []graph.Shape{graph.ShapeOf(graph.Float64), graph.ShapeOf(graph.Float64, 3), graph.ShapeOf(graph.Float64, 2,
		3), graph.ShapeOf(graph.Int32)}
}

var leafKinds = []string{"sin", "tanh", "gauss", "scale", "add", "mul", "sub", "logistic", "sum", "mean0", "dot",
	"outer", "softmax",
	"reverse", "transpose", "slice", "concat", "cumsum", "gather", "scatter", "max0", "norm", "convert", "stop",
	"pairs", "top"}

var nestKinds = []string{"scan", "scan_xs", "scan_reverse", "cond", "switch", "vmap", "vmap_axis", "grad", "jvp", "vjp",
	"checkpoint", "while", "custom_jvp", "map"}

// Random makes a program from a seed. Without reverse it may have While loops, which have only forward-mode
// derivatives.
func Random(seed uint64, reverse bool) *Program {
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	return &Program{seed, steps(r, 3+r.IntN(6), 3, reverse)}
}

func steps(r *rand.Rand, n, depth int, reverse bool) []Step {
	out := make([]Step, n)
	for i := range out {
		s := Step{A: r.IntN(1 << 20), B: r.IntN(1 << 20), K: r.IntN(1 << 10)}
		s.Kind = leafKinds[r.IntN(len(leafKinds))]
		if depth > 0 && r.IntN(3) == 0 {
			s.Kind = nestKinds[r.IntN(len(nestKinds))]
			for reverse && s.Kind == "while" {
				s.Kind = nestKinds[r.IntN(len(nestKinds))]
			}
			// Steps inside a reverse-mode derivative must allow reverse mode.
			inner := reverse || s.Kind == "grad" || s.Kind == "vjp"
			s.Body = steps(r, 1+r.IntN(3), depth-1, inner)
			if s.Kind == "cond" || s.Kind == "switch" {
				s.Other = steps(r, 1+r.IntN(3), depth-1, inner)
			}
		}
		out[i] = s
	}
	return out
}

// String prints the program, one step a line.
func (p *Program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\n", p.Seed)
	write(&b, p.Steps, "  ")
	return b.String()
}

func write(b *strings.Builder, s []Step, indent string) {
	for _, x := range s {
		fmt.Fprintf(b, "%s%s a=%d b=%d k=%d\n", indent, x.Kind, x.A, x.B, x.K)
		write(b, x.Body, indent+"    ")
		if len(x.Other) > 0 {
			fmt.Fprintf(b, "%sor\n", indent)
			write(b, x.Other, indent+"    ")
		}
	}
}

// Fn runs the program: in are its four inputs, the result is a scalar, a vector of 3 and a matrix of 2 x 3.
func (p *Program) Fn(in []*graph.Array) []*graph.Array {
	v := run(p.Steps, &pool{floats: in[:3], flag: in[3]})
	return []*graph.Array{v.last(0), v.last(1), v.last(2)}
}

// pool is the values computed so far. It has every shape from the start.
type pool struct {
	floats []*graph.Array
	flag   *graph.Array
}

// pick chooses among the values of one rank.
func (p *pool) pick(k, rank int) *graph.Array {
	var fit []*graph.Array
	for _, v := range p.floats {
		if v.Rank() == rank {
			fit = append(fit, v)
		}
	}
	return fit[k%len(fit)]
}

func (p *pool) last(rank int) *graph.Array {
	for i := len(p.floats) - 1; i >= 0; i-- {
		if p.floats[i].Rank() == rank {
			return p.floats[i]
		}
	}
	return nil
}

func (p *pool) with(v ...*graph.Array) *pool {
	return &pool{append(slices.Clone(p.floats), v...), p.flag}
}

func run(s []Step, p *pool) *pool {
	for _, x := range s {
		p = p.with(apply(x, p))
	}
	return p
}

// result is a body's value of one rank, kept small.
func result(s []Step, p *pool, rank int) *graph.Array { return graph.Tanh(run(s, p).last(rank)) }

func fit(v *graph.Array, rank int) *graph.Array {
	switch rank {
	case 0:
		return graph.Mean(v)
	case 1:
		return graph.BroadcastTo(graph.Mean(graph.Reshape(v, -1, v.Dim(-1)), 0), 3)
	}
	return graph.BroadcastTo(v, 2, 3)
}

func apply(s Step, p *pool) *graph.Array {
	rank := s.K % 3
	a, b := p.pick(s.A, rank), p.pick(s.B, rank)
	vec, mat := p.pick(s.A, 1), p.pick(s.B, 2)
	switch s.Kind {
	case "sin":
		return graph.Sin(a)
	case "tanh":
		return graph.Tanh(a)
	case "gauss":
		return graph.Exp(graph.Neg(graph.Square(a)))
	case "scale":
		return graph.Mul(a, .5+float64(s.K%7)/7)
	case "add":
		return graph.Mul(graph.Add(a, b), .5)
	case "mul":
		return graph.Mul(a, b)
	case "sub":
		return graph.Sub(a, graph.Mul(b, .5))
	case "logistic":
		return graph.Logistic(a)
	case "sum":
		return graph.Mean(mat)
	case "mean0":
		return graph.Mean(mat, 0)
	case "dot":
		return graph.Tanh(graph.Dot(mat, graph.Dot(graph.Transpose(mat), p.pick(s.B, 2))))
	case "outer":
		return graph.Einsum("i,j->ij", graph.SliceAxis(vec, 0, 0, 2), vec)
	case "softmax":
		return graph.Softmax(vec, 0)
	case "reverse":
		return graph.Reverse(vec)
	case "transpose":
		return graph.Reshape(graph.Transpose(mat), 2, 3)
	case "slice":
		return graph.IndexAxis(mat, 0, s.K%2)
	case "concat":
		return graph.Concatenate(0, graph.SliceAxis(vec, 0, 1, 3), graph.SliceAxis(vec, 0, 0, 1))
	case "cumsum":
		return graph.Tanh(graph.CumSum(mat, s.K%2))
	case "gather":
		return graph.Take(vec, graph.Of([]int32{int32(s.K % 3), 0, 2}), 0)
	case "scatter":
		return graph.Tanh(graph.ScatterAdd(vec, graph.Of([]int32{int32(s.K % 3), 1}), graph.SliceAxis(vec, 0, 0, 2)))
	case "max0": // a smooth maximum
		return graph.LogSumExp(vec)
	case "norm":
		return graph.Sqrt(graph.Add(graph.Sum(graph.Square(vec)), 1))
	case "pairs": // 1 unless a copy of a number is not equal to another copy
		x, n := graph.Sin(vec.Mul(vec).Add(vec)), vec.Dim(0)
		equal := x.ExpandDims(0).Eq(x.ExpandDims(1)).Convert(graph.Float64)
		return graph.Mul(a, graph.Einsum("ii->", equal).Div(float64(n)))
	case "top": // 1 unless the copy of which the maximum is taken differs from the one that is compared with it
		x := vec.Mul(b.Mean()).Add(vec.Square())
		return graph.Mul(a, graph.ReduceMax(x.Ge(graph.ReduceMax(x, 0)).Convert(graph.Float64), 0))
	case "convert":
		return graph.Convert(graph.Gt(graph.Add(p.flag, s.K%3), 1), graph.Float64)
	case "stop":
		return graph.Mul(graph.Convert(p.flag, graph.Float64), a)
	case "scan", "scan_reverse":
		opts := []graph.ScanOption{graph.Length(1 + s.K%4), graph.Unroll(1 + s.B%3)}
		if s.Kind == "scan_reverse" {
			opts = append(opts, graph.ReverseScan())
		}
		c, ys := graph.Scan(func(c *graph.Array, _ graph.None) (*graph.Array, *graph.Array) {
			q := run(s.Body, p.with(c))
			return graph.Tanh(graph.Add(fit(q.last(rank), rank), c)), graph.Sin(q.last(0))
		}, a, graph.None{}, opts...)
		return graph.Mul(c, graph.Mean(ys))
	case "scan_xs":
		c, ys := graph.Scan(func(c, x *graph.Array) (*graph.Array, *graph.Array) {
			q := run(s.Body, p.with(x, c))
			return graph.Tanh(graph.Add(q.last(rank), c)), graph.Tanh(q.last(1))
		}, a, mat)
		return graph.Mul(c, graph.Mean(ys))
	case "cond":
		return graph.Cond(graph.Gt(p.flag, s.K%3), func() *graph.Array {
			return result(s.Body, p, rank)
		}, func() *graph.Array { return result(s.Other, p, rank) })
	case "switch":
		return graph.Switch(p.flag, func() *graph.Array {
			return result(s.Body, p, rank)
		}, func() *graph.Array { return graph.Sin(a) },
			func() *graph.Array { return result(s.Other, p, rank) })
	case "vmap":
		return graph.VMap(func(x *graph.Array) *graph.Array { return result(s.Body, p.with(x), 1) })(mat)
	case "vmap_axis": // over columns, with a sum over the lanes inside, and a flag for each lane
		f := graph.VMap2(func(x, flag *graph.Array) *graph.Array {
			q := run(s.Body, (&pool{p.floats, flag}).with(graph.Mean(x)))
			return graph.Tanh(graph.Mul(q.last(0), graph.PMean(q.last(0), "lane")))
		}, graph.InAxes(1, 0), graph.AxisName("lane"))
		return f(mat, graph.Iota(3))
	case "map":
		return graph.Map(func(x *graph.Array) *graph.Array { return result(s.Body, p.with(x), 1) }, mat)
	case "grad":
		return graph.Tanh(graph.Grad(func(x *graph.Array) *graph.Array {
			return graph.Mean(result(s.Body, p.with(x), rank))
		})(a))
	case "jvp":
		_, t := graph.Jvp(func(x *graph.Array) *graph.Array { return result(s.Body, p.with(x), rank) }, a, b)
		return graph.Tanh(t)
	case "vjp":
		_, pull := graph.Vjp(func(x *graph.Array) *graph.Array { return result(s.Body, p.with(x), rank) }, a)
		return graph.Tanh(pull(b))
	case "checkpoint":
		return graph.Checkpoint(func(x *graph.Array) *graph.Array { return result(s.Body, p.with(x), rank) })(a)
	case "while":
		type carry struct{ I, X *graph.Array }
		return graph.While(func(c carry) *graph.Array {
			return graph.Lt(c.I, graph.Add(p.flag, 1))
		}, func(c carry) carry {
			return carry{graph.Add(c.I, 1), graph.Tanh(graph.Add(fit(run(s.Body, p.with(c.X)).last(rank), rank), c.X))}
		}, carry{graph.Scalar(0, graph.Int32), a}).X
	case "custom_jvp": // a custom derivative, equal to the automatic one
		return graph.CustomJvp(func(x *graph.Array) *graph.Array { return graph.Sin(x) },
			func(x, t *graph.Array) (*graph.Array, *graph.Array) { return graph.Sin(x), graph.Mul(graph.Cos(x), t) })(a)
	}
	graph.Throw("graphtest", "no kind %q", s.Kind)
	return nil
}

// Shrink drops and simplifies steps while fails returns true, and returns the smallest program found.
func (p *Program) Shrink(fails func(*Program) bool) *Program {
	best := p
	for again := true; again; {
		again = false
		for _, s := range smaller(best.Steps) {
			if q := (&Program{p.Seed, s}); fails(q) {
				best, again = q, true
				break
			}
		}
	}
	return best
}

// smaller lists variants with one step fewer, with a step replaced by its body, or with a smaller body.
func smaller(s []Step) [][]Step {
	var out [][]Step
	for i := range s {
		out = append(out, slices.Delete(slices.Clone(s), i, i+1))
		if len(s[i].Body) > 0 {
			out = append(out, slices.Replace(slices.Clone(s), i, i+1, s[i].Body...))
		}
		for _, b := range smaller(s[i].Body) {
			c := slices.Clone(s)
			c[i].Body = b
			out = append(out, c)
		}
		for _, b := range smaller(s[i].Other) {
			c := slices.Clone(s)
			c[i].Other = b
			out = append(out, c)
		}
	}
	return out
}
