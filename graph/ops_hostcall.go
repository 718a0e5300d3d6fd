package graph

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
)

// HostTarget is the kernel with which compiled programs call functions of the host. Its first input is the message of a
// host_call op (u8[n]), the others are the function's arguments.
const HostTarget = "xlarun_host"

// hostAttrs: the name of the function, the shapes of its results without lanes, and the axes of VMap in front.
type hostAttrs struct {
	name  string
	outs  []Shape
	lanes []int
}

// message is the attributes as a kernel's input: the number of axes of lanes, and the name.
func (a hostAttrs) message() []byte {
	return append(binary.AppendUvarint(nil, uint64(len(a.lanes))), a.name...)
}

func (a hostAttrs) shapes() []Shape {
	all := make([]Shape, len(a.outs))
	for i, s := range a.outs {
		all[i] = s.dims(append(slices.Clone(a.lanes), s.Dims...)...)
	}
	return all
}

// hostOperations is what a call of the host costs, in operations. It takes tens of microseconds.
const hostOperations = 1e5

var _ = register(&Op{
	Apart: alwaysApart,
	Name:  "host_call", distinct: true,
	ByRows:  true,
	Complex: true,
	Shape:   func(c *call) []Shape { return c.attrs.(hostAttrs).shapes() },
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		a := n.Attrs.(hostAttrs)
		a.lanes = append([]int{b.size}, a.lanes...)
		return apply(n.Op, a, b.front(in, dims)), make([]int, len(a.outs))
	},
	NotDifferentiable: "a function of the host has no derivative: give the function around it a backward pass with " +
		"CustomVjp", NotLinear: "it calls the host",
	Emit: func(e *emitter, n *Node) { e.callHost(n, HostTarget, n.Attrs.(hostAttrs).message(), false) },
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		args := make([]*Array, len(in))
		for i, t := range in {
			args[i] = t.Array()
		}
		results, err := RunHostCall(n.Attrs.(hostAttrs).message(), args, ShapesOf(n.Outs))
		if err != nil {
			panic(&Error{Where: n.Where(), Op: "HostCall", Msg: err.Error()})
		}
		out := make([]*Tensor, len(results))
		for i, b := range results {
			out[i] = tensorFromBytes(n.Outs[i].shape, b)
		}
		return out
	},
	Cost: costOf(func(*Node) float64 { return hostOperations }),
	Cases: func() []Case {
		RegisterHostFunction("xlarun_twice", func(args []*Array) ([]*Array, error) {
			return []*Array{Mul(args[0], 2)}, nil
		})
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 3)}, Rough: true, Fn: func(x []*Array) *Array {
			return HostCall("xlarun_twice", []Shape{x[0].shape}, x[0])[0]
		}}}
	},
})

// HostFunction is a function of the host that programs call. Each argument and each result has an axis of lanes in
// front, of the size 1 outside of VMap. Arguments are on the host. An error ends the program's call with it.
type HostFunction func(args []*Array) ([]*Array, error)

// EachLane is the HostFunction that calls f lane by lane, with arrays that have no axis of lanes: what JAX's
// pure_callback does with vmap_method "sequential".
func EachLane(f func(args []*Array) ([]*Array, error)) HostFunction {
	return func(args []*Array) ([]*Array, error) {
		var columns [][]*Array // by result
		for lane := range args[0].Dim(0) {
			row := each(args, func(x *Array) *Array { return Index(x, lane) })
			results, err := f(row)
			if err != nil {
				return nil, fmt.Errorf("lane %d: %w", lane, err)
			}
			if columns == nil {
				columns = make([][]*Array, len(results))
			}
			if len(results) != len(columns) {
				return nil, fmt.Errorf("lane %d has %d results, lane 0 has %d", lane, len(results), len(columns))
			}
			for i, r := range results {
				if r == nil || lane > 0 && !r.Shape().Equal(columns[i][0].Shape()) {
					return nil, fmt.Errorf("lane %d has %v as result %d, want the shape of lane 0's", lane, r, i)
				}
				columns[i] = append(columns[i], r)
			}
		}
		out := make([]*Array, len(columns))
		for i, c := range columns {
			out[i] = Stack(c, 0)
		}
		return out, nil
	}
}

