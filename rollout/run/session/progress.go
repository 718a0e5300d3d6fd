package session

import (
	"fmt"
	"sync"
	"time"

	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// A round that takes longer than progressAfter says how long it has taken, about ten times.
const progressAfter = 10 * time.Second

// progress says how far a round under way is.
type progress struct {
	say      func(text string)
	what     string        // "generation 7"
	expected time.Duration // that the round takes; 0: not known
	started  time.Time

	mu    sync.Mutex
	ended bool
	timer *time.Timer
}

// watchRound begins to say how far a round is, and returns the function that ends it.
func watchRound(say func(string), what string, expected time.Duration) (end func()) {
	p := &progress{say: say, what: what, expected: expected, started: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(p.every(), p.tick)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ended = true
		p.timer.Stop()
	}
}

func (p *progress) every() time.Duration { return max(progressAfter, p.expected/10) }

func (p *progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.say(progressText(p.what, time.Since(p.started), p.expected))
	p.timer.Reset(p.every())
}

// progressText says how long a round has taken, and how long it will still take if that is expected.
func progressText(what string, taken, expected time.Duration) string {
	text := fmt.Sprintf("%s: %s so far", what, taken.Round(time.Second))
	if left := expected - taken; expected > 0 && left > 0 {
		text += fmt.Sprintf(", about %s left", left.Round(time.Second))
	}
	return text
}

// estimateSpeed is the arithmetic of one CPU device that estimates count on, in operations a second. Networks with
// weights of their own reach 10 to 40 thousand million (docs/notes/speed-on-cpu.md).
const estimateSpeed = 20e9

// estimateRound returns how long a round of a new run will take, from the operations that its program counts; 0 if that
// is not known. A kind counts a step of its unit; that is a round if the two are the same.
func estimateRound(r run.Run, kind run.Kind, b xlabridge.Backend) (cost graph.Cost, takes time.Duration) {
	p, ok := r.(run.Profiled)
	if !ok || b.Backend() != "cpu" || kind.Round != kind.Unit {
		return cost, 0
	}
	cost = p.Cost()
	seconds := cost.FLOPs / estimateSpeed / float64(max(1, r.Profile().Devices))
	return cost, time.Duration(min(seconds, 1e9) * float64(time.Second))
}

// announce says that a round will take long, before it begins.
func (s *session) announce(cost graph.Cost) {
	if s.expected < time.Minute {
		return
	}
	s.Observer.Notice(fmt.Sprintf("a %s has %.1e operations, which take about %s on %d devices of %.0f GFLOP/s each: "+
		"fewer members, steps or parameters take less", s.Kind.Round, cost.FLOPs, longText(s.expected),
		max(1, s.profile.Devices), estimateSpeed/1e9))
}

// longText words a time of a minute or more.
func longText(d time.Duration) string {
	switch {
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f minutes", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f hours", d.Hours())
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}
