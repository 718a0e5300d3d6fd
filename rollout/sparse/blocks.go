package sparse

import (
	"xlarun/graph"
	"xlarun/rollout/plan"
)

const (
	// blockRows is the number of units that a block has: with more of them, a block has fewer missing connections'
	// worth of input each, but reads more inputs.
	blockRows = 4
	// blockCols is the number of inputs of a block.
	blockCols = 32
	// blocksMost is the part of a dense matrix that a layer's blocks may fill; above, the layer is dense.
	blocksMost = .5
)

// blocksMethod multiplies dense blocks, in the graph: the units of a layer are taken blockRows at a time, the inputs
// that any of them reads are gathered blockCols at a time, and XLA multiplies all blocks as one batched product.
// Missing connections within a block are held at 0 by a mask. The number of blocks is what a layer of so many
// connections can need at most, so that every topology has a place. Layers whose blocks would fill more than blocksMost
// of the matrix are dense and masked.
//
// Measured on one core with AVX-512, batch 64: for networks 784-1024-10 with a hundredth of the first layer there it is
// 2.5 times as fast as masked matrices; with a twentieth of 784-512-10 it is about as fast; for 784-128-64-10 with a
// tenth, the default, it is half as fast, as gathering costs more than the smaller product saves. The kernel in C is 6
// to 8 times as fast as blocks in all of these: blocks are for backends that run no kernels.
type blocksMethod struct {
	shape  Shape
	layers []blockLayer
	dtype  graph.DType
}

func blocksOf(s Shape, d graph.DType) blocksMethod { return blocksWithin(s, d, blocksMost) }

// blocksWithin is blocksOf with another limit; with a high one, all layers are in blocks.
func blocksWithin(s Shape, d graph.DType, most float64) blocksMethod {
	m := blocksMethod{shape: s, dtype: d}
	for l, layer := range s {
		out := blocking{rows: layer.Out, cols: layer.In, n: layer.Connections}
		b := blockLayer{Layer: layer, dtype: d, out: out, in: blocking{rows: layer.In, cols: layer.Out,
			n: layer.Connections}, first: l == 0}
		b.dense = float64(out.size()) > most*float64(layer.In*layer.Out)
		m.layers = append(m.layers, b)
	}
	return m
}

// blockLayer is one layer: out are its blocks by output units, in those of the transposed matrix, by inputs.
type blockLayer struct {
	Layer
	dtype        graph.DType
	dense, first bool
	out, in      blocking
}

// blocking is how n elements of a sparse matrix [rows, cols] are laid out in blocks.
type blocking struct{ rows, cols, n int }

func (b blocking) groups() int { return (b.rows + blockRows - 1) / blockRows }

// blocks is the number of blocks at most: each group of rows has at most one that is not full.
func (b blocking) blocks() int {
	columns := min(b.n, b.groups()*b.cols) // of all groups, that hold an element
	return min((columns+b.groups()*(blockCols-1))/blockCols, b.groups()*((b.cols+blockCols-1)/blockCols))
}

func (b blocking) size() int { return b.blocks() * blockRows * blockCols }

// lay finds a place for the elements at row and col, i32[n]: cols, i32[blocks * blockCols], are the columns that each
// block gathers, group, i32[blocks], the group of rows that it adds to, and at, i32[n], the elements' places in the
// blocks, [blocks, blockRows, blockCols]. What is left over gathers column 0 and has weights of 0.
func (b blocking) lay(row, col *graph.Array) (cols, group, at *graph.Array) {
	key, from := sorted(graph.Quo(row, blockRows).Mul(b.cols).Add(col))
	row, col = graph.Take(row, from, 0), graph.Take(col, from, 0)
	of := graph.Quo(key, b.cols)
	before := graph.Concatenate(0, graph.Full(graph.ShapeOf(graph.Int32, 1), -1), graph.SliceAxis(key, 0, 0, b.n-1))
	fresh := key.Ne(before).Convert(graph.Int32)
	zeros := func(n int) *graph.Array { return graph.Zeros(graph.ShapeOf(graph.Int32, n)) }
	columns := graph.ScatterAdd(zeros(b.groups()), of, fresh)
	blocks := graph.Quo(columns.Add(blockCols-1), blockCols)
	start := func(counts *graph.Array) *graph.Array {
		return graph.Take(graph.CumSum(counts, 0).Sub(counts), of, 0)
	}
	number := graph.CumSum(fresh, 0).Sub(1).Sub(start(columns)) // of the column within its group
	block, lane := start(blocks).Add(graph.Quo(number, blockCols)), number.Rem(blockCols)
	place := block.Mul(blockRows).Add(row.Rem(blockRows)).Mul(blockCols).Add(lane)
	cols = graph.ScatterSet(zeros(b.blocks()*blockCols), block.Mul(blockCols).Add(lane), col)
	group = graph.ScatterSet(zeros(b.blocks()), block, of)
	return cols, group, graph.ScatterSet(zeros(b.n), from, place)
}

