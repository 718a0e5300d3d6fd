package search

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Chance is what Run draws from its key for one game: with the same numbers a plain search has the same tree, and plays the same move.
type Chance struct {
	Noise *graph.Array // f32[A]: PlainRoot.Noise
	Ties  *graph.Array // f32[A]: PlainRoot.Ties
	Last  *graph.Array // f32[A]: Gumbel noise of the move that PUCT plays, for Drawn
}

// ChanceOf is what Run draws of a key for a game of so many actions whose root brings no noise of its own.
func ChanceOf(p Policy, key random.Key, actions int) Chance {
	keys := random.SplitN(key, 3)
	shape := graph.ShapeOf(graph.Float32, actions)
	c := Chance{Ties: graph.Zeros(shape), Last: random.Gumbel(keys[2], shape)}
	switch p := p.(type) {
	case PUCT:
		ties, draws := random.Split2(keys[0])
		c.Ties = random.Uniform(ties, shape, 0, 1)
		c.Noise = random.Dirichlet(draws, graph.Full(shape, p.Alpha))
	case Gumbel:
		c.Noise = graph.Mul(p.Scale, random.Gumbel(keys[0], shape))
	}
	return c
}

// Drawn is the action that PUCT plays by the visits at a temperature: last is Chance.Last, legal nil where all actions are.
func (r PlainResult) Drawn(legal []bool, last []float32, temperature float32) int {
	logits := make([]float32, len(r.Weights))
	most := float32(math.Inf(-1))
	for a, w := range r.Weights {
		logits[a] = float32(math.Log(float64(max(w, smallest))))
		most = max(most, logits[a])
	}
	best, score := 0, float32(math.Inf(-1))
	for a, l := range logits {
		if legal != nil && !legal[a] {
			continue
		}
		if x := (l-most)/max(temperature, smallest) + last[a]; x > score {
			best, score = a, x
		}
	}
	return best
}
