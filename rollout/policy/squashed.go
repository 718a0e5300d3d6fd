package policy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Squashed is a distribution over a box. Each element is tanh of a normal variable, scaled to its bounds (Haarnoja et
// al., "Soft actor-critic", 2018, appendix C), or the normal variable itself if it has no bounds. The policy's outputs
// are the means. The logarithms of the standard deviations are parameters, the same for all observations. Draws are the
// normal variables. Densities and entropies are of the elements between -1 and 1: scaling adds a constant.
type Squashed struct {
	Deviation float64 // each standard deviation at first, above 0: 1 of StochasticOf
	head      squash
	bounded   []bool
}

// Deviations holds the parameters of a Squashed.
type Deviations struct {
	Log *graph.Array // f32[Size]: of the standard deviations
}

func newSquashed(head squash) Squashed {
	s := Squashed{Deviation: 1, head: head, bounded: make([]bool, head.Size())}
	for i := range s.bounded {
		s.bounded[i] = bound(head.box.Low, i) > -math.MaxFloat32 && bound(head.box.High, i) < math.MaxFloat32
	}
	return s
}

// Start returns equal deviations.
func (s Squashed) Start() any {
	return Deviations{graph.Full(graph.ShapeOf(graph.Float32, s.head.Size()), math.Log(s.Deviation))}
}

// Noise draws standard normal numbers, f32[Size].
func (s Squashed) Noise(key random.Key) *graph.Array {
	return random.Normal(key, graph.ShapeOf(graph.Float32, s.head.Size()))
}

// Draw returns the normal variables, f32[Size].
func (s Squashed) Draw(params any, out, noise *graph.Array) *graph.Array {
	return out.Add(s.log(params).Exp().Mul(noise))
}

var halfLog2Pi = math.Log(2*math.Pi) / 2

// LogProb returns the sum of the elements' log densities.
func (s Squashed) LogProb(params any, out, draw *graph.Array) *graph.Array {
	log := s.log(params)
	z := draw.Sub(out).Mul(log.Neg().Exp())
	normal := graph.Mul(-.5, z.Square()).Sub(log.Add(halfLog2Pi))
	return normal.Sub(s.logSlope(draw)).Sum()
}

// Entropy returns the entropy of the normal variables plus the expected logarithm of tanh's derivative. The latter has
// no closed form: it is integrated by the trapezoidal rule with 33 points over ±4 standard deviations. The error is
// below 1e-3 an element for standard deviations up to 3.
func (s Squashed) Entropy(params any, out *graph.Array) *graph.Array {
	const points, reach = 33, 4.
	nodes, weights, total := make([]float32, points), make([]float32, points), 0.
	for i := range nodes {
		x := reach * (2*float64(i)/(points-1) - 1)
		nodes[i], weights[i] = float32(x), float32(math.Exp(-x*x/2))
		total += float64(weights[i])
	}
	for i := range weights {
		weights[i] /= float32(total)
	}
	log := s.log(params)
	column := func(a *graph.Array) *graph.Array { return a.ExpandDims(0) }
	row := func(v []float32) *graph.Array { return graph.Float32s(v).Reshape(points, 1) }
	u := column(out).Add(column(log.Exp()).Mul(row(nodes)))
	slopes := s.logSlope(u).Mul(row(weights)).Sum(0)
	return log.Add(.5 + halfLog2Pi).Add(slopes).Sum()
}

// Action returns the action, within the bounds.
func (s Squashed) Action(draw *graph.Array) *graph.Array { return s.head.Action(draw) }

func (s Squashed) log(params any) *graph.Array {
	d, ok := params.(Deviations)
	if !ok {
		graph.Throw("policy.Squashed", "got parameters of type %T, want policy.Deviations, as Start makes them", params)
	}
	return d.Log
}

// logSlope returns the logarithm of tanh's derivative at u, […, Size], without overflow, and 0 for unbounded elements.
func (s Squashed) logSlope(u *graph.Array) *graph.Array {
	v := u.Abs()
	slope := graph.Mul(2, graph.Sub(math.Ln2, v).Sub(graph.Log1p(graph.Mul(-2, v).Exp())))
	return graph.Select(graph.Of(s.bounded).BroadcastTo(u.Dims()...), slope, 0.)
}
