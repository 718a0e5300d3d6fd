package graph

import "slices"

type recurrenceAttrs struct{ reverse bool }

func (a recurrenceAttrs) config() []int { return []int{number(a.reverse)} }

// recurrence: a [lead..., steps or 1, n or 1], b [lead..., steps, n] and start [lead..., n] -> the state before each
// step [lead..., steps, n] and that after the last [lead..., n], of state' = a*state + b. It is linear in b and start,
// and its own transpose backwards. Leading axes of size 1 are the same for all indices of the others'.
var _ = register(&Op{
	Name:   "recurrence",
	ByRows: true,
	Shape: func(c *call) []Shape {
		a, b, start := c.in[0], c.in[1], c.in[2]
		lead := b.Rank() - 2
		if !isFloat(b.DType) || a.DType != b.DType || start.DType != b.DType || lead < 0 || a.Rank() != lead+2 ||
			start.Rank() != lead+1 {
			c.fail("got %s, %s and %s, want floats [steps, n], [steps, n] and [n]", a, b, start)
		}
		for k, size := range b.Dims[lead:] {
			if got := a.Dims[lead+k]; got != size && got != 1 {
				c.fail("got %s and %s, want axes of one size, or of 1", a, b)
			}
		}
		if start.Dims[lead] != b.Dims[lead+1] {
			c.fail("got %s and the start %s, want as many numbers in a step", b, start)
		}
		all := sharedLead("recurrence", lead, c.in)
		return []Shape{b.dims(slices.Concat(all, b.Dims[lead:])...), b.dims(append(all, b.Dims[lead+1])...)}
	},
	Batch: batchLead,
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		db := t[1]
		if t[0] != nil {
			db = addTangents(db, Mul(t[0], out[0]))
		}
		if db == nil {
			db = Zeros(out[0].shape)
		}
		return apply(n.Op, n.Attrs, []*Array{in[0], db, orZeros(t[2], in[2].shape)})
	},
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		a := n.Attrs.(recurrenceAttrs)
		a.reverse = !a.reverse
		back := apply(n.Op, a, []*Array{in[0], orZeros(cts[0], n.Outs[0].shape), orZeros(cts[1], n.Outs[1].shape)})
		return []*Array{nil, sumTo(back[0], n.Inputs[1].shape), sumTo(back[1], n.Inputs[2].shape)}
	},
	// The kernel goes once through memory; a compiler's loop starts its bodies anew in each step.
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		a, out := n.Attrs.(recurrenceAttrs), n.Outs[0].shape
		if l.target.paysKernel(out.Size(), leastRecurrence) && out.DType == Float32 &&
			out.Rank() <= mostLowRankAxes {
			return kernelCall(recurrenceKernel, a.config(), ShapesOf(n.Outs), in...)
		}
		steps := out.Rank() - 2
		b := MoveAxis(BroadcastTo(in[1], out.Dims...), steps, 0)
		factor := MoveAxis(BroadcastTo(in[0], out.Dims...), steps, 0)
		var opts []ScanOption
		if a.reverse {
			opts = append(opts, ReverseScan())
		}
		last, before := Scan(func(s *Array, x [2]*Array) (*Array, *Array) { return Add(Mul(x[0], s), x[1]), s },
			BroadcastTo(in[2], n.Outs[1].shape.Dims...), [2]*Array{factor, b}, opts...)
		return []*Array{MoveAxis(before, 0, steps), last}
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		outs := newTensors(n.Outs)
		evalRecurrence(n.Attrs.(recurrenceAttrs).config(), in, outs)
		return outs
	},
	Cost: costOf(func(n *Node) float64 { return 2 * resultElements(n) }),
	Cases: func() []Case {
		f := func(dims ...int) Shape { return ShapeOf(Float32, dims...) }
		both := func(reverse bool) func(x []*Array) *Array {
			return func(x []*Array) *Array {
				outs := apply(op("recurrence"), recurrenceAttrs{reverse}, x)
				return Concatenate(-2, outs[0], ExpandDims(outs[1], -2))
			}
		}
		return []Case{
			{Name: "forwards", Inputs: []Shape{f(5, 3), f(5, 3), f(3)}, Lo: -1, Hi: 1, Tol: 1e-5, Fn: both(false)},
			{Name: "backwards", Inputs: []Shape{f(5, 3), f(5, 3), f(3)}, Lo: -1, Hi: 1, Tol: 1e-5, Fn: both(true)},
			{Name: "one factor", Inputs: []Shape{f(1, 1), f(4, 2), f(2)}, Lo: -1, Hi: 1, Tol: 1e-5, Fn: both(false)},
			{Name: "a factor of each unit", Inputs: []Shape{f(1, 19), f(2, 19), f(19)}, Lo: -1, Hi: 1, Tol: 1e-5,
				Fn: both(true)},
			{Name: "a factor of each step", Inputs: []Shape{f(2, 3, 1), f(1, 3, 1030), f(2, 1030)}, Lo: -1, Hi: 1,
				Tol: 1e-5, Rough: true, Fn: both(false)},
			{Name: "no steps", Inputs: []Shape{f(1, 1), f(0, 2), f(2)}, Fn: both(false)},
		}
	},
})

