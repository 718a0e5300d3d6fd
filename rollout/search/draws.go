package search

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Draws are the random numbers that Run draws from its key. With the same numbers a Plain search has the same tree and
// plays the same action.
type Draws struct {
	Noise  *graph.Array // f32[A]: PlainRoot.Noise
	Ties   *graph.Array // f32[A]: PlainRoot.Ties
	Action *graph.Array // f32[A]: Gumbel noise that draws PUCT's action, for PlainResult.DrawAction
}

// DrawsOf returns what Run draws from a key for a root without Noise.
func DrawsOf(p Policy, key random.Key, actions int) Draws {
	keys := random.SplitN(key, 3)
	shape := graph.ShapeOf(graph.Float32, actions)
	d := Draws{Ties: graph.Zeros(shape), Action: random.Gumbel(keys[2], shape)}
	switch p := p.(type) {
	case PUCT:
		tieKey, noiseKey := random.Split2(keys[0])
		d.Ties = random.Uniform(tieKey, shape, 0, 1)
		d.Noise = random.Dirichlet(noiseKey, graph.Full(shape, p.Alpha))
	case Gumbel:
		d.Noise = graph.Mul(p.Scale, random.Gumbel(keys[0], shape))
	}
	return d
}

// DrawAction returns the action that PUCT plays at a temperature. legal is nil if all actions are; gumbel is
// Draws.Action.
func (r PlainResult) DrawAction(legal []bool, gumbel []float32, temperature float32) int {
	logits := make([]float32, len(r.ActionWeights))
	largest := float32(math.Inf(-1))
	for a, w := range r.ActionWeights {
		logits[a] = float32(math.Log(float64(max(w, smallest))))
		largest = max(largest, logits[a])
	}
	best, score := 0, float32(math.Inf(-1))
	for a, l := range logits {
		if legal != nil && !legal[a] {
			continue
		}
		if x := (l-largest)/max(temperature, smallest) + gumbel[a]; x > score {
			best, score = a, x
		}
	}
	return best
}
