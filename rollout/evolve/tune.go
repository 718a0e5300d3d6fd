package evolve

import (
	"errors"
	"sync"
	"time"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout"
	"xlarun/xlabridge"
)

// Values of Config.Tune: how a layout that the config does not give is chosen.
const (
	TuneAuto  = "auto"  // the stored plan where there is one, else the static rule
	TuneOff   = "off"   // the static rule
	TuneQuick = "quick" // the stored plan; where there is none, the best of what is measured in QuickBudget, which is stored
	TuneFull  = "full"  // the same with FullBudget; a plan that was stored by quick is measured anew
)

// Tunes lists the values of Config.Tune.
func Tunes() []string { return []string{TuneAuto, TuneOff, TuneQuick, TuneFull} }

// The most time that a tuner takes.
const (
	QuickBudget = 3 * time.Second
	FullBudget  = 60 * time.Second
)

const (
	// tuneSteps are the environment steps of the measured program.
	tuneSteps = 200
	// tuneGain is how much faster than the best so far a candidate has to be: below, it is noise.
	tuneGain = 1.03
	// tuneTime is the time that a compiled candidate runs for.
	tuneTime = 60 * time.Millisecond
)

// tuning keeps tuners of one process from measuring each other.
var tuning sync.Mutex

// Choice is how a plan came about.
type Choice struct {
	Plan    string      // the layout in words
	Source  string      // "static", "given", "tuned" or "stored"
	Reason  string      // why no plan was read or stored, where one should have been
	Seconds float64     // spent on measuring plans
	Tried   []TriedPlan // in this order
}

// TriedPlan is what the tuner found of one plan.
type TriedPlan struct {
	Plan string `json:"plan"`
	// Seconds of a population's first 200 steps on all cores of the machine, without ask and tell, as one core's time for
	// one tile promises.
	Seconds float64 `json:"seconds"`
}

// Tune chooses the plan of an experiment as New would, and stores it where it is measured, but compiles no generation: a
// New with TuneAuto then finds it.
func Tune(b xlabridge.Backend, c Config) (Choice, error) {
	_, chosen, err := planFor(b, c)
	return chosen, err
}

// planFor checks a config and chooses its plan for a backend.
func planFor(b xlabridge.Backend, c Config) (*plan, Choice, error) {
	kind := b.Backend()
	on := machine{devices: b.NumDevices(), free: rollout.FreeOn(b, c.Devices), accelerator: kind == "cuda" || kind == "tpu", cpu: kind == "cpu"}
	if on.cpu {
		on.cores = rollout.Cores()
	}
	p, err := c.plan(on)
	if err != nil {
		return nil, Choice{}, err
	}
	chosen, err := p.choose(b)
	chosen.Plan, chosen.Source = p.layout.String(), p.source
	return p, chosen, err
}

// choose replaces the static plan by a stored or a measured one, as the config says.
func (p *plan) choose(b xlabridge.Backend) (c Choice, err error) {
	tune := p.config.Tune
	if p.source == PlanGiven || tune == TuneOff || b.Backend() == "reference" {
		return c, nil
	}
	store := p.storeOf(b)
	if store != nil {
		r, err := store.Get()
		if err == nil && !(tune == TuneFull && r.Tune != TuneFull) && p.take(r.Layout, PlanStored) {
			return c, nil
		}
		if err != nil && !errors.Is(err, rollout.ErrNoPlan) {
			c.Reason = err.Error()
		}
	}
	if tune != TuneQuick && tune != TuneFull {
		return c, nil
	}
	start := time.Now()
	t := &tuner{plan: p, backend: b, deadline: start.Add(QuickBudget), stages: quickStages}
	if tune == TuneFull {
		t.deadline, t.stages = start.Add(FullBudget), fullStages
	}
	best, err := t.run()
	c.Seconds, c.Tried = time.Since(start).Seconds(), t.tried
	if err != nil {
		return c, err
	}
	if len(c.Tried) < 2 {
		c.Reason = "the tuner's time was over before there were two plans to compare; --tune full takes longer"
		return c, nil
	}
	if p.take(best, PlanTuned) && store != nil {
		stored := storedPlan{tune, best}
		if err := store.Put(stored, stored.words(), c.Seconds); err != nil {
			c.Reason = "the plan cannot be stored: " + err.Error()
		}
	}
	return c, nil
}

