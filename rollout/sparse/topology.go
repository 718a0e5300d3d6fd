package sparse

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Layer is one layer of a member: Connections of the In*Out possible ones are there, the same number in every member.
//
// A connection's place, 0 to In*Out-1, counts pieces of the inputs first, then output units, then the inputs of a piece.
// A piece is small enough that what a batch's examples have there stays near the processor while all units read it.
type Layer struct {
	In, Out, Connections int
}

// Shape is the layers of a member, from the inputs to the logits.
type Shape []Layer

// ShapeOf makes the layers between units[0] inputs and the last number of classes; density[l] of the connections of
// layer l are there, at least one.
func ShapeOf(units []int, density []float64) Shape {
	var s Shape
	for l, d := range density {
		in, out := units[l], units[l+1]
		s = append(s, Layer{in, out, max(1, int(math.Round(d*float64(in*out))))})
	}
	return s
}

// Connections is the number of connections of a member.
func (s Shape) Connections() int {
	n := 0
	for _, l := range s {
		n += l.Connections
	}
	return n
}

// pieceMost is the number of inputs that a piece has at most; index.c has the same.
const pieceMost = 256

func (l Layer) pieces() int {
	n := (l.In + pieceMost - 1) / pieceMost
	for l.In%n != 0 {
		n++
	}
	return n
}

func (l Layer) width() int { return l.In / l.pieces() }

// inputOf and outputOf are the units that the places at connect.
func (l Layer) inputOf(at *graph.Array) *graph.Array {
	piece := graph.Quo(at, l.width()*l.Out)
	return graph.Add(graph.Mul(piece, l.width()), graph.Rem(at, l.width()))
}

func (l Layer) outputOf(at *graph.Array) *graph.Array {
	return graph.Rem(graph.Quo(at, l.width()), l.Out)
}

// dense turns values by place, [In*Out], into a matrix [Out, In].
func (l Layer) dense(values *graph.Array) *graph.Array {
	cut := graph.Reshape(values, l.pieces(), l.Out, l.width())
	return graph.Reshape(graph.Transpose(cut, 1, 0, 2), l.Out, l.In)
}

// places is the inverse of dense.
func (l Layer) places(matrix *graph.Array) *graph.Array {
	cut := graph.Reshape(matrix, l.Out, l.pieces(), l.width())
	return graph.Flatten1D(graph.Transpose(cut, 1, 0, 2))
}

// Connections of one layer of one member; with one more leading axis, of several members.
type Connections struct {
	At *graph.Array // i32[n]: their places, in order, each once
	W  *graph.Array // f32[n]: their weights
}

// Member is one sparse network, by layer.
type Member []Connections

// placesMost is the number of places that a float32 counts one by one.
const placesMost = 1 << 24

// sorted puts places in order, and tells where each came from. The compiler has a ready kernel for the largest values,
// where a sort is code to be compiled anew for each shape, a second each.
func sorted(places *graph.Array) (inOrder, from *graph.Array) {
	values, from := graph.TopK(graph.Neg(graph.Convert(places, graph.Float32)), places.Dim(0))
	return graph.Convert(graph.Neg(values), graph.Int32), from
}

// random draws a member: places uniformly among all sets of that size, weights normal with He's deviation for the mean
// number of inputs that a unit has.
func (s Shape) random(key random.Key) Member {
	places, weights := random.Split2(key)
	chance := s.chance(places)
	// One draw for all layers: each draw is code of its own to compile.
	normal := random.Normal(weights, graph.ShapeOf(graph.Float32, s.Connections()))
	var m Member
	first := 0
	for l, layer := range s {
		_, at := graph.TopK(chance[l], layer.Connections)
		inOrder, _ := sorted(at)
		fan := float64(layer.Connections) / float64(layer.Out)
		w := graph.Mul(graph.SliceAxis(normal, 0, first, first+layer.Connections), math.Sqrt(2/math.Max(1, fan)))
		m = append(m, Connections{At: inOrder, W: w})
		first += layer.Connections
	}
	return m
}

// chance draws a number from 0 to 1 for each place of each layer.
func (s Shape) chance(key random.Key) []*graph.Array {
	total := 0
	for _, l := range s {
		total += l.In * l.Out
	}
	all := graph.Barrier(random.Uniform(key, graph.ShapeOf(graph.Float32, total), 0, 1))[0]
	var out []*graph.Array
	first := 0
	for _, l := range s {
		out = append(out, graph.SliceAxis(all, 0, first, first+l.In*l.Out))
		first += l.In * l.Out
	}
	return out
}

// mutated is how many connections of a layer one mutation replaces.
func (l Layer) mutated(fraction float64) int {
	return min(int(math.Round(fraction*float64(l.Connections))), l.In*l.Out-l.Connections)
}

// mutate drops the connections of the smallest weights, of equal ones the first, and puts as many of weight 0 at places
// drawn uniformly among those where the member had none (Mocanu et al., "Scalable training of artificial neural networks
// with adaptive sparse connectivity", 2018, section "Sparse evolutionary training"; weight 0 as in Evci et al., "Rigging
// the lottery", 2020, so that what the member computes changes by what was dropped only).
func (s Shape) mutate(m Member, key random.Key, fraction float64) Member {
	draw := s.chance(key)
	var out Member
	for l, layer := range s {
		c, n := m[l], layer.mutated(fraction)
		if n == 0 {
			out = append(out, c)
			continue
		}
		_, drop := graph.TopK(graph.Neg(graph.Abs(c.W)), n)
		// What a member has is out of the draw, those to be dropped too.
		chance := graph.ScatterSet(draw[l], c.At, graph.Full(graph.ShapeOf(graph.Float32, layer.Connections), -1))
		_, grow := graph.TopK(chance, n)
		at := graph.ScatterSet(c.At, drop, grow)
		w := graph.ScatterSet(c.W, drop, graph.Zeros(graph.ShapeOf(graph.Float32, n)))
		inOrder, from := sorted(at)
		out = append(out, Connections{At: inOrder, W: graph.Take(w, from, 0)})
	}
	return out
}
