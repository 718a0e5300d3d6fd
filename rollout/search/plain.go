package search

import (
	"math"
	"slices"
)

// Plain is the same search as ordinary Go that calls its model position by position, in float32: slow, for finding mistakes and for play
// without a compiler. For equal noise its visits are those of Run.
type Plain[S any] struct {
	Policy Policy // PUCT or Gumbel
	// Step is the model: what an action leads to from a state, as Step of a Recurrent.
	Step func(state S, action int) (reward, discount float32, logits []float32, value float32, next S)
}

// PlainRoot is where a plain search starts: logits as the network gives them, noise as Root's.
type PlainRoot[S any] struct {
	State  S
	Logits []float32
	Value  float32
	Legal  []bool    // nil: all
	Noise  []float32 // of PUCT the Dirichlet distribution's, of Gumbel its; nil: none
	Ties   []float32 // of PUCT, 0 to 1: of equals, who has more; nil: the first
}

// PlainResult is what a plain search found.
type PlainResult struct {
	Visits []int // of the root's actions
	Values []float32
	Value  float32
	Action int // of Gumbel the one to play, of PUCT the most visited
	// Weights are what the policy is to learn, as Result.Weights.
	Weights []float32
}

type plainNode[S any] struct {
	state                                S
	logits, prior, counts, values        []float32
	children                             []int
	visits, value, raw, reward, discount float32
}

// plainSearch is one search under way.
type plainSearch[S any] struct {
	settings
	nodes             []*plainNode[S]
	noise, considered []float32
	closed            []bool
}

// Run searches.
func (p Plain[S]) Run(root PlainRoot[S]) PlainResult {
	o := p.Policy.options()
	actions := len(root.Logits)
	s := &plainSearch[S]{noise: slices.Clone(root.Ties), closed: make([]bool, actions)}
	open := actions
	for a, legal := range root.Legal {
		if s.closed[a] = !legal; !legal {
			open--
		}
	}
	logits := slices.Clone(root.Logits)
	for a, x := range logits {
		logits[a] = min(numberedPlain(x), math.MaxFloat32)
	}
	switch policy := p.Policy.(type) {
	case PUCT:
		s.settings = policy.settings()
		prior := softmax(logits)
		for a := range logits {
			if root.Noise != nil {
				prior[a] = float32(1-policy.Fraction)*prior[a] + float32(policy.Fraction)*root.Noise[a]
			}
			logits[a] = float32(math.Log(float64(max(prior[a], smallest))))
		}
	case Gumbel:
		s.settings = settings{gumbel: true, transform: policy.Transform, maxDepth: o.MaxDepth, bounds: policy.Bounds}
		s.noise, s.considered = root.Noise, halving(min(policy.Considered, open), o.Simulations)
	}
	if s.noise == nil {
		s.noise = make([]float32, actions)
	}
	for a, x := range logits {
		if logits[a] = numberedPlain(x); s.closed[a] {
			logits[a] = -math.MaxFloat32
		}
	}
	most := slices.Max(logits)
	for a := range logits {
		logits[a] -= most
		if s.closed[a] {
			logits[a] = -math.MaxFloat32
		}
	}
	s.add(root.State, logits, root.Value, 0, 0)
	s.nodes[0].visits = 1
	for range o.Simulations {
		s.simulate(p, o.Nodes)
	}
	r := PlainResult{Values: s.nodes[0].values, Value: s.nodes[0].value}
	for _, n := range s.nodes[0].counts {
		r.Visits = append(r.Visits, int(n))
	}
	if s.gumbel {
		r.Action = s.best(s.consider(s.nodes[0], float32(slices.Max(r.Visits))), true)
	} else {
		r.Action = s.best(s.nodes[0].counts, true)
	}
	r.Weights = s.weights()
	return r
}

// weights are those of the root's actions: the shares of the visits, or the policy that the completed values improve.
func (s *plainSearch[S]) weights() []float32 {
	root := s.nodes[0]
	if !s.gumbel {
		out, total := slices.Clone(root.counts), sum(root.counts)
		for a := range out {
			out[a] /= total
		}
		return out
	}
	out := s.transformed(root)
	for a := range out {
		if out[a] += root.logits[a]; s.closed[a] {
			out[a] = -math.MaxFloat32
		}
	}
	return softmax(out)
}

func (s *plainSearch[S]) add(state S, logits []float32, value, reward, discount float32) {
	n := len(logits)
	children := slices.Repeat([]int{-1}, n)
	s.nodes = append(s.nodes, &plainNode[S]{state: state, logits: logits, prior: softmax(logits), counts: make([]float32, n), values: make([]float32, n),
		children: children, value: value, raw: value, reward: reward, discount: discount})
}

