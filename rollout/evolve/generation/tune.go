package generation

import (
	"context"
	"time"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/xlabridge"
)

const (
	// PlanFormat changes when the content of a stored plan, or the way to choose, changes.
	PlanFormat = 3
	// tuneSteps is the number of environment steps in the measured program.
	tuneSteps = 200
	// tuneTime is how long a compiled candidate is measured.
	tuneTime = 60 * time.Millisecond
)

// Choose chooses the plan for a backend and sets the layout.
func (x *Setup) Choose(ctx context.Context, b xlabridge.Backend) (plan.Choice, error) {
	c := &x.Search
	_, chosen, err := plan.Chooser[plan.Plan]{
		Tune: c.Tune, Given: len(c.Given()) > 0, Rule: x.Layout, Backend: b, Purpose: x.Purpose(), Format: PlanFormat,
		Words: plan.Plan.Layout, Take: x.take, Tuner: func(full bool) *plan.Tuner[plan.Plan] {
			return x.Tuner(b, full)
		},
	}.Choose(ctx)
	chosen.Plan = x.Layout.String()
	return chosen, err
}

// take sets the layout of a stored or measured plan, if it is possible and fits in memory.
func (x *Setup) take(layout plan.Plan) bool {
	group := x.Strategy.GroupSize
	possible := layout.Tile >= group && layout.Tile%group == 0 && layout.Tile <= MaxPopulation &&
		layout.Unroll >= 1 && layout.Unroll <= maxUnroll && layout.VectorWidth >= 0 &&
		layout.EpisodeBatch >= 1 && x.Search.Episodes%layout.EpisodeBatch == 0
	if !possible {
		return false
	}
	before, regenerate := x.Layout, x.Regenerate
	layout.Devices = x.Layout.Devices
	x.Lay(layout)
	if x.Fit() == nil && x.Layout.Tile == layout.Tile {
		return true
	}
	x.Regenerate = regenerate
	x.Lay(before)
	return false
}

// Tuner measures candidates with one tile on one device, so that the choice does not depend on the number of devices.
// It compares the time of all cores for the population's first 200 steps, without ask and tell.
func (x *Setup) Tuner(b xlabridge.Backend, full bool) *plan.Tuner[plan.Plan] {
	frozen := *x // for measurements that run past the deadline
	t := &plan.Tuner[plan.Plan]{Late: x.late, Stages: x.stages(full)}
	t.Measure = func(layout plan.Plan) (float64, error) {
		seconds, err := frozen.compileAndRun(b, layout, func() bool { return time.Now().After(t.Deadline) })
		return frozen.onAllCores(layout, seconds), err
	}
	return t
}

// onAllCores returns the population's time, given one tile's.
func (x *Setup) onAllCores(layout plan.Plan, seconds float64) float64 {
	tiles, cores := (x.Search.Population+layout.Tile-1)/layout.Tile, max(1, x.Machine.Cores)
	return seconds * float64((tiles+cores-1)/cores)
}

func (x *Setup) stages(full bool) []plan.Stage[plan.Plan] {
	tiling := x.tiling()
	// One tile for each core, if there are fewer tiles than cores.
	manyCores := func(best plan.Plan) []plan.Plan {
		one := tiling.AtMost(max(plan.TileLeast, x.Search.Population/max(1, x.Machine.Cores)))
		if one >= best.Tile {
			return nil
		}
		best.Tile = one
		return []plan.Plan{best}
	}
	otherLanes := func(best plan.Plan) []plan.Plan {
		other := best
		other.BatchLast = !best.BatchLast
		wide := other
		// Unrolled products read each weight once for the whole batch, which pays for large tiles.
		wide.Tile = tiling.AtMost(plan.TileMost)
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
	batches := func(best plan.Plan) (plans []plan.Plan) {
		for _, n := range plan.EpisodeBatches(x.Search.Episodes) {
			if p := best; n != best.EpisodeBatch {
				p.EpisodeBatch = n
				plans = append(plans, p)
			}
		}
		return plans
	}
	if x.Machine.Accelerator {
		// Tiles are whole populations already. What is left changes the number of launches.
		last := func(best plan.Plan) []plan.Plan {
			best.BatchLast = !best.BatchLast
			return []plan.Plan{best}
		}
		return []plan.Stage[plan.Plan]{last, batches, unrolls(1, 2, 4), last}
	}
	narrow := func(best plan.Plan) []plan.Plan {
		if best.VectorWidth == 0 || plan.VectorBits() <= 256 {
			return nil
		}
		best.VectorWidth = 256
		return []plan.Plan{best}
	}
	if full {
		return []plan.Stage[plan.Plan]{manyCores, otherLanes, batches, around(2, .5, 4, .25), unrolls(2, 4, 8), narrow,
			otherLanes, around(2, .5), unrolls(1, 2, 4)}
	}
	return []plan.Stage[plan.Plan]{manyCores, otherLanes, batches, around(2, .5), unrolls(2, 4)}
}

// compileAndRun measures one tile of the layout, in seconds.
func (x *Setup) compileAndRun(b xlabridge.Backend, layout plan.Plan, over func() bool) (float64, error) {
	small := *x
	small.Regenerate = false
	small.Search.Steps, small.Search.EvalEnvs = min(small.Search.Steps, tuneSteps), 0
	layout.Devices = 1
	small.Lay(layout)
	group := small.Strategy.GroupSize
	single := small.Groups.Single
	small.Groups = population.CutTiles(layout.Tile/group, layout.Tile/group, 1)
	small.Groups.Single = single
	p, err := small.Program()
	if err != nil {
		return 0, err
	}
	in := small.Inputs(1)
	var s State
	var draws any
	if err := graph.Try(func() {
		s = p.Start(random.New(0))
		draws = graph.MapTree(func(a *graph.Array) *graph.Array { return arbitrary(a.Shape()) }, p.drawBuffers())
	}); err != nil {
		return 0, err
	}
	traced, err := graph.TraceArgs("tuning", []any{s, in, draws}, graph.TraceOptions{Replicas: 1}, func(a []any) any {
		return p.Evaluate(a[0].(State), a[1].(Inputs), a[2])
	})
	if err != nil {
		return 0, err
	}
	options := layout.Compile()
	options.NoCache = true
	program, err := b.Compile(traced, options)
	if err != nil {
		return 0, err
	}
	defer func() { _ = program.Close() }()
	if c, ok := b.(*xlabridge.Client); ok && c.Topology() != nil {
		return program.Executable.Estimate()
	}
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

// arbitrary returns different numbers between -1 and 1.
func arbitrary(s graph.Shape) *graph.Array {
	z := make([]float32, s.Size())
	x := uint32(1)
	for i := range z {
		x = x*1664525 + 1013904223
		z[i] = float32(int32(x)) / (1 << 31)
	}
	return graph.Float32s(z, s.Dims...).Convert(s.DType)
}
