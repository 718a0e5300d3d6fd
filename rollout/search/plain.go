package search

import (
	"math"
	"slices"
)

// Plain is the same search as ordinary Go, in float32. It calls its model position by position: this is slow, easy to
// debug, and needs no compiler. For equal noise its visits equal Run's.
type Plain[S any] struct {
	Policy Policy // PUCT or Gumbel
	// Step is the model: it returns the result of an action in a state, as a Recurrent does.
	Step func(state S, action int) (reward, discount float32, logits []float32, value float32, next S)
}

// PlainRoot is the root of a plain search. Slices have one element per action.
type PlainRoot[S any] struct {
	State       S
	PriorLogits []float32
	Value       float32
	Legal       []bool    // nil: all
	Noise       []float32 // as Root.Noise; nil: none
	Ties        []float32 // PUCT: of equal scores, the action with the larger number is selected; nil: the first
}

// PlainResult is the result of a plain search. Slices have one element per action of the root.
type PlainResult struct {
	Visits        []int
	Values        []float32 // Q-values
	Value         float32   // of the root
	Action        int       // Gumbel: the action to play; PUCT: the most visited action
	ActionWeights []float32 // as Result.ActionWeights
}

// plainNode is a node. Slices have one element per action.
type plainNode[S any] struct {
	state                          S
	logits, prior, visits, qValues []float32
	children                       []int
	nodeVisits, value, rawValue    float32
	reward, discount               float32 // of the action from the parent
}

// plainSearch is the state of one search.
type plainSearch[S any] struct {
	settings
	model                   Plain[S]
	capacity                int
	nodes                   []*plainNode[S]
	noise, consideredVisits []float32
	invalid                 []bool
}

// Run searches.
func (p Plain[S]) Run(root PlainRoot[S]) PlainResult {
	o := p.Policy.options()
	s := newPlainSearch(p, root, o)
	for range o.Simulations {
		path := s.simulate()
		reward, discount, value := s.expand(path)
		s.backward(path, reward, discount, value)
	}
	n := s.nodes[0]
	r := PlainResult{Values: n.qValues, Value: n.value}
	for _, visits := range n.visits {
		r.Visits = append(r.Visits, int(visits))
	}
	if s.gumbel {
		r.Action = s.best(s.scoreConsidered(n, float32(slices.Max(r.Visits))), true)
	} else {
		r.Action = s.best(n.visits, true)
	}
	r.ActionWeights = s.weights()
	return r
}

// newPlainSearch returns a search whose tree has only the root.
func newPlainSearch[S any](p Plain[S], root PlainRoot[S], o Options) *plainSearch[S] {
	actions := len(root.PriorLogits)
	s := &plainSearch[S]{model: p, capacity: o.Nodes, noise: slices.Clone(root.Ties), invalid: make([]bool, actions)}
	legalActions := actions
	for a, legal := range root.Legal {
		if s.invalid[a] = !legal; !legal {
			legalActions--
		}
	}
	logits := slices.Clone(root.PriorLogits)
	for a, x := range logits {
		logits[a] = min(plainReplaceNaN(x), math.MaxFloat32)
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
		s.noise = root.Noise
		s.consideredVisits = consideredVisits(min(policy.Considered, legalActions), o.Simulations)
	}
	if s.noise == nil {
		s.noise = make([]float32, actions)
	}
	s.maskInvalid(logits)
	s.add(root.State, logits, root.Value, 0, 0)
	return s
}

// maskInvalid is maskInvalid of the compiled search, in place.
func (s *plainSearch[S]) maskInvalid(logits []float32) {
	for a, x := range logits {
		if logits[a] = plainReplaceNaN(x); s.invalid[a] {
			logits[a] = -math.MaxFloat32
		}
	}
	largest := slices.Max(logits)
	for a := range logits {
		logits[a] -= largest
		if s.invalid[a] {
			logits[a] = -math.MaxFloat32
		}
	}
}

// weights returns the action weights of the root: the shares of the visits, or the improved policy.
func (s *plainSearch[S]) weights() []float32 {
	root := s.nodes[0]
	if !s.gumbel {
		out, total := slices.Clone(root.visits), sum(root.visits)
		for a := range out {
			out[a] /= total
		}
		return out
	}
	out := s.qTransform(root)
	for a := range out {
		if out[a] += root.logits[a]; s.invalid[a] {
			out[a] = -math.MaxFloat32
		}
	}
	return softmax(out)
}

// add adds a node with one visit.
func (s *plainSearch[S]) add(state S, logits []float32, value, reward, discount float32) {
	actions := len(logits)
	s.nodes = append(s.nodes, &plainNode[S]{
		state: state, logits: logits, prior: softmax(logits),
		visits: make([]float32, actions), qValues: make([]float32, actions),
		children:   slices.Repeat([]int{-1}, actions),
		nodeVisits: 1, value: value, rawValue: value, reward: reward, discount: discount,
	})
}

// plainEdge is an action in a node.
type plainEdge struct{ node, action int }

// simulate walks from the root to an action without a child, or to the largest depth, and returns the edges on the way.
func (s *plainSearch[S]) simulate() (path []plainEdge) {
	for node := 0; ; {
		action := s.best(s.scores(s.nodes[node], node == 0), node == 0)
		path = append(path, plainEdge{node, action})
		child := s.nodes[node].children[action]
		if child < 0 || len(path) >= s.maxDepth {
			return path
		}
		node = child
	}
}

