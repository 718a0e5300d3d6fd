package nn

import "xlarun/graph"

// InChunks runs a network along time in chunks of size steps: from a state s and inputs x [steps, …] to the last state
// and the outputs of all steps [steps, …]. f does the same for one chunk of 1 to size steps. In f, a layer without
// state processes all steps of the chunk in one product: Dense keeps axes before the last, graph.VMap maps any other
// layer over them. Only recurrent cells go from step to step:
//
//	func (n Net) Apply(s State, x *graph.Array) (State, *graph.Array) {
//		s.A, x = n.A.Apply(s.A, n.First.Apply(x)) // x: [size, in], then spikes [size, units]
//		s.B, x = n.B.Apply(s.B, n.Second.Apply(x))
//		return s, x
//	}
//
// Only the spikes of one chunk are in memory between layers. So memory grows with size, not with steps, except that a
// gradient keeps all steps.
func InChunks[S any](size int, f func(s S, x *graph.Array) (S, *graph.Array), s S,
	x *graph.Array) (last S, all *graph.Array) {
	const op = "nn.InChunks"
	wantSize(op, "size", size)
	if x == nil || x.Rank() == 0 || x.Dim(0) == 0 {
		graph.Throw(op, "got the inputs %v, want [steps, …] with a step or more", x)
	}
	whole, rest := x.Dim(0)/size, x.Dim(0)%size
	var outputs []*graph.Array
	if whole > 0 {
		var y *graph.Array
		s, y = graph.Scan(f, s, graph.SliceAxis(x, 0, 0, whole*size).SplitAxis(0, whole, size))
		if y.Rank() < 2 || y.Dim(1) != size {
			graph.Throw(op, "f gives %s of %d steps, want [%d, …]", y.Shape(), size, size)
		}
		outputs = append(outputs, y.MergeAxes(0, 2))
	}
	if rest > 0 {
		var y *graph.Array
		s, y = f(s, graph.SliceAxis(x, 0, whole*size, x.Dim(0)))
		outputs = append(outputs, y)
	}
	return s, graph.Concatenate(0, outputs...)
}
