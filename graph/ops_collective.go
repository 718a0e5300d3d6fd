package graph

import (
	"fmt"
	"math"
	"slices"

	"xlarun/graph/internal/attr"
	"xlarun/graph/internal/stablehlo"
)

// DeviceAxis is the name of the axis that runs over the devices of a program, unless a Mesh names others.
const DeviceAxis = "devices"

// MeshAxis is one axis of a grid of devices.
type MeshAxis struct {
	Name string
	Size int
}

// Mesh is a grid of devices with named axes; device numbers run fastest along the last one.
type Mesh []MeshAxis

// Devices is the number of devices in the mesh.
func (m Mesh) Devices() int {
	n := 1
	for _, a := range m {
		n *= a.Size
	}
	return n
}

// axes are the mesh's axes as scopes know them.
func (m Mesh) axes() []*axis {
	out := make([]*axis, len(m))
	stride := 1
	for i := len(m) - 1; i >= 0; i-- {
		out[i] = &axis{name: m[i].Name, size: m[i].Size, stride: stride, devices: m.Devices()}
		stride *= m[i].Size
	}
	return out
}

type collectiveAttrs = attr.Collective

// replicaGroups writes the groups as the attribute of a StableHLO collective.
func replicaGroups(a collectiveAttrs) string {
	return "replica_groups = " + stablehlo.Matrix(a.Groups(), a.Size)
}

// collective makes the attributes of a collective op on x over the axis of a name. The axis is one that a VMap around
// the call maps, or an axis of the devices.
func collective(name, axisName string, x *Array) collectiveAttrs {
	oneGoroutine(name, x) // another goroutine knows no axis, but that is not the reason
	if t := currentTrace(); t != nil {
		if ax := t.cur.axis(axisName); ax != nil {
			return collectiveAttrs{Axis: axisName, Size: ax.size, Stride: ax.stride, Devices: ax.devices}
		}
	}
	throw(name, "no axis is named %q here: name it with AxisName in VMap, or use graph.DeviceAxis (or an axis of the "+
		"Mesh) in a program for several devices", axisName)
	return collectiveAttrs{}
}

// oneDevice refuses collectives over several devices in the reference interpreter, which has one.
func oneDevice(n *Node) {
	if a := n.Attrs.(interface{ Collective() collectiveAttrs }).Collective(); a.Size != 1 {
		throw(n.Op.Name, "the reference interpreter runs one device, the program was traced for %d along %q", a.Size,
			a.Axis)
	}
}

// overLanes is the vmap rule of a collective: over the mapped axis itself it becomes f of the lanes (at axis 0),
// whose result carries lanes at outDim (-1: the same in all); over another axis it stays what it is.
func overLanes(f func(x *Array, n *Node) *Array, outDim int, shift int) func(*batching, *Node, []*Array,
	[]int) ([]*Array, []int) {
	return func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		if nameOf(n) == b.axis {
			return []*Array{f(b.moveTo(in[0], dims[0], 0), n)}, []int{outDim}
		}
		if shift >= 0 { // the op acts on axis 0: lanes go after it
			return apply(n.Op, n.Attrs, []*Array{b.moveTo(in[0], dims[0], 1)}), []int{shift}
		}
		return apply(n.Op, n.Attrs, in), dims
	}
}

func nameOf(n *Node) string { return n.Attrs.(interface{ AxisName() string }).AxisName() }

// laneCase is a sample call under a vmap with a named axis.
func laneCase(name string, shape Shape, f func(x *Array) *Array) Case {
	return Case{Name: name, Inputs: []Shape{shape}, Lo: -1, Hi: 1, Fn: func(x []*Array) *Array {
		return VMap(f, AxisName("lane"))(x[0])
	}}
}

var _ = register(&Op{
	Apart: alwaysApart,
	Name:  "axis_index",
	Shape: func(c *call) []Shape { return []Shape{{DType: Int32}} },
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		return []*Array{Iota(b.size)}, []int{0}
	},
	JVP: zeroJVP, NotLinear: "it has no inputs",
	Emit: func(e *emitter, n *Node) {
		e.names[n.Outs[0]] = e.deviceIndex(n.Attrs.(collectiveAttrs))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		oneDevice(n)
		return []*Tensor{newTensor(Shape{DType: Int32})}
	},
	Cost: costFree,
	Cases: func() []Case {
		c := laneCase("", ShapeOf(Int32, 4), func(x *Array) *Array { return Add(x, AxisIndex("lane")) })
		c.Rough = true
		return []Case{c}
	},
})

