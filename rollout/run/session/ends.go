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

// reached returns which of the ends a run has reached; "" for none. computed is the time since its first round began.
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

// text says in a few words which end was reached.
func (e Ends) text(end, round string) string {
	switch end {
	case endedByRounds:
		if e.Rounds == 1 {
			return "after 1 " + round
		}
		return fmt.Sprintf("after %d %ss", e.Rounds, round)
	case endedByWork:
		return fmt.Sprintf("after %.12g steps", e.Work)
	}
	return fmt.Sprintf("after %v", e.After)
}
