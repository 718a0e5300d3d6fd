package sparse

import (
	"context"
	"slices"
	"time"

	"xlarun/graph"
	"xlarun/rollout/plan"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

const (
	// methodFormat changes when the content of a stored choice, or the way to choose, changes.
	methodFormat = 1
	// tuneMembers and tuneSteps bound the members of a device and the steps in a measured round.
	tuneMembers, tuneSteps = 4, 32
	// tuneTime is how long a method is measured.
	tuneTime = 100 * time.Millisecond
)

// quickBudget is plan.QuickBudget; tests change it.
var quickBudget = plan.QuickBudget

// kernelBackend is a backend that can run the kernels of xlabridge/kernels.
type kernelBackend interface{ HasKernels() bool }

// candidates lists the methods that the backend can run. The first is the default.
func (p *Population) candidates() []string {
	if k, ok := p.backend.(kernelBackend); ok && k.HasKernels() {
		return []string{"kernel", "masked", "blocks"}
	}
	return []string{"masked", "blocks"}
}

// Tune chooses the method as New does. If it measures, it stores the fastest method, and a later New with the same
// config or with plan.TuneAuto finds it.
func Tune(ctx context.Context, b xlabridge.Backend, c Config, d Data) (plan.Choice, error) {
	p, _, err := newPopulation(ctx, b, c, d)
	if err != nil {
		return plan.Choice{}, err
	}
	return p.profile.Choice, p.Close()
}

// choose returns the method.
func (p *Population) choose(ctx context.Context) (string, error) {
	available := p.candidates()
	rule := p.config.Method
	if rule == "auto" {
		rule = available[0]
	} else if !slices.Contains(available, rule) {
		return "", settings.Wrong("method", rule,
			`masked, blocks or auto: this backend runs no kernels in C (the cpu backend does)`)
	}
	name, chosen, err := plan.Chooser[string]{
		Tune: p.config.Tune, Given: p.config.Method != "auto", Rule: rule, Backend: p.backend,
		Purpose: p.config.Purpose(p.shape), Format: methodFormat,
		Words: func(name string) string { return name },
		Take:  func(name string) bool { return slices.Contains(available, name) && p.fits(name) },
		Tuner: func(bool) *plan.Tuner[string] { return p.tuner(available[1:]) }, Quick: quickBudget,
	}.Choose(ctx)
	chosen.Plan = name
	p.profile.Choice = chosen
	return name, err
}

// tuner measures methods on a few members of its own.
func (p *Population) tuner(others []string) *plan.Tuner[string] {
	t := &plan.Tuner[string]{Late: p.late, Stages: []plan.Stage[string]{func(string) []string {
		return slices.DeleteFunc(slices.Clone(others), func(name string) bool { return !p.fits(name) })
	}}}
	frozen := *p
	t.Measure = func(name string) (float64, error) {
		q := frozen
		q.images, q.labels = make([]byte, len(q.images)), make([]byte, len(q.labels)) // p still fills its own
		return q.measure(name, func() bool { return time.Now().After(t.Deadline) })
	}
	return t
}

// measure returns the seconds of one step of the population with a method. It runs rounds of a few members.
func (p *Population) measure(name string, over func() bool) (float64, error) {
	if err := p.initMembers(); err != nil {
		return 0, err
	}
	r, err := p.prepare(name)
	defer func() {
		_ = r.close()
		xlabridge.Free(p.members)
		xlabridge.Free(p.count)
	}()
	if err != nil {
		return 0, err
	}
	members, steps := min(p.tiles.PerDevice, tuneMembers), min(p.rounds, tuneSteps)
	batches, err := xlabridge.Put(p.backend, p.config.Devices, p.nextBatches(steps))
	if err != nil {
		return 0, err
	}
	defer xlabridge.Free(batches)
	in := p.baseInputs()
	if in.Count, err = xlabridge.Put(p.backend, p.config.Devices, graph.Of(int32(members))); err != nil {
		return 0, err
	}
	defer xlabridge.Free(in.Count)
	if r.index != nil {
		if p.indexes, err = r.index.Call(reading{p.members, nil, in}); err != nil {
			return 0, err
		}
		defer xlabridge.Free(p.indexes)
	}
	in.Turn, in.Data = graph.Of(int32(steps)), batches
	in.Counter = (*xlabridge.Counter)(nil).Input() // it may run beside the run, which counts for itself
	best, err := plan.Fastest(tuneTime, over, func() (float64, error) {
		from := time.Now()
		stats, err := r.train.Advance(&p.members, learning{p.indexes, in})
		if err != nil {
			return 0, err
		}
		seconds := time.Since(from).Seconds()
		xlabridge.Free(stats)
		return seconds, nil
	})
	return best / float64(steps) * float64(p.tiles.PerDevice) / float64(members), err
}
