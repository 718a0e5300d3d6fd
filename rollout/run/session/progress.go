package session

import (
	"fmt"
	"time"

	"xlarun/graph"
	"xlarun/internal/quantity"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

const (
	// progressAfter is the time after which a round says how far it is.
	progressAfter = 5 * time.Second
	progressEvery = time.Second
	// longest bounds the time left that is shown, in ns.
	longest = 1e18
)

// progress says how far a round under way is.
type progress struct {
	say      func(Progress)
	round    string           // "generation 7"
	counter  *run.PartCounter // nil: no parts are counted
	expected time.Duration    // that the round takes; 0: not known
	started  time.Time

	parts  string        // what the parts are: tiles, and then perhaps the episodes of a validation
	begun  time.Duration // from the start, when these parts began
	done   int64         // parts at the last look
	doneIn time.Duration // from begun, when they were done
}

// watchRound begins to say how far a round is, and returns the function that ends it, which waits for who reads.
func watchRound(say func(Progress), round string, counter *run.PartCounter, expected time.Duration) (end func()) {
	p := &progress{say: say, round: round, counter: counter, expected: expected, started: time.Now()}
	stop, done := make(chan struct{}), make(chan struct{})
	timer := time.AfterFunc(progressAfter, func() {
		defer close(done)
		p.watch(stop)
	})
	return func() {
		if !timer.Stop() {
			close(stop)
			<-done
		}
	}
}

// watch says how far the round is until stop is closed.
func (p *progress) watch(stop <-chan struct{}) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		p.say(p.now(time.Since(p.started)))
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// now returns how far the round is after a time.
func (p *progress) now(taken time.Duration) Progress {
	done, total, name := p.counter.Done()
	if name != p.parts {
		if p.parts != "" { // the first parts began with the round
			p.begun = taken
		}
		p.parts, p.done, p.doneIn = name, 0, 0
	}
	if done != p.done {
		p.done, p.doneIn = done, taken-p.begun
	}
	return Progress{Round: p.round, Done: done, Total: total, Parts: name, Taken: taken,
		Left: timeLeft(done, total, p.doneIn, taken-p.begun, p.expected-p.begun)}
}

// timeLeft returns the time that a round still takes, if `done` of its parts took doneIn; without parts, if it takes
// the expected time. It is 0 if that is not known.
func timeLeft(done, total int64, doneIn, taken, expected time.Duration) time.Duration {
	if done > 0 {
		expected = time.Duration(min(float64(doneIn)*float64(total)/float64(done), longest))
	}
	return max(0, expected-taken)
}

// estimateSpeed is the arithmetic of one CPU device that estimates count on, in operations a second. Networks with
// weights of their own reach 10 to 40 thousand million (docs/notes/speed-on-cpu.md).
const estimateSpeed = 20e9

// estimateRound returns how long a round of a new run will take, from the operations that its program counts; 0 if that
// is not known. A kind counts a step of its unit; that is a round if the two are the same.
func estimateRound(r run.Run, kind run.Kind, b xlabridge.Backend) (cost graph.Cost, takes time.Duration) {
	count := r.Describe().Cost
	if count == nil || b.Backend() != "cpu" || kind.Round != kind.Unit {
		return cost, 0
	}
	cost = count()
	seconds := cost.FLOPs / estimateSpeed / float64(max(1, r.Profile().Devices))
	return cost, time.Duration(min(seconds, 1e9) * float64(time.Second))
}

// announcement says that a round will take long; "" if it will not.
func (s *session) announcement(cost graph.Cost) string {
	if s.expected < time.Minute {
		return ""
	}
	return fmt.Sprintf("a %s has %.1e operations, which take about %s on %s of %.0f GFLOP/s each: fewer members, "+
		"steps or parameters take less", s.Kind.Round, cost.FLOPs, longText(s.expected),
		quantity.Count(max(1, s.profile.Devices), "device", "devices"), estimateSpeed/1e9)
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
