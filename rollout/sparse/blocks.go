package sparse

import (
	"xlarun/graph"
	"xlarun/rollout/plan"
)

const (
	// blockRows and blockCols are the units and the inputs of a block. With more units, more of a block's weights are
	// missing connections; with fewer, units share fewer of the gathered inputs.
	blockRows = 4
	blockCols = 32
	// maxFill is the part of a dense matrix that a layer's blocks may fill. Above it, the layer is dense.
	maxFill = .5
	// blockLanes is the number of examples that are gathered at a time. More would not stay in the cache.
	blockLanes = 64
)

// blocksMethod multiplies dense blocks, in the graph. It takes the units of a layer blockRows at a time, gathers the
// inputs that any of them reads, blockCols at a time, and XLA multiplies all blocks as one batched product. A mask
// keeps missing connections within a block at 0. Every topology has the same number of blocks, the largest that so many
// connections can need. Layers whose blocks would fill more than maxFill of the matrix are dense and masked.
//
// Measured on one core with AVX-512 and batch 64, against masked matrices: 2.5 times as fast for networks 784-1024-10
// with a hundredth of the first layer's connections; about as fast for 784-512-10 with a twentieth; half as fast for
// 784-128-64-10 with a tenth, the default, where gathering costs more than the smaller product saves. The kernel in C
// is 6 to 8 times as fast as blocks in all of these, so blocks are for backends without kernels.
type blocksMethod struct {
	layers []blockLayer
	dtype  graph.DType
}

// blocksOf returns the method for a shape. Layers whose blocks fill more than fill of the matrix are dense.
func blocksOf(s Shape, d graph.DType, fill float64) blocksMethod {
	m := blocksMethod{dtype: d}
	for l, layer := range s {
		b := blockLayer{Layer: layer, dtype: d, first: l == 0,
			out: blocking{rows: layer.Out, cols: layer.In, n: layer.Connections},
			in:  blocking{rows: layer.In, cols: layer.Out, n: layer.Connections}}
		b.dense = float64(b.out.size()) > fill*float64(layer.In*layer.Out)
		m.layers = append(m.layers, b)
	}
	return m
}

func (m blocksMethod) step(weights, fixed []*graph.Array, b Batches, t,
	rate *graph.Array) ([]*graph.Array, *graph.Array) {
	x, y := batch(b, t, m.dtype)
	sums := sumOverLanes(x, y, func(x, y *graph.Array) []*graph.Array { return m.gradients(weights, fixed, x, y) })
	masks := fixed[len(m.indexShapes()):]
	var next []*graph.Array
	for l, w := range weights {
		next = append(next, w.Sub(rate.Mul(sums[1+l]).Mul(masks[l])))
	}
	return next, sums[0]
}

func (m blocksMethod) evaluate(weights, fixed []*graph.Array, b Batches, t *graph.Array) *graph.Array {
	x, y := batch(b, t, m.dtype)
	return sumOverLanes(x, y, func(x, y *graph.Array) []*graph.Array {
		logits, _, _ := m.forward(weights, fixed, x)
		return []*graph.Array{judge(logits, y)}
	})[0]
}

// sumOverLanes sums f over the lanes of x, [inputs, lanes], and y, [lanes], blockLanes at a time.
func sumOverLanes(x, y *graph.Array, f func(x, y *graph.Array) []*graph.Array) []*graph.Array {
	lanes, part := x.Dim(1), blockLanes
	if lanes%part != 0 {
		part = laneMultiple
	}
	if lanes <= part {
		return f(x, y)
	}
	type loop struct {
		I    *graph.Array
		Sums []*graph.Array
	}
	partial := func(i *graph.Array) []*graph.Array {
		zero, from := graph.Of(int32(0)), i.Mul(part)
		return f(graph.DynamicSlice(x, []*graph.Array{zero, from}, []int{x.Dim(0), part}),
			graph.DynamicSlice(y, []*graph.Array{from}, []int{part}))
	}
	return graph.While(func(c loop) *graph.Array { return c.I.Lt(lanes / part) }, func(c loop) loop {
		return loop{c.I.Add(1), graph.AddTree(c.Sums, partial(c.I))}
	}, loop{graph.Of(int32(1)), partial(graph.Of(int32(0)))}).Sums
}

