package gradbench

import (
	"fmt"
	"math"
	"time"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// Cold is the time to trace a workload and to compile it with nothing cached, in seconds.
type Cold struct {
	Trace   float64 `json:"trace"`
	Compile float64 `json:"compile"`
}

// Loaded is a workload ready to run, its arguments on the device.
type Loaded struct {
	Workload
	program *xlabridge.Compiled
	args    []*graph.Array
}

// Traced is a workload that was traced.
type Traced struct {
	Workload
	args    []any
	program *graph.Program
	seconds float64
}

// Trace makes the workload's arguments and traces it.
func (w Workload) Trace() (*Traced, error) {
	args := w.Args()
	start := time.Now()
	p, err := graph.TraceArgs(w.Name, args, graph.TraceOptions{}, w.Apply)
	return &Traced{w, args, p, time.Since(start).Seconds()}, err
}

// Load compiles the workload and puts its arguments on the device. It runs on one.
func (t *Traced) Load(b xlabridge.Backend, o xlabridge.CompileOptions) (*Loaded, Cold, error) {
	start := time.Now()
	x, err := b.Compile(t.program, o)
	if err != nil {
		return nil, Cold{}, err
	}
	c := Cold{t.seconds, time.Since(start).Seconds()}
	args, err := xlabridge.Put(b, 1, t.args)
	if err != nil {
		_ = x.Close()
		return nil, Cold{}, err
	}
	return &Loaded{t.Workload, x, graph.Leaves(args)}, c, nil
}

// Load traces, compiles and loads.
func (w Workload) Load(b xlabridge.Backend, o xlabridge.CompileOptions) (*Loaded, Cold, error) {
	t, err := w.Trace()
	if err != nil {
		return nil, Cold{}, err
	}
	return t.Load(b, o)
}

// Run calls the workload n times, waiting for each, and gives the seconds of each.
func (l *Loaded) Run(n int) ([]float64, error) {
	seconds := make([]float64, n)
	for i := range seconds {
		start := time.Now()
		out, err := l.program.Call(l.args)
		if err != nil {
			return nil, err
		}
		seconds[i] = time.Since(start).Seconds()
		xlabridge.Free(out)
	}
	return seconds, nil
}

// Numbers sum a result up: the loss, and the Euclidean norm of all gradients or new parameters.
type Numbers struct {
	Loss float64 `json:"loss"`
	Norm float64 `json:"norm"`
}

// Check runs the workload once.
func (l *Loaded) Check() (Numbers, error) {
	out, err := l.program.Call(l.args)
	if err != nil {
		return Numbers{}, err
	}
	defer xlabridge.Free(out)
	var n Numbers
	for i, a := range out {
		v, err := graph.Floats(a)
		if err != nil {
			return n, err
		}
		if i == 0 {
			n.Loss = v[0]
			continue
		}
		for _, x := range v {
			n.Norm += x * x
		}
	}
	n.Norm = math.Sqrt(n.Norm)
	return n, nil
}

// Loss runs the workload once and gives its loss.
func (l *Loaded) Loss() (float64, error) {
	out, err := l.program.Call(l.args)
	if err != nil {
		return 0, err
	}
	defer xlabridge.Free(out)
	v, err := graph.Floats(out[0])
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// Close frees the program and its arguments.
func (l *Loaded) Close() error {
	xlabridge.Free(l.args)
	return l.program.Close()
}

// Agree returns an error unless two results are the same but for rounding.
func Agree(ours, theirs Numbers) error {
	const tolerance = 1e-3
	for _, v := range []struct {
		what string
		a, b float64
	}{{"loss", ours.Loss, theirs.Loss}, {"norm of the gradient", ours.Norm, theirs.Norm}} {
		if !(math.Abs(v.a-v.b) <= tolerance*math.Max(math.Abs(v.a), math.Abs(v.b))) {
			return fmt.Errorf("our %s is %v, theirs %v: the two do not compute the same", v.what, v.a, v.b)
		}
	}
	return nil
}
