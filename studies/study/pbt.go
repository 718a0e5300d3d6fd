package study

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// PBT is population-based training (Jaderberg et al., arXiv 1711.09846) with trials as rungs: trial n is rung
// n/Population of a member. It starts from the state at the end of a trial of the rung before (PBTPlace.Parent): that
// of the member itself, unless it failed or was among the lowest fifth of its rung. Then the parent is one of the
// highest fifth, chosen at random, and each number is multiplied by 1.25 or divided by it, within its bounds. A number
// whose range reaches below 0 moves by a tenth of the range. Choices stay the same as the parent's, so that states
// fit. The objective has to start runs from the states of their parents.
type PBT struct {
	Population int // members; 0: 10. No more trials may be under way at a time
}

// PBTPlace is the position of a trial in PBT.
type PBTPlace struct {
	Rung   int64 `json:"rung"`
	Member int64 `json:"member"`
	Parent int64 `json:"parent"` // number of the trial that it goes on from; -1: none, it begins
}

// pbtAttr is the attribute of a trial with its PBTPlace.
const pbtAttr = "xlarun:pbt"

// PlaceInPBT returns the position of a trial; ok is false for a trial of another sampler.
func PlaceInPBT(t *FrozenTrial) (PBTPlace, bool) { return System[PBTPlace](t, pbtAttr) }

// Name implements Sampler.
func (*PBT) Name() string { return "pbt" }

func (*PBT) oneObjective() {}

// Independent implements Sampler.
func (*PBT) Independent(v *View, name string, d Distribution) (float64, error) {
	return Random{}.Independent(v, name, d)
}

// Members returns the size of the population.
func (s *PBT) Members() int { return orDefault(s.Population, 10) }

// Relative implements Sampler.
func (s *PBT) Relative(v *View) (map[string]float64, error) {
	n, size := int64(0), int64(s.Members())
	for _, t := range slices.Concat(v.Finished, v.Running) {
		if _, ok := PlaceInPBT(t); ok {
			n++
		}
	}
	place := PBTPlace{Rung: n / size, Member: n % size, Parent: -1}
	parent, exploits := v.pbtParent(place)
	var params map[string]float64
	if parent != nil {
		place.Parent, params = parent.Number, maps.Clone(parent.Params)
		if exploits {
			params = explored(parent, v.Rand("pbt explore"))
		}
	}
	v.Attrs[pbtAttr] = place
	return params, nil
}

// pbtParent returns the parent of a trial, nil for none. exploits means that the parent is a trial of another member.
func (v *View) pbtParent(place PBTPlace) (parent *FrozenTrial, exploits bool) {
	var previous *FrozenTrial
	var rung []*FrozenTrial // the one before, as far as it is seen, the best first
	for _, t := range v.completed() {
		p, ok := PlaceInPBT(t)
		if !ok || p.Rung != place.Rung-1 {
			continue
		}
		rung = append(rung, t)
		if p.Member == place.Member {
			previous = t
		}
	}
	slices.SortStableFunc(rung, v.rank)
	fifth := (len(rung) + 4) / 5
	if previous != nil && slices.Index(rung, previous) < max(len(rung)-fifth, 1) {
		return previous, false
	}
	if len(rung) == 0 {
		return nil, false
	}
	return rung[v.Rand("pbt exploit").IntN(fifth)], true
}

// explored returns the parameters of a trial with its numbers perturbed.
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
