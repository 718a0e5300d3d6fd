package gomlx

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"

	"xlarun/graph"
)

// closure checks a closure of a function in which this one lies, and its arguments.
func (f *Function) closure(op compute.OpType, g compute.Function, x []*value) (*Function, error) {
	c, ok := g.(*Function)
	visible := false
	for around := f; ok && around != nil; around = around.parent {
		visible = visible || c.parent == around
	}
	if !visible {
		return nil, fmt.Errorf("GoMLX's op %s: want closures of the function that it is in", op)
	}
	if err := c.takes(x); err != nil {
		return nil, fmt.Errorf("GoMLX's op %s: %w", op, err)
	}
	return c, nil
}

func (f *Function) returns(op compute.OpType, want ...graph.Shape) error {
	if got := f.resultShapes(); !slices.EqualFunc(got, want, graph.Shape.Equal) {
		return fmt.Errorf("GoMLX's op %s: a closure returns %v, want %v", op, got, want)
	}
	return nil
}

func (f *Function) If(pred compute.Value, yes, no compute.Function) ([]compute.Value, error) {
	const op = compute.OpTypeIf
	x, err := f.values(op.String(), []compute.Value{pred})
	if err != nil {
		return nil, err
	}
	if !x[0].shape.Equal(graph.ShapeOf(graph.Bool)) {
		return nil, fmt.Errorf("GoMLX's op %s: the condition is %s, want bool[]", op, x[0].shape)
	}
	a, err := f.closure(op, yes, nil)
	if err != nil {
		return nil, err
	}
	b, err := f.closure(op, no, nil)
	if err == nil {
		err = b.returns(op, a.resultShapes()...)
	}
	if err != nil {
		return nil, err
	}
	return f.add(op, x, a.resultShapes(), func(x []*graph.Array, in *frame) []*graph.Array {
		return graph.Cond(x[0], func() []*graph.Array { return a.replay(nil, in) },
			func() []*graph.Array { return b.replay(nil, in) })
	}), nil
}

func (f *Function) While(cond, body compute.Function, state ...compute.Value) ([]compute.Value, error) {
	const op = compute.OpTypeWhile
	x, err := f.values(op.String(), state)
	if err != nil {
		return nil, err
	}
	test, err := f.closure(op, cond, x)
	if err == nil {
		err = test.returns(op, graph.ShapeOf(graph.Bool))
	}
	if err != nil {
		return nil, err
	}
	step, err := f.closure(op, body, x)
	if err == nil {
		err = step.returns(op, shapesOf(x)...)
	}
	if err != nil {
		return nil, err
	}
	return f.add(op, x, shapesOf(x), func(x []*graph.Array, in *frame) []*graph.Array {
		return graph.While(func(c []*graph.Array) *graph.Array { return test.replay(c, in)[0] },
			func(c []*graph.Array) []*graph.Array { return step.replay(c, in) }, x)
	}), nil
}

// Sort implements compute.Function, for comparators that compare the two elements of one input by less or greater.
// Their parameters are the left and the right element of the first input, then those of the second, and so on.
func (f *Function) Sort(comparator compute.Function, axis int, _ bool, inputs ...compute.Value) (
	[]compute.Value, error) {
	const op = compute.OpTypeSort
	x, err := f.values(op.String(), inputs)
	if err != nil {
		return nil, err
	}
	var pairs []*value
	for _, v := range x {
		if len(v.shape.Dims) == 0 || !slices.Equal(v.shape.Dims, x[0].shape.Dims) {
			return nil, fmt.Errorf("GoMLX's op %s: got %v, want arrays of equal dimensions", op, shapesOf(x))
		}
		element := &value{shape: graph.ShapeOf(v.shape.DType)}
		pairs = append(pairs, element, element)
	}
	compare, err := f.closure(op, comparator, pairs)
	if err != nil {
		return nil, err
	}
	key, descending, err := compare.sortKey()
	if err != nil {
		return nil, err
	}
	var options []graph.SortOption
	if descending {
		options = append(options, graph.Descending())
	}
	return f.add(op, x, shapesOf(x), func(x []*graph.Array, _ *frame) []*graph.Array {
		order := append([]*graph.Array{x[key]}, slices.Delete(slices.Clone(x), key, key+1)...)
		sorted := graph.SortKV(order, axis, 1, options...)
		return slices.Insert(sorted[1:], key, sorted[0])
	}), nil
}

// sortKey finds which input a comparator compares, and whether larger elements come first.
func (f *Function) sortKey() (key int, descending bool, err error) {
	unknown := fmt.Errorf("GoMLX's op Sort: xlarun sorts by comparators that compare the two elements of one input by "+
		"LessThan or GreaterThan alone: %w", compute.ErrNotImplemented)
	if len(f.results) != 1 || f.results[0].node == nil || len(f.results[0].node.inputs) != 2 {
		return 0, false, unknown
	}
	n := f.results[0].node
	left, right := slices.Index(f.params, n.inputs[0]), slices.Index(f.params, n.inputs[1])
	if left < 0 || right < 0 || left/2 != right/2 || left == right {
		return 0, false, unknown
	}
	switch n.op {
	case compute.OpTypeLessThan, compute.OpTypeLessThanTotalOrder:
		return left / 2, left > right, nil
	case compute.OpTypeGreaterThan, compute.OpTypeGreaterThanTotalOrder:
		return left / 2, left < right, nil
	}
	return 0, false, unknown
}
