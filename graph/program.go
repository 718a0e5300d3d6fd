package graph

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"
)

// Program is what passes from this package to a backend: a traced function, ready to compile.
type Program struct {
	Name     string
	Graph    *Graph      // the verified, simplified program; see graph/lower for what a compiler gets
	Traced   *Graph      // before it was simplified
	Inputs   []Shape     // flat arguments, then captured arrays
	Outputs  []Shape     // flat results
	Captured []*Array    // concrete arrays that the function took from outside, passed after the arguments
	Donated  map[int]int // input whose buffer the program may reuse -> the output it becomes
	Replicas int         // devices that run it together, along DeviceAxis
	// TraceSeconds is the time to trace and transform.
	TraceSeconds float64

	outTree *Tree
	keys    *keyBody // where keys are checked

	mu   sync.Mutex
	kept map[any]*kept // by key
}

// OutTree is the structure of the result.
func (p *Program) OutTree() *Tree { return p.outTree }

// kept is what is kept with a program under a key.
type kept struct {
	value func() any
	maker atomic.Uint64 // the goroutine that makes the value; 0: none does
}

// Kept returns what is kept with the program under a key. The first call makes it, and others wait. create may call
// Kept with other keys. If it panics, every call of the key does.
func (p *Program) Kept(key any, create func() any) any {
	p.mu.Lock()
	k := p.kept[key]
	if k == nil {
		k = &kept{}
		k.value = sync.OnceValue(func() any {
			k.maker.Store(goroutineID())
			defer k.maker.Store(0)
			return create()
		})
		if p.kept == nil {
			p.kept = map[any]*kept{}
		}
		p.kept[key] = k
	}
	p.mu.Unlock()
	if k.maker.Load() == goroutineID() {
		throw("Program.Kept", "what makes the value of the key %v asks for that value: want other keys there", key)
	}
	return k.value()
}

// TraceOptions say how a function becomes a Program.
type TraceOptions struct {
	Replicas int   // number of devices along DeviceAxis; 0 means 1
	Mesh     Mesh  // the devices, where they have several or other axes than DeviceAxis
	Donate   []int // arguments (not leaves) whose buffers the program may overwrite
}

// TraceArgs traces f over the shapes of args (any trees) once and returns its Program. What is wrong in f comes back
// as an *Error that names the user's line.
func TraceArgs(name string, args []any, opts TraceOptions, f func(args []any) any) (p *Program, err error) {
	defer catch(&err)
	start := time.Now()
	if opts.Mesh == nil {
		opts.Mesh = Mesh{{DeviceAxis, max(1, opts.Replicas)}}
	}
	opts.Replicas = opts.Mesh.Devices()
	leaves, inTree := Flatten(args)
	perLeaf := leafArgs(args)
	var outTree *Tree
	var keys *keyBody
	g, captured := buildGraph(ShapesOf(leaves), opts.Mesh.axes(), func(params []*Array) []*Array {
		keys = watchKeys(keyBody{kind: keysInProgram})
		result := f(inTree.Unflatten(params).([]any))
		outs, t := Flatten(result)
		if r := reflect.TypeOf(result); len(outs) == 0 && r != nil && r.Kind() != reflect.Struct &&
			!holdsArrays(r, map[reflect.Type]bool{}) {
			throw("Trace", "the function returns a %s, which holds no arrays; want a *graph.Array, or a struct, "+
				"slice or map of them", r)
		}
		outTree = t
		return outs
	})
	for _, c := range captured {
		if c.scope != nil {
			throw("Trace", "a function cannot be compiled while another one is being traced: call it outside, or "+
				"call the function itself")
		}
	}
	// Captured arrays come first in the graph; a program passes them last.
	n := len(captured)
	g = &Graph{Params: append(append([]*Array(nil), g.Params[n:]...), g.Params[:n]...), Nodes: g.Nodes,
		Results: g.Results}
	traced := g
	g = g.Simplify().splitAxes().Simplify()
	g.Any(func(n *Node) bool {
		if n.Op.Name == "custom_lin" { // nothing took its transpose
			customForward(n)
		}
		return false
	})
	p = &Program{Traced: traced, keys: keys, Name: name, Graph: g, Inputs: ShapesOf(g.Params),
		Outputs:  ShapesOf(g.Results),
		Captured: captured, Replicas: opts.Replicas, outTree: outTree, Donated: map[int]int{}}
	taken := map[int]bool{}
	for _, arg := range opts.Donate {
		for i := range leaves {
			if perLeaf[i] != arg {
				continue
			}
			for j, o := range p.Outputs {
				if !taken[j] && o.Equal(p.Inputs[i]) {
					p.Donated[i] = j
					taken[j] = true
					break
				}
			}
		}
	}
	p.TraceSeconds = time.Since(start).Seconds()
	return p, nil
}

// Trace traces a function of one argument.
func Trace[A, R any](name string, f func(A) R, a A) (*Program, error) {
	return TraceArgs(name, []any{a}, TraceOptions{}, func(args []any) any { return f(as[A](args[0])) })
}

// Trace2 traces a function of two arguments.
func Trace2[A, B, R any](name string, f func(A, B) R, a A, b B) (*Program, error) {
	return TraceArgs(name, []any{a, b}, TraceOptions{}, func(args []any) any {
		return f(as[A](args[0]), as[B](args[1]))
	})
}

// Interpret runs the program on the reference interpreter, one device, with flat concrete inputs (captured ones are
// added); hook, if not nil, sees every op.
func (p *Program) Interpret(in []*Array, hook Hook) (out []*Array, err error) {
	if p.Replicas > 1 {
		return nil, fmt.Errorf("graph: the reference interpreter runs one device, program %s is for %d", p.Name,
			p.Replicas)
	}
	p.ConsumeKeys(in)
	args := make([]*Tensor, 0, len(p.Inputs))
	for _, a := range append(append([]*Array(nil), in...), p.Captured...) {
		t, err := ToTensor(a)
		if err != nil {
			return nil, err
		}
		args = append(args, t)
	}
	results, err := Interpret(p.Graph, args, hook)
	if err != nil {
		return nil, err
	}
	for _, t := range results {
		out = append(out, t.Array())
	}
	return out, nil
}
