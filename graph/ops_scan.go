package graph

import (
	"math"
	"slices"

	"xlarun/graph/internal/attr"
)

type scanAttrs = attr.Scan

// ScanOption changes how Scan runs.
type ScanOption func(*scanAttrs)

// Length gives the number of steps, at least 0, where no input is scanned.
func Length(n int) ScanOption {
	if n < 0 {
		throw("Length", "got %d steps, want at least 0", n)
	}
	return func(a *scanAttrs) { a.Length = n }
}

// ReverseScan goes from the last step to the first; outputs stay in the inputs' order.
func ReverseScan() ScanOption { return func(a *scanAttrs) { a.Reverse = true } }

// LoopName names the loop; see Node.LoopName.
func LoopName(name string) ScanOption { return func(a *scanAttrs) { a.Name = name } }

// Unroll puts n steps into one iteration of the loop.
func Unroll(n int) ScanOption { return func(a *scanAttrs) { a.Unroll = n } }

var _ = register(&Op{
	Name:    "scan",
	Complex: true,
	Shape: func(c *call) []Shape {
		a := c.attrs.(scanAttrs)
		in := splitScanParts(a, c.in)
		out := splitScanResults(a, ShapesOf(c.bodies[0].Results))
		for i, r := range out.carry {
			if !r.Equal(in.carry[i]) {
				c.fail("carry %d goes in as %s and comes out as %s", i, in.carry[i], r)
			}
		}
		for i, x := range in.xs {
			if x.Rank() == 0 || x.Dims[0] != a.Length {
				c.fail("scanned input %d is %s, want %d steps along axis 0", i, x, a.Length)
			}
		}
		for i, y := range out.ys {
			out.ys[i] = y.insert(0, a.Length)
		}
		return out.concat()
	},
	Batch: batchScan, Derivative: jvpScan, Unknown: unknownScan, Split: splitScan, Transpose: transposeScan,
	Prune: pruneScan,
	Loop: func(n *Node) loopForm {
		a := n.Attrs.(scanAttrs)
		return loopForm{at: a.Consts, carry: a.Carry, consts: []int{a.Consts}, resized: func(carry int) any {
			a.Carry = carry
			return a
		}}
	},
	Lower: lowerScan,
	Run:   runScan,
	Cost: func(n *Node, trips func(*Node) int) Cost {
		return n.Bodies[0].Cost(trips).Times(float64(n.Attrs.(scanAttrs).Length))
	},
	Cases: func() []Case {
		step := func(w *Array) func(c, x *Array) (*Array, *Array) {
			return func(c, x *Array) (*Array, *Array) {
				c = Tanh(Add(Mul(c, w), x))
				return c, Mul(c, 2)
			}
		}
		var cases []Case
		for _, o := range []struct {
			name string
			opts []ScanOption
		}{{"plain", nil}, {"reverse", []ScanOption{ReverseScan()}}, {"unroll", []ScanOption{Unroll(2)}},
			{"unrolled", []ScanOption{Unroll(9), ReverseScan()}}} {
			cases = append(cases, Case{Name: o.name, Inputs: []Shape{ShapeOf(Float32, 3), ShapeOf(Float32),
				ShapeOf(Float32, 5, 3)}, Lo: -1, Hi: 1, Tol: 1e-5,
				Fn: func(x []*Array) *Array {
					c, ys := Scan(step(x[1]), x[0], x[2], o.opts...)
					return Concatenate(0, ExpandDims(c, 0), ys)
				}})
		}
		return append(cases, Case{Name: "no inputs", Inputs: []Shape{ShapeOf(Float32)}, Lo: -1, Hi: 1,
			Fn: func(x []*Array) *Array {
				c, _ := Scan(func(c *Array, _ None) (*Array, None) { return Sin(c), None{} }, x[0], None{}, Length(3))
				return c
			}})
	},
})

// lowerScan makes a scan a while loop with a counter, which slices the inputs and writes the outputs in place.
func lowerScan(l *Cursor, n *Node, in []*Array) []*Array {
	a := n.Attrs.(scanAttrs)
	args := splitScanParts(a, in)
	state := scanResults[*Array]{carry: args.carry}
	for _, o := range n.Outs[a.Carry:] {
		state.ys = append(state.ys, l.unsetArray(o.shape))
	}
	step := func(i *Array, state scanResults[*Array]) scanResults[*Array] {
		at := i
		if a.Reverse {
			at = Sub(a.Length-1, i)
		}
		p := scanParts[*Array]{consts: args.consts, carry: state.carry}
		for _, x := range args.xs {
			p.xs = append(p.xs, DynamicIndex(x, at, 0))
		}
		out := l.step(n, p)
		for k, y := range out.ys {
			out.ys[k] = DynamicUpdateIndex(state.ys[k], y, at, 0)
		}
		return out
	}
	unroll := min(max(a.Unroll, 1), max(a.Length, 1))
	if l.target.Accelerator() {
		unroll = max(unroll, launchesSaved(n))
	}
	if l.writesSteps(n) {
		unroll = max(a.Length, 1)
	}
	trips := a.Length / unroll
	outside := args.consts
	if trips > 1 {
		init := slices.Concat([]*Array{Scalar(0, Int32)}, state.concat())
		// The counter grows by 1, also with several steps in an iteration: only then does XLA know the number of
		// iterations, and a GPU need not ask the host after each.
		trip := func(c []*Array) []*Array {
			state := splitScanResults(a, c[1:])
			args.consts = l.slicedInside(outside, c[0])
			if l.target.Accelerator() && unroll > 1 {
				state = l.scanChunk(n, args, state, c[0], unroll)
				return slices.Concat([]*Array{Add(c[0], 1)}, state.concat())
			}
			for k := range unroll {
				i := c[0]
				if unroll > 1 {
					i = Add(Mul(i, unroll), k)
				}
				state = step(i, state)
			}
			return slices.Concat([]*Array{Add(c[0], 1)}, state.concat())
		}
		p := l.inLoops
		p.rows = l.rowsApart(n, outside)
		l.at(p, func() {
			outs := whileLoop(a.Name, func(c []*Array) *Array { return Lt(c[0], trips) }, trip, init)
			state = splitScanResults(a, outs[1:])
		})
		args.consts = outside
	} else {
		trips = 0
	}
	for i := trips * unroll; i < a.Length; i++ {
		state = step(Scalar(i, Int32), state)
	}
	return append([]*Array{}, state.concat()...) // not nil, for a scan that only prints
}

