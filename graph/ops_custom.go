package graph

import "slices"

// Ops that carry their own body and matter only to derivatives: compiled or interpreted, they are their body.

// runBody is the reference of ops that are their first body.
func runBody(n *Node, in []*Tensor, r *interpreter) []*Tensor { return r.run(n.Bodies[0], in) }

// bodyShape infers the shapes of the first body's results.
func bodyShape(c *call) []Shape {
	for i, p := range c.bodies[0].Params {
		if !p.shape.Equal(c.in[i]) {
			c.fail("input %d is %s, want %s", i, c.in[i], p.shape)
		}
	}
	return ShapesOf(c.bodies[0].Results)
}

var _ = register(&Op{
	Name: "stop_gradient", Shape: func(c *call) []Shape { return slices.Clone(c.in) }, Batch: batchElementwise,
	Complex: true,
	JVP:     zeroJVP,
	// A tangent may pass one too: as a linear function it is the identity, unless nothing reads its value.
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		if n.Attrs == (stopAttrs{unused: true}) {
			return []*Array{nil}
		}
		return cts
	},
	Lower: func(_ *Cursor, _ *Node, in []*Array) []*Array { return in },
	Eval:  func(n *Node, in []*Tensor) []*Tensor { return in },
	Cost:  costFree,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 3)}, Rough: true, Fn: func(x []*Array) *Array {
			return Mul(x[0], StopGradient(x[0]))
		}}}
	},
})

// stopAttrs: unused says that the value is computed with and then dropped, as in lanes that take another branch: a
// cotangent that comes back there, NaN perhaps, means nothing.
type stopAttrs struct {
	unused bool
	clone  int // see CloneKey
}

// StopGradient returns v unchanged; derivatives take it for a constant.
func StopGradient[T any](v T) T {
	return MapTree(func(a *Array) *Array { return apply1(op("stop_gradient"), stopAttrs{}, a) }, v)
}

// Checkpoint: differentiating the body keeps its inputs only and computes the rest again when it is needed.

var _ = register(&Op{
	Name: "checkpoint", Shape: bodyShape, Lower: lowerBody,
	Complex: true,
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		on := batchedFlags(dims)
		g, out := b.closed(n.Bodies[0], on, nil)
		return apply(n.Op, nil, b.prepare(n, in, dims, on), g), b.laneDims(n.Outs, out)
	},
	Derivative: jvpCheckpoint, Transpose: transposeCheckpoint, Run: runBody,
	Cost: costBody,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 3), ShapeOf(Float32, 3)}, Lo: -1, Hi: 1,
			Fn: func(x []*Array) *Array {
				return Checkpoint(func(v *Array) *Array { return Sin(Mul(Sin(v), x[1])) })(x[0])
			}}}
	},
})

// Checkpoint marks a function whose intermediate values are not kept for the backward pass but computed again
// (rematerialization, Griewank and Walther, "Algorithm 799: revolve", 2000): less memory for more time.
func Checkpoint[A, R any](f func(A) R) func(A) R {
	wantFunction("Checkpoint", f == nil)
	return func(a A) R {
		leaves, tree := Flatten(a)
		var outTree *Tree
		g, captured := buildGraph(ShapesOf(leaves), nil, func(p []*Array) (outs []*Array) {
			watchKeys(keyBody{args: leaves})
			outs, outTree = Flatten(f(unflattenAs[A](tree, p)))
			return outs
		})
		return unflattenAs[R](outTree, apply(op("checkpoint"), nil, slices.Concat(captured, leaves), g))
	}
}

// jvpCheckpoint leaves the whole derivative, from the inputs on, in one checkpoint of its own, so that splitting the
// known from the linear part finds only the inputs to keep.
func jvpCheckpoint(n *Node, in, t []*Array) (outs, tangents []*Array) {
	active := notNil(t)
	d, out := jvpGraph(n.Bodies[0], active, nil)
	k := len(n.Outs)
	outs = apply(n.Op, nil, in, n.Bodies...)
	only := &Graph{Params: d.Params, Nodes: d.Nodes, Results: d.Results[k:]}
	ts := apply(n.Op, nil, slices.Concat(in, choose(t, active)), only.dropDead())
	return outs, spread(ts, out)
}