// deviceIndex writes the number of the device that runs, along an axis.
func (e *emitter) deviceIndex(a collectiveAttrs) string {
	const t = "tensor<i32>"
	constant := func(v int) string { return e.Constant(fmt.Sprintf("dense<%d> : %s", v, t), t) }
	if a.Size == 1 {
		return constant(0)
	}
	id := e.Op("stablehlo.replica_id", "", "", "", "tensor<ui32>")
	id = e.Op("stablehlo.convert", id, "", "tensor<ui32>", t)
	id = e.Binary("stablehlo.divide", id, constant(a.Stride), t)
	return e.Binary("stablehlo.remainder", id, constant(a.Size), t)
}

// AxisIndex is the number of the lane or device that runs, along a named axis: an int32 scalar.
func AxisIndex(axis string) *Array {
	a := collective("AxisIndex", axis, nil)
	s := currentTrace().cur
	n := &Node{Op: op("axis_index"), Attrs: a, pos: capture()}
	out := &Array{shape: Shape{DType: Int32}, node: n, scope: s}
	n.Outs = []*Array{out}
	s.nodes = append(s.nodes, n)
	return out
}

var _ = register(&Op{
	Apart:   alwaysApart,
	Name:    "all_gather",
	Complex: true,
	Shape:   func(c *call) []Shape { return []Shape{c.in[0].insert(0, c.attrs.(collectiveAttrs).Size)} },
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		if nameOf(n) == b.axis {
			return []*Array{b.moveTo(in[0], dims[0], 0)}, []int{-1}
		}
		return apply(n.Op, n.Attrs, in), []int{dims[0] + 1}
	},
	JVP: linearJVP,
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		a := n.Attrs.(collectiveAttrs)
		return []*Array{DynamicIndex(apply1(op("preduce"), preduceAttrs{collectiveAttrs: a, kind: "sum"}, cts[0]),
			AxisIndex(a.Axis), 0)}
	},
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(collectiveAttrs)
		if a.Rendezvous > 0 {
			e.gather(n)
			return
		}
		x := n.Inputs[0].shape
		one, all := mlirType(x.insert(0, 1)), mlirType(n.Outs[0].shape)
		r := e.Op("stablehlo.reshape", e.ref(n.Inputs[0]), "", mlirType(x), one)
		if a.Size > 1 {
			r = e.Op("stablehlo.all_gather", r, "all_gather_dim = 0 : i64, "+replicaGroups(a), one, all)
		}
		e.names[n.Outs[0]] = r
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		oneDevice(n)
		return []*Tensor{{n.Outs[0].shape, in[0].V}}
	},
	Cost: costMove,
	Cases: func() []Case {
		return []Case{laneCase("", ShapeOf(Float32, 4, 2), func(x *Array) *Array { return Sin(AllGather(x, "lane")) })}
	},
})

// AllGather collects x of every lane or device of a named axis along a new axis 0, in order.
func AllGather(x *Array, axis string) *Array {
	return apply1(op("all_gather"), collective("AllGather", axis, x), x)
}

type preduceAttrs struct {
	collectiveAttrs
	kind string // sum, max, min
	// dropsNaN is set once NaN is looked for besides (see Lower).
	dropsNaN bool
}

