package xlabridge

import (
	"fmt"

	"xlarun/graph"
)

// Reference is the backend that interprets programs op by op on the host. It is slow and exact.
type Reference struct {
	// Hook, if not nil, is called with each op that runs.
	Hook graph.Hook
}

// Backend returns "reference".
func (r *Reference) Backend() string { return "reference" }

// NumDevices returns 1.
func (r *Reference) NumDevices() int { return 1 }

// Compile stores the program; the interpreter compiles nothing.
func (r *Reference) Compile(p *graph.Program, _ CompileOptions) (*Compiled, error) {
	if p.Replicas > 1 {
		return nil, fmt.Errorf("xlabridge: program %s is for %d devices, the reference interpreter has 1: use "+
			"--devices 1, or an XLA backend", p.Name, p.Replicas)
	}
	return &Compiled{Program: p, hook: r.Hook}, nil
}

// Close does nothing.
func (r *Reference) Close() error { return nil }
