package search

import (
	"math"

	"xlarun/graph"
)

var minusInf = math.Inf(-1)

// Transform says how the values of a node's actions are brought beside the policy's numbers.
type Transform int

const (
	// BySiblings scales to 0 … 1 between the least and the greatest of the node's value and its actions'; actions that were not
	// tried have 0. PUCT's default.
	BySiblings Transform = iota
	// ByMinMax scales to 0 … 1 between Bounds, which are given; actions that were not tried have 0.
	ByMinMax
	// ByMixedValue gives actions that were not tried the mix of the node's own evaluation and what its policy expects of the
	// others (Danihelka et al., appendix D), scales to 0 … 1 between the least and the greatest, and multiplies by
	// 0.1 (50 + the most visits of an action). Gumbel's default.
	ByMixedValue
)

// The constants of ByMixedValue, and the least that values are divided by: mctx's defaults.
const (
	valueScale   = .1
	maxVisitInit = 50
	leastSpread  = 1e-8
)

// tieNoise is how much of the noise is added to PUCT's scores.
const tieNoise = 1e-7

// lowLogit bounds what Gumbel's considered actions score at the root.
const lowLogit = -1e9

// settings are the numbers of a rule, in the order in which the kernel reads them.
type settings struct {
	gumbel     bool // else PUCT
	transform  Transform
	maxDepth   int
	init, base float64    // of PUCT
	bounds     [2]float64 // of ByMinMax
}

func (s settings) numbers() *graph.Array {
	gumbel := float32(0)
	if s.gumbel {
		gumbel = 1
	}
	return graph.Float32s([]float32{gumbel, float32(s.transform), float32(s.maxDepth), float32(s.init), float32(s.base), float32(s.bounds[0]), float32(s.bounds[1])})
}

// rule is how an action is chosen in a node.
type rule struct {
	settings
	arrays
}

// arrays are what a rule knows of the root, a tree.
type arrays struct {
	Noise      *graph.Array // f32[A]: Gumbel's, or what breaks the ties of PUCT
	Closed     *graph.Array // f32[A]: 1 for actions that may not be played at the root
	Before     *graph.Array // f32[A]: visits of the root's actions before this search
	Considered *graph.Array // f32[simulations]: visits that an action has to have to be considered at the root
}

// choose is the best action in a node, an int32 scalar.
func (r rule) choose(n row, atRoot *graph.Array) *graph.Array {
	scores := r.scores(n, atRoot)
	closed := graph.And(atRoot, graph.Gt(r.Closed, 0))
	return graph.ArgMax(graph.Select(closed, minusInf, scores), 0)
}

// numbered gives what is NaN or -Inf the least finite number: an action that may be played is before one that may not.
func numbered(x *graph.Array) *graph.Array {
	return graph.Select(graph.Ge(x, -math.MaxFloat32), x, -math.MaxFloat32)
}

func (r rule) scores(n row, atRoot *graph.Array) *graph.Array {
	counts := n.block(countsBlock)
	values := r.transformed(n)
	if !r.gumbel {
		visits := n.head(visitsAt)
		c := graph.Add(r.init, graph.Log(graph.Div(graph.Add(visits, r.base+1), r.base)))
		prior := graph.Div(graph.Mul(graph.Mul(graph.Sqrt(visits), c), n.block(priorBlock)), graph.Add(counts, 1))
		return numbered(graph.Add(graph.Add(values, prior), graph.Mul(tieNoise, r.Noise)))
	}
	wanted := graph.Softmax(graph.Add(n.block(logitsBlock), values), 0)
	inside := graph.Sub(wanted, graph.Div(counts, graph.Add(1, graph.Sum(counts))))
	now := graph.Sub(counts, r.Before)
	turn := graph.Clamp(0, whole(graph.Sum(now)), r.Considered.Size()-1)
	return graph.Select(atRoot, r.considered(n, values, now, graph.DynamicIndex(r.Considered, turn, 0)), numbered(inside))
}

// considered are the scores of the actions with so many visits, of which one is tried next; the others have -Inf.
func (r rule) considered(n row, values, counts, visits *graph.Array) *graph.Array {
	logits := n.block(logitsBlock)
	logits = graph.Sub(logits, graph.ReduceMax(logits))
	scores := graph.Max(lowLogit, graph.Add(graph.Add(r.Noise, logits), values))
	return graph.Select(graph.Eq(counts, visits), numbered(scores), minusInf)
}

// transformed are the values of a node's actions, f32[A].
func (r rule) transformed(n row) *graph.Array {
	counts, values := n.block(countsBlock), n.block(valuesBlock)
	tried := graph.Gt(counts, 0)
	switch r.transform {
	case ByMinMax:
		low, high := r.bounds[0], r.bounds[1]
		return graph.Div(graph.Sub(graph.Select(tried, values, low), low), float64(float32(high)-float32(low)))
	case ByMixedValue:
		all := graph.Select(tried, values, mixed(n, tried))
		scaled := spread(all, graph.ReduceMin(all), graph.ReduceMax(all))
		return graph.Mul(graph.Mul(graph.Add(maxVisitInit, graph.ReduceMax(counts)), valueScale), scaled)
	}
	own := n.head(valueAt)
	known := graph.Select(tried, values, own)
	low, high := graph.Min(own, graph.ReduceMin(known)), graph.Max(own, graph.ReduceMax(known))
	return spread(graph.Select(tried, values, low), low, high)
}

// spread brings values between low and high to 0 … 1.
func spread(values, low, high *graph.Array) *graph.Array {
	return graph.Div(graph.Sub(values, low), graph.Max(graph.Sub(high, low), leastSpread))
}

// mixed is the value that actions which were not tried are given.
func mixed(n row, tried *graph.Array) *graph.Array {
	prior := graph.Select(tried, graph.Max(n.block(priorBlock), smallest), 0)
	visits := graph.Sum(n.block(countsBlock))
	expected := graph.Sum(graph.Div(graph.Mul(prior, n.block(valuesBlock)), graph.Select(tried, graph.Sum(prior), 1)))
	return graph.Div(graph.Add(n.head(rawAt), graph.Mul(visits, expected)), graph.Add(visits, 1))
}

// smallest is the smallest normal float32: what is visited has a prior above zero.
const smallest = 0x1p-126

// halving is the sequence of visits that sequential halving considers (Karnin et al., "Almost optimal exploration in
// multi-armed bandits", 2013): at simulation i, the most promising of those actions is tried that were tried halving[i] times.
func halving(actions, simulations int) []float32 {
	sequence := make([]float32, 0, simulations)
	if actions <= 1 {
		for i := range simulations {
			sequence = append(sequence, float32(i))
		}
		return sequence
	}
	rounds := int(math.Ceil(math.Log2(float64(actions))))
	visits := make([]float32, actions)
	for left := actions; len(sequence) < simulations; left = max(2, left/2) {
		for range max(1, simulations/(rounds*left)) {
			sequence = append(sequence, visits[:left]...)
			for i := range left {
				visits[i]++
			}
		}
	}
	return sequence[:simulations]
}
