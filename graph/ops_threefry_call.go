package graph

// mostHashed is the number of hashes up to which a kernel makes them on one core. A compiler may share more of them
// among the cores.
const mostHashed = 1 << 16

// hashKernel is called with the view of each of the four inputs of threefry2x32: offset and strides.
var hashKernel = &Kernel{Target: "xlarun_hash", evalConfig: func(config []int, in, out []*Tensor) {
	dims := out[0].Shape.Dims
	size := 1 + len(dims)
	index := make([]int, len(dims))
	for i := range out[0].V {
		for k, rest := len(dims)-1, i; k >= 0; k-- {
			index[k], rest = rest%dims[k], rest/dims[k]
		}
		var x [4]uint32
		for k, t := range in {
			at := config[k*size]
			for axis, stride := range config[k*size+1 : (k+1)*size] {
				at += index[axis] * stride
			}
			x[k] = uint32(t.V[at])
		}
		a, b := threefry2x32(x[0], x[1], x[2], x[3])
		out[0].V[i], out[1].V[i] = uint64(a), uint64(b)
	}
}}

// CallHash is a LoweringRule that makes hashes by a call of a kernel. The kernel reads words of keys where they lie: a
// slice of an array, repeated along an axis, needs no code.
func (l *Cursor) CallHash(n *Node, in []*Array) []*Array {
	if size := n.Outs[0].Size(); size == 0 || size > mostHashed {
		return nil
	}
	var config []int
	args := make([]*Array, len(in))
	for i, a := range in {
		v := viewOf(a)
		args[i], config = v.of, append(append(config, v.offset), v.strides...)
	}
	return kernelCall(hashKernel, config, ShapesOf(n.Outs), args...)
}

// view is an array as elements of another one: element index of it is element offset + Σ index·strides of the other.
type view struct {
	of      *Array
	offset  int
	strides []int
}

// alongAxis says how an index along an axis of what is looked at follows from index i along an axis of the view: it is
// first + i·step. Without such an axis, of is -1, and it is first.
type alongAxis struct{ of, first, step int }

// viewOf sees through broadcasts, slices, transposes, and reshapes that add or remove axes of length 1.
func viewOf(a *Array) view {
	v := view{a, 0, make([]int, a.Rank())}
	axes := make([]alongAxis, a.Rank())
	for k := range axes {
		axes[k] = alongAxis{k, 0, 1}
	}
	for v.of.node != nil {
		inner, ok := lookThrough(v.of.node, axes)
		if !ok {
			break
		}
		v.of, axes = v.of.node.Inputs[0], inner
	}
	for k, stride := range strides(v.of.Dims()) {
		v.offset += axes[k].first * stride
		if axes[k].of >= 0 {
			v.strides[axes[k].of] += axes[k].step * stride
		}
	}
	return v
}

// lookThrough returns what axes of a node's result are along the axes of its input, if each element is one of the
// input's.
func lookThrough(n *Node, axes []alongAxis) (inner []alongAxis, ok bool) {
	none := alongAxis{of: -1}
	switch a := n.Attrs.(type) {
	case broadcastAttrs:
		for k, to := range a.Axes {
			inner = append(inner, axes[to])
			if n.Inputs[0].Dim(k) == 1 {
				inner[k] = none
			}
		}
		return inner, true
	case sliceAttrs:
		for k, x := range axes {
			inner = append(inner, alongAxis{x.of, a.Start[k] + x.first*a.Stride[k], x.step * a.Stride[k]})
		}
		return inner, true
	case permAttrs:
		inner = make([]alongAxis, len(axes))
		for i, k := range a.perm {
			inner[k] = axes[i]
		}
		return inner, true
	}
	if n.Op.Name != "reshape" {
		return nil, false
	}
	var long []int // the axes of the result that are not of length 1
	for k, d := range n.Outs[0].Dims() {
		if d != 1 {
			long = append(long, k)
		}
	}
	for _, d := range n.Inputs[0].Dims() {
		switch {
		case d == 1:
			inner = append(inner, none)
		case len(long) == 0 || n.Outs[0].Dim(long[0]) != d:
			return nil, false
		default:
			inner, long = append(inner, axes[long[0]]), long[1:]
		}
	}
	return inner, len(long) == 0
}
