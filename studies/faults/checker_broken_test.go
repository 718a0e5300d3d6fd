package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/studies/internal/decision"
)

// simulated is a coordinator with two workers, in a few lines. A mistake makes it a broken one.
type simulated struct {
	mistake string
	record
	now    time.Duration
	trials []*simulatedTrial
}

// simulatedTrial is a trial of it.
type simulatedTrial struct {
	state string
	owner string
	heard time.Duration
	steps int // that its owner has done
}

const (
	simulatedLease  = time.Second
	simulatedTrials = 12
	simulatedSteps  = 5
)

// decide notes an answer.
func (s *simulated) decide(kind, worker string, trial int, granted bool) {
	s.Events = append(s.Events, event{
		decision.Decision{Kind: kind, Trial: int64(trial), Worker: worker, Granted: granted},
		1, s.now})
}

// set changes the state of a trial in the database.
func (s *simulated) set(trial int, state string) {
	t := s.trials[trial]
	s.Changes = append(s.Changes, change{int64(trial), t.state, state})
	t.state = state
}

// ask adds a trial.
func (s *simulated) ask() {
	s.trials = append(s.trials, &simulatedTrial{})
	s.set(len(s.trials)-1, "RUNNING")
}

// tell ends a trial.
func (s *simulated) tell(trial int) { s.set(trial, "COMPLETE") }

// turn gives a worker, which does one step each time, its turn.
func (s *simulated) turn(worker string, has *int) {
	if *has >= 0 {
		t := s.trials[*has]
		mine := t.owner == worker && t.state == "RUNNING"
		if s.mistake == "accepts what a former owner sends" {
			mine = t.state == "RUNNING"
		}
		if !mine {
			s.decide("beat", worker, *has, false)
			*has = -1
			return
		}
		t.heard = s.now
		if t.steps++; t.steps < simulatedSteps {
			s.decide("beat", worker, *has, true)
			return
		}
		s.decide(result, worker, *has, true)
		s.tell(*has)
		if s.mistake == "tells a trial twice" && *has == 3 {
			s.tell(*has)
		}
		if s.mistake == "opens a finished trial again" && *has == 3 {
			s.set(*has, "RUNNING")
		}
		*has = -1
		return
	}
	for i, t := range s.trials {
		lasts := t.owner != "" && s.now-t.heard < simulatedLease
		if s.mistake == "grants a trial whose lease lasts" && t.owner != worker {
			lasts = false
		}
		if t.state == "RUNNING" && !lasts && !(s.mistake == "forgets a trial" && i == 4) {
			t.owner, t.heard, t.steps, *has = worker, s.now, 0, i
			s.decide(next, worker, i, true)
			return
		}
	}
}

// history runs the study. The first worker is suspended for longer than a lease, in the midst of a trial. It goes on
// while the second one has this trial.
func (s *simulated) history() {
	s.Trials, s.Lease, s.Return = simulatedTrials, simulatedLease, simulatedLease
	n := simulatedTrials
	switch s.mistake {
	case "asks a trial too many":
		n++
	case "asks a trial too few":
		n--
	}
	for range n {
		s.ask()
	}
	a, b := -1, -1
	const suspended, goesOn = 800 * time.Millisecond, 2900 * time.Millisecond
	for ; s.now < 20*time.Second; s.now += 100 * time.Millisecond {
		heard := s.now < suspended || s.now >= goesOn
		if s.mistake == "does not hear a worker again" {
			heard = s.now < suspended
		}
		if s.mistake == "hears a worker late" {
			heard = s.now < suspended || s.now >= goesOn+2*simulatedLease
		}
		if heard {
			s.turn(":1:", &a)
		}
		if s.now%(200*time.Millisecond) == 0 { // it is slower
			s.turn(":2:", &b)
		}
	}
	s.Healed, s.Workers = goesOn, []string{":1:", ":2:"}
	for i := range s.trials {
		s.Undisturbed = append(s.Undisturbed, fmt.Sprintf("%d COMPLETE %x", i, i*i))
		s.Results = append(s.Results, fmt.Sprintf("%d %s %x", i, s.trials[i].state, i*i))
	}
	switch s.mistake {
	case "asks a trial too many":
		s.Undisturbed = s.Undisturbed[:simulatedTrials]
	case "asks a trial too few":
		s.Undisturbed = append(s.Undisturbed, fmt.Sprintf("%d COMPLETE", simulatedTrials-1))
	case "changes a digit of a value":
		s.Results[5] = strings.Replace(s.Results[5], "19", "1a", 1)
	case "removes the row of a trial":
		s.Changes = append(s.Changes, change{2, "COMPLETE", ""})
		s.Results = slices.Delete(s.Results, 2, 3)
	case "gives a worker a trial that is in no row":
		s.decide(next, ":2:", 99, true)
	case "hears a worker of another version":
		s.Strangers = []string{":2:"}
	case "two of them answer":
		for i := range s.Events {
			s.Events[i].Coordinator = 1 + i%2
		}
	}
}

// The checker finds what is wrong with coordinators that are broken, and nothing with one that is not.
func TestBrokenCoordinators(t *testing.T) {
	well := &simulated{}
	well.history()
	require.Empty(t, well.violations())
	require.True(t, slices.ContainsFunc(well.Events, func(e event) bool { return !e.Granted }),
		"the suspended worker has lost its trial")
	for mistake, rule := range map[string]string{
		"tells a trial twice":                      "told",
		"opens a finished trial again":             "told",
		"forgets a trial":                          "told",
		"removes the row of a trial":               "lost",
		"asks a trial too many":                    "budget",
		"asks a trial too few":                     "budget",
		"gives a worker a trial that is in no row": "invented",
		"changes a digit of a value":               "values",
		"grants a trial whose lease lasts":         "owners",
		"accepts what a former owner sends":        "owners",
		"two of them answer":                       "coordinators",
		"hears a worker of another version":        "version",
		"does not hear a worker again":             "back",
		"hears a worker late":                      "back",
	} {
		s := &simulated{mistake: mistake}
		s.history()
		require.True(t, slices.ContainsFunc(s.violations(), func(v string) bool {
			return strings.HasPrefix(v, rule+":")
		}),
			"a coordinator that %s: %q", mistake, s.violations())
	}
}
