package nn

import "xlarun/graph"

// InChunks runs a network along time in pieces of so many steps: from a state s and inputs x [steps, …] to the last
// state and what f gives of all steps [steps, …]. f does the same of fewer steps, 1 to size. Within f a layer without
// state takes all steps at once, one product (Dense keeps axes before the last, graph.VMap maps any other layer over
// them), and only cells go from step to step:
//
//	func (n Net) Apply(s State, x *graph.Array) (State, *graph.Array) {
//		s.A, x = n.A.Apply(s.A, n.First.Apply(x)) // x: [size, in], then spikes [size, units]
//		s.B, x = n.B.Apply(s.B, n.Second.Apply(x))
//		return s, x
//	}
//
// Spikes between layers are those of a piece, so that memory grows with size and not with steps, but where a gradient
// asks for them.
func InChunks[S any](size int, f func(s S, x *graph.Array) (S, *graph.Array), s S,
	x *graph.Array) (last S, all *graph.Array) {
	const op = "nn.InChunks"
	wantSize(op, "size", size)
	if x == nil || x.Rank() == 0 || x.Dim(0) == 0 {
		graph.Throw(op, "got the inputs %v, want [steps, …] with a step or more", x)
	}
	whole, rest := x.Dim(0)/size, x.Dim(0)%size
	var parts []*graph.Array
	if whole > 0 {
		pieces := graph.SliceAxis(x, 0, 0, whole*size)
		var y *graph.Array
		s, y = graph.Scan(f, s, pieces.Reshape(append([]int{whole, size}, x.Dims()[1:]...)...))
		if y.Rank() < 2 || y.Dim(1) != size {
			graph.Throw(op, "f gives %s of %d steps, want [%d, …]", y.Shape(), size, size)
		}
		parts = append(parts, y.Reshape(append([]int{whole * size}, y.Dims()[2:]...)...))
	}
	if rest > 0 {
		var y *graph.Array
		s, y = f(s, graph.SliceAxis(x, 0, whole*size, x.Dim(0)))
		parts = append(parts, y)
	}
	return s, graph.Concatenate(0, parts...)
}
