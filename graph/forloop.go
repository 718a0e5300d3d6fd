package graph

import (
	"math"
	"slices"
)

// ForiLoop runs body for i from from to to-1 (int32 scalars), each time on the carry that the last iteration returned.
// Bounds are Go integers or integer scalar arrays; with to at most from the carry comes back as it is. With bounds that
// are known when the loop is traced it is a Scan, with derivatives of both modes (and Scan's Unroll); with computed
// ones it is a While, which has forward mode only: WhileBounded has both.
func ForiLoop[C any](from, to any, body func(i *Array, c C) C, init C, opts ...ScanOption) C {
	wantFunction("ForiLoop", body == nil)
	low, lowKnown := loopBound("ForiLoop", from)
	high, highKnown := loopBound("ForiLoop", to)
	if lowKnown && highKnown {
		n := max(int(high.(int64)-low.(int64)), 0)
		out, _ := Scan(func(c C, i *Array) (C, None) {
			return body(i, c), None{}
		}, init, Add(Iota(n), int32(low.(int64))), opts...)
		return out
	}
	if len(opts) > 0 {
		throw("ForiLoop", "got options of Scan for a loop whose bounds are computed: they need bounds that are Go "+
			"integers")
	}
	type carry struct {
		I *Array
		C C
	}
	array := func(b any) *Array {
		if a, ok := b.(*Array); ok {
			return a
		}
		return Scalar(b, Int32)
	}
	end := array(high)
	return While(func(c carry) *Array { return Lt(c.I, end) }, func(c carry) carry {
		return carry{Add(c.I, 1), body(c.I, c.C)}
	}, carry{array(low), init}).C
}

// loopBound reads one end of a loop: an int64 where it is known, else an int32 scalar array.
func loopBound(name string, x any) (bound any, known bool) {
	a, s := operand(name, x)
	if a == nil {
		if !s.v.CanInt() && !s.v.CanUint() {
			throw(name, "got the bound %v, want an integer", x)
		}
		a = s.array(name, Int64)
	}
	if !isInt(a.DType()) || a.Rank() != 0 {
		throw(name, "got the bound %s, want an integer scalar", a.shape)
	}
	if !a.IsTraced() {
		t, err := ToTensor(a)
		if err != nil {
			throw(name, "the bound has no value: %v", err)
		}
		if v := t.I(0); v >= math.MinInt32 && v <= math.MaxInt32 {
			return v, true
		}
		throw(name, "got the bound %v, want one that fits in an int32", t.I(0))
	}
	return Convert(a, Int32), false
}

// WhileBounded is While with at most maxTrips iterations, and derivatives of both modes: it stops when cond fails or
// after maxTrips iterations, whichever is first. Run on its own it takes as many iterations as it needs. Its derivative
// keeps what it needs of maxTrips iterations, in about sqrt(maxTrips) blocks, of which those after the last iteration
// are skipped. Under VMap the loop ends with the last lane.
func WhileBounded[C any](cond func(C) *Array, body func(C) C, init C, maxTrips int) C {
	const name = "WhileBounded"
	wantFunction(name, cond == nil || body == nil)
	if maxTrips < 0 || maxTrips > math.MaxInt32 {
		throw(name, "got at most %d iterations, want from 0 to %d", maxTrips, math.MaxInt32)
	}
	leaves, tree := Flatten(init)
	test := func(p []*Array) *Array {
		ok := cond(unflattenAs[C](tree, p))
		if !ok.shape.Equal(Shape{DType: Bool}) {
			throw(name, "the condition returns %s, want a bool scalar", ok.shape)
		}
		return ok
	}
	trip := func(p []*Array) []*Array {
		out, t := Flatten(body(unflattenAs[C](tree, p)))
		checkCarry(name, tree, ShapesOf(leaves), t, ShapesOf(out))
		return out
	}
	shapes := ShapesOf(leaves)
	loop, loopCaptured := buildGraph(shapes, nil, func(p []*Array) []*Array {
		watchKeys(keyBody{args: leaves})
		trips := Scalar(0, Int32)
		outs := whileLoop("", func(c []*Array) *Array { return And(Lt(c[0], maxTrips), test(c[1:])) },
			func(c []*Array) []*Array {
				return slices.Concat([]*Array{Add(c[0], 1)}, trip(c[1:]))
			}, slices.Concat([]*Array{trips}, p))
		return outs[1:]
	})
	scan, scanCaptured := buildGraph(shapes, nil, func(p []*Array) []*Array {
		watchKeys(keyBody{kind: keysUnused})
		return boundedScan(test, trip, p, maxTrips)
	})
	k := len(leaves)
	own := func(g *Graph) []*Array { return g.Params[len(g.Params)-k:] }
	loopOwn, scanOwn := own(loop), own(scan)
	graphs := []*Graph{loop, scan}
	captured := shareCaptures(graphs, [][]*Array{loopCaptured, scanCaptured})
	graphs[0].Params = slices.Concat(graphs[0].Params, loopOwn)
	graphs[1].Params = slices.Concat(graphs[1].Params, scanOwn)
	in := slices.Concat(captured, leaves)
	// The loop's custom derivative is the scan's derivative.
	derivative := closedGraph(name, slices.Concat(ShapesOf(in), ShapesOf(in)), func(p []*Array) []*Array {
		outs, ts := jvp(graphs[1], p[:len(in)], p[len(in):])
		return slices.Concat(outs, orZerosLike(ts, outs))
	})
	return unflattenAs[C](tree, apply(op("custom_jvp"), customAttrs{}, in, graphs[0], derivative))
}

// boundedScan takes maxTrips iterations, of which those after the condition has failed do nothing: blocks of
// iterations, so that most of these are skipped at once.
func boundedScan(test func([]*Array) *Array, trip func([]*Array) []*Array, init []*Array, maxTrips int) []*Array {
	block := max(1, int(math.Sqrt(float64(maxTrips))))
	steps := func(c []*Array, n int, step func(c []*Array) []*Array) []*Array {
		out, _ := Scan(func(c []*Array, _ None) ([]*Array, None) {
			return Cond(test(c), func() []*Array { return step(c) }, func() []*Array { return c }), None{}
		}, c, None{}, Length(n))
		return out
	}
	c := steps(init, maxTrips/block, func(c []*Array) []*Array { return steps(c, block, trip) })
	return steps(c, maxTrips%block, trip)
}