func (b blocking) shapes(last int) []graph.Shape {
	return []graph.Shape{graph.ShapeOf(graph.Int32, b.blocks()*blockCols), graph.ShapeOf(graph.Int32, b.blocks()),
		graph.ShapeOf(graph.Int32, last)}
}

// gather collects the rows of x, [cols, lanes], that the blocks read: [blocks, blockCols, lanes].
func (b blocking) gather(cols, x *graph.Array) *graph.Array {
	return graph.Take(x, cols, 0).Reshape(b.blocks(), blockCols, x.Dim(1))
}

// product is the matrix [rows, cols] in blocks w times what was gathered: f32[rows, lanes].
func (b blocking) product(w, group, gathered *graph.Array) *graph.Array {
	parts := graph.DotGeneral(w, gathered, []int{0}, []int{0}, []int{2}, []int{1}).Convert(graph.Float32)
	lanes := gathered.Dim(2)
	sums := graph.ScatterAdd(graph.Zeros(graph.ShapeOf(graph.Float32, b.groups(), blockRows, lanes)), group, parts)
	return graph.SliceAxis(sums.Reshape(b.groups()*blockRows, lanes), 0, 0, b.rows)
}

// outer is the sum over the lanes of delta, [rows, lanes], times what was gathered, where there are blocks.
func (b blocking) outer(delta, group, gathered *graph.Array) *graph.Array {
	lanes := gathered.Dim(2)
	padded := graph.Concatenate(0, delta, graph.Zeros(graph.ShapeOf(delta.DType(), b.groups()*blockRows-b.rows, lanes)))
	rows := graph.Take(padded.Reshape(b.groups(), blockRows, lanes), group, 0)
	return graph.DotGeneral(rows, gathered, []int{0}, []int{0}, []int{2}, []int{2}).Convert(graph.Float32)
}

