package neurobench

import (
	"time"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// Runner is a compiled workload.
type Runner struct {
	// Run runs about n times. It returns the seconds of runs and the result of the last: the members' mean return, or
	// their mean value of a function.
	Run   func(n int) (seconds []float64, result float64, err error)
	Close func() error
	Plan  string // in words; "": it has none
	// Checks returns numbers that peers must agree with; nil: there are none.
	Checks func() ([]float64, error)
	// Compile is the seconds to trace and compile; nil: all that opening took.
	Compile *float64
	// Scale is the seconds that are given for one of a run; nil: 1.
	Scale *float64
	// Part: only a part of what Run does in this process is timed, so its CPU time is not that of the work.
	Part bool
}

// Repeated is the Runner of a function that runs once.
func Repeated(once func() (seconds, result float64, err error), close func() error) *Runner {
	return &Runner{Close: close, Run: func(n int) (seconds []float64, result float64, err error) {
		for range n {
			var s float64
			if s, result, err = once(); err != nil {
				return nil, 0, err
			}
			seconds = append(seconds, s)
		}
		return seconds, result, nil
	}}
}

// Timed is the Runner of a function whose runs are timed from outside.
func Timed(f func() (float64, error), close func() error) *Runner {
	return Repeated(func() (float64, float64, error) {
		start := time.Now()
		result, err := f()
		return time.Since(start).Seconds(), result, err
	}, close)
}

// Calls is the Runner of a compiled program with its arguments on the devices. read reads the result, nil does not.
func Calls(program *xlabridge.Compiled, args []*graph.Array,
	read func(out []*graph.Array) (float64, error)) *Runner {
	return Repeated(func() (seconds, result float64, err error) {
		start := time.Now()
		out, err := program.Call(args)
		if err == nil && read != nil {
			result, err = read(out)
		}
		seconds = time.Since(start).Seconds()
		xlabridge.Free(out)
		return seconds, result, err
	}, func() error {
		xlabridge.Free(args)
		return program.Close()
	})
}

// number reads the first result.
func number(out []*graph.Array) (float64, error) { return graph.Float(out[0]) }

// NewProgram is Calls of a program whose first result is a number. It puts a tree of arguments on the devices, and
// closes the program after an error.
func NewProgram(b xlabridge.Backend, devices int, program *xlabridge.Compiled, args any) (*Runner, error) {
	args, err := xlabridge.Put(b, devices, args)
	if err != nil {
		_ = program.Close()
		return nil, err
	}
	return Calls(program, graph.Leaves(args), number), nil
}
