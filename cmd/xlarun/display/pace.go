package display

import (
	"fmt"
	"time"
)

// pace estimates how long a run goes on, from the steps of the last half minute to minute: early rounds, and what a run
// waited for before its first news, count no more than that long.
type pace struct {
	from, next, last mark
	round            int64 // steps between the last two marks
}

// mark is a step and when it was done.
type mark struct {
	step int64
	at   time.Time
}

const (
	paceOver = 30 * time.Second
	paceFrom = time.Second // less tells nothing
)

// add takes in that a step is done.
func (p *pace) add(step int64, now time.Time) {
	m := mark{step, now}
	if p.last.at.IsZero() || step < p.last.step {
		p.from, p.next, p.last, p.round = m, m, m, 0
		return
	}
	p.round, p.last = step-p.last.step, m
	if now.Sub(p.next.at) >= paceOver {
		p.from, p.next = p.next, m
	}
}

// again forgets what is known: the process was stopped.
func (p *pace) again(now time.Time) {
	if !p.last.at.IsZero() {
		p.last.at = now
		p.from, p.next, p.round = p.last, p.last, 0
	}
}

// left is the time until the step `until`. While the next round is late it stays what it is.
func (p *pace) left(until int64, now time.Time) (d time.Duration, known bool) {
	steps, took := p.last.step-p.from.step, p.last.at.Sub(p.from.at)
	if steps <= 0 || took < paceFrom {
		return 0, false
	}
	each := took.Seconds() / float64(steps)
	seconds := each*float64(until-p.last.step) - min(now.Sub(p.last.at).Seconds(), each*float64(p.round))
	return time.Duration(min(max(0, seconds), 1e9) * float64(time.Second)), true
}

// timeLeft writes a duration as roughly as it is known.
func timeLeft(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 1000*day:
		return "more than 1000 days"
	case d >= 2*day:
		return fmt.Sprintf("about %.0f days", d.Hours()/24)
	}
	return "about " + Clock(d.Round(time.Second))
}
