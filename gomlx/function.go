package gomlx

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/notimplemented"
	"github.com/gomlx/compute/shapes"

	"xlarun/graph"
)

// Function is a recording of ops. GoMLX builds it op by op, outside of any trace, and wants the shape of each value at
// once. It is replayed with arrays of package graph, in a trace. Methods without a comment implement compute.Function.
type Function struct {
	notimplemented.Function // refuses what is not written here
	builder                 *Builder
	name                    string
	parent                  *Function // of a closure
	params                  []*value
	names                   []string // of params
	nodes                   []*node
	results                 []*value
	returned                bool
}

// value is a result of a node, or a parameter.
type value struct {
	function *Function
	shape    graph.Shape
	node     *node // nil for a parameter
}

// node is an op.
type node struct {
	op     compute.OpType
	inputs []*value
	outs   []*value
	apply  func(x []*graph.Array, f *frame) []*graph.Array
}

// frame has the arrays of a function's values while it is replayed.
type frame struct {
	outer  *frame // of the function around a closure
	arrays map[*value]*graph.Array
}

func (f *frame) array(v *value) *graph.Array {
	for ; f != nil; f = f.outer {
		if a, ok := f.arrays[v]; ok {
			return a
		}
	}
	graph.Throw("gomlx", "a value is used outside of the function that made it")
	return nil
}

// Call implements compute.Function: it calls a function that NewFunction began.
func (f *Function) Call(target compute.Function, inputs ...compute.Value) ([]compute.Value, error) {
	g, ok := target.(*Function)
	if !ok || g.builder != f.builder || g.parent != nil {
		return nil, fmt.Errorf("Call: want a function that the same builder made by NewFunction")
	}
	x, err := f.values("Call", inputs)
	if err == nil {
		err = g.takes(x)
	}
	if err != nil {
		return nil, err
	}
	return f.add(compute.OpTypeCall, x, g.resultShapes(), func(x []*graph.Array, _ *frame) []*graph.Array {
		return g.replay(x, nil)
	}), nil
}

// takes checks the arguments of a call, or of a closure.
func (f *Function) takes(x []*value) error {
	if !f.returned {
		return fmt.Errorf("function %q is used before it has returned", f.name)
	}
	same := func(p, v *value) bool { return p.shape.Equal(v.shape) }
	if !slices.EqualFunc(f.params, x, same) {
		return fmt.Errorf("function %q takes %v, got %v", f.name, shapesOf(f.params), shapesOf(x))
	}
	return nil
}

func shapesOf(values []*value) []graph.Shape {
	var all []graph.Shape
	for _, v := range values {
		all = append(all, v.shape)
	}
	return all
}

func (f *Function) resultShapes() []graph.Shape { return shapesOf(f.results) }

// replay records the ops again, with arrays as arguments. outer is the frame around a closure.
func (f *Function) replay(args []*graph.Array, outer *frame) []*graph.Array {
	in := &frame{outer, map[*value]*graph.Array{}}
	for i, p := range f.params {
		in.arrays[p] = args[i]
	}
	for _, n := range f.nodes {
		x := make([]*graph.Array, len(n.inputs))
		for i, v := range n.inputs {
			x[i] = in.array(v)
		}
		for i, a := range n.apply(x, in) {
			in.arrays[n.outs[i]] = a
		}
	}
	out := make([]*graph.Array, len(f.results))
	for i, v := range f.results {
		out[i] = in.array(v)
	}
	return out
}

// Name of the function; "" for a closure.
func (f *Function) Name() string { return f.name }

// Builder is the builder that made it.
func (f *Function) Builder() compute.Builder { return f.builder }

// Parent is the function around a closure.
func (f *Function) Parent() compute.Function {
	if f.parent == nil {
		return nil
	}
	return f.parent
}

// Closure begins a function that uses values of this one.
func (f *Function) Closure() (compute.Function, error) { return f.builder.newFunction("", f), nil }

// Parameter adds a parameter.
func (f *Function) Parameter(name string, shape shapes.Shape, sharding *compute.ShardingSpec) (compute.Value, error) {
	if err := f.open("Parameter"); err != nil {
		return nil, err
	}
	if sharding != nil {
		return nil, fmt.Errorf("parameter %q: xlarun has no shardings: %w", name, compute.ErrNotImplemented)
	}
	s, err := shapeOf(shape)
	if err != nil {
		return nil, fmt.Errorf("parameter %q: %w", name, err)
	}
	v := &value{function: f, shape: s}
	f.params, f.names = append(f.params, v), append(f.names, name)
	return v, nil
}

