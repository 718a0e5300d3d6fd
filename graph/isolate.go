package graph

// What a program says of when a value is computed. Neither function changes a result. They exist because XLA's CPU
// compiler decides by the size of an operation, not by its cost: it computes random bits, gathers and products again
// in each place that reads them, and it takes operations out of a loop one by one although the loop would be one
// function with them.

// Once returns a tree whose leaves are computed once, wherever they are read. Use it for values that are costly and
// read in several places or in every iteration of a loop (gathered rows, permutations), and for inexact values whose
// copies are compared: a copy that is fused into another place may be rounded differently. On CPUs keys and
// random bits do not need it: lowering computes them once.
func Once[T any](tree T) T {
	leaves, t := Flatten(tree)
	return unflattenAs[T](t, Barrier(leaves...))
}

// Isolate returns f(carry, given), compiled as one function of its own on CPUs. It is a loop of one iteration, since
// loops are what the compiler makes functions of. positive is an i32[] above 0 whose value the compiler does not know,
// such as an input of the program; with a constant the loop would be unrolled.
func Isolate[C, G any](positive *Array, carry C, given G, f func(C, G) C) C {
	type loop struct {
		I     *Array
		Carry C
	}
	type trip struct {
		I     *Array
		Given G
	}
	end := loop{Scalar(0, Int32), carry}
	return as[loop](while("", 1, func(l any) *Array { return Lt(as[loop](l).I, Min(positive, 1)) }, func(c any) any {
		l := as[loop](c)
		// Once keeps the compiler from hoisting operations on given out of the loop.
		return loop{Add(l.I, 1), f(l.Carry, Once(trip{l.I, given}).Given)}
	}, end)).Carry
}
