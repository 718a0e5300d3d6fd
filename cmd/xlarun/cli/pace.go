package cli

import (
	"slices"
	"time"

	"xlarun/rollout/run"
)

// paceMost is the number of rounds whose times are kept: the last ones.
const paceMost = 1 << 14

// pace is how long rounds took, and how much of the time the devices had none to compute: while metrics were shown, logs and checkpoints written.
type pace struct {
	seconds []float64 // of the last paceMost rounds, in a ring
	next    int
	idle    time.Duration // between the end of a round and the start of the next, of all rounds but the first
	whole   time.Duration // of these and of the rounds behind them
	ended   time.Time     // of the last round
}

// note takes a round down.
func (p *pace) note(started, ended time.Time) {
	if !p.ended.IsZero() { // the first round has allocations behind it that no other has
		p.idle += started.Sub(p.ended)
		p.whole += ended.Sub(p.ended)
		seconds := ended.Sub(started).Seconds()
		if len(p.seconds) < paceMost {
			p.seconds = append(p.seconds, seconds)
		} else {
			p.seconds[p.next] = seconds
		}
		p.next = (p.next + 1) % paceMost
	}
	p.ended = ended
}

// facts are the median and the 99th percentile of the rounds' times, and the part of the time that the devices were idle; null before the second round.
func (p *pace) facts(round string) []run.Fact {
	sorted := slices.Sorted(slices.Values(p.seconds))
	at := func(q int) any { // nearest rank
		if len(sorted) == 0 {
			return nil
		}
		return sorted[min(len(sorted)-1, (len(sorted)*q+99)/100-1)]
	}
	var idle any
	if p.whole > 0 {
		idle = p.idle.Seconds() / p.whole.Seconds()
	}
	return []run.Fact{{Name: round + "_seconds_p50", Value: at(50)}, {Name: round + "_seconds_p99", Value: at(99)}, {Name: "idle_share", Value: idle}}
}
