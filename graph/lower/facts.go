package lower

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/internal/attr"
)

// Facts are what the compiler's policy knows of a program (policy.go). Parts are 0 to 1, of the operations or elements
// named. Where nothing else is said, a loop counts as one step.
type Facts struct {
	// Kernels says that the target calls kernels, and WritesParts that the compiler would copy a large array for each
	// part of it that is written (writes.go).
	Kernels     bool `json:"kernels"`
	WritesParts bool `json:"writes_parts"`
	// Loops, Conv and Tiles say that the program has a loop, a convolution, and functions or loops that are one
	// function whose products need the compiler's own code (tiles.go).
	Loops bool `json:"loops"`
	Conv  bool `json:"conv"`
	Tiles bool `json:"tiles"`
	// LargestArray is the number of elements of the largest array.
	LargestArray int `json:"largest_array"`
	// Work is the number of operations of a call, and Grain the number of elements that an operation's op works on, in
	// the mean over all operations. Work of a coarse grain can be shared out. As in Cost, a while counts once.
	Work  float64 `json:"work"`
	Grain float64 `json:"grain"`
	// ShortLoops is the part of the elements computed inside of loops that lie along a last axis of 2 to 12: the inner
	// loops of such code are short, and faster where a compiler writes them out.
	ShortLoops float64 `json:"short_loops"`
	// ShortRows is the part of the operations in inner loops of few iterations, written out or not: along last axes of
	// 2 to 16 elements, over windows, and in products of small matrices.
	ShortRows float64 `json:"short_rows"`
	// ShortIntegerSums is the part of the elementwise operations and reductions that reductions of integers along last
	// axes of at most 16 elements do.
	ShortIntegerSums float64 `json:"short_integer_sums"`
	// IntegerColumns is the part of the elements computed by reductions of integers along other axes than the last,
	// along axes so long that XLA reduces them in a tree.
	IntegerColumns float64 `json:"integer_columns"`
	// LoopColumns is the largest part, over all bodies of loops, of the elements that a body computes by other
	// reductions along other axes than the last. Those of bools do not count.
	LoopColumns float64 `json:"loop_columns"`
	// Gathered is the part of the elements computed by gathering floats one by one, many at a time.
	Gathered float64 `json:"gathered"`
	// ProductTerms is how many multiplications give one element of a product or convolution, the mean over all their
	// elements; 0 without products.
	ProductTerms float64 `json:"product_terms"`
	// LongReductions is the number of reductions along axes so long that XLA reduces them in trees, and Orderless the
	// number of those whose results do not depend on the order: those of whole numbers and bools, and maxima and
	// minima. PlainSums says that the others are sums of at most 128 float32, which one loop adds up about as well.
	LongReductions int  `json:"long_reductions"`
	Orderless      int  `json:"orderless"`
	PlainSums      bool `json:"plain_sums"`
}

const (
	// shortAxis is the longest last axis that is too short for a loop of its own over vector registers.
	shortAxis = 12
	// shortRow is the longest last axis whose loop a compiler had better write out.
	shortRow = 16
	// smallLoop is a number of elements that takes no time in any case.
	smallLoop = 256
	// shortProduct is the length up to which each axis of a product of two matrices is short.
	shortProduct = 32
	// leastGathered is the least number of elements of a gather that counts.
	leastGathered = 1 << 10
	// longReduction is the length of the longest axis that XLA reduces in one go; longer ones it reduces in a tree.
	longReduction = 32
	// plainSum is the most float32 that one loop adds up about as well as a tree.
	plainSum = 128
)

// Measure measures a graph, in one walk.
func Measure(g *graph.Graph, t graph.Target) Facts {
	var s sums
	s.graph(g, false)
	return Facts{
		Kernels: t.HasKernels(), WritesParts: writesParts(g, t),
		Loops: s.loops, Conv: s.conv, Tiles: s.tiles, LargestArray: s.largest,
		Work: s.work, Grain: s.grain / max(1, s.work),
		ShortLoops:       s.shortLooped / max(1, s.looped),
		ShortRows:        s.shortRows / max(1, s.rows),
		ShortIntegerSums: s.integerSums / max(1, s.simple),
		IntegerColumns:   s.integerColumns / max(1, s.elements),
		LoopColumns:      s.loopColumns,
		Gathered:         s.gathered / max(1, s.elements),
		ProductTerms:     s.terms / max(1, s.results),
		LongReductions:   s.longReductions, Orderless: s.orderless, PlainSums: !s.otherSums,
	}
}

// sums is what the walk adds up. Each line of numbers is the part of a fact, and what it is a part of.
type sums struct {
	loops, conv, tiles, otherSums      bool
	largest, longReductions, orderless int

	grain, work                                      float64
	shortLooped, looped                              float64
	shortRows, rows                                  float64
	integerSums, simple                              float64
	gathered, integerColumns, otherColumns, elements float64
	loopColumns                                      float64
	terms, results                                   float64
}

// graph adds the nodes of a body. inLoop says that a loop runs them.
func (s *sums) graph(g *graph.Graph, inLoop bool) {
	for _, n := range g.Nodes {
		s.loops = s.loops || n.Op.Loop != nil
		s.conv = s.conv || n.Op.Name == "conv"
		s.tiles = s.tiles || n.Op.Name == "function" || n.Op.Name == "while" && n.Attrs.(attr.While).Tiled
		for _, o := range n.Outs {
			s.largest = max(s.largest, o.Size())
		}
		if len(n.Bodies) > 0 {
			s.bodies(n, inLoop)
		} else if len(n.Outs) > 0 {
			s.node(n, inLoop)
		}
	}
}