// transposeCheckpoint computes the body again after a barrier, which keeps the compiler from sharing it with the
// forward pass after all, and transposes what is linear.
func transposeCheckpoint(n *Node, in []*Array, lin []bool, cts []*Array) []*Array {
	known := choose(in, not(lin))
	has := notNil(cts)
	// The cotangents pass the barrier too: nothing is computed again before they are there.
	through := Barrier(slices.Concat(known, choose(cts, has))...)
	return transposeGraph(n.Bodies[0], spread(through[:len(known)], not(lin)), spread(through[len(known):], has))
}

// Custom derivatives.

var _ = register(&Op{
	Name: "custom_jvp", Shape: bodyShape, Lower: lowerBody,
	Complex: true,
	// What is the same for all lanes stays so; results carry lanes where the function's or the derivative's do.
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		on := batchedFlags(dims)
		both := slices.Concat(on, on[n.Attrs.(customAttrs).consts:]) // the derivative's: inputs, then tangents
		flags := make([]bool, len(n.Outs))
		var f, d *Graph
		for range 2 { // once to learn the flags, once to make all results so
			var fOut, dOut []bool
			f, fOut = b.closed(n.Bodies[0], on, flags)
			d, dOut = b.closed(n.Bodies[1], both, slices.Concat(flags, flags))
			for i := range flags {
				flags[i] = flags[i] || fOut[i] || dOut[i] || dOut[len(flags)+i]
			}
		}
		return apply(n.Op, n.Attrs, b.prepare(n, in, dims, on), f, d), b.laneDims(n.Outs, flags)
	},
	Derivative: jvpCustomJvp, NotLinear: "its derivative is a body of its own", Run: runBody,
	Cost: costBody,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 3)}, Lo: -1, Hi: 1, Fn: func(x []*Array) *Array {
			return CustomJvp(sin1, func(a, t *Array) (*Array, *Array) { return Sin(a), Mul(Cos(a), t) })(x[0])
		}}}
	},
})

func sin1(x *Array) *Array { return Sin(x) } // Sin as a function of one array

var _ = register(&Op{
	Name: "custom_vjp", Shape: bodyShape, Lower: lowerBody,
	Complex: true,
	Batch:   batchBodies, Derivative: jvpCustomVjp, NotLinear: "its derivative is a body of its own", Run: runBody,
	Cost: costBody,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 3)}, Lo: -1, Hi: 1, Rough: true, Fn: func(x []*Array) *Array {
			return CustomVjp(sin1, func(a *Array) (*Array, *Array) {
				return Sin(a), Cos(a)
			}, func(c, ct *Array) *Array { return Mul(c, ct) })(x[0])
		}}}
	},
})

// customAttrs says how the inputs divide: the first consts are captured values, which the custom rule knows nothing of.
type customAttrs struct{ consts int }

// batchBodies is the vmap rule of custom backward passes: every input and every body is batched, so that the
// derivative's bodies agree with the function's on what carries lanes.
func batchBodies(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
	bodies := make([]*Graph, len(n.Bodies))
	for i, g := range n.Bodies {
		all := func(k int) []bool { return slices.Repeat([]bool{true}, k) }
		bodies[i], _ = b.closed(g, all(len(g.Params)), all(len(g.Results)))
	}
	return apply(n.Op, n.Attrs, b.prepare(n, in, dims, slices.Repeat([]bool{true}, len(in))), bodies...),
		b.laneDims(n.Outs, nil)
}

// noCaptures refuses custom functions that take traced values from around them: their derivative would miss them.
func noCaptures(name, what string, captured []*Array) {
	for _, c := range captured {
		if c.scope != nil {
			throw(name, "the %s takes a traced %s from around it: pass it as an argument (or in the residuals), so "+
				"that its derivative is not lost", what, c.shape)
		}
	}
}

