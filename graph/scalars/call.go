package scalars

import (
	"slices"

	"xlarun/graph"
)

// kernel takes the vectors, and then the tape's words and numbers.
var kernel = &graph.Kernel{Target: "xlarun_tape", Shared: 2}

// Call is the function of vectors, in and results of one float type: on CPUs as a tape, elsewhere and on the reference
// interpreter by Ops, which are traced when one of them needs them. Derivatives do not pass it.
func (p *Program) Call(in ...*graph.Array) []*graph.Array { return p.CallOnly(nil, in...) }

// CallOnly is Call for members for which only holds, bool[]. Results of others are 0, and CPUs do not compute them. All
// are computed if only is nil.
func (p *Program) CallOnly(only *graph.Array, in ...*graph.Array) []*graph.Array {
	p.check("Call", in)
	t := p.Tape()
	outs := make([]graph.Shape, len(p.outs))
	for i, out := range p.outs {
		outs[i] = graph.ShapeOf(in[0].DType(), len(out))
	}
	in = slices.Clone(in)
	if only != nil {
		in = append(in, only)
	}
	return graph.WithKernelLate(kernel, outs, p.root.work(p.readers()), func(in []*graph.Array) []*graph.Array {
		outs := p.ops(true, in[:len(p.inputs)])
		for i := range outs {
			if only != nil {
				outs[i] = graph.Select(in[len(p.inputs)], outs[i], 0)
			}
		}
		return outs
	}, append(in, graph.Int32s(t.Code, len(t.Code)), graph.Float64s(t.Numbers, len(t.Numbers)))...)
}

// work is the number of operations whose results are read; of loops until something holds, of one turn.
func (g *region) work(readers map[*value]int) (n float64) {
	for _, v := range g.code {
		switch b := v.block; {
		case readers[v] == 0 || v.op == opInput || v.op == opParam || v.op == opResult:
		case v.op != opBlock:
			n++
		case b.kind == scanBlock:
			n += float64(len(b.rows)) * b.body.work(readers)
		default:
			n += b.body.work(readers)
		}
	}
	return n
}
