package study

import (
	"fmt"
	"hash/crc32"
	"math"
	"slices"
)

// Median prunes a trial if its best report is worse than the median of the reports of complete trials for the same step
// (Golovin et al., 2017).
type Median struct {
	Startup int   // complete trials before the first is pruned; 0: 5
	Warmup  int64 // steps of a trial before it can be pruned
}

// Name implements Pruner.
func (Median) Name() string { return "median" }

// Prune implements Pruner.
func (m Median) Prune(v *View, t *FrozenTrial) bool {
	last, ok := t.Last()
	complete := v.completed()
	if !ok || last.Step < m.Warmup || len(complete) < orDefault(m.Startup, 5) {
		return false
	}
	sign := v.Directions[0].sign()
	best := math.NaN()
	for _, r := range t.Intermediate {
		if byValue(sign*r.Value, best) < 0 {
			best = sign * r.Value
		}
	}
	if math.IsNaN(best) {
		return true
	}
	var others []float64
	for _, c := range complete {
		for _, r := range c.Intermediate {
			if r.Step == last.Step && !math.IsNaN(r.Value) {
				others = append(others, sign*r.Value)
			}
		}
	}
	if len(others) == 0 {
		return false
	}
	slices.Sort(others)
	n := len(others)
	return best > (others[(n-1)/2]+others[n/2])/2
}

// ASHA is asynchronous successive halving (Li et al., 2020): at the steps Least · Factor^k a trial goes on if it is
// among the best 1/Factor of the trials that have reached the step.
type ASHA struct {
	Least  int64 // the first of these steps; 0: 1
	Factor int64 // 2 or more; 0: 4
	skip   int   // of the first steps
}

// check refuses a factor with which steps would not grow.
func (a ASHA) check() error { return checkFactor(a.Name(), a.Factor) }

func checkFactor(pruner string, factor int64) error {
	if factor < 0 || factor == 1 {
		return fmt.Errorf("pruner %s got the factor %d, wants 2 or more, or 0 for its default", pruner, factor)
	}
	return nil
}

// Name implements Pruner.
func (ASHA) Name() string { return "asha" }

// Prune implements Pruner.
func (a ASHA) Prune(v *View, t *FrozenTrial) bool { return a.prune(v, t, v.Finished) }

func (a ASHA) prune(v *View, t *FrozenTrial, others []*FrozenTrial) bool {
	last, ok := t.Last()
	if !ok {
		return false
	}
	least, factor := max(a.Least, 1), orDefault(a.Factor, 4)
	sign := v.Directions[0].sign()
	before := int64(math.MinInt64) // the step of the report before the last
	if n := len(t.Intermediate); n > 1 {
		before = t.Intermediate[n-2].Step
	}
	rung := least
	for range a.skip {
		rung *= factor
	}
	for ; rung <= last.Step; rung *= factor {
		if rung <= before {
			continue // it was decided then
		}
		score := sign * last.Value
		if math.IsNaN(score) {
			return true
		}
		competing := []float64{score}
		for _, o := range others {
			if x, ok := o.reportedFrom(rung); ok && !math.IsNaN(x) {
				competing = append(competing, sign*x)
			}
		}
		slices.Sort(competing)
		if place := max(len(competing)/int(factor), 1); score > competing[place-1] {
			return true
		}
		if rung > math.MaxInt64/factor {
			break
		}
	}
	return false
}

// Hyperband prunes by several brackets of successive halving, which begin at different steps (Li et al., 2018;
// asynchronous, as in Optuna). The bracket of a trial follows from the name of the study and its number.
type Hyperband struct {
	Least, Most int64 // first and last step; Least 0: 1
	Factor      int64 // 2 or more; 0: 3
}

func (h Hyperband) check() error { return checkFactor(h.Name(), h.Factor) }

func (h Hyperband) factor() int64 { return orDefault(h.Factor, 3) }

// Name implements Pruner.
func (Hyperband) Name() string { return "hyperband" }

// brackets returns the share of the trials of each bracket, and their sum.
func (h Hyperband) brackets() (shares []int64, total int64) {
	least, factor := max(h.Least, 1), h.factor()
	n := 1
	for size := least; size <= h.Most/factor; size *= factor {
		n++
	}
	for b := range n {
		s := n - 1 - b
		shares = append(shares, int64(math.Ceil(float64(n)*math.Pow(float64(factor), float64(s))/float64(s+1))))
		total += shares[b]
	}
	return shares, total
}

func (h Hyperband) bracket(study string, number int64) int {
	shares, total := h.brackets()
	n := int64(crc32.ChecksumIEEE(fmt.Appendf(nil, "%s_%d", study, number))) % total
	for b, share := range shares {
		if n -= share; n < 0 {
			return b
		}
	}
	return len(shares) - 1
}

// Prune implements Pruner.
func (h Hyperband) Prune(v *View, t *FrozenTrial) bool {
	mine := h.bracket(v.Study, v.Number)
	var others []*FrozenTrial
	for _, o := range v.Finished {
		if h.bracket(v.Study, o.Number) == mine {
			others = append(others, o)
		}
	}
	return ASHA{Least: h.Least, Factor: h.factor(), skip: mine}.prune(v, t, others)
}
