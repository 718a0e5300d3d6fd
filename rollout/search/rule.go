package search

import (
	"math"

	"xlarun/graph"
)

var minusInf = math.Inf(-1)

// Transform is mctx's qtransform. It scales Q-values before they are added to the policy's numbers.
type Transform int

const (
	// BySiblings is mctx's qtransform_by_parent_and_siblings: it scales to 0 … 1 between the smallest and the largest
	// of the node's value and its Q-values. Untried actions get 0. PUCT's default.
	BySiblings Transform = iota
	// ByMinMax is mctx's qtransform_by_min_max: it scales from Bounds to 0 … 1. Untried actions get 0.
	ByMinMax
	// ByMixedValue is mctx's qtransform_completed_by_mix_value (Danihelka et al., appendix D). Untried actions get the
	// mix of the raw value and the prior-weighted mean of the other Q-values. All are scaled to 0 … 1 between the
	// smallest and the largest, times 0.1 (50 + the most visits of an action). Gumbel's default.
	ByMixedValue
)

// Defaults of mctx: value_scale and maxvisit_init of ByMixedValue, and the epsilon of the scaling.
const (
	valueScale   = .1
	maxVisitInit = 50
	scaleEpsilon = 1e-8
)

// tieNoise is the scale of the noise that breaks ties of PUCT's scores.
const tieNoise = 1e-7

// lowLogit is the lowest score of a considered action at Gumbel's root.
const lowLogit = -1e9

// smallest is the smallest normal float32, the least prior of an action that was tried.
const smallest = 0x1p-126

// settings are the constants of a rule.
type settings struct {
	gumbel     bool // else PUCT
	transform  Transform
	maxDepth   int
	init, base float64    // of PUCT
	bounds     [2]float64 // of ByMinMax
}

// numbers returns the constants in the kernel's order, f32[7].
func (s settings) numbers() *graph.Array {
	gumbel := float32(0)
	if s.gumbel {
		gumbel = 1
	}
	return graph.Float32s([]float32{gumbel, float32(s.transform), float32(s.maxDepth), float32(s.init), float32(s.base),
		float32(s.bounds[0]), float32(s.bounds[1])})
}

// rule selects actions in the nodes of one search.
type rule struct {
	settings
	rootInfo
	decisions  int          // the number of actions, where outcomes of chance come after them; 0: there is no chance
	considered *graph.Array // f32[]: one of ConsideredVisits
}

// rootInfo is a rule's data of the root.
type rootInfo struct {
	Noise            *graph.Array // f32[A]: Gumbel noise, or PUCT's noise that breaks ties
	Invalid          *graph.Array // f32[A]: 1 for actions that are illegal at the root
	ReusedVisits     *graph.Array // f32[A]: visits of the root's actions before this search
	ConsideredVisits *graph.Array // f32[simulations]: visits of the actions that are considered at the root
}

// at returns the rule that selects the edge of a simulation, i32[]. After the last simulation it is the last rule,
// whose edge nobody uses.
func (r rule) at(simulation *graph.Array) rule {
	r.considered = graph.DynamicIndex(r.ConsideredVisits, simulation, 0)
	return r
}

// selectAction returns the best action in a node, i32[]. atRoot is bool[].
func (r rule) selectAction(n row, atRoot *graph.Array) *graph.Array {
	scores := r.scores(n, atRoot)
	invalid := atRoot.And(r.Invalid.Gt(0))
	return graph.Select(invalid, minusInf, scores).ArgMax(0)
}

// scores returns the score of each action, f32[A].
func (r rule) scores(n row, atRoot *graph.Array) *graph.Array {
	if a := r.decisions; a > 0 {
		decided := r
		decided.decisions = 0
		outcomes := n.actions - a
		decides := n.field(depth).Mod(2).Eq(0)
		return graph.Select(decides, padOutcomes(decided.scores(n.part(0, a), atRoot), minusInf, outcomes),
			graph.Pad(chanceScores(n.part(a, n.actions)), minusInf, []int{a}, []int{0}))
	}
	visits := n.block(childVisits)
	qValues := r.qTransform(n)
	if !r.gumbel {
		nodeVisits := n.field(nodeVisits)
		c := graph.Add(r.init, nodeVisits.Add(r.base+1).Div(r.base).Log())
		policyScore := nodeVisits.Sqrt().Mul(c).Mul(n.block(priorProbs)).Div(visits.Add(1))
		return replaceNaN(qValues.Add(policyScore).Add(graph.Mul(tieNoise, r.Noise)))
	}
	improved := graph.Softmax(n.block(priorLogits).Add(qValues), 0)
	interior := improved.Sub(visits.Div(graph.Add(1, visits.Sum())))
	searchVisits := visits.Sub(r.ReusedVisits)
	return graph.Select(atRoot, r.scoreConsidered(n, qValues, searchVisits, r.considered), replaceNaN(interior))
}

