package session

import (
	"math"
	"slices"
	"time"

	"xlarun/rollout/run"
)

// keptRounds is the number of rounds, the last ones, whose times are kept.
const keptRounds = 1 << 14

// pace has the times of rounds, and the time between rounds, in which the devices are idle while metrics, logs and
// checkpoints are written.
type pace struct {
	seconds []float64 // of the last keptRounds rounds, in a ring
	next    int
	idle    time.Duration // from the end of a round to the start of the next, in sum
	whole   time.Duration // from the end of the first round to the end of the last
	ended   time.Time     // the end of the last round
	// recent are the times of the last recentRounds rounds, sorted. The logs get their quantiles.
	recent []float64
}

// recentRounds is the number of rounds that the quantiles in a row of the logs cover.
const recentRounds = 128

// add adds a round.
func (p *pace) add(started, ended time.Time) {
	if !p.ended.IsZero() { // the first round is left out: it allocates
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

// facts returns the median and the 99th percentile of the rounds' times, and the share of the time in which the devices
// were idle; nil before the second round.
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

// row returns the same for a row of the logs, with quantiles of the last recentRounds rounds; NaN before the second
// round.
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
