package vectorized

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// MaxLanes is the largest number of lanes that run at a time. More lanes wait.
const MaxLanes = 1024

// trials implements run.Lanes.
type trials struct {
	search   *generation.Search
	patience generation.PatienceSettings
	backend  xlabridge.Backend
	purpose  string
	lanes    *Program
	names    []string
	reports  generation.Reports
	target   float64
	loop     *run.Loop
}

// Numbers lists the Numbers of strategy and policy.
func Numbers(c *generation.Search) (names []string) {
	for _, p := range settings.ChosenParts(c) {
		for _, f := range settings.Fields(p.Settings) {
			if f.Traced {
				names = append(names, p.Name+"."+f.Name)
			}
		}
	}
	return names
}

// Open makes a run.Lanes: searches are lanes of one program. To the byte, a lane has the results of a run of its own
// with the same --tile on one device; a test checks it for all strategies. The program is compiled by the first Run.
func Open(b xlabridge.Backend, c *generation.Search, o generation.Options, patience generation.PatienceSettings,
	names []string, most int) (run.Lanes, error) {
	known := Numbers(c)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, settings.Wrong(name, "others", "one value in all vectorized searches: each may have its own "+
				"of %s", strings.Join(known, ", "))
		}
	}
	devices := c.Devices
	if devices == 0 {
		devices = b.NumDevices()
	}
	search := c.Clone()
	search.Devices, o.Alone = 1, true
	x, err := search.NewSetup(o, plan.MachineOf(b, devices))
	if err != nil {
		return nil, err
	}
	tile := Tile(x)
	width := tile
	for width < most && width < MaxLanes {
		width *= 2 // few widths need few programs
	}
	l, err := New(x, width, tile, devices)
	if err != nil {
		return nil, err
	}
	return &trials{search: &search, patience: patience, backend: b, purpose: x.Purpose(), lanes: l,
		names: slices.Sorted(slices.Values(names)), target: search.Goal(x.Rollout.Env.Spec()),
		reports: generation.ReportsOf(x.Rollout, x.Strategy)}, nil
}

// Cost returns the cost of a search.
func Cost(c *generation.Search, o generation.Options) (run.VectorizedCost, error) {
	search := c.Clone()
	search.Devices, o.Alone = 1, true
	x, err := search.NewSetup(o, plan.Machine{Devices: 1})
	if err != nil {
		return run.VectorizedCost{}, err
	}
	bytes, ok := x.Memory()
	if !ok {
		bytes = math.MaxInt64
	}
	work := float64(x.Params) * float64(c.Episodes) * float64(c.Steps)
	return run.VectorizedCost{Work: work * float64(c.Population) * float64(c.Generations), Bytes: bytes}, nil
}

// Run implements run.Lanes.
func (t *trials) Run(ctx context.Context, all []run.Lane, onMetrics func(lane int, m run.Metrics) (stop bool)) error {
	if err := check(t.search, t.names, all); err != nil {
		return err
	}
	first := 0
	for batch := range slices.Chunk(all, t.lanes.Cut.Items) {
		from := first
		if err := t.run(ctx, batch, func(lane int, m run.Metrics) bool { return onMetrics(from+lane, m) }); err != nil {
			return err
		}
		first += len(batch)
	}
	return nil
}

// Close implements run.Lanes.
func (t *trials) Close() error {
	if t.loop == nil {
		return nil
	}
	return t.loop.Close()
}

// run runs at most as many searches as there are lanes. Unused lanes repeat the last search.
func (t *trials) run(ctx context.Context, batch []run.Lane, onMetrics func(lane int, m run.Metrics) bool) error {
	if err := t.start(ctx, batch); err != nil {
		return err
	}
	type lane struct {
		bestEver, envSteps float64
		patience           generation.Patience
		ended              bool
	}
	lanes := make([]lane, len(batch))
	for i := range lanes {
		lanes[i] = lane{bestEver: math.Inf(-1), patience: generation.NewPatience()}
	}
	for running := len(batch); running > 0; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		v, err := t.loop.Numbers()
		if err != nil {
			return err
		}
		step := t.loop.Steps()
		size := len(v) / t.lanes.Cut.Items
		for i := range lanes {
			l := &lanes[i]
			if l.ended {
				continue
			}
			m, _ := t.search.Metrics(v[i*size:(i+1)*size], step, t.reports, &l.bestEver, &l.envSteps)
			m.Done = t.search.Reached(t.lanes.Search.Strategy, m.Number, t.target)
			m.Stalled = l.patience.Update(t.search.Progress(m), step, t.patience)
			if stop := onMetrics(i, m); stop || m.Over(t.search.Last()) {
				l.ended = true
				running--
			}
		}
	}
	return nil
}

// start puts the first states of searches on the devices. The first call compiles the program.
func (t *trials) start(ctx context.Context, batch []run.Lane) error {
	width := t.lanes.Cut.Items
	each := map[string][]float64{}
	search := func(i int) run.Lane { return batch[min(i, len(batch)-1)] }
	for _, name := range t.names {
		for i := range width {
			each[name] = append(each[name], search(i).Numbers[name])
		}
	}
	var state State
	err := graph.Try(func() {
		state = t.lanes.Start(each, func(i int) random.Key { return random.New(search(i).Seed) })
	})
	if err != nil {
		return err
	}
	if t.loop == nil {
		options := run.LoopOptions{Name: "lanes", Purpose: fmt.Sprintf("%d searches, each %s", width, t.purpose),
			Plan: t.lanes.Layout}
		t.loop, err = run.NewLoop(t.backend, options, state, t.lanes.Shared(each), t.lanes.Run)
		return err
	}
	s := run.Snapshot{Arrays: map[string]*graph.Array{}}
	leaves, tree := graph.Flatten(state)
	for i, a := range leaves {
		if s.Arrays[run.LeafName(tree.Path(i))], err = graph.Eval(a); err != nil {
			return err
		}
	}
	return t.loop.Restore(ctx, s)
}

// check refuses lanes whose Numbers are missing or out of range.
func check(c *generation.Search, names []string, all []run.Lane) error {
	values := map[string][]float64{}
	for i, lane := range all {
		if len(lane.Numbers) != len(names) {
			return fmt.Errorf("search %d has %d numbers of its own, wants %d: give all the same", i, len(lane.Numbers),
				len(names))
		}
		for _, name := range names {
			x, ok := lane.Numbers[name]
			if !ok {
				return fmt.Errorf("search %d has no %s of its own: give all the same", i, name)
			}
			values[name] = append(values[name], x)
		}
	}
	for _, p := range c.Parts() {
		f, _ := settings.Lookup(c, p.Name)
		// Ranges of settings are intervals, so the ends suffice. With a NaN, both ends are NaN.
		for _, end := range []func([]float64) float64{slices.Min[[]float64], slices.Max[[]float64]} {
			parted := c.Parted.Under(p.Name + ".")
			for name, x := range values {
				if inner, ok := strings.CutPrefix(name, p.Name+"."); ok {
					parted[inner] = end(x)
				}
			}
			if chosen, ok := p.Choices[settings.Choice(f.Text())]; ok {
				if err := parted.Apply(chosen, "the "+p.Name+" "+f.Text(), p.Name+"."); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
