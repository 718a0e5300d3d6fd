package session

import (
	"math"
	"slices"
	"time"

	"xlarun/rollout/run"
)

// keptRounds is the number of rounds whose times are kept: the last ones.
const keptRounds = 1 << 14

// pace is how long rounds took, and how much of the time the devices had none to compute: while metrics were shown,
// logs and checkpoints written.
type pace struct {
	seconds []float64 // of the last keptRounds rounds, in a ring
	next    int
	idle    time.Duration // between the end of a round and the start of the next, of all rounds but the first
	whole   time.Duration // of these and of the rounds behind them
	ended   time.Time     // of the last round
	// recent are the last recentRounds of seconds, in order: what the logs have of every round.
	recent []float64
}

// recentRounds is the number of rounds whose times the quantiles of a row are of.
const recentRounds = 128

// add takes a round into account.
func (p *pace) add(started, ended time.Time) {
	if !p.ended.IsZero() { // the first round has allocations behind it that no other has
		p.idle += started.Sub(p.ended)
		p.whole += ended.Sub(p.ended)
		seconds := ended.Sub(started).Seconds()
		if len(p.recent) == recentRounds {
			left := p.seconds[(p.next-recentRounds+len(p.seconds))%len(p.seconds)]
			i, _ := slices.BinarySearch(p.recent, left)
			p.recent = slices.Delete(p.recent, i, i+1)
		}
		i, _ := slices.BinarySearch(p.recent, seconds)
		p.recent = slices.Insert(p.recent, i, seconds)
		if len(p.seconds) < keptRounds {
			p.seconds = append(p.seconds, seconds)
		} else {
			p.seconds[p.next] = seconds
		}
		p.next = (p.next + 1) % keptRounds
	}
	p.ended = ended
}

// facts are the median and the 99th percentile of the rounds' times, and the part of the time that the devices were
// idle; null before the second round.
func (p *pace) facts(round string) []run.Fact {
	var facts []run.Fact
	for _, v := range p.quantiles(round, slices.Sorted(slices.Values(p.seconds))) {
		f := run.Fact{Name: v.Name}
		if !math.IsNaN(v.Number) {
			f.Value = v.Number
		}
		facts = append(facts, f)
	}
	return facts
}

// row is what a row of the logs has of them, where the quantiles are of the last recentRounds rounds; NaN before the
// second round.
func (p *pace) row(round string) []run.Value { return p.quantiles(round, p.recent) }

func (p *pace) quantiles(round string, sorted []float64) []run.Value {
	at := func(q int) float64 { // nearest rank
		if len(sorted) == 0 {
			return math.NaN()
		}
		return sorted[min(len(sorted)-1, (len(sorted)*q+99)/100-1)]
	}
	idle := math.NaN()
	if p.whole > 0 {
		idle = p.idle.Seconds() / p.whole.Seconds()
	}
	return []run.Value{{Name: round + "_seconds_p50", Number: at(50)}, {Name: round + "_seconds_p99", Number: at(99)},
		{Name: "idle_share", Number: idle}}
}