// step takes one step of a scan that is being lowered.
func (l *Cursor) step(n *Node, p scanParts[*Array]) (out scanResults[*Array]) {
	inside := l.inLoops
	inside.scan = n.Bodies[0]
	l.at(inside, func() { out = splitScanResults(n.Attrs.(scanAttrs), l.inline(n.Bodies[0], p.concat())) })
	return out
}

func runScan(n *Node, in []*Tensor, r *interpreter) []*Tensor {
	a := n.Attrs.(scanAttrs)
	args := splitScanParts(a, in)
	state := scanResults[*Tensor]{carry: args.carry}
	for _, o := range n.Outs[a.Carry:] {
		state.ys = append(state.ys, newTensor(o.shape))
	}
	for k := range a.Length {
		t := k
		if a.Reverse {
			t = a.Length - 1 - k
		}
		p := scanParts[*Tensor]{consts: args.consts, carry: state.carry}
		for _, x := range args.xs {
			s := x.Shape.remove(0)
			p.xs = append(p.xs, &Tensor{s, x.V[t*s.Size() : (t+1)*s.Size()]})
		}
		out := splitScanResults(a, r.run(n.Bodies[0], p.concat()))
		state.carry = out.carry
		for i, y := range out.ys {
			copy(state.ys[i].V[t*len(y.V):], y.V)
		}
	}
	return state.concat()
}

// Scan runs f along time: at each step it maps the carry and one slice of each leaf of xs (their axis 0 is time) to
// the new carry and an output; outputs are stacked along a new axis 0. The carry keeps its structure and shapes. With
// xs None{}, Length gives the number of steps.
func Scan[C, X, Y any](f func(C, X) (C, Y), init C, xs X, opts ...ScanOption) (C, Y) {
	wantFunction("Scan", f == nil)
	carry, ys := scan(func(c, x any) (any, any) { return f(as[C](c), as[X](x)) }, init, xs, opts)
	return as[C](carry), as[Y](ys)
}

// scan is Scan for trees of any type. It is compiled once, and not for each type.
func scan(f func(c, x any) (any, any), init, xs any, opts []ScanOption) (_, ys any) {
	a := scanAttrs{Length: -1, Unroll: 1}
	for _, o := range opts {
		o(&a)
	}
	carry, carryTree := Flatten(init)
	in, inTree := Flatten(xs)
	steps := make([]Shape, 0, len(carry)+len(in))
	steps = append(steps, ShapesOf(carry)...)
	for i, x := range in {
		if x.Rank() == 0 {
			throw("Scan", "input %s is a scalar and has no time axis", inTree.Path(i))
		}
		if a.Length >= 0 && x.shape.Dims[0] != a.Length {
			throw("Scan", "input %s has %d steps, want %d: all inputs (and Length) must agree", inTree.Path(i),
				x.shape.Dims[0], a.Length)
		}
		a.Length = x.shape.Dims[0]
		steps = append(steps, x.shape.remove(0))
	}
	if a.Length < 0 {
		throw("Scan", "the number of steps is unknown: scan over an input or give Length")
	}
	if a.Length > math.MaxInt32 {
		throw("Scan", "got %d steps, want at most %d", a.Length, math.MaxInt32)
	}
	if n := min(a.Unroll, a.Length); n > mostSeparate {
		throw("Scan", "got Unroll(%d) for %d steps, want at most %d of them in one iteration", a.Unroll, a.Length,
			mostSeparate)
	}
	a.Carry = len(carry)
	var outTree *Tree
	body, captured := buildGraph(steps, nil, func(p []*Array) []*Array {
		watchKeys(keyBody{kind: keysInLoop, args: slices.Concat(carry, in), carry: a.Carry, trips: min(a.Length, 2)})
		c, y := f(carryTree.Unflatten(p[:a.Carry]), inTree.Unflatten(p[a.Carry:]))
		next, t := Flatten(c)
		checkCarry("Scan", carryTree, ShapesOf(carry), t, ShapesOf(next))
		ys, yt := Flatten(y)
		outTree = yt
		return slices.Concat(next, ys)
	})
	a.Consts = len(captured)
	outs := apply(op("scan"), a, slices.Concat(captured, carry, in), body)
	return carryTree.Unflatten(outs[:a.Carry]), outTree.Unflatten(outs[a.Carry:])
}

// Map applies f to each slice of xs along axis 0, one after the other, and stacks the results. VMap does all at once;
// Map needs memory for one.
func Map[X, Y any](f func(X) Y, xs X, opts ...ScanOption) Y {
	wantFunction("Map", f == nil)
	_, ys := Scan(func(_ None, x X) (None, Y) { return None{}, f(x) }, None{}, xs, opts...)
	return ys
}
