package sparse

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Layer is one layer of a member, with Connections of the In*Out possible connections. The number is the same for all
// members.
//
// The place of a connection, 0 to In*Out-1, counts pieces of the inputs first, then output units, then the inputs of a
// piece. A piece is so small that a batch of its inputs stays in the processor's cache while all units read them.
type Layer struct {
	In, Out, Connections int
}

// Shape holds the layers of a member, from the inputs to the logits.
type Shape []Layer

// ShapeOf returns the layers between units[0] inputs and the classes, the last of units. Layer l has density[l] of the
// possible connections, at least one.
func ShapeOf(units []int, density []float64) Shape {
	var s Shape
	for l, d := range density {
		in, out := units[l], units[l+1]
		s = append(s, Layer{in, out, max(1, int(math.Round(d*float64(in*out))))})
	}
	return s
}

// units returns the sizes of the layers, from the inputs to the classes.
func (s Shape) units() []int {
	units := []int{s[0].In}
	for _, l := range s {
		units = append(units, l.Out)
	}
	return units
}

// Connections returns the number of connections of a member.
func (s Shape) Connections() int {
	n := 0
	for _, l := range s {
		n += l.Connections
	}
	return n
}

// maxPiece is the largest number of inputs of a piece. kernels/sparse_index.c has the same.
const maxPiece = 256

func (l Layer) pieces() int {
	n := (l.In + maxPiece - 1) / maxPiece
	for l.In%n != 0 {
		n++
	}
	return n
}

func (l Layer) width() int { return l.In / l.pieces() }

// inputOf and outputOf return the units that connections at these places connect.
func (l Layer) inputOf(positions *graph.Array) *graph.Array {
	piece := graph.Quo(positions, l.width()*l.Out)
	return piece.Mul(l.width()).Add(positions.Rem(l.width()))
}

func (l Layer) outputOf(positions *graph.Array) *graph.Array {
	return graph.Quo(positions, l.width()).Rem(l.Out)
}

// dense returns values by place, [In*Out], as a matrix [Out, In].
func (l Layer) dense(values *graph.Array) *graph.Array {
	cut := values.Reshape(l.pieces(), l.Out, l.width())
	return cut.Transpose(1, 0, 2).Reshape(l.Out, l.In)
}

// places returns a matrix [Out, In] as values by place, [In*Out].
func (l Layer) places(matrix *graph.Array) *graph.Array {
	cut := matrix.Reshape(l.Out, l.pieces(), l.width())
	return graph.Flatten1D(cut.Transpose(1, 0, 2))
}

// Connections are the connections of one layer of a member, or of several members with one more leading axis.
type Connections struct {
	At *graph.Array // i32[n]: their places, in order, each once
	W  *graph.Array // f32[n]: their weights
}

// Member is one sparse network, by layer.
type Member []Connections

// maxPlaces is the largest number of places: float32 has all whole numbers up to it.
const maxPlaces = 1 << 24

// sorted returns places in order, and the index that each had before. It uses TopK, for which the compiler has a
// kernel. A sort is compiled for each shape, which takes a second.
func sorted(places *graph.Array) (ordered, from *graph.Array) {
	values, from := graph.TopK(places.Convert(graph.Float32).Neg(), places.Dim(0))
	return values.Neg().Convert(graph.Int32), from
}

// commonPlaces are the places that all members have, of each layer; nil where there are none.
type commonPlaces []*graph.Array

// common draws the places of a share of the connections.
func (s Shape) common(key random.Key, share float64) commonPlaces {
	common := make(commonPlaces, len(s))
	if share == 0 {
		return common
	}
	scores := s.scores(key)
	for l, layer := range s {
		if n := int(math.Round(share * float64(layer.Connections))); n > 0 {
			_, common[l] = graph.TopK(scores[l], n)
		}
	}
	return common
}

// count returns the number of the common places of layer l.
func (c commonPlaces) count(l int) int {
	if c[l] == nil {
		return 0
	}
	return c[l].Dim(0)
}

