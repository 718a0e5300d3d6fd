// Package parallelbench measures how trials run side by side: trials that only sleep under our own coordinator, what processes take of the machine, and
// a model of the speed-up by many workers that is fitted to that.
package parallelbench

import (
	"fmt"
	"math"
)

// Tier is a size of trial: every trial evolves a population of so many members for so many generations, once a seed.
type Tier struct {
	Name        string `json:"name"`
	Population  int    `json:"population"`
	Generations int    `json:"generations"`
	Seeds       int    `json:"seeds"`
}

// Tiers are the sizes, from the smallest.
func Tiers() []Tier {
	return []Tier{{"small", 200, 20, 2}, {"medium", 300, 50, 3}, {"large", 500, 150, 3}}
}

// leastGenerations is what scaling leaves of the generations: of trials with fewer, nearly all is the start of their runs, and a speed-up of that says nothing about
// whole ones.
const leastGenerations = 20

// Scaled has `scale` times the generations, 20 at least: populations and seeds, on which it depends what of a trial can be done at a time, stay.
func (t Tier) Scaled(scale float64) Tier {
	t.Generations = min(t.Generations, max(leastGenerations, int(math.Round(float64(t.Generations)*scale))))
	return t
}

// Episodes of a trial.
func (t Tier) Episodes() int { return t.Population * t.Generations * t.Seeds }

// String is "small: 200 x 20 x 2".
func (t Tier) String() string {
	return fmt.Sprintf("%s: %d members x %d generations x %d seeds", t.Name, t.Population, t.Generations, t.Seeds)
}