var _ = register(&Op{
	Apart:        alwaysApart,
	Name:         "preduce",
	ComplexKinds: []string{"sum"},
	Shape:        func(c *call) []Shape { return c.in[:1] },
	Batch: overLanes(func(x *Array, n *Node) *Array {
		return reduce(n.Attrs.(preduceAttrs).kind, x, []int{0})
	}, -1, -1),
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		a := n.Attrs.(preduceAttrs)
		if a.kind == "sum" {
			return apply(n.Op, a, t)
		}
		// The mean of the tangents at the extreme, over the lanes that share it; of NaN it is NaN: see reduce.
		at := Eq(in[0], out[0])
		sum := preduceAttrs{collectiveAttrs: a.collectiveAttrs, kind: "sum"}
		count := apply1(n.Op, sum, Convert(at, in[0].DType()))
		weights := Select(at, Div(1, count), Select(Eq(count, 0), math.NaN(), ZerosLike(count)))
		return []*Array{apply1(n.Op, sum, Mul(weights, t[0]))}
	},
	Transpose: selfTranspose,
	// Between devices XLA's maximum drops NaN, or not, by their order.
	Lower: func(_ *Cursor, n *Node, in []*Array) []*Array {
		a, x := n.Attrs.(preduceAttrs), in[0]
		if a.Size == 1 || a.kind == "sum" || a.dropsNaN || !isFloat(x.DType()) {
			return nil
		}
		a.dropsNaN = true
		missing := apply1(n.Op, preduceAttrs{collectiveAttrs: a.collectiveAttrs, kind: "max"}, Convert(IsNaN(x), Int32))
		return []*Array{Select(Gt(missing, 0), math.NaN(), apply1(n.Op, a, x))}
	},
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(preduceAttrs)
		if a.Size == 1 {
			e.names[n.Outs[0]] = e.ref(n.Inputs[0])
			return
		}
		e.generic(n, "stablehlo.all_reduce", replicaGroups(a.collectiveAttrs),
			e.Combiner(reduceKinds[a.kind].emit, stablehlo.Type(n.Inputs[0].DType())))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		oneDevice(n)
		return in
	},
	Cost: costOf(inputElements),
	Cases: func() []Case {
		s := ShapeOf(Float32, 4, 2)
		return []Case{
			laneCase("sum", s, func(x *Array) *Array { return Mul(x, PSum(Sin(x), "lane")) }),
			laneCase("mean", s, func(x *Array) *Array { return Sub(x, PMean(x, "lane")) }),
			laneCase("max", s, func(x *Array) *Array { return Mul(x, PMax(x, "lane")) }),
			laneCase("min", s, func(x *Array) *Array { return Sub(x, PMin(x, "lane")) }),
		}
	},
})

func preduce(name, kind string, x *Array, axis string) *Array {
	return apply1(op("preduce"), preduceAttrs{collectiveAttrs: collective(name, axis, x), kind: kind}, x)
}

// PSum adds x over the lanes or devices of a named axis. Over devices the order of the additions is the backend's, so
// that the last bits may change with their number: see OrderedPSum.
func PSum(x *Array, axis string) *Array { return preduce("PSum", "sum", x, axis) }

// PMean averages x over the lanes or devices of a named axis.
func PMean(x *Array, axis string) *Array {
	return Div(PSum(x, axis), float64(collective("PMean", axis, x).Size))
}

// PMax is the largest x over the lanes or devices of a named axis.
func PMax(x *Array, axis string) *Array { return preduce("PMax", "max", x, axis) }

// PMin is the smallest x over the lanes or devices of a named axis.
func PMin(x *Array, axis string) *Array { return preduce("PMin", "min", x, axis) }

// OrderedPSum adds partial sums, groups [g, …] of every device, in the order of their global numbers. With the same
// number of groups in all, the additions, and so the last bits, are the same on any number of devices.
func OrderedPSum(groups *Array, axis string) *Array {
	all := AllGather(groups, axis)
	all = Reshape(all, append([]int{all.Dim(0) * all.Dim(1)}, all.Dims()[2:]...)...)
	sum, _ := Scan(func(s, x *Array) (*Array, None) { return Add(s, x), None{} }, Zeros(all.shape.remove(0)), all)
	return sum
}

type ppermuteAttrs struct {
	collectiveAttrs
	from, to []int
}

var _ = register(&Op{
	Apart:   alwaysApart,
	Name:    "ppermute",
	Complex: true,
	Shape:   func(c *call) []Shape { return c.in[:1] },
	Batch: overLanes(func(x *Array, n *Node) *Array {
		a := n.Attrs.(ppermuteAttrs)
		rows := make([]*Array, a.Size)
		for i := range rows {
			if k := slices.Index(a.to, i); k >= 0 {
				rows[i] = index(x, 0, a.from[k])
			} else {
				rows[i] = Zeros(x.shape.remove(0))
			}
		}
		return Stack(rows, 0)
	}, 0, -1),
	JVP: linearJVP,
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		a := n.Attrs.(ppermuteAttrs)
		return apply(n.Op, ppermuteAttrs{a.collectiveAttrs, a.to, a.from}, cts)
	},
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(ppermuteAttrs)
		var pairs [][]int
		for _, g := range a.Groups() {
			for i := range a.from {
				pairs = append(pairs, []int{g[a.from[i]], g[a.to[i]]})
			}
		}
		if len(pairs) == 0 {
			e.raw(n.Outs, "stablehlo.constant", nil, "value = "+literal(newTensor(n.Outs[0].shape)))
			return
		}
		e.generic(n, "stablehlo.collective_permute", "source_target_pairs = "+stablehlo.Matrix(pairs, 2))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		oneDevice(n)
		if len(n.Attrs.(ppermuteAttrs).from) == 0 {
			return []*Tensor{newTensor(in[0].Shape)}
		}
		return in
	},
	Cost: costMove,
	Cases: func() []Case {
		return []Case{laneCase("ring", ShapeOf(Float32, 4, 2), func(x *Array) *Array {
			return Mul(x, PPermute(x, "lane", Ring(4, 1)...))
		}),
			laneCase("partial", ShapeOf(Float32, 3), func(x *Array) *Array {
				return PPermute(Sin(x), "lane", [2]int{0, 2})
			})}
	},
})