// CustomJvp gives f a derivative of one's own: jvp maps arguments and their tangents to results and their tangents,
// linear in the tangents. f and jvp must not capture traced values.
func CustomJvp[A, R any](f func(A) R, jvp func(a, t A) (R, R)) func(A) R {
	return func(a A) R {
		leaves, tree := Flatten(a)
		shapes := ShapesOf(leaves)
		var outTree *Tree
		fg, fc := buildGraph(shapes, nil, func(p []*Array) (outs []*Array) {
			watchKeys(keyBody{args: leaves})
			outs, outTree = Flatten(f(unflattenAs[A](tree, p)))
			return outs
		})
		noCaptures("CustomJvp", "function", fc)
		dg, dc := buildGraph(slices.Concat(shapes, shapes), nil, func(p []*Array) []*Array {
			watchKeys(keyBody{kind: keysUnused})
			r, t := jvp(unflattenAs[A](tree, p[:len(shapes)]), unflattenAs[A](tree, p[len(shapes):]))
			ro, rt := Flatten(r)
			to, tt := Flatten(t)
			mustMatch("CustomJvp", "result of the function", outTree, "result of jvp", rt)
			mustMatch("CustomJvp", "result of jvp", rt, "tangent of jvp", tt)
			sameShapes("CustomJvp", rt, fg.Results, ro)
			sameShapes("CustomJvp", tt, fg.Results, to)
			return slices.Concat(ro, to)
		})
		noCaptures("CustomJvp", "derivative", dc)
		fg, dg, consts := withConsts(fg, fc, dg, dc)
		outs := apply(op("custom_jvp"), customAttrs{len(consts)}, slices.Concat(consts, leaves), fg, dg)
		return unflattenAs[R](outTree, outs)
	}
}

// withConsts makes the captured (concrete) arrays of two bodies leading parameters of both.
func withConsts(f *Graph, fc []*Array, g *Graph, gc []*Array) (*Graph, *Graph, []*Array) {
	dummies := func(arrays []*Array) []*Array {
		out := make([]*Array, len(arrays))
		for i, a := range arrays {
			out[i] = &Array{shape: a.shape}
		}
		return out
	}
	f2 := &Graph{Params: slices.Concat(f.Params[:len(fc)], dummies(gc), f.Params[len(fc):]), Nodes: f.Nodes,
		Results: f.Results}
	g2 := &Graph{Params: slices.Concat(dummies(fc), g.Params), Nodes: g.Nodes, Results: g.Results}
	return f2, g2, slices.Concat(fc, gc)
}

func sameShapes(name string, tree *Tree, want, got []*Array) {
	for i := range want {
		if !want[i].shape.Equal(got[i].shape) {
			throw(name, "%s is %s, want %s", tree.Path(i), got[i].shape, want[i].shape)
		}
	}
}

func jvpCustomJvp(n *Node, in, t []*Array) (outs, tangents []*Array) {
	consts := n.Attrs.(customAttrs).consts
	all := inline(n.Bodies[1], slices.Concat(in, orZerosLike(t[consts:], in[consts:])))
	return all[:len(n.Outs)], all[len(n.Outs):]
}

