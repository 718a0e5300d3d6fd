package sparse

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"xlarun/graph"
	"xlarun/rollout"
	"xlarun/rollout/evolve"
	"xlarun/xlabridge"
)

const (
	// methodFormat changes when what a stored choice says, or how it is made, changes.
	methodFormat = 1
	// tuneMembers and tuneSteps are how many members of a device take how many steps in one measured round, at most.
	tuneMembers, tuneSteps = 4, 32
	// tuneGain is how much faster than the best so far a method has to be: below, it is noise.
	tuneGain = 1.03
	// tuneTime is the time that a method is measured for.
	tuneTime = 100 * time.Millisecond
)

// quickBudget is evolve.QuickBudget, but in tests.
var quickBudget = evolve.QuickBudget

// tuning keeps tuners of one process from measuring each other.
var tuning sync.Mutex

// TriedMethod is what the tuner found of one method.
type TriedMethod struct {
	Method  string  `json:"method"`
	Seconds float64 `json:"seconds"` // of one step of the whole population
}

// storedMethod is what is kept of the tuner's choice.
type storedMethod struct {
	Tune   string `json:"tune"` // how thoroughly it was made: quick or full
	Method string `json:"method"`
}

// kernels tells of a backend that it runs kernels of our own.
type kernels interface{ HasKernels() bool }

// candidates are the methods that the backend can run, the fixed rule's first.
func (p *Population) candidates() []string {
	if k, ok := p.backend.(kernels); ok && k.HasKernels() {
		return []string{"kernel", "masked", "blocks"}
	}
	return []string{"masked", "blocks"}
}

// Choice is the method that an experiment gets.
type Choice struct {
	Method  string
	Source  string        // see Profile.MethodSource
	Reason  string        // see Profile.MethodReason
	Seconds float64       // spent on measuring methods
	Tried   []TriedMethod // in this order
}

// Tune measures methods where Config.Tune asks for it and none is stored, as New would, and stores the fastest: a later
// New with the same config, or with evolve.TuneAuto, finds it.
func Tune(b xlabridge.Backend, c Config, d Data) (Choice, error) {
	p, name, err := newPopulation(b, c, d)
	if err != nil {
		return Choice{}, err
	}
	defer func() { _ = p.Close() }()
	if name == "" {
		first, err := p.compileFirst()
		if err != nil {
			return Choice{}, err
		}
		defer func() { _ = first.Close() }()
		if err := p.begin(first); err != nil {
			return Choice{}, err
		}
		if err := p.tune(); err != nil {
			return Choice{}, err
		}
		name = p.name
	}
	r := p.profile
	return Choice{name, r.MethodSource, r.MethodReason, r.TuneSeconds, r.MethodsTried}, nil
}

func (p *Population) store() *rollout.PlanStore[storedMethod] {
	return rollout.PlanStoreOf[storedMethod](p.backend, p.config.Purpose(p.shape), methodFormat)
}

// chosen is the method that the config, the store or the fixed rule gives; "" where it is to be measured.
func (p *Population) chosen() (string, error) {
	able := p.candidates()
	if name := p.config.Method; name != "auto" {
		if name == "kernel" && able[0] != "kernel" {
			return "", wrong("Method", `"kernel"`, `"masked", "blocks" or "auto": this backend runs no kernels in C (the cpu backend does)`)
		}
		p.profile.MethodSource = evolve.PlanGiven
		return name, nil
	}
	p.profile.MethodSource = evolve.PlanStatic
	tune := p.config.Tune
	if tune == evolve.TuneOff || p.backend.Backend() == "reference" {
		return able[0], nil
	}
	if store := p.store(); store != nil {
		stored, err := store.Get()
		known := false
		for _, name := range able {
			known = known || name == stored.Method
		}
		if err == nil && known && !(tune == evolve.TuneFull && stored.Tune != evolve.TuneFull) {
			p.profile.MethodSource = evolve.PlanStored
			return stored.Method, nil
		}
		if err != nil && !errors.Is(err, rollout.ErrNoPlan) {
			p.profile.MethodReason = err.Error()
		}
	}
	if tune == evolve.TuneQuick || tune == evolve.TuneFull {
		return "", nil
	}
	return able[0], nil
}

