package lower

import (
	"fmt"
	"io"
	"strings"

	"xlarun/graph"
)

// exportTarget is a target without kernels: its programs have ops of StableHLO's specification only.
var exportTarget = graph.Target{Platform: "export"}

// Export writes the program as StableHLO text (MLIR), for other compilers. Its function @main has the arguments and the
// results of the function, in their order; arrays that the function took from outside are constants, as in jax.export.
// examples/jax/to_jax.py makes a file of it that jax.export.deserialize reads. A program that runs on several devices
// is refused.
func Export(w io.Writer, p *graph.Program) error {
	if p.Replicas > 1 {
		return fmt.Errorf("Export: program %s runs on %d devices, want one", p.Name, p.Replicas)
	}
	p, err := closed(p)
	if err != nil {
		return err
	}
	l, err := Lower(p, exportTarget)
	if err != nil {
		return err
	}
	if _, call, ok := strings.Cut(l.StableHLO, "stablehlo.custom_call"); ok {
		name, _, _ := strings.Cut(call, "\n")
		return fmt.Errorf("Export: program %s calls code that no other program has: %.60s", p.Name, name)
	}
	_, err = io.WriteString(w, l.StableHLO)
	return err
}

// closed returns the program with its captured arrays as constants.
func closed(p *graph.Program) (*graph.Program, error) {
	if len(p.Captured) == 0 {
		return p, nil
	}
	arguments := len(p.Inputs) - len(p.Captured)
	var values []*graph.Tensor
	for _, a := range p.Captured {
		v, err := graph.ToTensor(a)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	out := &graph.Program{Name: p.Name, Inputs: p.Inputs[:arguments], Outputs: p.Outputs, Replicas: p.Replicas}
	err := graph.Try(func() {
		out.Graph = graph.Record(out.Inputs, func(l *graph.Cursor, in []*graph.Array) []*graph.Array {
			for _, v := range values {
				in = append(in, v.Constant())
			}
			return l.Inline(p.Graph, in)
		})
	})
	out.Traced = out.Graph
	return out, err
}
