package lower

import (
	"fmt"
	"io"
	"strings"

	"xlarun/graph"
)

// exportTarget is a target without kernels: its programs have ops of StableHLO's specification only.
var exportTarget = graph.Target{Platform: "export"}

// Export writes the program as StableHLO text (MLIR), for other compilers. Its function @main has the program's Inputs
// and Outputs, in their order. examples/jax/to_jax.py makes a file of it that jax.export.deserialize reads. A program
// that runs on several devices, or that has taken arrays from outside of its function, is refused.
func Export(w io.Writer, p *graph.Program) error {
	if p.Replicas > 1 {
		return fmt.Errorf("Export: program %s runs on %d devices, want one", p.Name, p.Replicas)
	}
	if n := len(p.Captured); n > 0 {
		return fmt.Errorf("Export: the function of program %s uses an array %s from outside (%d in all): pass it as "+
			"an argument", p.Name, p.Captured[0].Shape(), n)
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