// CustomVjp gives f a backward pass of one's own: fwd computes f's result and what the backward pass needs (residuals),
// bwd maps residuals and the result's cotangent to the argument's cotangent (any values at integer leaves). Surrogate
// gradients are written this way. f, fwd and bwd must not capture traced values. Forward mode is refused.
func CustomVjp[A, R, S any](f func(A) R, fwd func(A) (R, S), bwd func(S, R) A) func(A) R {
	return func(a A) R {
		leaves, tree := Flatten(a)
		shapes := ShapesOf(leaves)
		var outTree, resTree *Tree
		fg, fc := buildGraph(shapes, nil, func(p []*Array) (outs []*Array) {
			watchKeys(keyBody{args: leaves})
			outs, outTree = Flatten(f(unflattenAs[A](tree, p)))
			return outs
		})
		noCaptures("CustomVjp", "function", fc)
		wg, wc := buildGraph(shapes, nil, func(p []*Array) []*Array {
			watchKeys(keyBody{kind: keysUnused})
			r, s := fwd(unflattenAs[A](tree, p))
			ro, rt := Flatten(r)
			mustMatch("CustomVjp", "result of the function", outTree, "result of fwd", rt)
			sameShapes("CustomVjp", rt, fg.Results, ro)
			so, st := Flatten(s)
			resTree = st
			return slices.Concat(ro, so)
		})
		noCaptures("CustomVjp", "forward pass", wc)
		k := len(fg.Results)
		bg, bc := buildGraph(slices.Concat(ShapesOf(wg.Results[k:]), ShapesOf(fg.Results)), nil,
			func(p []*Array) []*Array {
				watchKeys(keyBody{kind: keysUnused})
				m := len(wg.Results) - k
				ca, ct := Flatten(bwd(unflattenAs[S](resTree, p[:m]), unflattenAs[R](outTree, p[m:])))
				mustMatch("CustomVjp", "argument", tree, "cotangent that bwd returns", ct)
				for i := range ca {
					if isInexact(shapes[i].DType) && !ca[i].shape.Equal(shapes[i]) {
						throw("CustomVjp", "bwd returns %s for argument leaf %s, want %s", ca[i].shape, tree.Path(i),
							shapes[i])
					}
				}
				return ca
			})
		noCaptures("CustomVjp", "backward pass", bc)
		if len(bc) > 0 {
			throw("CustomVjp", "the backward pass takes a large constant from around it: pass it in the residuals")
		}
		fg, wg, consts := withConsts(fg, fc, wg, wc)
		outs := apply(op("custom_vjp"), customAttrs{len(consts)}, slices.Concat(consts, leaves), fg, wg, bg)
		return unflattenAs[R](outTree, outs)
	}
}

// customLinOp stands for the tangent of a custom_vjp call: linear in its last inputs, known only by its transpose.
// Inputs: residuals, then tangents of the arguments. Body: the backward pass.
var _ = register(&Op{
	Name:    "custom_lin",
	Complex: true,
	Shape: func(c *call) []Shape {
		r := c.attrs.(customLinAttrs)
		return ShapesOf(c.bodies[0].Params[r.residuals:])
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		all := func(k int) []bool { return slices.Repeat([]bool{true}, k) }
		g, _ := b.closed(n.Bodies[0], all(len(n.Bodies[0].Params)), all(len(n.Bodies[0].Results)))
		return apply(n.Op, n.Attrs, b.prepare(n, in, dims, all(len(in))), g), b.laneDims(n.Outs, nil)
	},
	JVP: func(n *Node, in, out, t []*Array) []*Array { customForward(n); return nil },
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		r := n.Attrs.(customLinAttrs).residuals
		args := slices.Concat(in[:r], orZerosLike(cts, n.Outs))
		return slices.Concat(make([]*Array, r), inline(n.Bodies[0], args))
	},
	Lower: func(_ *Cursor, n *Node, _ []*Array) []*Array { customForward(n); return nil },
	Eval:  func(n *Node, in []*Tensor) []*Tensor { customForward(n); return nil },
	Cost:  costBody,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 3)}, Lo: -1, Hi: 1, Rough: true, Fn: func(x []*Array) *Array {
			f := CustomVjp(sin1, func(a *Array) (*Array, *Array) {
				return Sin(a), Cos(a)
			}, func(c, ct *Array) *Array { return Mul(c, ct) })
			return Grad(func(v *Array) *Array { return Sum(f(v)) })(x[0])
		}}}
	},
})

type customLinAttrs struct{ residuals int }

func customForward(n *Node) {
	throwAt(n.Where(), "CustomVjp", "forward mode does not go through a function with a custom backward pass: use "+
		"Grad or Vjp, or define it with CustomJvp")
}

func jvpCustomVjp(n *Node, in, t []*Array) (outs, tangents []*Array) {
	consts := n.Attrs.(customAttrs).consts
	all := inline(n.Bodies[1], in)
	k := len(n.Outs)
	res := all[k:]
	ts := orZerosLike(t[consts:], in[consts:])
	return all[:k], apply(op("custom_lin"), customLinAttrs{len(res)}, slices.Concat(res, ts), n.Bodies[2])
}
