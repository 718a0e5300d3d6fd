package graph

// EvalShape returns what f returns as abstract arrays, which have only shapes. f is traced, and nothing of it becomes
// part of a program.
func EvalShape[R any](f func() R) R {
	var tree *Tree
	g, _ := buildGraph(nil, nil, func([]*Array) (outs []*Array) {
		watchKeys(keyBody{kind: keysUnused})
		outs, tree = Flatten(f())
		return outs
	})
	out := make([]*Array, len(g.Results))
	for i, r := range g.Results {
		out[i] = Abstract(r.shape)
	}
	return unflattenAs[R](tree, out)
}
