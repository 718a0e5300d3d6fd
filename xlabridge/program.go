package xlabridge

import (
	"fmt"
	"slices"
	"sync"

	"xlarun/graph"
	"xlarun/graph/lower"
)

// Backend compiles programs: a *Client (XLA through a plugin) or a *Reference (the interpreter).
type Backend interface {
	// Backend is "cpu", "cuda", "rocm", "tpu" or "reference".
	Backend() string
	// NumDevices returns the number of devices.
	NumDevices() int
	// Compile compiles a program.
	Compile(p *graph.Program, o CompileOptions) (*Compiled, error)
	// Close frees the backend's resources.
	Close() error
}

// Compiled is a program that can be called many times and from several goroutines.
type Compiled struct {
	// Program is the traced program.
	Program *graph.Program
	// Lowered is the program for the compiler; nil on the reference backend.
	Lowered *lower.Lowered
	// Executable is the compiled code; nil on the reference backend.
	Executable *Executable

	client   *Client
	options  CompileOptions
	captured []*deviceData
	donate   []int
	hook     graph.Hook

	mu     sync.Mutex
	uses   int // calls that run or are about to run
	closed bool
}

// use begins a use of the program, and release ends it. Close waits for it.
func (x *Compiled) use() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return fmt.Errorf("xlabridge: program %s was closed", x.Program.Name)
	}
	x.uses++
	return nil
}

func (x *Compiled) release() {
	x.mu.Lock()
	x.uses--
	free := x.closed && x.uses == 0
	x.mu.Unlock()
	if free {
		_ = x.free()
	}
}

// Optimized returns the compiler's text of the program after its passes. It compiles the program again.
func (x *Compiled) Optimized() (string, error) {
	if x.Executable == nil {
		return "", fmt.Errorf("xlabridge: the reference interpreter compiles nothing, so %s has no optimized text",
			x.Program.Name)
	}
	i, err := x.client.inspect(x.Program.Name, x.Lowered.StableHLO, x.client.programOptions(x.Lowered, x.options),
		x.options)
	return i.After, err
}

// Policy returns the rules that decided how the program is compiled. ok is false if it is not compiled for a CPU.
func (x *Compiled) Policy() (rules []lower.Rule, ok bool) {
	if x.Executable == nil || x.client.Platform() != "cpu" {
		return nil, false
	}
	_, rules = x.Lowered.Facts.Codegen(x.options.use())
	return rules, true
}

// Compile compiles a traced program, or loads it from the cache. It transfers the captured arrays once.
func (c *Client) Compile(p *graph.Program, o CompileOptions) (*Compiled, error) {
	if p.Replicas > c.NumDevices() {
		return nil, fmt.Errorf("xlabridge: program %s is for %d devices, the backend has %d: open it with more, or "+
			"trace for fewer", p.Name, p.Replicas, c.NumDevices())
	}
	o.Replicas = p.Replicas
	l, err := lower.Lower(p, c.Target())
	if err != nil {
		return nil, err
	}
	if c.Platform() == "cpu" {
		o.slow = func() string { return lower.Repeated(l.Graph) }
	}
	exe, err := c.compileText(p.Name, l.StableHLO, c.programOptions(l, o), o)
	if err != nil {
		return nil, err
	}
	exe.info.Seconds += l.Seconds
	x := &Compiled{Program: p, Lowered: l, Executable: exe, client: c, options: o}
	for i := range p.Donated {
		x.donate = append(x.donate, i)
	}
	slices.Sort(x.donate)
	for _, a := range p.Captured {
		d, err := c.put(a, p.Replicas)
		if err != nil {
			_ = x.Close()
			return nil, err
		}
		x.captured = append(x.captured, d)
	}
	if c.compiled != nil {
		c.compiled(x)
	}
	return x, nil
}

// Call runs the program on flat arguments, in the order of the arguments' leaves, and waits for it. All devices get the
// same arguments. A result has the value of device 0; it also holds the values of the other devices, which the next
// call uses without moving them. Donated arguments cannot be used after the call.
func (x *Compiled) Call(args []*graph.Array) ([]*graph.Array, error) {
	if err := x.use(); err != nil {
		return nil, err
	}
	defer x.release()
	return x.call(args)
}

// call is Call for a caller that already uses the program.
func (x *Compiled) call(args []*graph.Array) ([]*graph.Array, error) {
	p := x.Program
	want := p.Inputs[:len(p.Inputs)-len(p.Captured)]
	if len(args) != len(want) {
		return nil, fmt.Errorf("xlabridge: call %s: got %d arguments, want %d", p.Name, len(args), len(want))
	}
	for i, a := range args {
		if !a.Shape().Equal(want[i]) {
			return nil, fmt.Errorf("xlabridge: call %s: argument %d is %s, want %s", p.Name, i, a.Shape(), want[i])
		}
	}
	if x.Executable == nil {
		return p.Interpret(args, x.hook)
	}
	p.ConsumeKeys(args)
	data := make([]*deviceData, 0, len(p.Inputs))
	var temporary []*deviceData
	defer func() {
		for _, d := range temporary {
			d.close()
		}
	}()
	for _, a := range args {
		d, ok := x.client.onDevice(a, p.Replicas)
		if !ok {
			var err error
			if d, err = x.client.put(a, p.Replicas); err != nil {
				return nil, err
			}
			temporary = append(temporary, d)
		}
		data = append(data, d)
	}
	outs, err := x.run(data)
	if err != nil {
		return nil, err
	}
	results := make([]*graph.Array, len(outs))
	for i, d := range outs {
		results[i] = graph.FromData(p.Outputs[i], d)
	}
	return results, nil
}

// run executes the program on data on its devices.
func (x *Compiled) run(data []*deviceData) ([]*deviceData, error) {
	if t := x.client.topology; t != nil && !t.zeros {
		return nil, t.notRun(x.Program.Name)
	} else if t != nil {
		return x.absentResults()
	}
	data = append(data, x.captured...)
	rows := make([][]*buffer, x.Program.Replicas)
	for r := range rows {
		rows[r] = make([]*buffer, len(data))
		for i, d := range data {
			rows[r][i] = d.buffers[r]
		}
	}
	results, err := x.Executable.execute(rows, x.donate)
	if err != nil {
		return nil, err
	}
	outs := make([]*deviceData, len(x.Program.Outputs))
	for i := range outs {
		outs[i] = &deviceData{client: x.client, buffers: make([]*buffer, len(rows))}
		for r := range rows {
			outs[i].buffers[r] = results[r][i]
		}
	}
	return outs, nil
}

// absentResults returns results that read as zeros, on a topology.
func (x *Compiled) absentResults() ([]*deviceData, error) {
	outs := make([]*deviceData, len(x.Program.Outputs))
	for i, s := range x.Program.Outputs {
		outs[i] = &deviceData{client: x.client}
		for device := range x.Program.Replicas {
			b, err := x.client.absent(s.DType, s.Dims, device)
			if err != nil {
				return nil, err
			}
			outs[i].buffers = append(outs[i].buffers, b)
		}
	}
	return outs, nil
}

// Close frees the compiled code and the captured arrays after the running calls. A second Close does nothing.
func (x *Compiled) Close() error {
	x.mu.Lock()
	free := !x.closed && x.uses == 0
	x.closed = true
	x.mu.Unlock()
	if !free {
		return nil
	}
	return x.free()
}

func (x *Compiled) free() error {
	for _, d := range x.captured {
		d.close()
	}
	if x.Executable == nil {
		return nil
	}
	return x.Executable.Close()
}