// take lays the population out by a plan that was found, where it is a possible one and fits in memory.
func (p *plan) take(layout rollout.Plan, source string) bool {
	group := p.strategy.GroupSize()
	if layout.Tile < group || layout.Tile%group != 0 || layout.Tile > maxPopulation || layout.Unroll < 1 || layout.Unroll > maxUnroll ||
		layout.VectorWidth < 0 {
		return false
	}
	before, from, redraw := p.layout, p.source, p.redraw
	layout.Devices = p.layout.Devices
	p.lay(layout, source)
	if p.fit(p.on.free) == nil && p.layout.Tile == layout.Tile {
		return true
	}
	p.redraw = redraw
	p.lay(before, from)
	return false
}

// A stage gives the neighbours of the best plan so far that are worth a try, the most promising first.
type stage func(t *tuner, best rollout.Plan) []rollout.Plan

var quickStages = []stage{manyCores, otherLanes, tilesAround(2, .5), unrolls(2, 4)}

var fullStages = []stage{manyCores, otherLanes, tilesAround(2, .5, 4, .25), unrolls(2, 4, 8), widths, otherLanes, tilesAround(2, .5), unrolls(1, 2, 4)}

// manyCores gives each core a tile, where that is more tiles than there are.
func manyCores(t *tuner, best rollout.Plan) []rollout.Plan {
	tiling := t.plan.tiling()
	one := tiling.atMost(max(tileLeast, tiling.population/t.cores()))
	if one >= best.Tile {
		return nil
	}
	best.Tile = one
	return []rollout.Plan{best}
}

func otherLanes(t *tuner, best rollout.Plan) []rollout.Plan {
	other := best
	other.LanesLast = !best.LanesLast
	wide := other
	wide.Tile = t.plan.tiling().atMost(tileMost) // products written out read each weight once for all lanes: small tiles gain nothing
	return []rollout.Plan{other, wide}
}

func tilesAround(factors ...float64) stage {
	return func(t *tuner, best rollout.Plan) (plans []rollout.Plan) {
		for _, f := range factors {
			p := best
			p.Tile = t.plan.tiling().atMost(max(1, int(f*float64(best.Tile))))
			plans = append(plans, p)
		}
		return plans
	}
}

func unrolls(turns ...int) stage {
	return func(_ *tuner, best rollout.Plan) (plans []rollout.Plan) {
		for _, n := range turns {
			p := best
			p.Unroll = n
			plans = append(plans, p)
		}
		return plans
	}
}

func widths(_ *tuner, best rollout.Plan) []rollout.Plan {
	if best.VectorWidth == 0 {
		return nil
	}
	p := best
	p.VectorWidth = 256
	return []rollout.Plan{p}
}

// tuner measures candidates on one tile, on one device: the best is the same whatever the number of devices. What counts
// is how long all cores of the machine would take.
type tuner struct {
	plan     *plan
	backend  xlabridge.Backend
	deadline time.Time
	stages   []stage
	tried    []TriedPlan
	// measure gives the seconds of tuneSteps of one tile.
	measure func(layout rollout.Plan) (float64, error)
}

