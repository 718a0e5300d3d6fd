package evolve

import (
	"math"

	"xlarun/rollout/run"
)

// sums are the figures of one generation. Those of fitness are over the members whose fitness is a number.
type sums struct {
	best, mean, worst float64
	std               float64 // of the population, not an estimate for a larger one
	length            float64 // mean number of steps of an episode
	failed            int     // members whose fitness is no finite number, which is NaN here
	first             int     // the number of the first of them; -1: there is none
	step              float64 // of its episode, after which its return was none first; 0 where each episode's was one, but not their mean
}

// failures say where the first member failed; nothing where none did.
func (s sums) failures(generation int64) []run.Value {
	if s.failed == 0 {
		return nil
	}
	step := s.step
	if step == 0 {
		step = math.NaN()
	}
	return []run.Value{{Name: "failed_generation", Number: float64(generation)}, {Name: "failed_member", Number: float64(s.first)}, {Name: "failed_step", Number: step}}
}

// measure sums a generation up, in the members' order. Where all members failed, the fitness figures are -Inf, so that
// nothing takes them for a success, and the deviation is 0.
func measure(fitness, lengths, steps []float64) sums {
	m := sums{best: math.Inf(-1), worst: math.Inf(1), first: -1}
	sum, squares := 0., 0.
	for i, f := range fitness {
		m.length += lengths[i]
		if math.IsNaN(f) {
			if m.failed++; m.failed == 1 {
				m.first, m.step = i, steps[i]
			}
			continue
		}
		m.best, m.worst = max(m.best, f), min(m.worst, f)
		sum += f
	}
	m.length /= float64(len(lengths))
	n := float64(len(fitness) - m.failed)
	if n == 0 {
		m.mean, m.worst = math.Inf(-1), math.Inf(-1)
		return m
	}
	m.mean = sum / n
	for _, f := range fitness {
		if !math.IsNaN(f) {
			squares += (f - m.mean) * (f - m.mean)
		}
	}
	m.std = math.Sqrt(squares / n)
	return m
}
