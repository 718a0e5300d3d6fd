package stablehlo

import (
	"slices"

	"xlarun/graph"
)

// gather reads windows at computed places.
func gather(m *importer, o *op, s *scope) []*graph.Array {
	x := m.exactly(o, s, 2)
	dims := m.gatherDims(o, [...]string{"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
		"start_indices_batching_dims", "start_index_map"})
	dims.Sizes = m.want(o, "sizes")
	return []*graph.Array{graph.Gather(x[0], m.coordinates(o, x[1]), dims)}
}

// gatherDims reads the axes of a gather or a scatter by the names of their lists.
func (m *importer) gatherDims(o *op, names [5]string) (d graph.GatherDims) {
	for i, list := range []*[]int{&d.Window, &d.Collapsed, &d.Batch, &d.IndexBatch, &d.Coordinates} {
		*list, _ = o.list(names[i])
	}
	return d
}

// coordinates are the indices with the coordinates of a place along the last axis.
func (m *importer) coordinates(o *op, indices *graph.Array) *graph.Array {
	at := 0 // where the file does not say
	if _, ok := o.attribute("index_vector_dim"); ok {
		at = m.scalar(o, "index_vector_dim")
	}
	switch at {
	case indices.Rank():
		return indices.ExpandDims(-1)
	case indices.Rank() - 1:
	default:
		m.refuse(o, "index_vector_dim = %d: want the last axis of the indices, %s", at, indices.Shape())
	}
	return indices
}

// scatterKinds are the kinds of graph.Scatter by the op of the region.
var scatterKinds = map[string]string{"": "set", "add": "sum", "subtract": "sum", "multiply": "prod",
	"maximum": "max", "minimum": "min", "or": "max", "and": "min"}

// scatter writes windows at computed places.
func scatter(m *importer, o *op, s *scope) []*graph.Array {
	x := m.exactly(o, s, 3)
	dims := m.gatherDims(o, [...]string{"update_window_dims", "inserted_window_dims", "input_batching_dims",
		"scatter_indices_batching_dims", "scatter_dims_to_operand_dims"})
	window := dims.Window
	for axis := range x[0].Rank() {
		size := 1
		if !slices.Contains(dims.Collapsed, axis) && !slices.Contains(dims.Batch, axis) {
			if len(window) == 0 || window[0] < 0 || window[0] >= x[2].Rank() {
				m.refuse(o, "update_window_dims = %v of updates %s", dims.Window, x[2].Shape())
			}
			size, window = x[2].Dim(window[0]), window[1:]
		}
		dims.Sizes = append(dims.Sizes, size)
	}
	indices := m.coordinates(o, x[1])
	by, ok := o.single()
	kind, known := scatterKinds[by]
	switch bits := by == "or" || by == "and"; {
	case ok && known && (!bits || x[0].DType() == graph.Bool):
	case len(o.regions) == 1 && o.word("unique_indices") == "true":
		kind, x[2] = "set", m.combine(o, s, graph.Gather(x[0], indices, dims), x[2])[0]
	default:
		m.refuse(o, "its region is known only if it is one op of add, subtract, multiply, maximum and minimum, "+
			"or if the indices are unique")
	}
	if by == "subtract" {
		x[2] = graph.Neg(x[2])
	}
	return []*graph.Array{graph.Scatter(kind, x[0], indices, x[2], dims)}
}