// run returns the fastest plan of those that there was time for; the static one if there was none.
func (t *tuner) run() (rollout.Plan, error) {
	tuning.Lock()
	defer tuning.Unlock()
	best := t.plan.layout
	seen := map[rollout.Plan]bool{best: true}
	if t.measure == nil {
		t.measure = t.compileAndRun
	}
	bestSeconds, err := t.try(best)
	if err != nil {
		return best, ignoreTime(err)
	}
	for _, s := range t.stages {
		from := best
		for _, candidate := range s(t, from) {
			if seen[candidate] {
				continue
			}
			seen[candidate] = true
			seconds, err := t.try(candidate)
			if err != nil {
				return best, ignoreTime(err)
			}
			if seconds*tuneGain < bestSeconds {
				best, bestSeconds = candidate, seconds
			}
		}
	}
	return best, nil
}

// cores are those that tiles play on at the same time: of the machine, and not of the run.
func (t *tuner) cores() int { return max(1, t.plan.on.cores) }

func ignoreTime(err error) error {
	if errors.Is(err, rollout.ErrTime) {
		return nil
	}
	return err
}

// try measures a candidate, for as long as there is time. What the compiler is still busy with then is left to end by
// itself; its result is not used.
func (t *tuner) try(layout rollout.Plan) (seconds float64, err error) {
	left := time.Until(t.deadline)
	if left <= 0 {
		return 0, rollout.ErrTime
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if seconds, err = t.measure(layout); err == nil {
			tiles := (t.plan.config.Population + layout.Tile - 1) / layout.Tile
			seconds *= float64((tiles + t.cores() - 1) / t.cores())
		}
	}()
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-done:
		if err == nil {
			t.tried = append(t.tried, TriedPlan{layout.Layout(), seconds})
		}
		return seconds, err
	case <-timer.C:
		return 0, rollout.ErrTime
	}
}

// compileAndRun plays one tile of the layout.
func (t *tuner) compileAndRun(layout rollout.Plan) (float64, error) {
	small := *t.plan
	small.redraw = false
	small.config.Steps = min(small.config.Steps, tuneSteps)
	layout.Devices = 1
	small.lay(layout, PlanStatic)
	group := small.strategy.GroupSize()
	small.groups = rollout.CutTiles(layout.Tile/group, layout.Tile/group, 1)
	g := small.generation()
	var s State
	var noise *graph.Array
	in := inputs{small.config.settings(), graph.Of(int32(1))}
	err := graph.Try(func() {
		g.layout = rollout.LayoutOf(small.policy.Init(random.New(0)))
		s = g.start(random.New(0), in.Settings)
		noise = graph.Float32s(someNoise((small.groups.PerDevice + 1) * small.groups.Lanes * g.layout.Size()))
	})
	if err != nil {
		return 0, err
	}
	p, err := graph.TraceArgs("tuning", []any{s, in, noise}, graph.TraceOptions{Replicas: 1}, func(a []any) any {
		z := graph.Reshape(a[2].(*graph.Array), small.groups.PerDevice+1, small.groups.Lanes, g.layout.Size())
		return g.play(a[0].(State), a[1].(inputs), z)
	})
	if err != nil {
		return 0, err
	}
	options := layout.Compile()
	options.NoCache = true
	x, err := t.backend.Compile(p, options)
	if err != nil {
		return 0, err
	}
	defer func() { _ = x.Close() }()
	args, err := xlabridge.Put(t.backend, 1, []any{s, in, noise})
	if err != nil {
		return 0, err
	}
	defer xlabridge.Free(args)
	leaves := graph.Leaves(args)
	return rollout.Fastest(tuneTime, t.deadline, func() (float64, error) {
		from := time.Now()
		out, err := x.Call(leaves)
		if err != nil {
			return 0, err
		}
		seconds := time.Since(from).Seconds()
		xlabridge.Free(out)
		return seconds, nil
	})
}

// someNoise is n numbers of no consequence between -1 and 1: they need not be random, but differ.
func someNoise(n int) []float32 {
	z := make([]float32, n)
	x := uint32(1)
	for i := range z {
		x = x*1664525 + 1013904223
		z[i] = float32(int32(x)) / (1 << 31)
	}
	return z
}