// scoreConsidered is mctx's score_considered: the scores of the root's actions with considered visits, f32[]; -Inf for
// the others, f32[A].
func (r rule) scoreConsidered(n row, qValues, visits, considered *graph.Array) *graph.Array {
	logits := n.block(priorLogits)
	logits = logits.Sub(logits.ReduceMax())
	scores := graph.Max(lowLogit, r.Noise.Add(logits).Add(qValues))
	return graph.Select(visits.Eq(considered), replaceNaN(scores), minusInf)
}

// qTransform returns the scaled Q-values of a node's actions, f32[A].
func (r rule) qTransform(n row) *graph.Array {
	visits, qValues := n.block(childVisits), n.block(childQValues)
	tried := visits.Gt(0)
	switch r.transform {
	case ByMinMax:
		low, high := r.bounds[0], r.bounds[1]
		return graph.Select(tried, qValues, low).Sub(low).Div(float64(float32(high) - float32(low)))
	case ByMixedValue:
		completed := graph.Select(tried, qValues, mixedValue(n, tried))
		scaled := rescale(completed, completed.ReduceMin(), completed.ReduceMax())
		return graph.Add(maxVisitInit, visits.ReduceMax()).Mul(valueScale).Mul(scaled)
	}
	value := n.field(nodeValue)
	known := graph.Select(tried, qValues, value)
	low, high := value.Min(known.ReduceMin()), value.Max(known.ReduceMax())
	return rescale(graph.Select(tried, qValues, low), low, high)
}

// rescale scales values between low and high to 0 … 1.
func rescale(values, low, high *graph.Array) *graph.Array {
	return values.Sub(low).Div(high.Sub(low).Max(scaleEpsilon))
}

// mixedValue is mctx's _compute_mixed_value, f32[].
func mixedValue(n row, tried *graph.Array) *graph.Array {
	prior := graph.Select(tried, n.block(priorProbs).Max(smallest), 0)
	visits := n.block(childVisits).Sum()
	weighted := prior.Mul(n.block(childQValues)).Div(graph.Select(tried, prior.Sum(), 1)).Sum()
	return n.field(rawValue).Add(visits.Mul(weighted)).Div(visits.Add(1))
}

// replaceNaN replaces NaN and -Inf by the lowest finite number, which is above the -Inf of illegal actions.
func replaceNaN(x *graph.Array) *graph.Array {
	return graph.Select(x.Ge(-math.MaxFloat32), x, -math.MaxFloat32)
}

// finite replaces NaN and the infinities of logits by finite numbers, so that one of them does not change the
// probabilities of the others.
func finite(logits *graph.Array) *graph.Array {
	return replaceNaN(logits).Min(math.MaxFloat32)
}

// maskInvalid gives illegal actions the lowest finite logit: softmax stays finite even if all are illegal. The largest
// of the other logits becomes 0.
func maskInvalid(logits, invalid *graph.Array) *graph.Array {
	mask := invalid.Gt(0)
	logits = graph.Select(mask, -math.MaxFloat32, finite(logits))
	return graph.Select(mask, -math.MaxFloat32, logits.Sub(logits.ReduceMax()))
}

func checkTransform(op string, t Transform, bounds [2]float64) {
	if t < BySiblings || t > ByMixedValue {
		graph.Throw(op, "got the transform %d, want BySiblings, ByMinMax or ByMixedValue", t)
	}
	if t == ByMinMax && !(bounds[0] < bounds[1]) {
		graph.Throw(op, "values are bounded by %v and %v, want the least and the greatest for ByMinMax", bounds[0],
			bounds[1])
	}
}

// consideredVisits is mctx's get_sequence_of_considered_visits, the sequence of sequential halving (Karnin et al.,
// "Almost optimal exploration in multi-armed bandits", 2013): simulation i tries the best of the actions that have
// exactly consideredVisits[i] visits.
func consideredVisits(actions, simulations int) []float32 {
	sequence := make([]float32, 0, simulations)
	if actions <= 1 {
		for i := range simulations {
			sequence = append(sequence, float32(i))
		}
		return sequence
	}
	rounds := int(math.Ceil(math.Log2(float64(actions))))
	visits := make([]float32, actions)
	for considered := actions; len(sequence) < simulations; considered = max(2, considered/2) {
		for range max(1, simulations/(rounds*considered)) {
			sequence = append(sequence, visits[:considered]...)
			for i := range considered {
				visits[i]++
			}
		}
	}
	return sequence[:simulations]
}
