package study

import (
	"math"
	"math/rand/v2"
	"slices"
)

// TPE is the tree-structured Parzen estimator (Bergstra et al., 2011; Watanabe, arXiv 2304.11127). It draws candidates
// from the density of the good trials, and chooses the one with the highest ratio of that density to the density of the
// others. Parameters that all trials have are chosen together, others independently. Running trials count as bad
// (constant liar), so that parallel trials try different points.
type TPE struct {
	Startup    int // trials that are random at first; 0: 10
	Candidates int // points that are compared; 0: 24
}

// Name implements Sampler.
func (*TPE) Name() string { return "tpe" }

func (*TPE) oneObjective() {}

// started reports whether enough trials have finished.
func (s *TPE) started(v *View) bool { return v.summary().notFailed >= orDefault(s.Startup, 10) }

// Relative implements Sampler.
func (s *TPE) Relative(v *View) (map[string]float64, error) {
	if !s.started(v) {
		return nil, nil
	}
	names, space := v.common()
	if len(names) == 0 {
		return nil, nil
	}
	return s.choose(v, v.Rand("relative"), names, space), nil
}

// Independent implements Sampler.
func (s *TPE) Independent(v *View, name string, d Distribution) (float64, error) {
	if !s.started(v) {
		return Random{}.Independent(v, name, d)
	}
	return s.choose(v, v.Rand(name), []string{name}, map[string]Distribution{name: d})[name], nil
}

// bestCount returns how many of n trials count as good.
func bestCount(n int) int { return min((n+9)/10, 25) }

// split divides the trials into good and other ones, each sorted by number. Complete trials are better than pruned
// ones.
func (v *View) split() (good, bad []*FrozenTrial) {
	n := bestCount(v.summary().notFailed)
	for _, t := range v.Finished { // good has the best of those so far, in their order; of equal ones the earlier
		if t.State == Fail || n == 0 || len(good) == n && v.rank(t, good[n-1]) >= 0 {
			continue
		}
		if len(good) == n {
			good = good[:n-1]
		}
		i := len(good)
		for i > 0 && v.rank(t, good[i-1]) < 0 {
			i--
		}
		good = slices.Insert(good, i, t)
	}
	number := func(a, b *FrozenTrial) int { return int(a.Number - b.Number) }
	slices.SortFunc(good, number)
	rest := good
	for _, t := range v.Finished {
		switch {
		case len(rest) > 0 && t == rest[0]:
			rest = rest[1:]
		case t.State != Fail:
			bad = append(bad, t)
		}
	}
	bad = append(bad, v.Running...)
	slices.SortFunc(bad, number)
	return good, bad
}

// choose chooses the named parameters together.
func (s *TPE) choose(v *View, r *rand.Rand, names []string, space map[string]Distribution) map[string]float64 {
	dims := make([]Distribution, len(names))
	for i, name := range names {
		dims[i] = space[name]
	}
	rows := func(trials []*FrozenTrial) (all [][]float64) {
		all = make([][]float64, 0, len(trials))
		room := make([]float64, len(trials)*len(names))
		for k, t := range trials {
			row := room[k*len(names) : k*len(names) : (k+1)*len(names)]
			for i, name := range names {
				if x, ok := t.Params[name]; ok && dims[i].contains(x) {
					row = append(row, x)
				}
			}
			if len(row) == len(names) {
				all = append(all, row)
			}
		}
		return all
	}
	good, bad := v.split()
	low, high := newParzen(dims, rows(good)), newParzen(dims, rows(bad))
	var best []float64
	most := math.Inf(-1)
	terms := make([]float64, max(len(low.weights), len(high.weights)))
	for range orDefault(s.Candidates, 24) {
		point := low.sample(r)
		if gain := low.logDensity(point, terms) - high.logDensity(point, terms); best == nil || gain > most {
			best, most = point, gain
		}
	}
	chosen := map[string]float64{}
	for i, name := range names {
		chosen[name] = best[i]
	}
	return chosen
}