// mark returns values by place with x at the common places of layer l.
func (c commonPlaces) mark(values *graph.Array, l int, x float64) *graph.Array {
	if c[l] == nil {
		return values
	}
	return graph.ScatterSet(values, c[l], graph.Full(graph.ShapeOf(graph.Float32, c.count(l)), x))
}

// random draws a member: the common places, uniform ones for the other connections, and normal weights with He's
// deviation for the mean number of inputs of a unit.
func (s Shape) random(key random.Key, common commonPlaces) Member {
	places, weights := random.Split2(key)
	scores := s.scores(places)
	for l := range s {
		scores[l] = common.mark(scores[l], l, 2) // above all draws
	}
	// One draw for all layers, since each draw is compiled by itself.
	normal := random.Normal(weights, graph.ShapeOf(graph.Float32, s.Connections()))
	var m Member
	first := 0
	for l, layer := range s {
		_, indices := graph.TopK(scores[l], layer.Connections)
		ordered, _ := sorted(indices)
		fan := float64(layer.Connections) / float64(layer.Out)
		w := graph.SliceAxis(normal, 0, first, first+layer.Connections).Mul(math.Sqrt(2 / math.Max(1, fan)))
		m = append(m, Connections{At: ordered, W: w})
		first += layer.Connections
	}
	return m
}

// scores draws a number from 0 to 1 for each place of each layer. The places with the highest scores are chosen.
func (s Shape) scores(key random.Key) []*graph.Array {
	total := 0
	for _, l := range s {
		total += l.In * l.Out
	}
	all := graph.Once(random.Uniform(key, graph.ShapeOf(graph.Float32, total), 0, 1))
	var out []*graph.Array
	first := 0
	for _, l := range s {
		out = append(out, graph.SliceAxis(all, 0, first, first+l.In*l.Out))
		first += l.In * l.Out
	}
	return out
}

// mutated returns the number of connections of the layer that one mutation replaces, of those that are a member's own.
func (l Layer) mutated(fraction float64, own int) int {
	return min(int(math.Round(fraction*float64(own))), l.In*l.Out-l.Connections)
}

// mutate drops the connections with the smallest weights, the first among equal ones, and grows as many with weight 0
// at places drawn uniformly among those where the member had none. That is the sparse evolutionary training of Mocanu
// et al., "Scalable training of artificial neural networks with adaptive sparse connectivity" (2018), with the weight 0
// of Evci et al., "Rigging the lottery" (2020): growing does not change what the member computes. Connections at common
// places stay, and the fraction is one of the others.
func (s Shape) mutate(m Member, common commonPlaces, key random.Key, fraction float64) Member {
	scores := s.scores(key)
	var out Member
	for l, layer := range s {
		c, n := m[l], layer.mutated(fraction, layer.Connections-common.count(l))
		if n == 0 {
			out = append(out, c)
			continue
		}
		weakness := c.W.Abs().Neg()
		if common[l] != nil {
			marks := common.mark(graph.Zeros(graph.ShapeOf(graph.Float32, layer.In*layer.Out)), l, 1)
			shared := graph.Take(marks, c.At, 0).Gt(0)
			// After a run that diverged a member's own weights may be infinite, and those go before shared ones, too.
			weakness = graph.Select(shared, math.Inf(-1), weakness.Max(-math.MaxFloat32))
		}
		_, drop := graph.TopK(weakness, n)
		// Places of the member cannot be chosen, including those that it drops.
		free := graph.ScatterSet(scores[l], c.At, graph.Full(graph.ShapeOf(graph.Float32, layer.Connections), -1))
		_, grow := graph.TopK(free, n)
		indices := graph.ScatterSet(c.At, drop, grow)
		w := graph.ScatterSet(c.W, drop, graph.Zeros(graph.ShapeOf(graph.Float32, n)))
		ordered, from := sorted(indices)
		out = append(out, Connections{At: ordered, W: graph.Take(w, from, 0)})
	}
	return out
}
