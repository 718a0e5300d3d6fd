package neurobench

import (
	"time"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// Program is a compiled program with its arguments on the devices. Its first result is a number.
type Program struct {
	program *xlabridge.Compiled
	args    []*graph.Array
}

// NewProgram puts a tree of arguments on the devices. It closes the program after an error.
func NewProgram(b xlabridge.Backend, devices int, program *xlabridge.Compiled, args any) (*Program, error) {
	args, err := xlabridge.Put(b, devices, args)
	if err != nil {
		_ = program.Close()
		return nil, err
	}
	return &Program{program, graph.Leaves(args)}, nil
}

// Run returns the seconds of each of n calls, and the first result of the last.
func (p *Program) Run(n int) (seconds []float64, result float64, err error) {
	for range n {
		start := time.Now()
		out, err := p.program.Call(p.args)
		if err != nil {
			return nil, 0, err
		}
		result, err = graph.Float(out[0])
		seconds = append(seconds, time.Since(start).Seconds())
		xlabridge.Free(out)
		if err != nil {
			return nil, 0, err
		}
	}
	return seconds, result, nil
}

// Close frees the arguments and the program.
func (p *Program) Close() error {
	xlabridge.Free(p.args)
	return p.program.Close()
}