// gradients returns the stats, then the gradient of each layer's weights, without masks.
func (m blocksMethod) gradients(weights, fixed []*graph.Array, x, y *graph.Array) []*graph.Array {
	index := m.indexByLayer(fixed)
	logits, inputs, kept := m.forward(weights, fixed, x)
	_, stats, delta := graph.ValueAndGradAux(func(logits *graph.Array, _ graph.None) (*graph.Array, *graph.Array) {
		stats := judge(logits, y)
		return stats.Index(0), stats
	})(logits, graph.None{})
	out := make([]*graph.Array, 1+len(weights))
	out[0] = stats
	for l := len(weights) - 1; l >= 0; l-- {
		delta = delta.Convert(m.dtype)
		out[1+l] = m.layers[l].gradient(delta, index[l], kept[l])
		if l > 0 {
			delta = m.layers[l].back(weights[l], index[l], delta)
			delta = graph.Select(inputs[l].Gt(0), delta, graph.ZerosLike(delta))
		}
	}
	return out
}

// forward returns the logits, f32[classes, lanes], each layer's inputs, and what each layer's gradient needs of them.
func (m blocksMethod) forward(weights, fixed []*graph.Array,
	x *graph.Array) (logits *graph.Array, inputs, kept []*graph.Array) {
	index := m.indexByLayer(fixed)
	for l, b := range m.layers {
		y, k := b.forward(weights[l], index[l], x)
		inputs, kept = append(inputs, x), append(kept, k)
		if l+1 == len(m.layers) {
			return y, inputs, kept
		}
		x = graph.Relu(y).Convert(m.dtype)
	}
	return nil, nil, nil
}

func (m blocksMethod) index(member Member) (all []*graph.Array) {
	for l, b := range m.layers {
		all = append(all, b.index(member[l])...)
	}
	return all
}

func (m blocksMethod) indexShapes() (all []graph.Shape) {
	for _, b := range m.layers {
		all = append(all, b.indexShapes()...)
	}
	return all
}

// indexByLayer splits the index of all layers, with which fixed begins, by layer.
func (m blocksMethod) indexByLayer(fixed []*graph.Array) (index [][]*graph.Array) {
	for _, b := range m.layers {
		n := len(b.indexShapes())
		index = append(index, fixed[:n:n])
		fixed = fixed[n:]
	}
	return index
}

// load returns the weights by layer. fixed is the index of all layers, followed by their masks.
func (m blocksMethod) load(member Member, all []*graph.Array) (weights, fixed []*graph.Array) {
	index := m.indexByLayer(all)
	fixed = append(fixed, all...)
	for l, b := range m.layers {
		w, mask := b.load(member[l], index[l])
		weights, fixed = append(weights, w), append(fixed, mask)
	}
	return weights, fixed
}

func (m blocksMethod) store(weights, fixed []*graph.Array, member Member) (out []*graph.Array) {
	index := m.indexByLayer(fixed)
	for l, b := range m.layers {
		out = append(out, b.store(weights[l], member[l], index[l]))
	}
	return out
}

// work counts weights, mask and gradient, twice because the compiler may copy them; units and deltas; gathered inputs
// and deltas.
func (m blocksMethod) work(sum *plan.Tally, lanes int) {
	lanes = min(lanes, blockLanes)
	for _, b := range m.layers {
		if b.dense {
			b.masked().work(sum, lanes)
			continue
		}
		sum.Add(6*4, uint64(b.out.size()+b.in.size()))
		sum.Add(4*4, uint64(b.In+b.Out), uint64(lanes))
		sum.Add(4, uint64((b.out.blocks()+b.in.blocks())*(2*blockRows+blockCols)), uint64(lanes))
	}
}

// blockLayer is one layer. out lays out its matrix, [Out, In], and in the transposed matrix.
type blockLayer struct {
	Layer
	dtype        graph.DType
	dense, first bool
	out, in      blocking
}

