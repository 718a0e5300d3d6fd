package xlabridge

import (
	"fmt"
	"slices"
	"sync"

	"xlarun/graph"
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
	Lowered *graph.Lowered
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

// Compile compiles a traced program, or loads it from the cache. It transfers the captured arrays once.
func (c *Client) Compile(p *graph.Program, o CompileOptions) (*Compiled, error) {
	if p.Replicas > c.NumDevices() {
		return nil, fmt.Errorf("xlabridge: program %s is for %d devices, the backend has %d: open it with more, or "+
			"trace for fewer", p.Name, p.Replicas, c.NumDevices())
	}
	o.Replicas = p.Replicas
	l, err := p.Lower(c.Target())
	if err != nil {
		return nil, err
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
	if x.client.topology != nil {
		return x.absentResults()
	}
	data = append(data, x.captured...)
	rows := make([][]*Buffer, x.Program.Replicas)
	for r := range rows {
		rows[r] = make([]*Buffer, len(data))
		for i, d := range data {
			rows[r][i] = d.buffers[r]
		}
	}
	results, err := x.Executable.Execute(rows, x.donate)
	if err != nil {
		return nil, err
	}
	outs := make([]*deviceData, len(x.Program.Outputs))
	for i := range outs {
		outs[i] = &deviceData{client: x.client, buffers: make([]*Buffer, len(rows))}
		for r := range rows {
			outs[i].buffers[r] = results[r][i]
		}
	}
	return outs, nil
}

// absentResults returns results without elements, on a topology.
func (x *Compiled) absentResults() ([]*deviceData, error) {
	outs := make([]*deviceData, len(x.Program.Outputs))
	for i, s := range x.Program.Outputs {
		outs[i] = &deviceData{client: x.client}
		for device := range x.Program.Replicas {
			b, err := x.client.absent(x.Program.Name, s.DType, s.Dims, device)
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

// deviceData holds an array on devices, usually with the same elements on each.
type deviceData struct {
	client  *Client
	buffers []*Buffer // one for each device from device 0
}

// HostBytes copies device 0's elements to the host.
func (d *deviceData) HostBytes() ([]byte, error) { return d.buffers[0].Bytes() }

// View reads device 0's elements where they are, on CPU.
func (d *deviceData) View(read func(elements []byte) error) error { return d.buffers[0].view(read) }

func (d *deviceData) close() {
	for _, b := range d.buffers {
		_ = b.Close()
	}
}

// onDevice returns a's device data if it is already on enough devices of c.
func (c *Client) onDevice(a *graph.Array, devices int) (*deviceData, bool) {
	if !a.Concrete() {
		return nil, false
	}
	data, err := a.Data()
	if s, ok := data.(*shardedData); ok && !s.part.Equal(s.shape) {
		return nil, false // no device has the whole
	}
	d := deviceDataOf(data)
	return d, err == nil && d != nil && d.client == c && len(d.buffers) >= devices
}

// deviceDataOf returns an array's data on devices, or nil if the data is on the host. Each device of a *shardedData has
// a part, else each has the whole array.
func deviceDataOf(data graph.Data) *deviceData {
	switch d := data.(type) {
	case *deviceData:
		return d
	case *shardedData:
		return &d.deviceData
	}
	return nil
}

// put transfers a to the first devices.
func (c *Client) put(a *graph.Array, devices int) (*deviceData, error) {
	d := &deviceData{client: c, buffers: make([]*Buffer, devices)}
	return d, graph.View(a, func(elements []byte) (err error) {
		for i := range d.buffers {
			if d.buffers[i], err = c.ToDevice(elements, a.DType(), a.Dims(), i); err != nil {
				d.close()
				return err
			}
		}
		return nil
	})
}

// Put transfers all leaves of a tree to the first n devices of a backend, so that calls need no transfer. On the
// reference backend it only computes lazy leaves.
func Put[T any](b Backend, n int, v T) (out T, err error) {
	c, ok := b.(*Client)
	if !ok {
		return graph.Eval(v)
	}
	if err := c.checkDevices("Put", n); err != nil {
		return out, err
	}
	leaves, tree := graph.Flatten(v)
	moved := make([]*graph.Array, len(leaves))
	for i, a := range leaves {
		d, err := c.put(a, n)
		if err != nil {
			Free(moved[:i])
			return out, err
		}
		moved[i] = graph.FromData(a.Shape(), d)
	}
	out, _ = tree.Unflatten(moved).(T)
	return out, nil
}

// checkDevices returns an error if the backend does not have n devices, or n is below 1.
func (c *Client) checkDevices(name string, n int) error {
	if n < 1 || n > c.NumDevices() {
		return fmt.Errorf("xlabridge: %s: got %d devices, want 1 to %d, as many as the backend has", name, n,
			c.NumDevices())
	}
	return nil
}

// Free frees the device memory of all leaves of a tree now, without waiting for the garbage collector.
func Free(v any) {
	for _, a := range graph.Leaves(v) {
		if a.IsTraced() || !a.Concrete() {
			continue
		}
		if data, err := a.Data(); err == nil {
			if d := deviceDataOf(data); d != nil {
				d.close()
			}
		}
	}
}

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

// JitOptions holds the options of tracing and compiling.
type JitOptions struct {
	Name    string // of the program; default "jit"
	Trace   graph.TraceOptions
	Compile CompileOptions
	// Programs keeps the compiled programs, so that the caller can close them or keep more; nil means a private one.
	Programs *Programs
}

// jit compiles a function for each structure and set of shapes of the arguments.
type jit struct {
	backend Backend
	options JitOptions
	f       func(args []any) any

	tracing sync.Mutex // f runs once at a time

	mu       sync.Mutex
	underWay map[string]chan struct{} // closed when the compilation for these shapes has ended
}

func newJit(b Backend, options []JitOptions, f func(args []any) any) *jit {
	j := &jit{backend: b, f: f}
	if len(options) > 0 {
		j.options = options[0]
	}
	if j.options.Name == "" {
		j.options.Name = "jit"
	}
	if j.options.Programs == nil {
		j.options.Programs = &Programs{}
	}
	return j
}

func (j *jit) call(args []any) (any, error) {
	var leaves []*graph.Array
	var tree *graph.Tree
	if err := graph.Try(func() { leaves, tree = graph.Flatten(args) }); err != nil {
		return nil, err
	}
	key := tree.Key()
	for i, a := range leaves {
		if a.IsTraced() {
			return nil, fmt.Errorf("xlabridge: Jit %s: argument %s is a traced %s, of a function that is being "+
				"traced: call the function itself there, not its Jit", j.options.Name, tree.Path(i), a.Shape())
		}
		key += a.Shape().String()
	}
	x, err := j.program(key, args)
	if err != nil {
		return nil, err
	}
	defer x.release()
	outs, err := x.call(leaves)
	if err != nil {
		return nil, err
	}
	return x.Program.OutTree().Unflatten(outs), nil
}

// program returns the compiled program of the shapes in key. The caller releases it. Calls with other shapes run while
// it is compiled.
func (j *jit) program(key string, args []any) (*Compiled, error) {
	kept := programKey{j, key}
	for {
		j.mu.Lock()
		if x := j.options.Programs.get(kept); x != nil {
			j.mu.Unlock()
			return x, nil
		}
		other := j.underWay[key]
		if other == nil {
			break
		}
		j.mu.Unlock()
		<-other
	}
	ended := make(chan struct{})
	if j.underWay == nil {
		j.underWay = map[string]chan struct{}{}
	}
	j.underWay[key] = ended
	j.mu.Unlock()
	defer func() { // also after a panic of f
		j.mu.Lock()
		delete(j.underWay, key)
		j.mu.Unlock()
		close(ended)
	}()
	p, err := j.trace(args)
	if err != nil {
		return nil, err
	}
	x, err := j.backend.Compile(p, j.options.Compile.ForJit(j.backend, p))
	if err != nil {
		return nil, err
	}
	if err := x.use(); err != nil {
		return nil, err
	}
	j.options.Programs.put(kept, x)
	return x, nil
}

func (j *jit) trace(args []any) (*graph.Program, error) {
	j.tracing.Lock()
	defer j.tracing.Unlock()
	return graph.TraceArgs(j.options.Name, args, j.options.Trace, j.f)
}

const (
	// sharedArray is the smallest number of elements of an array for which Jit lets one CPU device use all cores.
	sharedArray = 1 << 20
	// sharedGrain and sharedWork are the smallest mean number of elements of an op, and of operations of a call, for
	// which Jit uses all cores for smaller arrays too. Starting and joining other threads takes some microseconds.
	// Smaller programs of bench jax take up to 1.5 times as long with all cores.
	sharedGrain, sharedWork = 1 << 15, 1e8
)

// ForJit returns the options with which Jit compiles a program. It uses all cores if there is enough work for each, and
// the faster code for products of small matrices.
func (o CompileOptions) ForJit(b Backend, p *graph.Program) CompileOptions {
	o.alone = true
	if b.NumDevices() == 1 {
		return o.ForOne(p)
	}
	return o
}

// ForOne returns the options for a program that runs on one device while the client's other devices are idle. It uses
// all cores if there is enough work for each. It changes no result.
func (o CompileOptions) ForOne(p *graph.Program) CompileOptions {
	if !o.AllCores {
		grain, work := p.Graph.Grain()
		o.AllCores = p.Graph.LargestArray() >= sharedArray || grain >= sharedGrain && work >= sharedWork
	}
	return o
}

func result[R any](v any, err error) (R, error) { return as[R](v), err }

// as is v as a T. A nil is the T of an empty tree, whose type is an interface.
func as[T any](v any) T {
	t, _ := v.(T)
	return t
}

// Jit1 compiles a function of one argument, once for each structure and shape of the argument, and runs it on the
// backend. Arguments and results are concrete arrays. A nil of an interface type is an argument without arrays. A
// *graph.Error in f is returned as the error. Other panics of f pass through with their stack.
func Jit1[A, R any](b Backend, f func(A) R, options ...JitOptions) func(A) (R, error) {
	j := newJit(b, options, func(args []any) any { return f(as[A](args[0])) })
	return func(a A) (R, error) { return result[R](j.call([]any{a})) }
}

// Jit2 is Jit1 for functions of two arguments.
func Jit2[A, B, R any](b Backend, f func(A, B) R, options ...JitOptions) func(A, B) (R, error) {
	j := newJit(b, options, func(args []any) any { return f(as[A](args[0]), as[B](args[1])) })
	return func(a A, b B) (R, error) { return result[R](j.call([]any{a, b})) }
}

// Jit3 is Jit1 for functions of three arguments.
func Jit3[A, B, C, R any](b Backend, f func(A, B, C) R, options ...JitOptions) func(A, B, C) (R, error) {
	j := newJit(b, options, func(args []any) any { return f(as[A](args[0]), as[B](args[1]), as[C](args[2])) })
	return func(a A, b B, c C) (R, error) { return result[R](j.call([]any{a, b, c})) }
}
