package session

import (
	"fmt"
	"time"
)

// Ends are further ends of a run, beside its goal and its last step. Zero fields end nothing. A run that ended by one
// of them can be resumed with other ones.
type Ends struct {
	After  time.Duration // since the first round of this process began
	Rounds int64         // of the whole run
	Work   float64       // of the whole run: what steps/s counts (Kind.Work)
}

// Values of Outcome.EndedBy for the ends of Ends.
const (
	endedByTime   = "time"
	endedByRounds = "rounds"
	endedByWork   = "total_steps"
)

// reached returns the end that a run has reached, "rounds", "total_steps" or "time"; "" for none. computed is the time
// that its rounds took in this process; rounds and work are the whole run's.
func (e Ends) reached(computed time.Duration, rounds int64, work float64) string {
	switch {
	case e.Rounds > 0 && rounds >= e.Rounds:
		return endedByRounds
	case e.Work > 0 && work >= e.Work:
		return endedByWork
	case e.After > 0 && computed >= e.After:
		return endedByTime
	}
	return ""
}

// value returns the end, except a time, as config.toml has it: "rounds = 3".
func (e Ends) value(end string) string {
	if end == endedByRounds {
		return fmt.Sprintf("rounds = %d", e.Rounds)
	}
	return fmt.Sprintf("total-steps = %.0f", e.Work)
}