// masked returns the method of a dense layer.
func (b blockLayer) masked() maskedMethod { return maskedMethod{Shape{b.Layer}, b.dtype} }

// index returns cols, group and place of out (see blocking.lay). Except in the first layer, cols and group of in
// follow, and for each weight of in its place in the blocks of out, one beyond the end for a missing connection.
func (b blockLayer) index(c Connections) []*graph.Array {
	if b.dense {
		return nil
	}
	row, col := b.outputOf(c.At), b.inputOf(c.At)
	cols, group, place := b.out.lay(row, col)
	out := []*graph.Array{cols, group, place}
	if b.first {
		return out
	}
	cols, group, back := b.in.lay(col, row)
	none := graph.Full(graph.ShapeOf(graph.Int32, b.in.size()), b.out.size())
	return append(out, cols, group, graph.ScatterSet(none, back, place))
}

func (b blockLayer) indexShapes() []graph.Shape {
	if b.dense {
		return nil
	}
	shapes := b.out.shapes(b.Connections)
	if b.first {
		return shapes
	}
	return append(shapes, b.in.shapes(b.in.size())...)
}

// load returns the weights, [blocks, blockRows, blockCols] or a dense matrix, and the mask, of the same shape.
func (b blockLayer) load(c Connections, index []*graph.Array) (w, mask *graph.Array) {
	if b.dense {
		w, masks := b.masked().load(Member{c}, nil)
		return w[0], masks[0]
	}
	scatter := func(v *graph.Array) *graph.Array {
		return graph.ScatterSet(graph.Zeros(graph.ShapeOf(graph.Float32, b.out.size())), index[2], v).Reshape(
			b.out.blocks(), blockRows, blockCols)
	}
	return scatter(c.W), scatter(graph.OnesLike(c.W))
}

func (b blockLayer) store(w *graph.Array, c Connections, index []*graph.Array) *graph.Array {
	if b.dense {
		return graph.Take(b.places(w), c.At, 0)
	}
	return graph.Take(graph.Flatten1D(w), index[2], 0)
}

// forward returns the outputs, f32[Out, lanes], of x, [In, lanes], and what gradient needs of x.
func (b blockLayer) forward(w *graph.Array, index []*graph.Array, x *graph.Array) (y, kept *graph.Array) {
	if b.dense {
		return w.Convert(b.dtype).Dot(x).Convert(graph.Float32), x
	}
	kept = b.out.gather(index[0], x)
	return b.out.product(w.Convert(b.dtype), index[1], kept), kept
}

// gradient returns the gradient of w, without the mask, given the gradient of the outputs.
func (b blockLayer) gradient(delta *graph.Array, index []*graph.Array, kept *graph.Array) *graph.Array {
	if b.dense {
		return graph.DotGeneral(delta, kept, nil, nil, []int{1}, []int{1}).Convert(graph.Float32)
	}
	return b.out.outer(delta, index[1], kept)
}

// back returns the gradient of the inputs, f32[In, lanes].
func (b blockLayer) back(w *graph.Array, index []*graph.Array, delta *graph.Array) *graph.Array {
	w = w.Convert(b.dtype)
	if b.dense {
		return graph.DotGeneral(w, delta, nil, nil, []int{0}, []int{0}).Convert(graph.Float32)
	}
	all := graph.Concatenate(0, graph.Flatten1D(w), graph.Zeros(graph.ShapeOf(w.DType(), 1)))
	w = graph.Take(all, index[5], 0).Reshape(b.in.blocks(), blockRows, blockCols)
	return b.in.product(w, index[4], b.in.gather(index[3], delta))
}

// blocking lays out n elements of a sparse matrix [rows, cols] in blocks.
type blocking struct{ rows, cols, n int }

// groups returns the number of groups of blockRows rows.
func (b blocking) groups() int { return (b.rows + blockRows - 1) / blockRows }

// blocks returns the largest number of blocks: each group of rows has at most one that is not full.
func (b blocking) blocks() int {
	columns := min(b.n, b.groups()*b.cols) // with an element, of all groups
	return min((columns+b.groups()*(blockCols-1))/blockCols, b.groups()*((b.cols+blockCols-1)/blockCols))
}

