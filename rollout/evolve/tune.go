package evolve

import (
	"time"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/xlabridge"
)

const (
	// planFormat changes when what a stored plan says, or how it is chosen, changes.
	planFormat = 1
	// tuneSteps are the environment steps of the measured program.
	tuneSteps = 200
	// tuneTime is the time that a compiled candidate runs for.
	tuneTime = 60 * time.Millisecond
)

// ChoosePlan chooses the plan of an experiment as Start would, and stores it where it is measured, but compiles no generation: a
// Start with plan.TuneAuto then finds it.
func (c *Config) ChoosePlan(b xlabridge.Backend) (plan.Choice, error) {
	x, chosen, err := choose(b, *c)
	if x != nil {
		x.late.Wait() // the backend may be closed now
	}
	return chosen, err
}

// choose checks a config and chooses its plan for a backend.
func choose(b xlabridge.Backend, c Config) (*experiment, plan.Choice, error) {
	x, err := c.experiment(plan.MachineOf(b, c.Devices))
	if err != nil {
		return nil, plan.Choice{}, err
	}
	chosen, err := x.choose(b)
	return x, chosen, err
}

// choose chooses the experiment's plan for a backend.
func (x *experiment) choose(b xlabridge.Backend) (plan.Choice, error) {
	c := &x.config
	_, chosen, err := plan.Choosing[plan.Plan]{
		Tune: c.Tune, Given: c.givesPlan(), Rule: x.layout, Backend: b, Purpose: c.Purpose(), Format: planFormat,
		Words: plan.Plan.Layout, Take: x.take, Tuner: func(full bool) *plan.Tuner[plan.Plan] { return x.tuner(b, full) },
	}.Choose()
	chosen.Plan = x.layout.String()
	return chosen, err
}

// take lays the population out by a plan that was found, where it is a possible one and fits in memory.
func (x *experiment) take(layout plan.Plan) bool {
	group := x.strategy.GroupSize()
	if layout.Tile < group || layout.Tile%group != 0 || layout.Tile > maxPopulation || layout.Unroll < 1 || layout.Unroll > maxUnroll ||
		layout.VectorWidth < 0 {
		return false
	}
	before, redraw := x.layout, x.redraw
	layout.Devices = x.layout.Devices
	x.lay(layout)
	if x.fit() == nil && x.layout.Tile == layout.Tile {
		return true
	}
	x.redraw = redraw
	x.lay(before)
	return false
}

// tuner measures candidates on one tile, on one device: the best is the same whatever the number of devices. What counts
// is how long all cores of the machine would take for a population's first 200 steps, without ask and tell.
func (x *experiment) tuner(b xlabridge.Backend, full bool) *plan.Tuner[plan.Plan] {
	frozen := *x // what is still measured at the deadline goes on with this
	t := &plan.Tuner[plan.Plan]{Late: x.late, Stages: x.stages(full)}
	t.Measure = func(layout plan.Plan) (float64, error) {
		seconds, err := frozen.compileAndRun(b, layout, func() bool { return time.Now().After(t.Deadline) })
		return frozen.onAllCores(layout, seconds), err
	}
	return t
}

// onAllCores makes of one tile's time the population's.
func (x *experiment) onAllCores(layout plan.Plan, seconds float64) float64 {
	tiles, cores := (x.config.Population+layout.Tile-1)/layout.Tile, max(1, x.on.Cores)
	return seconds * float64((tiles+cores-1)/cores)
}

func (x *experiment) stages(full bool) []plan.Stage[plan.Plan] {
	tiling := x.tiling()
	// Each core a tile, where that is more tiles than there are.
	manyCores := func(best plan.Plan) []plan.Plan {
		one := tiling.AtMost(max(plan.TileLeast, x.config.Population/max(1, x.on.Cores)))
		if one >= best.Tile {
			return nil
		}
		best.Tile = one
		return []plan.Plan{best}
	}
	otherLanes := func(best plan.Plan) []plan.Plan {
		other := best
		other.LanesLast = !best.LanesLast
		wide := other
		wide.Tile = tiling.AtMost(plan.TileMost) // products written out read each weight once for all lanes: small tiles gain nothing
		return []plan.Plan{other, wide}
	}
	around := func(factors ...float64) plan.Stage[plan.Plan] {
		return func(best plan.Plan) (plans []plan.Plan) {
			for _, f := range factors {
				p := best
				p.Tile = tiling.AtMost(max(1, int(f*float64(best.Tile))))
				plans = append(plans, p)
			}
			return plans
		}
	}
	unrolls := func(turns ...int) plan.Stage[plan.Plan] {
		return func(best plan.Plan) (plans []plan.Plan) {
			for _, n := range turns {
				p := best
				p.Unroll = n
				plans = append(plans, p)
			}
			return plans
		}
	}
	narrow := func(best plan.Plan) []plan.Plan {
		if best.VectorWidth == 0 {
			return nil
		}
		best.VectorWidth = 256
		return []plan.Plan{best}
	}
	if full {
		return []plan.Stage[plan.Plan]{manyCores, otherLanes, around(2, .5, 4, .25), unrolls(2, 4, 8), narrow, otherLanes, around(2, .5), unrolls(1, 2, 4)}
	}
	return []plan.Stage[plan.Plan]{manyCores, otherLanes, around(2, .5), unrolls(2, 4)}
}

// compileAndRun plays one tile of the layout.
func (x *experiment) compileAndRun(b xlabridge.Backend, layout plan.Plan, over func() bool) (float64, error) {
	small := *x
	small.redraw = false
	small.config.Steps = min(small.config.Steps, tuneSteps)
	layout.Devices = 1
	small.lay(layout)
	group := small.strategy.GroupSize()
	small.groups = population.CutTiles(layout.Tile/group, layout.Tile/group, 1)
	g, err := small.generation()
	if err != nil {
		return 0, err
	}
	in := small.inputs(1)
	var s State
	var draws any
	if err := graph.Try(func() {
		s = g.start(random.New(0))
		draws = graph.MapTree(func(a *graph.Array) *graph.Array { return someNumbers(a.Shape()) }, g.roomForDraws())
	}); err != nil {
		return 0, err
	}
	p, err := graph.TraceArgs("tuning", []any{s, in, draws}, graph.TraceOptions{Replicas: 1}, func(a []any) any {
		return g.playAll(a[0].(State), a[1].(inputs), a[2])
	})
	if err != nil {
		return 0, err
	}
	options := layout.Compile()
	options.NoCache = true
	program, err := b.Compile(p, options)
	if err != nil {
		return 0, err
	}
	defer func() { _ = program.Close() }()
	args, err := xlabridge.Put(b, 1, []any{s, in, draws})
	if err != nil {
		return 0, err
	}
	defer xlabridge.Free(args)
	leaves := graph.Leaves(args)
	return plan.Fastest(tuneTime, over, func() (float64, error) {
		from := time.Now()
		out, err := program.Call(leaves)
		if err != nil {
			return 0, err
		}
		seconds := time.Since(from).Seconds()
		xlabridge.Free(out)
		return seconds, nil
	})
}

// someNumbers are of no consequence, between -1 and 1: they need not be random, but differ.
func someNumbers(s graph.Shape) *graph.Array {
	z := make([]float32, s.Size())
	x := uint32(1)
	for i := range z {
		x = x*1664525 + 1013904223
		z[i] = float32(int32(x)) / (1 << 31)
	}
	return graph.Convert(graph.Float32s(z, s.Dims...), s.DType)
}
