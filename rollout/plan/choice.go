package plan

import (
	"errors"
	"fmt"
	"time"

	"xlarun/xlabridge"
)

// How a plan that nobody gives is chosen.
const (
	TuneAuto = "auto" // the stored plan where there is one, else the static rule
	TuneOff  = "off"  // the static rule
	// the stored plan; where there is none, the best of what is measured in QuickBudget, which is stored
	TuneQuick = "quick"
	TuneFull  = "full" // the same with FullBudget; a plan that was stored by quick is measured anew
)

// Tunes lists the ways to choose a plan.
func Tunes() []string { return []string{TuneAuto, TuneOff, TuneQuick, TuneFull} }

// The most time that a tuner takes.
const (
	QuickBudget = 3 * time.Second
	FullBudget  = 60 * time.Second
)

// Sources of a plan.
const (
	Static  = "static" // by rule
	Given   = "given"  // in the settings
	Tuned   = "tuned"  // measured in this process
	Present = "stored" // measured earlier, and read
)

// Choice is how a plan came about.
type Choice struct {
	Plan    string  `json:"plan"`                   // in words
	Source  string  `json:"plan_source"`            // one of the sources
	Reason  string  `json:"plan_reason,omitempty"`  // why none was read or stored, where one should have been
	Seconds float64 `json:"tune_seconds,omitempty"` // spent on measuring
	Tried   []Tried `json:"plans_tried,omitempty"`  // in this order
}

// Tried is what the tuner found of one plan.
type Tried struct {
	Plan    string  `json:"plan"`
	Seconds float64 `json:"seconds"` // of what the kind of run measures: the same for all that were tried
}

// Choosing is a plan to be chosen.
type Choosing[P comparable] struct {
	Tune    string // one of Tunes
	Given   bool   // the settings give Rule
	Rule    P      // what is taken where nothing else is
	Backend xlabridge.Backend
	// Purpose and Format name the stored plan; see StoreOf.
	Purpose string
	Format  int
	Words   func(P) string // the plan to people, without the devices
	// Take tells whether a plan that was stored or measured can be run.
	Take func(P) bool
	// Tuner measures; its deadline is set by Choose.
	Tuner func(full bool) *Tuner[P]
	// Quick is the time of TuneQuick; 0: QuickBudget.
	Quick time.Duration
}

// Choose gives the plan that the settings give, that is stored, that is measured now, or the rule's, in this order, as
// Tune allows. What is measured is stored.
func (c Choosing[P]) Choose() (P, Choice, error) {
	if c.Given {
		return c.Rule, Choice{Source: Given}, nil
	}
	out := Choice{Source: Static}
	if c.Tune == TuneOff || c.Backend.Backend() == reference {
		return c.Rule, out, nil
	}
	store := StoreOf[P](c.Backend, c.Purpose, c.Format)
	if store != nil {
		r, err := store.Get()
		if err == nil && !(c.Tune == TuneFull && r.Tune != TuneFull) && c.Take(r.Plan) {
			out.Source = Present
			return r.Plan, out, nil
		}
		if err != nil && !errors.Is(err, ErrNone) {
			out.Reason = err.Error()
		}
	}
	if c.Tune != TuneQuick && c.Tune != TuneFull {
		return c.Rule, out, nil
	}
	budget := c.Quick
	if budget == 0 {
		budget = QuickBudget
	}
	if c.Tune == TuneFull {
		budget = FullBudget
	}
	start := time.Now()
	t := c.Tuner(c.Tune == TuneFull)
	t.Deadline, t.Words = start.Add(budget), c.Words
	best, tried, err := t.Run(c.Rule)
	out.Seconds, out.Tried = time.Since(start).Seconds(), tried
	if err != nil {
		return c.Rule, out, err
	}
	if len(tried) < 2 {
		out.Reason = "the tuner's time was over before there were two plans to compare; --tune full takes longer"
		return c.Rule, out, nil
	}
	if !c.Take(best) {
		return c.Rule, out, nil
	}
	out.Source = Tuned
	if store != nil {
		if err := store.Put(Stored[P]{c.Tune, best}, fmt.Sprintf("%s (%s)", c.Words(best), c.Tune), out.Seconds); err !=
			nil {
			out.Reason = "the plan cannot be stored: " + err.Error()
		}
	}
	return best, out, nil
}