// PPermute sends x along pairs (from, to) of a named axis; who gets nothing has zeros.
func PPermute(x *Array, axis string, pairs ...[2]int) *Array {
	a := ppermuteAttrs{collectiveAttrs: collective("PPermute", axis, x)}
	for _, p := range pairs {
		if p[0] < 0 || p[0] >= a.Size || p[1] < 0 || p[1] >= a.Size || slices.Contains(a.from, p[0]) ||
			slices.Contains(a.to, p[1]) {
			throw("PPermute", "pair %v of %v: want each of 0 to %d at most once as source and once as target", p, pairs,
				a.Size-1)
		}
		a.from, a.to = append(a.from, p[0]), append(a.to, p[1])
	}
	return apply1(op("ppermute"), a, x)
}

// Ring gives the pairs that send everything shift places on, around n.
func Ring(n, shift int) [][2]int {
	wantSeparate("Ring", n)
	out := make([][2]int, n)
	for i := range out {
		out[i] = [2]int{i, (i + shift%n + n) % n}
	}
	return out
}

var _ = register(&Op{
	Apart:   alwaysApart,
	Name:    "all_to_all",
	Complex: true,
	Shape: func(c *call) []Shape {
		if a := c.attrs.(collectiveAttrs); c.in[0].Rank() == 0 || c.in[0].Dims[0] != a.Size {
			c.fail("got %s, want %d parts along the split axis, one for each of axis %q", c.in[0], a.Size, a.Axis)
		}
		return c.in[:1]
	},
	Batch: overLanes(func(x *Array, n *Node) *Array {
		return Transpose(x, append([]int{1, 0}, rangeInts(2, x.Rank())...)...)
	}, 0, 1),
	JVP:       linearJVP,
	Transpose: selfTranspose,
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(collectiveAttrs)
		if a.Size == 1 {
			e.names[n.Outs[0]] = e.ref(n.Inputs[0])
			return
		}
		e.generic(n, "stablehlo.all_to_all", fmt.Sprintf("split_dimension = 0 : i64, concat_dimension = 0 : i64, "+
			"split_count = %d : i64, %s", a.Size, replicaGroups(a)))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		oneDevice(n)
		return in
	},
	Cost: costMove,
	Cases: func() []Case {
		return []Case{laneCase("", ShapeOf(Float32, 3, 2, 3), func(x *Array) *Array {
			return Sin(AllToAll(x, "lane", 1, 0))
		})}
	},
})

// AllToAll sends part i along axis split of x (which has one part for each lane or device) to lane i, and collects what
// comes in along axis concat of the result.
func AllToAll(x *Array, axis string, split, concat int) *Array {
	a := collective("AllToAll", axis, x)
	return MoveAxis(apply1(op("all_to_all"), a, MoveAxis(x, split, 0)), 0, concat)
}

var _ = register(&Op{
	Name:    "optimization_barrier",
	Complex: true,
	Shape:   func(c *call) []Shape { return slices.Clone(c.in) },
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		return apply(n.Op, nil, in), dims
	},
	JVP:       func(n *Node, in, out, t []*Array) []*Array { return t },
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array { return cts },
	Emit:      hlo("stablehlo.optimization_barrier"),
	Eval:      func(n *Node, in []*Tensor) []*Tensor { return in },
	Cost:      costFree,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 3)}, Fn: func(x []*Array) *Array {
			return Sin(Barrier(x[0])[0])
		}}}
	},
})

// Barrier returns the arrays unchanged; the compiler does not move or merge computations across it.
func Barrier(x ...*Array) []*Array { return apply(op("optimization_barrier"), nil, x) }