// bodies adds the bodies of a node. Grain and work count as often as the node runs them.
func (s *sums) bodies(n *graph.Node, inLoop bool) {
	var in sums
	for _, b := range n.Bodies {
		var body sums
		body.graph(b, inLoop || n.Op.Loop != nil)
		if n.Op.Loop != nil {
			body.loopColumns = max(body.loopColumns, body.otherColumns/max(1, body.elements))
		}
		in.add(body)
	}
	c := n.Op.Cost(n, nil)
	trips := (c.FLOPs + c.IntOps) / max(1, in.work)
	in.grain, in.work = in.grain*trips, c.FLOPs+c.IntOps
	s.add(in)
}

func (s *sums) add(o sums) {
	s.loops, s.conv, s.tiles = s.loops || o.loops, s.conv || o.conv, s.tiles || o.tiles
	s.otherSums = s.otherSums || o.otherSums
	s.largest, s.loopColumns = max(s.largest, o.largest), max(s.loopColumns, o.loopColumns)
	s.longReductions, s.orderless = s.longReductions+o.longReductions, s.orderless+o.orderless
	s.grain, s.work = s.grain+o.grain, s.work+o.work
	s.shortLooped, s.looped = s.shortLooped+o.shortLooped, s.looped+o.looped
	s.shortRows, s.rows = s.shortRows+o.shortRows, s.rows+o.rows
	s.integerSums, s.simple = s.integerSums+o.integerSums, s.simple+o.simple
	s.gathered, s.integerColumns = s.gathered+o.gathered, s.integerColumns+o.integerColumns
	s.otherColumns, s.elements = s.otherColumns+o.otherColumns, s.elements+o.elements
	s.terms, s.results = s.terms+o.terms, s.results+o.results
}

// node adds a node without bodies.
func (s *sums) node(n *graph.Node, inLoop bool) {
	c := n.Op.Cost(n, nil)
	x := n.Outs[0] // what is gone through
	switch n.Op.Name {
	case "reduce", "argreduce":
		x = n.Inputs[0]
	}
	size := float64(x.Size())
	s.elements += n.Elements()
	s.grain, s.work = s.grain+(c.FLOPs+c.IntOps)*size, s.work+c.FLOPs+c.IntOps
	short := func(axis int) bool { r := x.Rank(); return r > 1 && x.Dim(-1) > 1 && x.Dim(-1) <= axis }
	switch {
	case n.Op.Name == "dot_general":
		rows, inner, columns := matrices(n)
		work := n.Elements()
		s.row(work, max(rows, inner, columns) <= shortProduct || min(inner, columns) <= shortAxis || short(shortRow))
		if inLoop {
			s.looped += work
		}
		s.term(size, c)
	case n.Op.Name == "conv" || n.Op.Name == "conv_images":
		s.term(size, c)
	case n.Op.Name == "reduce_window":
		s.row(c.FLOPs+c.IntOps, true)
	case n.Op.Name == "gather":
		sizes := n.Attrs.(attr.Gather).Sizes
		if x.DType().IsFloat() && graph.ShapeOf(x.DType(), sizes...).Size() == 1 && x.Size() >= leastGathered {
			s.gathered += size
		}
	case n.Op.Name == "reduce" || n.Op.Name == "argreduce" || n.Elementwise():
		s.row(size, short(shortRow))
		if inLoop {
			s.looped += size
			if short(shortAxis) && size > smallLoop {
				s.shortLooped += size
			}
		}
		if n.Op.Name != "argreduce" {
			s.simple += size
		}
		if n.Op.Name == "reduce" {
			s.reduction(n.Attrs.(attr.Reduce), x, n.Outs[0])
		}
	}
}

// row adds operations, which are in inner loops of few iterations or not.
func (s *sums) row(work float64, few bool) {
	if s.rows += work; few && work > smallLoop {
		s.shortRows += work
	}
}

// term adds the multiplications of a product of so many elements.
func (s *sums) term(elements float64, c graph.Cost) {
	s.terms, s.results = s.terms+c.FLOPs/2, s.results+elements
}

// reduction adds a reduction of x.
func (s *sums) reduction(a attr.Reduce, x, out *graph.Array) {
	size := float64(x.Size())
	last := slices.Contains(a.Axes, x.Rank()-1)
	if last && x.DType().IsInt() && x.Dim(-1) <= shortRow && out.Size() < x.Size() {
		s.integerSums += size
	}
	long := slices.ContainsFunc(a.Axes, func(axis int) bool { return x.Dim(axis) > longReduction })
	switch {
	case last || x.DType() == graph.Bool:
	case x.DType().IsInt() && long:
		s.integerColumns += size
	default:
		s.otherColumns += size
	}
	if !long {
		return
	}
	s.longReductions++
	if a.Kind != "sum" && a.Kind != "prod" || x.DType().IsInt() || x.DType() == graph.Bool {
		s.orderless++
		return
	}
	terms := 1
	for _, axis := range a.Axes {
		terms *= x.Dim(axis)
	}
	s.otherSums = s.otherSums || a.Kind != "sum" || x.DType() != graph.Float32 || terms > plainSum
}
