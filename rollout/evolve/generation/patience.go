package generation

import "math"

// PatienceSettings say when a run ends that no longer improves.
type PatienceSettings struct {
	Patience int `set:"patience" program:"no" resume:"goal" min:"0" max:"1073741823" help:"generations without a better best_ever after which the run ends; 0 to go on"`
	// MinImprovement is the least rise of best_ever that counts as an improvement.
	MinImprovement float64 `set:"min-improvement" needs:"patience=!0" program:"no" resume:"goal" min:"0" help:"what best_ever has to rise by, at least, to count as better for --patience"`
}

// Patience counts the generations since a run improved.
type Patience struct {
	Best  float64 // to be exceeded by MinImprovement; -Inf at first
	Since int64   // the generation that reached it, from 1
}

// NewPatience returns the Patience of a run that begins.
func NewPatience() Patience { return Patience{Best: math.Inf(-1)} }

// Update records the best fitness of a generation and reports whether the run should end.
func (p *Patience) Update(best float64, generation int64, c PatienceSettings) (end bool) {
	if best > p.Best+c.MinImprovement {
		p.Best, p.Since = best, generation
	}
	return c.Patience > 0 && generation-p.Since >= int64(c.Patience)
}
