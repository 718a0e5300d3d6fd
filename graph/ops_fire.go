package graph

import (
	"fmt"
	"slices"
)

// fireAttrs: derivative stands in for that of a spike at a distance from the threshold; name is what equal ones are
// known by. before reports that the potentials are a result too.
type fireAttrs struct {
	name       string
	derivative func(distance *Array) *Array
	before     bool
}

func (a fireAttrs) String() string { return fmt.Sprintf("{%s before=%v}", a.name, a.before) }

// GoString is what equal calls are merged by.
func (a fireAttrs) GoString() string { return a.String() }

// integrate_fire: potentials v [lead..., n], input x [lead..., steps, n], beta and threshold [lead..., n] -> the last
// potentials [lead..., n], spikes [lead..., steps, n] and the potentials before each step, [lead..., steps, n]:
//
//	s = 1 where v - threshold > 0, else 0
//	v' = beta*v + x - s*threshold
//
// Leading axes of size 1 are the same for all indices of the others'. Only derivatives ask for the potentials.
var _ = register(&Op{
	Name:   "integrate_fire",
	ByRows: true,
	Shape: func(c *call) []Shape {
		v, x := c.in[0], c.in[1]
		lead := x.Rank() - 2
		ok := isFloat(x.DType) && lead >= 0
		for _, s := range []Shape{v, c.in[2], c.in[3]} {
			ok = ok && s.DType == x.DType && s.Rank() == lead+1 && s.Dims[lead] == x.Dims[lead+1]
		}
		if !ok {
			c.fail("got %s, %s, %s and %s, want floats [n], [steps, n], [n] and [n]", v, x, c.in[2], c.in[3])
		}
		all := sharedLead("integrate_fire", lead, c.in)
		last, along := x.dims(append(slices.Clone(all), x.Dims[lead+1])...),
			x.dims(slices.Concat(all, x.Dims[lead:])...)
		return []Shape{last, along, along}[:2+number(c.attrs.(fireAttrs).before)]
	},
	Batch: batchLead,
	// With the derivative g of spikes s: ds = g*(dv - dthreshold), dv' = (beta - threshold*g)*dv + dbeta*v + dx +
	// (threshold*g - s)*dthreshold.
	Derivative: func(n *Node, in, t []*Array) (outs, tangents []*Array) {
		a := n.Attrs.(fireAttrs)
		a.before = true
		outs = apply(n.Op, a, in)
		spikes, before := outs[1], outs[2]
		along := func(x *Array) *Array { return ExpandDims(x, -2) } // the same in all steps
		beta, threshold := along(in[2]), along(in[3])
		g := a.derivative(Sub(before, threshold))
		by := Mul(threshold, g)
		add := t[1]
		if t[2] != nil {
			add = addTangents(add, Mul(along(t[2]), before))
		}
		if t[3] != nil {
			add = addTangents(add, Mul(Sub(by, spikes), along(t[3])))
		}
		d := apply(op("recurrence"), recurrenceAttrs{}, []*Array{Sub(beta, by), orZeros(add, before.shape),
			orZeros(t[0], in[0].shape)})
		distance := d[0]
		if t[3] != nil {
			distance = Sub(distance, along(t[3]))
		}
		k := len(n.Outs)
		return outs[:k], []*Array{d[1], Mul(g, distance), d[0]}[:k]
	},
	NotLinear: "a threshold is not linear",
	Prune: func(_ pruned, n *Node, live []bool) *Node {
		a := n.Attrs.(fireAttrs)
		if !a.before || live[2] {
			return n
		}
		a.before = false
		return &Node{Op: n.Op, Attrs: a, Inputs: n.Inputs, Outs: n.Outs[:2], pos: n.pos}
	},
	// As of recurrence: once through memory.
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		a, out := n.Attrs.(fireAttrs), n.Outs[1].shape
		if l.target.paysKernel(out.Size(), leastRecurrence) && out.DType == Float32 &&
			out.Rank() <= mostLowRankAxes {
			return kernelCall(fireKernel, nil, ShapesOf(n.Outs), in...)
		}
		steps := out.Rank() - 2
		x := MoveAxis(BroadcastTo(in[1], out.Dims...), steps, 0)
		last, rows := Scan(func(v, x *Array) (*Array, []*Array) {
			s := Convert(Gt(Sub(v, in[3]), 0), v.DType())
			return Sub(Add(Mul(in[2], v), x), Mul(s, in[3])), []*Array{s, v}[:1+number(a.before)]
		}, BroadcastTo(in[0], n.Outs[0].shape.Dims...), x)
		outs := []*Array{last}
		for _, r := range rows {
			outs = append(outs, MoveAxis(r, 0, steps))
		}
		return outs
	},
	Eval: evalInto(evalFire),
	Cost: costOf(func(n *Node) float64 { return 5 * float64(n.Outs[1].Size()) }),
	Cases: func() []Case {
		f := func(dims ...int) Shape { return ShapeOf(Float32, dims...) }
		a := fireAttrs{"smooth", func(v *Array) *Array { return Reciprocal(Add(1, Square(v))) }, false}
		run := func(before bool) func(x []*Array) *Array {
			return func(x []*Array) *Array {
				a := a
				a.before = before
				outs := apply(op("integrate_fire"), a, x)
				return Concatenate(-2, append([]*Array{ExpandDims(outs[0], -2)}, outs[1:]...)...)
			}
		}
		return []Case{
			{Name: "spikes", Inputs: []Shape{f(3), f(5, 3), f(3), f(3)}, Lo: 0, Hi: 1, Tol: 1e-5, Rough: true,
				Fn: run(false)},
			{Name: "potentials", Inputs: []Shape{f(19), f(4, 19), f(19), f(19)}, Lo: 0, Hi: 1, Tol: 1e-5, Rough: true,
				Fn: run(true)},
			{Name: "leading axes", Inputs: []Shape{f(1, 1030), f(2, 3, 1030), f(2, 1030), f(1, 1030)}, Lo: 0, Hi: 1,
				Tol: 1e-5, Rough: true, Fn: run(true)},
			{Name: "no steps", Inputs: []Shape{f(2), f(0, 2), f(2), f(2)}, Rough: true, Fn: run(true)},
		}
	},
})

