package plan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"xlarun/xlabridge"
)

// How a plan is chosen that the settings do not give.
const (
	TuneAuto  = "auto"  // the stored plan, or else the static rule
	TuneOff   = "off"   // the static rule
	TuneQuick = "quick" // the stored plan, or else the best one measured in QuickBudget, which is stored
	TuneFull  = "full"  // the same with FullBudget; ignores plans that quick has stored
)

// Tunes lists the ways to choose a plan.
func Tunes() []string { return []string{TuneAuto, TuneOff, TuneQuick, TuneFull} }

// Time budgets of a tuner.
const (
	QuickBudget = 3 * time.Second
	FullBudget  = 60 * time.Second
	// CompileBudget is for devices that are not there: candidates are compiled, and none is measured.
	CompileBudget = 2 * time.Minute
)

// Sources of a plan.
const (
	Static  = "static" // the rule
	Given   = "given"  // the settings
	Tuned   = "tuned"  // measured in this process
	Present = "stored" // measured earlier
	// Estimated is a plan that was chosen by the compiler's numbers, for a device that is not there.
	Estimated = "estimated"
)

// Choice reports how a plan was chosen.
type Choice struct {
	Plan     string         `json:"plan"`                   // in words
	Source   string         `json:"plan_source"`            // one of the sources
	Reason   string         `json:"plan_reason,omitempty"`  // why a plan was not read or stored
	Seconds  float64        `json:"tune_seconds,omitempty"` // of measuring
	Measured []MeasuredPlan `json:"plans_tried,omitempty"`  // in this order
}

// MeasuredPlan is a plan that the tuner measured.
type MeasuredPlan struct {
	Plan    string  `json:"plan"`
	Seconds float64 `json:"seconds"` // of the work that the kind of run measures
}

// Chooser chooses a plan.
type Chooser[P comparable] struct {
	Tune    string // one of Tunes
	Given   bool   // the settings give Rule
	Rule    P      // the default
	Backend xlabridge.Backend
	// Purpose and Format identify the stored plan; see StoreOf.
	Purpose string
	Format  int
	Words   func(P) string            // describes a plan, without the devices
	Take    func(P) bool              // applies a stored or measured plan, and reports whether it can be run
	Tuner   func(full bool) *Tuner[P] // Choose sets its deadline and Words
	Quick   time.Duration             // the time of TuneQuick; 0: QuickBudget
}

// Choose returns the plan of the settings, the stored plan, a plan that it measures now and stores, or the rule's, in
// this order, as Tune allows. When ctx ends while it measures, its error is returned and nothing is stored.
func (c Chooser[P]) Choose(ctx context.Context) (P, Choice, error) {
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
		if err == nil && !c.betters(r.Tune) && c.Take(r.Plan) {
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
	tune, source := c.Tune, Tuned
	if estimates(c.Backend) {
		budget, tune, source = CompileBudget, Estimated, Estimated
	}
	start := time.Now()
	t := c.Tuner(c.Tune == TuneFull)
	t.Deadline, t.Words = start.Add(budget), c.Words
	best, tried, err := t.Run(ctx, c.Rule)
	out.Seconds, out.Measured = time.Since(start).Seconds(), tried
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
	out.Source = source
	if store != nil {
		words := fmt.Sprintf("%s (%s)", c.Words(best), tune)
		if err := store.Put(Stored[P]{tune, best}, words, out.Seconds); err != nil {
			out.Reason = "the plan cannot be stored: " + err.Error()
		}
	}
	return best, out, nil
}

// betters reports whether a plan that was stored is chosen anew: full does not trust quick, and a measurement on the
// device does not trust an estimate without it.
func (c Chooser[P]) betters(stored string) bool {
	switch c.Tune {
	case TuneFull:
		return stored != TuneFull
	case TuneQuick:
		return stored == Estimated && !estimates(c.Backend)
	}
	return false
}

// estimates reports whether plans for a backend are compared by the compiler's numbers, since its devices are not
// there.
func estimates(b xlabridge.Backend) bool {
	c, ok := b.(*xlabridge.Client)
	return ok && c.Topology() != nil
}