func (b blocking) size() int { return b.blocks() * blockRows * blockCols }

// lay assigns places to the elements at row and col, i32[n]. cols, i32[blocks * blockCols], are the columns that each
// block gathers; group, i32[blocks], is the group of rows that a block adds to; place, i32[n], is where each element
// lies in the blocks, [blocks, blockRows, blockCols]. Unused columns gather column 0, with weights of 0.
func (b blocking) lay(row, col *graph.Array) (cols, group, place *graph.Array) {
	key, from := sorted(graph.Quo(row, blockRows).Mul(b.cols).Add(col))
	row, col = graph.Take(row, from, 0), graph.Take(col, from, 0)
	groupOf := graph.Quo(key, b.cols)
	before := graph.Concatenate(0, graph.Full(graph.ShapeOf(graph.Int32, 1), -1), graph.SliceAxis(key, 0, 0, b.n-1))
	isNew := key.Ne(before).Convert(graph.Int32)
	zeros := func(n int) *graph.Array { return graph.Zeros(graph.ShapeOf(graph.Int32, n)) }
	columns := graph.ScatterAdd(zeros(b.groups()), groupOf, isNew)
	blocks := graph.Quo(columns.Add(blockCols-1), blockCols)
	start := func(counts *graph.Array) *graph.Array {
		return graph.Take(graph.CumSum(counts, 0).Sub(counts), groupOf, 0)
	}
	number := graph.CumSum(isNew, 0).Sub(1).Sub(start(columns)) // of the column within its group
	block, lane := start(blocks).Add(graph.Quo(number, blockCols)), number.Rem(blockCols)
	position := block.Mul(blockRows).Add(row.Rem(blockRows)).Mul(blockCols).Add(lane)
	cols = graph.ScatterSet(zeros(b.blocks()*blockCols), block.Mul(blockCols).Add(lane), col)
	group = graph.ScatterSet(zeros(b.blocks()), block, groupOf)
	return cols, group, graph.ScatterSet(zeros(b.n), from, position)
}

// shapes returns the shapes of cols, group and a last array of n elements.
func (b blocking) shapes(n int) []graph.Shape {
	return []graph.Shape{graph.ShapeOf(graph.Int32, b.blocks()*blockCols), graph.ShapeOf(graph.Int32, b.blocks()),
		graph.ShapeOf(graph.Int32, n)}
}

// gather returns the rows of x, [cols, lanes], that each block reads: [blocks, blockCols, lanes].
func (b blocking) gather(cols, x *graph.Array) *graph.Array {
	return graph.Take(x, cols, 0).Reshape(b.blocks(), blockCols, x.Dim(1))
}

// product returns the matrix [rows, cols] with blocks w times x, f32[rows, lanes], given x as gather returns it.
func (b blocking) product(w, group, gathered *graph.Array) *graph.Array {
	parts := graph.DotGeneral(w, gathered, []int{0}, []int{0}, []int{2}, []int{1}).Convert(graph.Float32)
	lanes := gathered.Dim(2)
	sums := graph.ScatterAdd(graph.Zeros(graph.ShapeOf(graph.Float32, b.groups(), blockRows, lanes)), group, parts)
	return graph.SliceAxis(sums.Reshape(b.groups()*blockRows, lanes), 0, 0, b.rows)
}

// outer returns the blocks of Σ delta·xᵀ over the lanes, for delta, [rows, lanes], and x as gather returns it.
func (b blocking) outer(delta, group, gathered *graph.Array) *graph.Array {
	lanes := gathered.Dim(2)
	padded := graph.Concatenate(0, delta, graph.Zeros(graph.ShapeOf(delta.DType(), b.groups()*blockRows-b.rows, lanes)))
	rows := graph.Take(padded.Reshape(b.groups(), blockRows, lanes), group, 0)
	return graph.DotGeneral(rows, gathered, []int{0}, []int{0}, []int{2}, []int{2}).Convert(graph.Float32)
}