// index gives of each layer in blocks cols, group and at of out, and, but for the first layer, cols and group of in and
// where in the blocks of out those of in find their weights; one beyond the end stands for 0.
func (b blockLayer) index(c Connections) []*graph.Array {
	if b.dense {
		return nil
	}
	row, col := b.outputOf(c.At), b.inputOf(c.At)
	cols, group, at := b.out.lay(row, col)
	out := []*graph.Array{cols, group, at}
	if b.first {
		return out
	}
	cols, group, back := b.in.lay(col, row)
	none := graph.Full(graph.ShapeOf(graph.Int32, b.in.size()), b.out.size())
	return append(out, cols, group, graph.ScatterSet(none, back, at))
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

// load gives the weights, [blocks, blockRows, blockCols] or a dense matrix, and the mask, of the same shape.
func (b blockLayer) load(c Connections, index []*graph.Array) (w, mask *graph.Array) {
	if b.dense {
		w, masks := maskedMethod{Shape{b.Layer}, b.dtype}.load(Member{c}, nil)
		return w[0], masks[0]
	}
	spread := func(v *graph.Array) *graph.Array {
		return graph.ScatterSet(graph.Zeros(graph.ShapeOf(graph.Float32, b.out.size())), index[2], v).Reshape(
			b.out.blocks(), blockRows, blockCols)
	}
	return spread(c.W), spread(graph.OnesLike(c.W))
}

func (b blockLayer) store(w *graph.Array, c Connections, index []*graph.Array) *graph.Array {
	if b.dense {
		return graph.Take(b.places(w), c.At, 0)
	}
	return graph.Take(graph.Flatten1D(w), index[2], 0)
}

// forward computes the outputs, f32[Out, lanes], of x, [In, lanes], and keeps what outer needs of x.
func (b blockLayer) forward(w *graph.Array, index []*graph.Array, x *graph.Array) (y, kept *graph.Array) {
	if b.dense {
		return w.Convert(b.dtype).Dot(x).Convert(graph.Float32), x
	}
	kept = b.out.gather(index[0], x)
	return b.out.product(w.Convert(b.dtype), index[1], kept), kept
}

// gradient is that of w, without the mask, from the outputs' delta.
func (b blockLayer) gradient(delta *graph.Array, index []*graph.Array, kept *graph.Array) *graph.Array {
	if b.dense {
		return graph.DotGeneral(delta, kept, nil, nil, []int{1}, []int{1}).Convert(graph.Float32)
	}
	return b.out.outer(delta, index[1], kept)
}

// back is the delta of the inputs, f32[In, lanes].
func (b blockLayer) back(w *graph.Array, index []*graph.Array, delta *graph.Array) *graph.Array {
	w = w.Convert(b.dtype)
	if b.dense {
		return graph.DotGeneral(w, delta, nil, nil, []int{0}, []int{0}).Convert(graph.Float32)
	}
	all := graph.Concatenate(0, graph.Flatten1D(w), graph.Zeros(graph.ShapeOf(w.DType(), 1)))
	w = graph.Take(all, index[5], 0).Reshape(b.in.blocks(), blockRows, blockCols)
	return b.in.product(w, index[4], b.in.gather(index[3], delta))
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

// each cuts the list of all layers' index, which fixed begins with, layer by layer.
func (m blocksMethod) each(fixed []*graph.Array) (index [][]*graph.Array) {
	for _, b := range m.layers {
		n := len(b.indexShapes())
		index = append(index, fixed[:n:n])
		fixed = fixed[n:]
	}
	return index
}

// load gives the weights by layer, and all indexes followed by the masks.
func (m blocksMethod) load(member Member, all []*graph.Array) (weights, fixed []*graph.Array) {
	index := m.each(all)
	fixed = append(fixed, all...)
	for l, b := range m.layers {
		w, mask := b.load(member[l], index[l])
		weights, fixed = append(weights, w), append(fixed, mask)
	}
	return weights, fixed
}

func (m blocksMethod) store(weights, fixed []*graph.Array, member Member) (out []*graph.Array) {
	index := m.each(fixed)
	for l, b := range m.layers {
		out = append(out, b.store(weights[l], member[l], index[l]))
	}
	return out
}

// forward gives the logits, f32[classes, lanes], the inputs of each layer, and what forward of each layer kept.
func (m blocksMethod) forward(weights, fixed []*graph.Array,
	x *graph.Array) (logits *graph.Array, inputs, kept []*graph.Array) {
	index := m.each(fixed)
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

// blockLanes is the number of examples that are gathered at a time: more would leave the cache between their uses.
const blockLanes = 64

// inTurn sums f up over the lanes of x, [inputs, lanes], and y, blockLanes at a time.
func inTurn(x, y *graph.Array, f func(x, y *graph.Array) []*graph.Array) []*graph.Array {
	lanes, most := x.Dim(1), blockLanes
	if lanes%most != 0 {
		most = laneMultiple
	}
	if lanes <= most {
		return f(x, y)
	}
	type loop struct {
		I    *graph.Array
		Sums []*graph.Array
	}
	part := func(i *graph.Array) []*graph.Array {
		zero, from := graph.Of(int32(0)), i.Mul(most)
		return f(graph.DynamicSlice(x, []*graph.Array{zero, from}, []int{x.Dim(0), most}),
			graph.DynamicSlice(y, []*graph.Array{from}, []int{most}))
	}
	return graph.While(func(c loop) *graph.Array { return c.I.Lt(lanes / most) }, func(c loop) loop {
		return loop{c.I.Add(1), graph.MapTree2(func(sum, x *graph.Array) *graph.Array {
			return sum.Add(x)
		}, c.Sums, part(c.I))}
	}, loop{graph.Of(int32(1)), part(graph.Of(int32(0)))}).Sums
}

func (m blocksMethod) step(weights, fixed []*graph.Array, b Batches, t,
	rate *graph.Array) ([]*graph.Array, *graph.Array) {
	x, y := batch(b, t, m.dtype)
	sums := inTurn(x, y, func(x, y *graph.Array) []*graph.Array { return m.gradients(weights, fixed, x, y) })
	masks := fixed[len(m.indexShapes()):]
	var next []*graph.Array
	for l, w := range weights {
		next = append(next, w.Sub(rate.Mul(sums[1+l]).Mul(masks[l])))
	}
	return next, sums[0]
}

// gradients gives the stats and the gradients by the weights, where there are blocks and where there are none.
func (m blocksMethod) gradients(weights, fixed []*graph.Array, x, y *graph.Array) []*graph.Array {
	index := m.each(fixed)
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

func (m blocksMethod) evaluate(weights, fixed []*graph.Array, b Batches, t *graph.Array) *graph.Array {
	x, y := batch(b, t, m.dtype)
	return inTurn(x, y, func(x, y *graph.Array) []*graph.Array {
		logits, _, _ := m.forward(weights, fixed, x)
		return []*graph.Array{judge(logits, y)}
	})[0]
}

// work: weights, mask and gradient, twice where the compiler copies; units and deltas; what is gathered of both.
func (m blocksMethod) work(sum *plan.Tally, lanes int) {
	lanes = min(lanes, blockLanes)
	for _, b := range m.layers {
		if b.dense {
			maskedMethod{Shape{b.Layer}, b.dtype}.work(sum, lanes)
			continue
		}
		sum.Add(6*4, uint64(b.out.size()+b.in.size()))
		sum.Add(4*4, uint64(b.In+b.Out), uint64(lanes))
		sum.Add(4, uint64((b.out.blocks()+b.in.blocks())*(2*blockRows+blockCols)), uint64(lanes))
	}
}
