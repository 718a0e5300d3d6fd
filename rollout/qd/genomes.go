package qd

import "xlarun/graph"

// genomeRows copies parts of some rows of a host array, [rows, n]: each from element from on, so many elements. The
// result has the rows along axis 0 and then dims. Nothing else is copied: an archive may fill most of the memory.
func genomeRows(a *graph.Array, rows []int32, from int, dims ...int) (*graph.Array, error) {
	shape := graph.ShapeOf(a.DType(), append([]int{len(rows)}, dims...)...)
	item := graph.ItemSize(a.DType())
	row, part := a.Dim(1)*item, shape.Bytes()/max(1, len(rows))
	out := make([]byte, 0, shape.Bytes())
	err := graph.View(a, func(all []byte) error {
		for _, i := range rows {
			begin := int(i)*row + from*item
			out = append(out, all[begin:begin+part]...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return graph.FromBytes(shape, out), nil
}

// genomeParts calls each for the parameters of genomes, in order: their path in the tree, where they begin in a genome,
// and their dimensions.
func (p *Program) genomeParts(each func(path string, from int, dims []int) error) error {
	var leaves []*graph.Array
	var tree *graph.Tree
	err := graph.Try(func() {
		leaves, tree = graph.Flatten(p.Genomes.Unravel(graph.Zeros(graph.ShapeOf(graph.Float32, p.Genomes.Size()))))
	})
	from := 0
	for i, leaf := range leaves {
		if err == nil {
			err = each(tree.Path(i), from, leaf.Dims())
		}
		from += leaf.Shape().Size()
	}
	return err
}
