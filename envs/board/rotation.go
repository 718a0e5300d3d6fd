package board

import (
	"fmt"
	"math/bits"

	"xlarun/graph"
)

// Rotated is the puzzle of the colorings that stay the same when every vertex v becomes v + step, modulo the number of
// vertices. A move colors an edge and all of its images under these rotations, and is rewarded for each of them. With
// a step of 1 these are the circulant colorings; as many steps as there are vertices leave all colorings. Errors: a
// step that does not divide the number of vertices.
func (r RamseyGame) Rotated(step int) (RamseyGame, error) {
	n := r.vertices
	if step < 1 || n%step != 0 {
		return RamseyGame{}, fmt.Errorf("board: got a rotation by %d vertices of a graph of %d, want a divisor of %d",
			step, n, n)
	}
	r.images = make([]uint32, r.edges*r.words)
	classes := 0
	for e := range r.edges {
		a, b := Ends(n, e)
		first := e
		for by := 0; by < n; by += step {
			x, y := (a+by)%n, (b+by)%n
			image := Edge(n, min(x, y), max(x, y))
			r.images[e*r.words+image/32] |= 1 << (image % 32)
			first = min(first, image)
		}
		if first == e {
			classes++
		}
	}
	r.spec.ID, r.spec.MaxSteps = r.id(fmt.Sprintf("Ramsey-rotation-%d-", step)), classes
	return r, nil
}

// share is the part of all edges that coloring an edge colors, f32[].
func (r RamseyGame) share(edge *graph.Array) *graph.Array {
	if r.images == nil {
		return graph.Scalar(1 / float64(r.edges))
	}
	shares := make([]float32, r.edges)
	for i, word := range r.images {
		shares[i/r.words] += float32(bits.OnesCount32(word)) / float32(r.edges)
	}
	return graph.DynamicIndex(graph.Float32s(shares), edge, 0)
}
