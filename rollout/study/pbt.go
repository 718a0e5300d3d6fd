package study

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// PBT is population-based training (Jaderberg et al., 2017, arXiv 1711.09846) with trials as rungs: trial n is the n/Population-th rung of a member, and goes on from where
// a trial of the rung before ended (PBTPlace.Parent). That is the member's own, unless it was among the lowest fifth of its rung, as far as that is seen, or failed: then it is one of the highest
// fifth, chosen at random, and each of its numbers is multiplied by 1.25 or divided by it (one whose range reaches below 0 moves by a tenth of the range), within its bounds. What is no number stays as
// the parent has it, so that states fit. The objective has to see to it that runs go on from their parents.
type PBT struct {
	Population int // members; 0: 10. No more trials may be under way at a time
}

// PBTPlace is where a trial of PBT stands.
type PBTPlace struct {
	Rung   int64 `json:"rung"`
	Member int64 `json:"member"`
	Parent int64 `json:"parent"` // number of the trial that it goes on from; -1: none, it begins
}

// pbtAttr of a trial is its PBTPlace.
const pbtAttr = "xlarun:pbt"

// PlaceInPBT is where a trial of PBT stands; false for one of another sampler.
func PlaceInPBT(t *FrozenTrial) (PBTPlace, bool) { return System[PBTPlace](t, pbtAttr) }

// Name implements Sampler.
func (*PBT) Name() string { return "pbt" }

func (*PBT) oneObjective() {}

// Independent implements Sampler.
func (*PBT) Independent(v *View, name string, d Distribution) (float64, error) {
	return Random{}.Independent(v, name, d)
}

// Members is the population.
func (s *PBT) Members() int { return or(s.Population, 10) }

// Relative implements Sampler.
func (s *PBT) Relative(v *View) (map[string]float64, error) {
	n, size := int64(0), int64(s.Members())
	for _, t := range slices.Concat(v.Finished, v.Running) {
		if _, ok := PlaceInPBT(t); ok {
			n++
		}
	}
	at := PBTPlace{Rung: n / size, Member: n % size, Parent: -1}
	parent, exploits := v.pbtParent(at)
	var params map[string]float64
	if parent != nil {
		at.Parent, params = parent.Number, maps.Clone(parent.Params)
		if exploits {
			params = explored(parent, v.Rand("pbt explore"))
		}
	}
	v.Attrs[pbtAttr] = at
	return params, nil
}

// pbtParent is the trial that one goes on from, nil for none; exploits tells that it is another member's.
func (v *View) pbtParent(at PBTPlace) (parent *FrozenTrial, exploits bool) {
	var own *FrozenTrial
	var rung []*FrozenTrial // the one before, as far as it is seen, the best first
	for _, t := range v.completed() {
		p, ok := PlaceInPBT(t)
		if !ok || p.Rung != at.Rung-1 {
			continue
		}
		rung = append(rung, t)
		if p.Member == at.Member {
			own = t
		}
	}
	slices.SortStableFunc(rung, v.rank)
	fifth := (len(rung) + 4) / 5
	if own != nil && slices.Index(rung, own) < max(len(rung)-fifth, 1) {
		return own, false
	}
	if len(rung) == 0 {
		return nil, false
	}
	return rung[v.Rand("pbt exploit").IntN(fifth)], true
}

// explored are a trial's parameters, its numbers perturbed.
func explored(t *FrozenTrial, r *rand.Rand) map[string]float64 {
	params := maps.Clone(t.Params)
	for _, name := range slices.Sorted(maps.Keys(params)) {
		d, up := t.Distributions[name], r.IntN(2) == 0
		if d.Kind == Categorical {
			continue
		}
		x, by := params[name], .1*(d.top()-d.Low)
		switch {
		case d.Low > 0 && up:
			by = x * .25
		case d.Low > 0:
			by = x * .2
		}
		if by = max(by, d.Step); !up { // at least to the next whole number
			by = -by
		}
		params[name] = d.Round(min(max(x+by, d.Low), d.top()))
	}
	return params
}
