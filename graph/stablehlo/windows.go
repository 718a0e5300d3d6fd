package stablehlo

import (
	"slices"

	"xlarun/graph"
)

// window are the attributes of ops that slide a window over all axes.
type window struct {
	size, strides, baseDilation, dilation []int
	padding                               [][2]int
}

func (m *importer) window(o *op, rank int) (w window) {
	for name, list := range map[string]*[]int{"window_dimensions": &w.size, "window_strides": &w.strides,
		"base_dilations": &w.baseDilation, "window_dilations": &w.dilation} {
		var ok bool
		if *list, ok = o.list(name); !ok {
			*list = slices.Repeat([]int{1}, rank)
		}
		if len(*list) != rank {
			m.refuse(o, "%s = %v for %d axes", name, *list, rank)
		}
	}
	pads, ok := o.list("padding")
	if !ok {
		pads = make([]int, 2*rank)
	}
	if len(pads) != 2*rank {
		m.refuse(o, "padding has %d numbers, want %d", len(pads), 2*rank)
	}
	for i := range rank {
		w.padding = append(w.padding, [2]int{pads[2*i], pads[2*i+1]})
	}
	return w
}

func (w window) options() []graph.WindowOption {
	return []graph.WindowOption{graph.Strides(w.strides...), graph.BaseDilation(w.baseDilation...),
		graph.WindowDilation(w.dilation...), graph.Padding(w.padding...)}
}

// windowKinds are the kinds of graph.ReduceWindow by the op of the region, and the cumulative forms.
var windowKinds = map[string]struct {
	kind       string
	cumulative func(x *graph.Array, axis int, opts ...graph.CumulativeOption) *graph.Array
}{
	"add": {"sum", graph.CumSum}, "multiply": {"prod", graph.CumProd},
	"maximum": {"max", graph.CumMax}, "minimum": {"min", graph.CumMin},
	"or": {"max", graph.CumMax}, "and": {"min", graph.CumMin},
}

// reduceWindow reduces within windows: pooling, and cumulative sums.
func reduceWindow(m *importer, o *op, s *scope) []*graph.Array {
	x, init, starts := m.operandsOf(o, s)
	w := m.window(o, x[0].Rank())
	by, single := o.single()
	k, known := windowKinds[by]
	if !single || !known || len(x) != 1 || !s.isNeutral(starts[0], by, x[0].DType()) {
		return m.reduceWindowBy(o, s, w, x, init)
	}
	if axis, reverse, ok := w.cumulative(x[0].Dims()); ok {
		var options []graph.CumulativeOption
		if reverse {
			options = append(options, graph.Reversed())
		}
		return []*graph.Array{k.cumulative(x[0], axis, options...).Convert(x[0].DType())}
	}
	return []*graph.Array{graph.ReduceWindow(x[0], k.kind, w.size, w.options()...).Convert(x[0].DType())}
}

// cumulative reports whether the windows of an axis are all that is before an element, or in reverse all after it.
func (w window) cumulative(dims []int) (axis int, reverse, ok bool) {
	axis = -1
	for i, n := range w.size {
		switch {
		case w.strides[i] != 1 || w.baseDilation[i] != 1 || w.dilation[i] != 1:
			return 0, false, false
		case n == 1 && w.padding[i] == [2]int{}:
		case axis < 0 && n == dims[i] && n > 1 && w.padding[i] == [2]int{n - 1, 0}:
			axis = i
		case axis < 0 && n == dims[i] && n > 1 && w.padding[i] == [2]int{0, n - 1}:
			axis, reverse = i, true
		default:
			return 0, false, false
		}
	}
	return axis, reverse, axis >= 0
}

// mostElements bounds the windows that are reduced by any region: each element is an array.
const mostElements = 1 << 10

// reduceWindowBy reduces windows by any region. What lies outside counts as the initial value.
func (m *importer) reduceWindowBy(o *op, s *scope, w window, x, init []*graph.Array) []*graph.Array {
	if len(o.regions) != 1 {
		m.refuse(o, "it has %d regions, want one", len(o.regions))
	}
	out, err := resultShapes(o)
	if err != nil || len(out) != len(x) || out[0].Rank() != len(w.size) {
		m.refuse(o, "it has %d types of results, want %d with %d axes", len(out), len(x), len(w.size))
	}
	elements := 1
	for _, n := range w.size {
		if elements *= n; n < 1 || elements > mostElements {
			m.refuse(o, "windows of more than %d elements are known only for add, multiply, maximum and minimum",
				mostElements)
		}
	}
	low, high, interior := make([]int, len(w.size)), make([]int, len(w.size)), make([]int, len(w.size))
	for i, p := range w.padding {
		low[i], high[i], interior[i] = p[0], p[1], w.baseDilation[i]-1
	}
	starts := make([]*graph.Array, len(x))
	for i := range x {
		x[i] = graph.PadConfig(x[i], init[i], low, high, interior)
		starts[i] = init[i].BroadcastTo(out[0].Dims...)
	}
	parts := [][]*graph.Array{starts}
	for k := range elements {
		start, limit := make([]int, len(w.size)), make([]int, len(w.size))
		for i := len(w.size) - 1; i >= 0; i-- {
			start[i] = k % w.size[i] * w.dilation[i]
			limit[i] = start[i] + max(0, (out[0].Dims[i]-1)*w.strides[i]+1)
			k /= w.size[i]
		}
		part := make([]*graph.Array, len(x))
		for i := range x {
			part[i] = graph.StridedSlice(x[i], start, limit, w.strides)
		}
		parts = append(parts, part)
	}
	return m.fold(o, s, parts)
}

// selectAndScatter adds each element of an array to the extreme element of its window in another: the gradient of
// pooling.
func selectAndScatter(m *importer, o *op, s *scope) []*graph.Array {
	x := m.exactly(o, s, 3)
	w := m.window(o, x[0].Rank())
	if len(o.regions) != 2 {
		m.refuse(o, "it has %d regions, want two", len(o.regions))
	}
	var selects string
	if ops := o.regions[0].ops; len(o.regions[0].params) == 2 && len(ops) == 2 {
		selects = o.regions[0].describe("x", "y")[0]
	}
	kind := map[string]string{"compare GE x y": "max", "compare LE x y": "min"}[selects]
	if by, _ := (&op{regions: o.regions[1:]}).single(); kind == "" || by != "add" {
		m.refuse(o, "want a choice by GE or LE and a sum, as the gradient of a maximum or minimum has")
	}
	_, back := graph.Vjp(func(x *graph.Array) *graph.Array {
		return graph.ReduceWindow(x, kind, w.size, w.options()...)
	}, x[0])
	return []*graph.Array{back(x[1]).Add(x[2])}
}
