package run

import (
	"fmt"
	"math"

	"xlarun/rollout/episode"
)

// Evaluated is the newest evaluation of a run; zero: there has been none.
type Evaluated struct {
	episode.EvalScore
	Step int64 // from 1
}

// Note takes the evaluation of a step, if it has one.
func (e *Evaluated) Note(m Metrics) {
	if mean, ok := m.Get(EvalReturn); ok {
		*e = Evaluated{episode.EvalScore{Mean: mean, Error: m.Number(EvalError), Failed: int(m.Number(EvalFailed)),
			Episodes: int(m.Number(EvalEpisodes))}, m.Step}
	}
}

// Text is the return after the last step, whose unit is such as "generation", beside the target; NaN: there is none. It
// names the step of the evaluation if that was an earlier one.
func (e Evaluated) Text(unit string, last Metrics, target float64) string {
	text := fmt.Sprint("eval return ", e.EvalScore)
	if e.Step != last.Step {
		text += fmt.Sprintf(" in %s %d", unit, e.Step)
	}
	switch {
	case math.IsNaN(target):
		return text
	case last.Done:
		return text + fmt.Sprintf(" of the %.4g wanted", target)
	case e.Failed == 0 && e.Mean >= target && !e.Passes(target):
		return text + fmt.Sprintf(", less than its error above the target, %.4g", target)
	}
	return text + fmt.Sprintf(", the target is %.4g", target)
}