var fireKernel = &Kernel{Target: "xlarun_integrate_fire", Eval: evalFire}

func evalFire(in, out []*Tensor) {
	d := out[1].Shape.Dims
	steps, n := d[len(d)-2], d[len(d)-1]
	forLead(slices.Concat(in, out), []int{1, 2, 1, 1, 1, 2, 2}[:len(in)+len(out)], func(at []int) {
		for u := range n {
			v, beta, threshold := in[0].F(at[0]+u), in[2].F(at[2]+u), in[3].F(at[3]+u)
			for t := range steps {
				s := 0.
				if v-threshold > 0 {
					s = 1
				}
				out[1].SetF(at[5]+t*n+u, s)
				if len(out) > 2 {
					out[2].SetF(at[6]+t*n+u, v)
				}
				v = beta*v + in[1].F(at[1]+t*n+u) - s*threshold
			}
			out[0].SetF(at[4]+u, v)
		}
	})
}

// IntegrateFire runs leaky integrate-and-fire neurons along axis 0: potentials v […] before the first step, inputs x
// [steps, …], what is left of a potential after a step, beta, and the threshold, both of dims that broadcast to […]. In
// each step who is above the threshold spikes, 1 or 0; then
//
//	v' = beta*v + x - spike*threshold
//
// It gives the last potentials […] and all spikes [steps, …]. derivative, of the potentials' distance from the
// threshold, stands in for that of a spike, and name for the derivative: two of one name must be the same function. It
// is a scan that goes through memory once where programs can call kernels; derivatives store the potentials of all
// steps, and are a LinearRecurrence.
func IntegrateFire(name string, derivative func(distance *Array) *Array, v, x, beta,
	threshold *Array) (last, spikes *Array) {
	if x.Rank() == 0 || !slices.Equal(v.Dims(), x.Dims()[1:]) {
		throw("IntegrateFire", "got the potentials %s and inputs %s, want […] and [steps, …]", v.shape, x.shape)
	}
	d := Promote(Promote(v.DType(), x.DType()), Promote(beta.DType(), threshold.DType()))
	dims := v.Dims()
	each := func(a *Array) *Array { return Reshape(BroadcastTo(Convert(a, d), dims...), product(dims)) }
	outs := apply(op("integrate_fire"), fireAttrs{name, derivative, false},
		[]*Array{each(v), Reshape(Convert(x, d), x.Dim(0), product(dims)), each(beta), each(threshold)})
	return Reshape(outs[0], dims...), Reshape(outs[1], x.Dims()...)
}
