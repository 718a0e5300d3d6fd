package evolve

import (
	"xlarun/rollout"
	"xlarun/xlabridge"
)

// planFormat changes when what a stored plan says, or how it is chosen, changes.
const planFormat = 1

// storedPlan is what is kept of the tuner's choice.
type storedPlan struct {
	Tune   string       `json:"tune"` // how thoroughly it was chosen: quick or full
	Layout rollout.Plan `json:"layout"`
}

// storeOf is the store of a backend's plans for an experiment; nil where nothing is kept.
func (p *plan) storeOf(b xlabridge.Backend) *rollout.PlanStore[storedPlan] {
	return rollout.PlanStoreOf[storedPlan](b, p.config.Purpose(), planFormat)
}

// words describe the plan to people, without the devices: it holds for any number of them.
func (s storedPlan) words() string { return s.Layout.Layout() + " (" + s.Tune + ")" }
