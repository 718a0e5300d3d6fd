package display

import (
	"fmt"
	"time"
)

// pace estimates the time left of a run from the steps of the last 30 to 60 seconds. So slow early rounds and the wait
// before the first news count only at the start.
type pace struct {
	from, next, last mark
	round            int64 // steps between the last two calls of add
}

// mark is a step and its time.
type mark struct {
	step int64
	at   time.Time
}

const (
	paceOver = 30 * time.Second
	paceFrom = time.Second // no estimate from less
)

// add records the end of a step.
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

// resume starts a new estimate after the process was stopped.
func (p *pace) resume(now time.Time) {
	if !p.last.at.IsZero() {
		p.last.at = now
		p.from, p.next, p.round = p.last, p.last, 0
	}
}

// left estimates the time until the step `until`. It stays constant while the next round is late.
func (p *pace) left(until int64, now time.Time) (d time.Duration, known bool) {
	steps, took := p.last.step-p.from.step, p.last.at.Sub(p.from.at)
	if steps <= 0 || took < paceFrom {
		return 0, false
	}
	each := took.Seconds() / float64(steps)
	seconds := each*float64(until-p.last.step) - min(now.Sub(p.last.at).Seconds(), each*float64(p.round))
	return time.Duration(min(max(0, seconds), 1e9) * float64(time.Second)), true
}

// timeLeft writes an estimated duration.
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