// expand evaluates the action at the end of a path, and adds or updates the node that it leads to.
func (s *plainSearch[S]) expand(path []plainEdge) (reward, discount, value float32) {
	last := path[len(path)-1]
	parent := s.nodes[last.node]
	reward, discount, logits, value, next := s.model.Step(parent.state, last.action)
	switch child := parent.children[last.action]; {
	case child >= 0: // at the largest depth: evaluated again
		n := s.nodes[child]
		n.state, n.logits, n.prior = next, logits, softmax(logits)
		n.value, n.rawValue, n.reward, n.discount = value, value, reward, discount
		n.nodeVisits++
	case len(s.nodes) < s.capacity:
		parent.children[last.action] = len(s.nodes)
		s.add(next, slices.Clone(logits), value, reward, discount)
	}
	return reward, discount, value
}

// backward updates the nodes on a path up to the root. value is the new node's, reward and discount are those of the
// last action.
func (s *plainSearch[S]) backward(path []plainEdge, reward, discount, value float32) {
	returned := value
	for _, step := range slices.Backward(path) {
		n := s.nodes[step.node]
		returned = reward + discount*returned
		n.value = (n.value*n.nodeVisits + returned) / (n.nodeVisits + 1)
		n.nodeVisits++
		n.visits[step.action]++
		n.qValues[step.action] = reward + discount*value
		value, reward, discount = n.value, n.reward, n.discount
	}
}

// plainReplaceNaN is replaceNaN of one number.
func plainReplaceNaN(x float32) float32 {
	if x >= -math.MaxFloat32 {
		return x
	}
	return -math.MaxFloat32
}

// best returns the first action with the largest score; at the root, the first such legal action.
func (s *plainSearch[S]) best(scores []float32, atRoot bool) int {
	best, largest := 0, float32(math.Inf(-1))
	for a, x := range scores {
		if !(atRoot && s.invalid[a]) && x > largest {
			best, largest = a, x
		}
	}
	return best
}

// scores returns the score of each action in a node.
func (s *plainSearch[S]) scores(n *plainNode[S], atRoot bool) []float32 {
	if s.gumbel && atRoot {
		return s.scoreConsidered(n, s.consideredVisits[int(sum(n.visits))])
	}
	out := s.qTransform(n)
	if !s.gumbel {
		c := float32(math.Sqrt(float64(n.nodeVisits))) *
			(float32(s.init) + float32(math.Log(float64((n.nodeVisits+float32(s.base+1))/float32(s.base)))))
		for a := range out {
			out[a] = plainReplaceNaN(out[a] + c*n.prior[a]/(n.visits[a]+1) + tieNoise*s.noise[a])
		}
		return out
	}
	for a := range out {
		out[a] += n.logits[a]
	}
	out = softmax(out)
	total := 1 + sum(n.visits)
	for a := range out {
		out[a] = plainReplaceNaN(out[a] - n.visits[a]/total)
	}
	return out
}

// scoreConsidered returns the scores of the root's actions with a number of visits, -Inf for the others.
func (s *plainSearch[S]) scoreConsidered(n *plainNode[S], visits float32) []float32 {
	out, largest := s.qTransform(n), slices.Max(n.logits)
	for a := range out {
		out[a] = plainReplaceNaN(max(lowLogit, s.noise[a]+(n.logits[a]-largest)+out[a]))
		if n.visits[a] != visits {
			out[a] = float32(math.Inf(-1))
		}
	}
	return out
}

// qTransform returns the scaled Q-values of a node's actions.
func (s *plainSearch[S]) qTransform(n *plainNode[S]) []float32 {
	missing, low, high, scale := n.value, n.value, n.value, float32(1)
	switch s.transform {
	case ByMinMax:
		missing, low, high = float32(s.bounds[0]), float32(s.bounds[0]), float32(s.bounds[1])
	case ByMixedValue:
		missing = n.mixedValue()
		low, high = float32(math.Inf(1)), float32(math.Inf(-1))
		scale = valueScale * (maxVisitInit + slices.Max(n.visits))
	}
	out := slices.Clone(n.qValues)
	for a, visits := range n.visits {
		if visits == 0 {
			out[a] = missing
		}
	}
	if s.transform != ByMinMax {
		low, high = min(low, slices.Min(out)), max(high, slices.Max(out))
	}
	for a, visits := range n.visits {
		if s.transform == BySiblings && visits == 0 {
			out[a] = low
		}
		out[a] = (out[a] - low) / max(high-low, scaleEpsilon) * scale
	}
	return out
}

// mixedValue is the Q-value of actions that were not tried.
func (n *plainNode[S]) mixedValue() float32 {
	var prior, weighted, total float32
	for a, visits := range n.visits {
		if total += visits; visits > 0 {
			prior += max(n.prior[a], smallest)
		}
	}
	for a, visits := range n.visits {
		if visits > 0 {
			weighted += max(n.prior[a], smallest) * n.qValues[a] / prior
		}
	}
	return (n.rawValue + total*weighted) / (total + 1)
}

func sum(x []float32) (total float32) {
	for _, v := range x {
		total += v
	}
	return total
}

func softmax(x []float32) []float32 {
	out, largest := make([]float32, len(x)), slices.Max(x)
	for i, v := range x {
		out[i] = float32(math.Exp(float64(v - largest)))
	}
	total := sum(out)
	for i := range out {
		out[i] /= total
	}
	return out
}