// leastRecurrence is the least number of states for which the kernel is called.
const leastRecurrence = 256

var recurrenceKernel = &Kernel{Target: "xlarun_recurrence", evalConfig: evalRecurrence}

func evalRecurrence(config []int, in, out []*Tensor) {
	d := out[0].Shape.Dims
	steps, n := d[len(d)-2], d[len(d)-1]
	forLead(slices.Concat(in, out), []int{2, 2, 1, 2, 1}, func(at []int) {
		a := in[0].Shape.Dims
		wide, long := number(a[len(a)-1] > 1), number(a[len(a)-2] > 1)*a[len(a)-1]
		for u := range n {
			state := in[2].F(at[2] + u)
			for k := range steps {
				t := k
				if config[0] != 0 {
					t = steps - 1 - k
				}
				out[0].SetF(at[3]+t*n+u, state)
				state = in[0].F(at[0]+t*long+u*wide)*state + in[1].F(at[1]+t*n+u)
			}
			out[1].SetF(at[4]+u, state)
		}
	})
}

// LinearRecurrence solves state' = a*state + b along axis 0 from a start: b [steps, …], start […], and a as b or with
// axes of size 1 that are the same all along. It gives the state before each step [steps, …] and that after the last
// […]. It goes step by step, with one pass through memory where programs can call kernels; AssociativeScan does the
// same in few steps over many elements, for accelerators. Derivatives of every order go through it, and are such
// recurrences backwards.
func LinearRecurrence(a, b, start *Array) (before, last *Array) {
	const name = "LinearRecurrence"
	if b.Rank() == 0 || a.Rank() != b.Rank() {
		throw(name, "got a %s and b %s, want [steps, …] both", a.shape, b.shape)
	}
	units := b.Dims()[1:]
	if !slices.Equal(start.Dims(), units) {
		throw(name, "got the start %s for b %s, want […] without steps", start.shape, b.shape)
	}
	if a.Dim(0) != b.Dim(0) && a.Dim(0) != 1 {
		throw(name, "got a %s and b %s, want as many steps, or 1", a.shape, b.shape)
	}
	d := Promote(Promote(a.DType(), b.DType()), start.DType())
	if n := product(a.Dims()[1:]); n == 1 {
		a = Reshape(a, a.Dim(0), 1)
	} else {
		a = Reshape(BroadcastTo(a, append([]int{a.Dim(0)}, units...)...), a.Dim(0), product(units))
	}
	outs := apply(op("recurrence"), recurrenceAttrs{},
		[]*Array{Convert(a, d), Reshape(Convert(b, d), b.Dim(0), product(units)),
			Reshape(Convert(start, d), product(units))})
	return Reshape(outs[0], b.Dims()...), Reshape(outs[1], units...)
}
