package scalars

import (
	"slices"

	"xlarun/graph"
)

// kernel takes the vectors, and then the tape's words and numbers.
var kernel = &graph.Kernel{Target: "xlarun_tape", Shared: 2}

// Call is the function of vectors, in and results of one float type: on CPUs as a tape, elsewhere and on the reference
// interpreter by Ops. Derivatives do not pass it.
func (p *Program) Call(in ...*graph.Array) []*graph.Array {
	p.check("Call", in)
	t := p.Tape()
	return graph.WithKernel(kernel, func(in []*graph.Array) []*graph.Array { return p.ops(true, in[:len(p.inputs)]) },
		append(slices.Clone(in), graph.Int32s(t.Code, len(t.Code)), graph.Float64s(t.Numbers, len(t.Numbers)))...)
}