// Constant adds an array.
func (f *Function) Constant(flat any, dims ...int) (compute.Value, error) {
	if err := f.open("Constant"); err != nil {
		return nil, err
	}
	d, err := dtypeOf(flat)
	if err != nil {
		return nil, err
	}
	a, err := arrayOf(flat, shapes.Make(d, dims...))
	if err != nil {
		return nil, fmt.Errorf("Constant: %w", err)
	}
	return f.add(compute.OpTypeConstant, nil, []graph.Shape{a.Shape()}, func([]*graph.Array, *frame) []*graph.Array {
		return []*graph.Array{a}
	})[0], nil
}

// Shape is the shape of a value.
func (f *Function) Shape(v compute.Value) (shapes.Shape, error) { return f.builder.OpShape(v) }

// Return ends the function.
func (f *Function) Return(outputs []compute.Value, shardings []*compute.ShardingSpec) error {
	if err := f.open("Return"); err != nil {
		return err
	}
	for _, s := range shardings {
		if s != nil {
			return fmt.Errorf("Return: xlarun has no shardings: %w", compute.ErrNotImplemented)
		}
	}
	x, err := f.values("Return", outputs)
	if err != nil {
		return err
	}
	f.results, f.returned = x, true
	return nil
}

func (f *Function) open(op string) error {
	if f.returned {
		return fmt.Errorf("%s: function %q has returned already", op, f.name)
	}
	return nil
}

// values checks inputs: values of this function or of one around it.
func (f *Function) values(op string, inputs []compute.Value) ([]*value, error) {
	if err := f.open(op); err != nil {
		return nil, err
	}
	all := make([]*value, len(inputs))
	for i, in := range inputs {
		v, ok := in.(*value)
		if !ok || v == nil {
			return nil, fmt.Errorf("%s: input %d is a %T, want a value of the backend %s", op, i, in, BackendName)
		}
		visible := false
		for g := f; g != nil; g = g.parent {
			visible = visible || v.function == g
		}
		if !visible {
			return nil, fmt.Errorf("%s: input %d belongs to another function, which is not around this one", op, i)
		}
		all[i] = v
	}
	return all, nil
}

// add appends a node.
func (f *Function) add(op compute.OpType, x []*value, outs []graph.Shape,
	apply func(x []*graph.Array, in *frame) []*graph.Array) []compute.Value {
	n := &node{op: op, inputs: x, apply: apply}
	results := make([]compute.Value, len(outs))
	for i, s := range outs {
		v := &value{f, s, n}
		n.outs, results[i] = append(n.outs, v), v
	}
	f.nodes = append(f.nodes, n)
	return results
}

// record appends an op whose results depend on its inputs alone. Tracing it once gives their shapes.
func (f *Function) record(op compute.OpType, inputs []compute.Value,
	apply func(x []*graph.Array) []*graph.Array) ([]compute.Value, error) {
	x, err := f.values(op.String(), inputs)
	if err != nil {
		return nil, err
	}
	args := make([]any, len(x))
	for i, v := range x {
		args[i] = graph.Abstract(v.shape)
	}
	p, err := graph.TraceArgs(op.String(), args, graph.TraceOptions{}, func(args []any) any {
		in := make([]*graph.Array, len(args))
		for i, a := range args {
			in[i] = a.(*graph.Array)
		}
		return apply(in)
	})
	var wrong *graph.Error
	if errors.As(err, &wrong) { // its line is one of this package
		return nil, fmt.Errorf("%sGoMLX's op %s: %s", callerLine(), op, wrong.Msg)
	}
	if err != nil {
		return nil, err
	}
	return f.add(op, x, p.Outputs, func(x []*graph.Array, _ *frame) []*graph.Array { return apply(x) }), nil
}

// callerLine is the line, outside of GoMLX and of this package, that wanted an op: "net.go:12: ", or "".
func callerLine() string {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		frame, more := frames.Next()
		inside := strings.HasPrefix(frame.Function, "github.com/gomlx/") ||
			strings.HasPrefix(frame.Function, "xlarun/gomlx.") || strings.HasPrefix(frame.Function, "runtime.")
		if !inside && frame.File != "" {
			return fmt.Sprintf("%s:%d: ", filepath.Base(frame.File), frame.Line)
		}
		if !more {
			return ""
		}
	}
}

// one is record for an op of one result.
func (f *Function) one(op compute.OpType, apply func(x []*graph.Array) *graph.Array, inputs ...compute.Value) (
	compute.Value, error) {
	out, err := f.record(op, inputs, func(x []*graph.Array) []*graph.Array { return []*graph.Array{apply(x)} })
	if err != nil {
		return nil, err
	}
	return out[0], nil
}
