package graph

import (
	"slices"
	"strings"
)

// windowGeometry says how windows slide over an array, axis by axis.
type windowGeometry struct {
	strides        []int
	padding        [][2]int // before and after, in elements of the dilated array; negative ones cut
	baseDilation   []int    // d - 1 zeros (neutral elements) between neighbors of the array
	windowDilation []int    // a window takes every d-th element
}

// dilated is the size of an axis of n elements with d - 1 holes between neighbors.
func dilated(n, d int) int { return max(0, (n-1)*d+1) }

// positions is how many windows of the given size fit along axis i of n elements.
func (g windowGeometry) positions(i, n, size int) int {
	room := dilated(n, g.baseDilation[i]) + g.padding[i][0] + g.padding[i][1] - dilated(size, g.windowDilation[i])
	if room < 0 {
		return 0
	}
	return room/g.strides[i] + 1
}

// at is the element that window position out and window element k fall on along axis i; false for padding and holes.
func (g windowGeometry) at(i, n, out, k int) (int, bool) {
	p := out*g.strides[i] + k*g.windowDilation[i] - g.padding[i][0]
	return p / g.baseDilation[i], p >= 0 && p%g.baseDilation[i] == 0 && p/g.baseDilation[i] < n
}

// transposed is the geometry that carries the cotangent of the windows' results back to the array (n elements, out
// windows of the given size along each axis), where windows are read backwards: strides become holes, holes strides.
func (g windowGeometry) transposed(n, size, out []int) windowGeometry {
	t := windowGeometry{strides: g.baseDilation, baseDilation: g.strides, windowDilation: g.windowDilation}
	for i := range n {
		w := dilated(size[i], g.windowDilation[i])
		before := w - 1 - g.padding[i][0]
		after := dilated(n[i], g.baseDilation[i]) + w - 1 - dilated(out[i], g.strides[i]) - before
		t.padding = append(t.padding, [2]int{before, after})
	}
	return t
}

// withoutCut gives how many elements negative padding cuts from each end of axis i, and the geometry for what is left.
// A cut that ends between two elements leaves holes, which become padding.
func (g windowGeometry) withoutCut(i int) (cut [2]int, left windowGeometry) {
	g.padding = slices.Clone(g.padding)
	for end, p := range g.padding[i] {
		if d := g.baseDilation[i]; p < 0 {
			cut[end] = (d - 1 - p) / d
			g.padding[i][end] = p + cut[end]*d
		}
	}
	return cut, g
}

// pads are the paddings as rows of a matrix.
func (g windowGeometry) pads() [][]int {
	rows := make([][]int, len(g.padding))
	for i := range rows {
		rows[i] = g.padding[i][:]
	}
	return rows
}

// insert is the geometry with one more axis, along which nothing slides.
func (g windowGeometry) insert(at int) windowGeometry {
	ins := func(v []int) []int { return slices.Insert(slices.Clone(v), at, 1) }
	return windowGeometry{ins(g.strides), slices.Insert(slices.Clone(g.padding), at, [2]int{}), ins(g.baseDilation),
		ins(g.windowDilation)}
}

func (g windowGeometry) check(c *call, axes int) {
	if len(g.strides) != axes || len(g.padding) != axes || len(g.baseDilation) != axes || len(g.windowDilation) !=
		axes {
		c.fail("got %d strides, %d paddings, %d and %d dilations for %d axes", len(g.strides), len(g.padding),
			len(g.baseDilation), len(g.windowDilation), axes)
	}
	for _, v := range slices.Concat(g.strides, g.baseDilation, g.windowDilation) {
		if v < 1 {
			c.fail("strides %v, base dilation %v, window dilation %v; want at least 1", g.strides, g.baseDilation,
				g.windowDilation)
		}
	}
}

// windowConfig collects the options of Conv, ReduceWindow and the pools.
type windowConfig struct {
	windowGeometry
	same          bool
	featureGroups int
	batchGroups   int
	layout        []string
	excludePad    bool
}

// WindowOption says how a convolution's kernel, or a pool's window, slides. Lists have one entry for each axis that
// the window slides over.
type WindowOption func(*windowConfig)

// Strides sets the steps from one window to the next (default 1).
func Strides(strides ...int) WindowOption {
	return func(c *windowConfig) { c.strides = slices.Clone(strides) }
}

// SamePadding pads so that there are ceil(size/stride) windows along each axis, with the odd element after ("SAME").
// The default is no padding ("VALID").
func SamePadding() WindowOption { return func(c *windowConfig) { c.same, c.padding = true, nil } }

// Padding pads each axis with so many elements before and after; negative numbers cut.
func Padding(beforeAfter ...[2]int) WindowOption {
	return func(c *windowConfig) { c.same, c.padding = false, slices.Clone(beforeAfter) }
}

// WindowDilation spreads the window: it takes every d-th element along each axis (default 1). For a convolution this
// is the kernel's dilation ("atrous").
func WindowDilation(dilation ...int) WindowOption {
	return func(c *windowConfig) { c.windowDilation = slices.Clone(dilation) }
}

// BaseDilation puts d - 1 neutral elements between neighbors of the input along each axis (default d = 1). A
// convolution with it is a transposed ("fractionally strided") one.
func BaseDilation(dilation ...int) WindowOption {
	return func(c *windowConfig) { c.baseDilation = slices.Clone(dilation) }
}

// resolve fills defaults for an input of n elements and windows of the given size along each axis.
func (c *windowConfig) resolve(name string, n, size []int) windowGeometry {
	g := c.windowGeometry
	fill := func(v []int, what string) []int {
		if v == nil {
			v = slices.Repeat([]int{1}, len(n))
		}
		if len(v) != len(n) {
			throw(name, "got %d %s for a window over %d axes; want one an axis", len(v), what, len(n))
		}
		for _, x := range v {
			if x < 1 {
				throw(name, "%s %v; want at least 1", what, v)
			}
		}
		return v
	}
	g.strides = fill(g.strides, "strides")
	g.baseDilation = fill(g.baseDilation, "base dilations")
	g.windowDilation = fill(g.windowDilation, "window dilations")
	if g.padding == nil {
		g.padding = make([][2]int, len(n))
	}
	if len(g.padding) != len(n) {
		throw(name, "got %d paddings for a window over %d axes; want one pair an axis", len(g.padding), len(n))
	}
	if c.same {
		for i := range n {
			in, w := dilated(n[i], g.baseDilation[i]), dilated(size[i], g.windowDilation[i])
			out := (in + g.strides[i] - 1) / g.strides[i]
			total := max(0, (out-1)*g.strides[i]+w-in)
			g.padding[i] = [2]int{total / 2, total - total/2}
		}
	}
	return g
}

// onlyWindow refuses the options that only convolutions have.
func (c *windowConfig) onlyWindow(name string) {
	var got []string
	if c.featureGroups > 1 {
		got = append(got, "FeatureGroups")
	}
	if c.batchGroups > 1 {
		got = append(got, "BatchGroups")
	}
	if c.layout != nil {
		got = append(got, "Layout")
	}
	if got != nil {
		throw(name, "got %s, which only Conv knows", strings.Join(got, " and "))
	}
}

func windowOptions(opts []WindowOption) *windowConfig {
	c := &windowConfig{featureGroups: 1, batchGroups: 1}
	for _, o := range opts {
		o(c)
	}
	return c
}