// simulate walks down to an action that was not tried, or as deep as it may, evaluates what it leads to, and counts it on the way it came.
func (s *plainSearch[S]) simulate(p Plain[S], room int) {
	var path, taken []int
	at, action := 0, 0
	for {
		action = s.best(s.scores(s.nodes[at], at == 0), at == 0)
		path, taken = append(path, at), append(taken, action)
		child := s.nodes[at].children[action]
		if child < 0 || len(path) >= s.maxDepth {
			break
		}
		at = child
	}
	reward, discount, logits, value, next := p.Step(s.nodes[at].state, action)
	switch child := s.nodes[at].children[action]; {
	case child >= 0:
		n := s.nodes[child]
		n.state, n.logits, n.prior, n.value, n.raw, n.reward, n.discount = next, logits, softmax(logits), value, value, reward, discount
		n.visits++
	case len(s.nodes) < room:
		s.nodes[at].children[action] = len(s.nodes)
		s.add(next, slices.Clone(logits), value, reward, discount)
		s.nodes[len(s.nodes)-1].visits = 1
	}
	found := value
	for i := len(path) - 1; i >= 0; i-- {
		n := s.nodes[path[i]]
		found = reward + discount*found
		n.value = (n.value*n.visits + found) / (n.visits + 1)
		n.visits++
		n.counts[taken[i]]++
		n.values[taken[i]] = reward + discount*value
		value, reward, discount = n.value, n.reward, n.discount
	}
}

// numberedPlain is numbered of one number.
func numberedPlain(x float32) float32 {
	if x >= -math.MaxFloat32 {
		return x
	}
	return -math.MaxFloat32
}

// best is the first of the greatest scores.
func (s *plainSearch[S]) best(scores []float32, atRoot bool) int {
	best, most := 0, float32(math.Inf(-1))
	for a, x := range scores {
		if !(atRoot && s.closed[a]) && x > most {
			best, most = a, x
		}
	}
	return best
}

func (s *plainSearch[S]) scores(n *plainNode[S], atRoot bool) []float32 {
	if s.gumbel && atRoot {
		return s.consider(n, s.considered[int(sum(n.counts))])
	}
	out := s.transformed(n)
	if !s.gumbel {
		c := float32(math.Sqrt(float64(n.visits))) * (float32(s.init) + float32(math.Log(float64((n.visits+float32(s.base+1))/float32(s.base)))))
		for a := range out {
			out[a] = numberedPlain(out[a] + c*n.prior[a]/(n.counts[a]+1) + tieNoise*s.noise[a])
		}
		return out
	}
	for a := range out {
		out[a] += n.logits[a]
	}
	out = softmax(out)
	all := 1 + sum(n.counts)
	for a := range out {
		out[a] = numberedPlain(out[a] - n.counts[a]/all)
	}
	return out
}

// consider scores the root's actions that were tried so often.
func (s *plainSearch[S]) consider(n *plainNode[S], visits float32) []float32 {
	out, most := s.transformed(n), slices.Max(n.logits)
	for a := range out {
		out[a] = numberedPlain(max(lowLogit, s.noise[a]+(n.logits[a]-most)+out[a]))
		if n.counts[a] != visits {
			out[a] = float32(math.Inf(-1))
		}
	}
	return out
}

func (s *plainSearch[S]) transformed(n *plainNode[S]) []float32 {
	missing, low, high, scale := n.value, n.value, n.value, float32(1)
	switch s.transform {
	case ByMinMax:
		missing, low, high = float32(s.bounds[0]), float32(s.bounds[0]), float32(s.bounds[1])
	case ByMixedValue:
		var prior, expected, visits float32
		for a, count := range n.counts {
			if visits += count; count > 0 {
				prior += max(n.prior[a], smallest)
			}
		}
		for a, count := range n.counts {
			if count > 0 {
				expected += max(n.prior[a], smallest) * n.values[a] / prior
			}
		}
		missing = (n.raw + visits*expected) / (visits + 1)
		low, high = float32(math.Inf(1)), float32(math.Inf(-1))
		scale = valueScale * (maxVisitInit + slices.Max(n.counts))
	}
	out := slices.Clone(n.values)
	for a, count := range n.counts {
		if count == 0 {
			out[a] = missing
		}
	}
	if s.transform != ByMinMax {
		low, high = min(low, slices.Min(out)), max(high, slices.Max(out))
	}
	for a, count := range n.counts {
		if s.transform == BySiblings && count == 0 {
			out[a] = low
		}
		out[a] = (out[a] - low) / max(high-low, leastSpread) * scale
	}
	return out
}

func sum(x []float32) (total float32) {
	for _, v := range x {
		total += v
	}
	return total
}

func softmax(x []float32) []float32 {
	out, most := make([]float32, len(x)), slices.Max(x)
	for i, v := range x {
		out[i] = float32(math.Exp(float64(v - most)))
	}
	total := sum(out)
	for i := range out {
		out[i] /= total
	}
	return out
}