type hostFunction struct {
	f    HostFunction
	turn turn
}

var hostFunctions = struct {
	sync.Mutex
	all map[string]*hostFunction
}{all: map[string]*hostFunction{}}

// RegisterHostFunction makes a function known under the name that HostCall calls it by. A compiled program names it: it
// is looked up when the program runs, in the process that runs it. Calls come from any goroutine, those of one name one
// at a time. f may use this package, but not wait for a program that calls the same name.
func RegisterHostFunction(name string, f HostFunction) {
	hostFunctions.Lock()
	defer hostFunctions.Unlock()
	hostFunctions.all[name] = &hostFunction{f: f}
}

// HostCall calls the function registered under a name whenever a running program needs its results, of the shapes
// outs: JAX's pure_callback with vmap_method "broadcast_all". Under VMap it is one call for all lanes (see
// EachLane). Equal arguments should give equal results: a program may leave out a call whose results it does not
// use, and call again instead of keeping results. It runs on CPUs and on the interpreter, and has no derivative. A
// call takes tens of microseconds.
func HostCall(name string, outs []Shape, args ...*Array) []*Array {
	if len(args) == 0 || slices.Contains(args, nil) {
		throw("HostCall", "got no arrays, or a nil *Array, want at least one argument")
	}
	if len(outs) == 0 {
		throw("HostCall", "got no shapes of results, want at least one: Callback calls a function without results")
	}
	return apply(op("host_call"), hostAttrs{name: name, outs: slices.Clone(outs)}, args)
}

// RunHostCall calls what a host_call op's message names: what a backend does when it meets the op. args have all axes
// of lanes, and so have outs. It returns the bytes of the results.
func RunHostCall(message []byte, args []*Array, outs []Shape) ([][]byte, error) {
	axes, n := binary.Uvarint(message)
	if n <= 0 || len(args) == 0 || int(axes) > args[0].Rank() {
		return nil, fmt.Errorf("graph.RunHostCall: got a damaged message of %d bytes for %d arrays", len(message),
			len(args))
	}
	name := string(message[n:])
	hostFunctions.Lock()
	f := hostFunctions.all[name]
	hostFunctions.Unlock()
	if f == nil {
		return nil, fmt.Errorf("no function is registered under the name %q: call graph.RegisterHostFunction before "+
			"the program runs", name)
	}
	lanes := ShapeOf(Bool, args[0].Dims()[:axes]...).Size()
	if lanes == 0 {
		return make([][]byte, len(outs)), nil
	}
	flat := make([]*Array, len(args))
	for i, a := range args {
		b, err := HostBytes(a)
		if err != nil {
			return nil, err
		}
		flat[i] = FromBytes(a.shape.dims(append([]int{lanes}, a.Dims()[axes:]...)...), b)
	}
	defer f.turn.take()()
	results, err := f.f(flat)
	if err != nil {
		return nil, err
	}
	if len(results) != len(outs) {
		return nil, fmt.Errorf("the function %q returned %d arrays, want %d", name, len(results), len(outs))
	}
	bytes := make([][]byte, len(outs))
	for i, a := range results {
		var err error
		want := outs[i].dims(append([]int{lanes}, outs[i].Dims[axes:]...)...)
		if a == nil || !a.Shape().Equal(want) {
			got := "nil"
			if a != nil {
				got = a.Shape().String()
			}
			return nil, fmt.Errorf("the function %q returned %s as result %d, want %s", name, got, i, want)
		}
		if a, err = Eval(a); err != nil {
			return nil, err
		}
		if bytes[i], err = HostBytes(a); err != nil {
			return nil, err
		}
	}
	return bytes, nil
}
