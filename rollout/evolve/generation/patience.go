package generation

import (
	"math"

	"xlarun/rollout/run"
)

// PatienceSettings say when a run ends that no longer improves.
type PatienceSettings struct {
	Patience int `set:"patience" program:"no" resume:"goal" min:"0" max:"1073741823" help:"generations without a better eval_return (without evaluations, best_ever) after which the run ends; 0 to go on"`
	// MinImprovement is the least rise that counts as an improvement.
	MinImprovement float64 `set:"min-improvement" needs:"patience=!0" program:"no" resume:"goal" min:"0" help:"what that has to rise by, at least, to count as better for --patience"`
}

// Progress returns the metric of a generation that patience waits for: the return of its evaluation, NaN if it had
// none. Without evaluations it is the best fitness.
func (c *Search) Progress(m run.Metrics) float64 {
	if c.EvalEnvs > 0 {
		return m.Number(run.EvalReturn)
	}
	return m.Number("best_fitness")
}

// Patience counts the generations since a run improved.
type Patience struct {
	Best  float64 // to be exceeded by MinImprovement; -Inf at first
	Since int64   // the generation that reached it, from 1
}

// NewPatience returns the Patience of a run that begins.
func NewPatience() Patience { return Patience{Best: math.Inf(-1)} }

// Update records the Progress of a generation and reports whether the run should end. NaN says nothing.
func (p *Patience) Update(best float64, generation int64, c PatienceSettings) (end bool) {
	if math.IsNaN(best) {
		return false
	}
	if best > p.Best+c.MinImprovement {
		p.Best, p.Since = best, generation
	}
	return c.Patience > 0 && generation-p.Since >= int64(c.Patience)
}
