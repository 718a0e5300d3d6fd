package study

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// NSGA2 is the non-dominated sorting genetic algorithm (Deb et al., 2002). Of parents and children the best fronts
// survive, and of the last front the points in less crowded places. A child takes each parameter from one of two
// parents; some parameters are drawn anew.
type NSGA2 struct {
	Population int // 0: 50
	// CrossoverProbability is the probability that a child has two parents; 0: 0.9. SwapProbability is the probability
	// of a parameter to come from the second parent; 0: 0.5.
	CrossoverProbability, SwapProbability float64
	parents                               [][]*FrozenTrial // of the generations from 1 on, as far as they are known
	settled                               map[int][]*FrozenTrial
	at                                    cursor
}

// generationAttr is the attribute of a trial with its generation.
const generationAttr = "xlarun:nsga2:generation"

// Name implements Sampler.
func (*NSGA2) Name() string { return "nsga2" }

// Independent implements Sampler.
func (*NSGA2) Independent(v *View, name string, d Distribution) (float64, error) {
	return Random{}.Independent(v, name, d)
}

// Relative implements Sampler.
func (s *NSGA2) Relative(v *View) (map[string]float64, error) {
	size := orDefault(s.Population, 50)
	more := s.generations(v)
	generation := 0
	for ; len(s.settled[generation])+len(more[generation]) >= size; generation++ {
		if generation < len(s.parents) {
			continue
		}
		// later ones would make other parents of the same trials
		group := slices.Concat(s.settled[generation], more[generation])[:size:size]
		if generation > 0 {
			group = append(group, s.parents[generation-1]...)
		}
		s.parents = append(s.parents, v.survivors(group, size))
	}
	v.Attrs[generationAttr] = generation
	if generation == 0 {
		return nil, nil
	}
	return s.child(v, v.Rand("nsga2"), s.parents[generation-1]), nil
}

// generations sorts the complete trials of a view into generations: those of the prefix are kept in s.settled, the
// others are returned.
func (s *NSGA2) generations(v *View) (more map[int][]*FrozenTrial) {
	over, anew := v.newTrials(&s.at)
	if anew {
		s.settled = map[int][]*FrozenTrial{}
	}
	more = map[int][]*FrozenTrial{}
	for i, t := range over {
		if t.State != Complete {
			continue
		}
		g, ok := System[int](t, generationAttr)
		if !ok {
			g = 0 // somebody else's: one of the first parents
		}
		if len(over)-i > len(v.Finished)-v.prefix.n {
			s.settled[g] = append(s.settled[g], t)
		} else {
			more[g] = append(more[g], t)
		}
	}
	return more
}

func (s *NSGA2) child(v *View, r *rand.Rand, parents []*FrozenTrial) map[string]float64 {
	front := map[*FrozenTrial]int{}
	for i, f := range v.fronts(parents) {
		for _, t := range f {
			front[t] = i
		}
	}
	pick := func() *FrozenTrial {
		a, b := parents[r.IntN(len(parents))], parents[r.IntN(len(parents))]
		if front[b] < front[a] {
			return b
		}
		return a
	}
	first := pick()
	second := first
	cross, swap := s.CrossoverProbability, s.SwapProbability
	if cross == 0 {
		cross = .9
	}
	if swap == 0 {
		swap = .5
	}
	if r.Float64() < cross {
		second = pick()
	}
	child := map[string]float64{}
	names := slices.Sorted(maps.Keys(first.Params))
	for _, name := range names {
		x := first.Params[name]
		if y, ok := second.Params[name]; ok && r.Float64() < swap {
			x = y
		}
		if r.Float64() >= 1/float64(len(names)) { // the others are drawn by Independent
			child[name] = x
		}
	}
	return child
}

// dominates reports whether a is nowhere worse than b, and better in an objective. NaN is the worst value, and so
// is one that is missing.
func (v *View) dominates(a, b *FrozenTrial) bool {
	better := false
	for i, d := range v.Directions {
		c := byValue(d.sign()*a.value(i), d.sign()*b.value(i))
		if c > 0 {
			return false
		}
		better = better || c < 0
	}
	return better
}

// fronts returns the trials that no other dominates, then those that only these dominate, and so on.
func (v *View) fronts(trials []*FrozenTrial) (all [][]*FrozenTrial) {
	n := len(trials)
	over := make([]int, n) // how many dominate it
	under := make([][]int, n)
	var front []int
	for i := range n {
		for j := range n {
			switch {
			case v.dominates(trials[i], trials[j]):
				under[i] = append(under[i], j)
			case v.dominates(trials[j], trials[i]):
				over[i]++
			}
		}
		if over[i] == 0 {
			front = append(front, i)
		}
	}
	for len(front) > 0 {
		var next []int
		var those []*FrozenTrial
		for _, i := range front {
			those = append(those, trials[i])
			for _, j := range under[i] {
				if over[j]--; over[j] == 0 {
					next = append(next, j)
				}
			}
		}
		all = append(all, those)
		slices.Sort(next)
		front = next
	}
	return all
}

// survivors returns the best trials.
func (v *View) survivors(trials []*FrozenTrial, size int) (kept []*FrozenTrial) {
	for _, front := range v.fronts(trials) {
		if len(kept)+len(front) > size {
			v.sortByCrowding(front)
			front = front[:size-len(kept)]
		}
		kept = append(kept, front...)
	}
	return kept
}

// sortByCrowding sorts a front by crowding distance, the largest first.
func (v *View) sortByCrowding(front []*FrozenTrial) {
	distance := map[*FrozenTrial]float64{}
	for i := range v.Directions {
		slices.SortStableFunc(front, func(a, b *FrozenTrial) int { return byValue(a.value(i), b.value(i)) })
		last := len(front) - 1
		width := front[last].value(i) - front[0].value(i)
		for j, t := range front {
			switch {
			case j == 0 || j == last:
				distance[t] = math.Inf(1)
			case width > 0 && !math.IsInf(width, 0):
				distance[t] += (front[j+1].value(i) - front[j-1].value(i)) / width
			}
		}
	}
	slices.SortStableFunc(front, func(a, b *FrozenTrial) int {
		if c := byValue(-distance[a], -distance[b]); c != 0 {
			return c
		}
		return int(a.Number - b.Number)
	})
}