// tune measures the methods on the first members, which learn in it, sets p.programs to those of the fastest, and stores
// the choice. Where the time does not suffice for two methods it is the fixed rule's.
func (p *Population) tune() error {
	tuning.Lock()
	defer tuning.Unlock()
	start := time.Now()
	deadline := start.Add(quickBudget)
	if p.config.Tune == evolve.TuneFull {
		deadline = start.Add(evolve.FullBudget)
	}
	defer func() { p.profile.TuneSeconds = time.Since(start).Seconds() }()
	tried := &p.profile.MethodsTried
	for i, name := range p.candidates() {
		if need, ok := p.memory(p.config.methodOf(name, p.shape), p.config.Population); i > 0 && p.free > 0 && !(ok && need <= p.free) {
			continue
		}
		r, err := p.prepareBefore(deadline, name)
		if err == nil {
			var seconds float64
			if seconds, err = p.measure(r, deadline); err == nil {
				*tried = append(*tried, TriedMethod{name, seconds})
			}
			if err == nil && fastest(*tried) == name {
				p.close()
				p.programs = r
			} else {
				r.close()
			}
		}
		if errors.Is(err, rollout.ErrTime) {
			break
		}
		if err != nil {
			return fmt.Errorf("measuring the method %s: %w", name, err)
		}
	}
	if p.method == nil {
		var err error
		if p.programs, err = p.prepare(p.candidates()[0]); err != nil {
			return err
		}
	}
	if len(*tried) < 2 {
		p.profile.MethodReason = "the tuner's time was over before there were two methods to compare; --tune full takes longer"
		return nil
	}
	p.profile.MethodSource = evolve.PlanTuned
	if store := p.store(); store != nil {
		if err := store.Put(storedMethod{p.config.Tune, p.name}, p.name+" ("+p.config.Tune+")", time.Since(start).Seconds()); err != nil {
			p.profile.MethodReason = "the method cannot be stored: " + err.Error()
		}
	}
	return nil
}

// fastest is the first method, or a later one that is faster than the best before it by more than noise.
func fastest(tried []TriedMethod) string {
	best := tried[0]
	for _, t := range tried[1:] {
		if t.Seconds*tuneGain < best.Seconds {
			best = t
		}
	}
	return best.Method
}

// prepareBefore prepares a method, for as long as there is time. What the compiler is still busy with then is left to end
// by itself; its result is not used.
func (p *Population) prepareBefore(deadline time.Time, name string) (programs, error) {
	left := time.Until(deadline)
	if left <= 0 {
		return programs{}, rollout.ErrTime
	}
	type outcome struct {
		programs
		err error
	}
	done := make(chan outcome, 1)
	frozen := *p
	go func() {
		r, err := frozen.prepare(name)
		done <- outcome{r, err}
	}()
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.programs, o.err
	case <-timer.C:
		p.late.Go(func() {
			if o := <-done; o.err == nil {
				o.programs.close()
			}
		})
		return programs{}, rollout.ErrTime
	}
}

// measure gives the seconds of one step of the population, from rounds of a few members.
func (p *Population) measure(r programs, deadline time.Time) (float64, error) {
	members, steps := min(p.tiles.PerDevice, tuneMembers), min(p.rounds, tuneSteps)
	before := p.order
	batches, err := xlabridge.Put(p.backend, p.config.Devices, p.nextBatches(steps))
	p.order = before
	if err != nil {
		return 0, err
	}
	defer xlabridge.Free(batches)
	in := p.plain()
	if in.Count, err = xlabridge.Put(p.backend, p.config.Devices, graph.Of(int32(members))); err != nil {
		return 0, err
	}
	defer xlabridge.Free(in.Count)
	if r.index != nil {
		if p.kept, err = r.index.Call(p.with(in, false)); err != nil {
			return 0, err
		}
		defer func() {
			xlabridge.Free(p.kept)
			p.kept = nil
		}()
	}
	in.Turn, in.Data = graph.Of(int32(steps)), batches
	best, err := rollout.Fastest(tuneTime, deadline, func() (float64, error) {
		from := time.Now()
		stats, err := p.learn(r.train, in)
		if err != nil {
			return 0, err
		}
		seconds := time.Since(from).Seconds()
		xlabridge.Free(stats)
		return seconds, nil
	})
	return best / float64(steps) * float64(p.tiles.PerDevice) / float64(members), err
}
