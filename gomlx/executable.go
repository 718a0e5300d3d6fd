package gomlx

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// Executable is a compiled program.
type Executable struct {
	backend  *Backend
	function *Function
	compiled *xlabridge.Compiled // nil in a backend that only records
}

func newExecutable(b *Backend, f *Function) (*Executable, error) {
	x := &Executable{backend: b, function: f}
	if b.runs == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.recorded = f
		return x, nil
	}
	args := make([]any, len(f.params))
	for i, p := range f.params {
		args[i] = graph.Abstract(p.shape)
	}
	p, err := graph.TraceArgs(f.builder.name, args, graph.TraceOptions{}, func(args []any) any {
		in := make([]*graph.Array, len(args))
		for i, a := range args {
			in[i] = a.(*graph.Array)
		}
		return f.replay(in, nil)
	})
	if err != nil {
		return nil, err
	}
	x.compiled, err = b.runs.Compile(p, xlabridge.CompileOptions{Purpose: "GoMLX", OneDevice: true})
	return x, err
}

// Finalize frees the program.
func (x *Executable) Finalize() {
	if x.compiled != nil {
		_ = x.compiled.Close() // GoMLX has no place for this error
		x.compiled = nil
	}
}

// Inputs are the parameters' names and shapes.
func (x *Executable) Inputs() (names []string, all []shapes.Shape) {
	for _, p := range x.function.params {
		all = append(all, shapeToGoMLX(p.shape))
	}
	return x.function.names, all
}

// Outputs are the results' shapes.
func (x *Executable) Outputs() (all []shapes.Shape) {
	for _, s := range x.function.resultShapes() {
		all = append(all, shapeToGoMLX(s))
	}
	return all
}

// Execute runs the program. Donated buffers are freed.
func (x *Executable) Execute(inputs []compute.Buffer, donate []bool, _ compute.DeviceNum) ([]compute.Buffer, error) {
	if x.compiled == nil && x.backend.runs != nil {
		return nil, fmt.Errorf("program %s was finalized", x.function.builder.name)
	}
	want := x.function.params
	if len(inputs) != len(want) {
		return nil, fmt.Errorf("program %s takes %d inputs, got %d", x.function.builder.name, len(want), len(inputs))
	}
	args := make([]*graph.Array, len(inputs))
	for i, in := range inputs {
		b, ok := in.(*Buffer)
		if !ok || b.array == nil {
			return nil, fmt.Errorf("program %s: input %d is no buffer of the backend, or was finalized",
				x.function.builder.name, i)
		}
		if !b.array.Shape().Equal(want[i].shape) {
			return nil, fmt.Errorf("program %s: input %d is %s, want %s", x.function.builder.name, i, b.array.Shape(),
				want[i].shape)
		}
		args[i] = b.array
	}
	var out []compute.Buffer
	if x.compiled == nil {
		for _, s := range x.function.resultShapes() {
			out = append(out, x.backend.zeros(s))
		}
	} else {
		results, err := x.compiled.Call(args)
		if err != nil {
			return nil, err
		}
		for _, a := range results {
			out = append(out, &Buffer{x.backend, a})
		}
	}
	for i, in := range inputs {
		if i < len(donate) && donate[i] {
			_ = in.Finalize() // it has no errors
		}
	}
	return out, nil
}
