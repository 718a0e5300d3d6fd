package scalars

import (
	"xlarun/graph"
)

// readers counts who reads each value that a result depends on.
func (p *Program) readers() map[*value]int {
	count := map[*value]int{}
	var read func(xs ...Num)
	read = func(xs ...Num) {
		for _, x := range xs {
			if x.v == nil {
				continue
			}
			if count[x.v]++; count[x.v] > 1 {
				continue
			}
			read(x.v.in...)
			if b := x.v.block; b != nil && x.v.op != opBlock {
				if count[b.head]++; count[b.head] == 1 {
					read(b.init...)
					read(b.next...)
					read(Num{v: b.again.v})
				}
				if own := x.v.place - len(b.next); x.v.op == opResult && own >= 0 {
					read(b.last[own])
				}
			}
		}
	}
	for _, out := range p.outs {
		read(out...)
	}
	return count
}

// opsForm computes a program by graph's ops.
type opsForm struct {
	readers map[*value]int
	dtype   graph.DType
	forward bool // it needs no derivatives, whose loops take long to trace
	arrays  map[*value]*graph.Array
}

// Ops is the function of vectors by graph's ops. In and results are vectors of one float type.
func (p *Program) Ops(in ...*graph.Array) []*graph.Array {
	p.check("Ops", in)
	return p.ops(false, in)
}

func (p *Program) ops(forward bool, in []*graph.Array) []*graph.Array {
	f := &opsForm{readers: p.readers(), dtype: in[0].DType(), forward: forward, arrays: map[*value]*graph.Array{}}
	for i, vector := range p.inputs {
		for j, x := range graph.Unstack(in[i], 0) {
			f.arrays[vector[j]] = x
		}
	}
	f.region(p.root)
	outs := make([]*graph.Array, len(p.outs))
	for i, out := range p.outs {
		outs[i] = graph.Stack(f.list(out), 0)
	}
	return outs
}

// check refuses arrays that are not the function's vectors.
func (p *Program) check(name string, in []*graph.Array) {
	if len(in) != len(p.inputs) || len(in) == 0 {
		fail(name, "got %d vectors, want %d (at least one)", len(in), len(p.inputs))
	}
	d := in[0].DType()
	if d != graph.Float32 && d != graph.Float64 {
		fail(name, "got %s, want vectors of float32 or float64", in[0].Shape())
	}
	for i, a := range in {
		if want := graph.ShapeOf(d, len(p.inputs[i])); !a.Shape().Equal(want) {
			fail(name, "vector %d is %s, want %s", i, a.Shape(), want)
		}
	}
}

// operand is an array, or a Go number that is known.
func (f *opsForm) operand(x Num) any {
	if x.v == nil {
		return x.c
	}
	return f.arrays[x.v]
}

// list makes arrays of numbers.
func (f *opsForm) list(xs []Num) []*graph.Array {
	out := make([]*graph.Array, len(xs))
	for i, x := range xs {
		if out[i] = f.arrays[x.v]; x.v == nil {
			out[i] = graph.Scalar(x.c, f.dtype)
		}
	}
	return out
}

func (f *opsForm) cond(c Cond) *graph.Array {
	if c.v == nil {
		return graph.Scalar(c.c)
	}
	return f.arrays[c.v]
}

func (f *opsForm) region(g *region) {
	for _, v := range g.code {
		n := f.readers[v]
		if n == 0 || v.op == opInput || v.op == opParam || v.op == opResult {
			continue
		}
		if v.op == opBlock {
			f.block(v.block)
			continue
		}
		a := f.apply(v)
		if n > 1 {
			// XLA would compute it again in each reader.
			a = graph.Once(a)
		}
		f.arrays[v] = a
	}
}

var binaryOps = map[op]func(x, y any) *graph.Array{opAdd: graph.Add, opSub: graph.Sub, opMul: graph.Mul,
	opDiv: graph.Div, opMin: graph.Min, opMax: graph.Max, opLt: graph.Lt, opLe: graph.Le, opEq: graph.Eq,
	opAnd: graph.And, opOr: graph.Or}

var unaryOps = map[op]func(x any) *graph.Array{opNeg: graph.Neg, opAbs: graph.Abs, opSqrt: graph.Sqrt,
	opSin: graph.Sin, opCos: graph.Cos, opNot: graph.Not}

func (f *opsForm) apply(v *value) *graph.Array {
	if one := unaryOps[v.op]; one != nil {
		return one(f.operand(v.in[0]))
	}
	x, y := f.operand(v.in[0]), f.operand(v.in[1])
	if two := binaryOps[v.op]; two != nil {
		return two(x, y)
	}
	pair := f.list(v.in[1:])
	return graph.Select(x.(*graph.Array), pair[0], pair[1])
}

// enter binds the parameters of a block's body.
func (f *opsForm) enter(b *block, values ...*graph.Array) {
	for i, v := range b.params {
		f.arrays[v] = values[i]
	}
	f.region(b.body)
}

func (f *opsForm) block(b *block) {
	init := f.list(b.init)
	var results []*graph.Array
	switch b.kind {
	case whenBlock:
		f.region(b.body)
		for i, x := range f.list(b.next) {
			results = append(results, graph.Select(f.cond(b.again), x, init[i]))
		}
	case scanBlock:
		n := len(init)
		var last []Num // that are read
		for i, x := range b.last {
			if f.readers[b.result[n+i]] > 0 {
				last, init = append(last, x), append(init, graph.Scalar(0., f.dtype))
			}
		}
		flat := []float64{}
		for _, row := range b.rows {
			flat = append(flat, row...)
		}
		rows := graph.Convert(graph.Float64s(flat, len(b.rows), len(b.rows[0])), f.dtype)
		results, _ = graph.Scan(func(c []*graph.Array, row *graph.Array) ([]*graph.Array, graph.None) {
			f.enter(b, append(c[:n:n], graph.Unstack(row, 0)...)...)
			return append(f.list(b.next), f.list(last)...), graph.None{}
		}, init, rows)
	case repeatBlock:
		type carry struct {
			Again, Done *graph.Array
			C           []*graph.Array
		}
		start := carry{graph.Scalar(true), graph.Scalar(0, graph.Int32), init}
		again := func(c carry) *graph.Array { return graph.And(c.Again, graph.Lt(c.Done, b.most)) }
		body := func(c carry) carry {
			f.enter(b, c.C...)
			return carry{f.cond(b.again), graph.Add(c.Done, 1), f.list(b.next)}
		}
		if f.forward {
			results = graph.While(again, body, start).C
		} else {
			results = graph.WhileBounded(again, body, start, b.most).C
		}
	}
	for i, v := range b.result {
		if i < len(b.next) || f.readers[v] > 0 {
			f.arrays[v], results = results[0], results[1:]
		}
	}
}
