package generation

import (
	"fmt"

	"xlarun/rollout/run"
)

// Evaluated is the newest evaluation of a run; zero: there has been none.
type Evaluated struct {
	Return     float64
	Generation int64 // from 1
}

// Note takes the evaluation of a generation, if it has one.
func (e *Evaluated) Note(m run.Metrics) {
	if mean, ok := m.Get(run.EvalReturn); ok {
		*e = Evaluated{mean, m.Step}
	}
}

// Text is the return after a generation, with the generation of the evaluation if that was an earlier one.
func (e Evaluated) Text(generation int64) string {
	text := "eval return " + Number(e.Return)
	if e.Generation != generation {
		text += fmt.Sprint(" in generation ", e.Generation)
	}
	return text
}
