package evolve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// mostLanes is the number of lanes that are computed at a time; more of them wait for their turn.
const mostLanes = 1024

// LaneNumbers are the Numbers of strategy and policy.
func (c *Config) LaneNumbers() (names []string) {
	for _, p := range settings.ChosenParts(c) {
		for _, f := range settings.Fields(p.Settings) {
			if f.Traced {
				names = append(names, p.Name+"."+f.Name)
			}
		}
	}
	return names
}

// Lanes runs searches with these settings, but for the seed and the Numbers that are each one's own, to their ends; see OpenLanes.
func (c *Config) Lanes(ctx context.Context, b xlabridge.Backend, all []run.Lane, hear func(lane int, m run.Metrics) (stop bool)) error {
	if len(all) == 0 {
		return nil
	}
	lanes, err := c.OpenLanes(b, slices.Sorted(maps.Keys(all[0].Numbers)), len(all))
	if err != nil {
		return err
	}
	return errors.Join(lanes.Run(ctx, all, hear), lanes.Close())
}

// OpenLanes implements run.Laned: searches are lanes of one program, tile by tile. A lane depends neither on the
// others nor on the devices: to the byte it is the run of its own, with the same --tile on one device, which a
// test holds for all strategies. It is compiled when the first are run.
func (c *Config) OpenLanes(b xlabridge.Backend, names []string, most int) (run.Lanes, error) {
	if err := c.checkLane(); err != nil {
		return nil, err
	}
	known := c.LaneNumbers()
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, settings.Wrong(name, "others", "one value in all lanes: each may have its own of %s", strings.Join(known, ", "))
		}
	}
	devices := c.Devices
	if devices == 0 {
		devices = b.NumDevices()
	}
	one := c.plain()
	one.kept, one.Devices = c.kept, 1
	x, err := one.experiment(plan.MachineOf(b, devices))
	if err != nil {
		return nil, err
	}
	tile := x.laneTile()
	width := tile
	for width < most && width < mostLanes {
		width *= 2 // few widths, so that few programs are compiled
	}
	l, err := x.newLanes(width, tile, devices)
	if err != nil {
		return nil, err
	}
	t := &trials{config: &one, backend: b, lanes: l, names: slices.Sorted(slices.Values(names)), target: one.Goal(x.play.Env.Spec())}
	if r, ok := policy.ReporterOf(l.generation.rollout.Policy); ok {
		t.reports = r.Reports()
	}
	return t, nil
}

// Run implements run.Lanes.
func (t *trials) Run(ctx context.Context, all []run.Lane, hear func(lane int, m run.Metrics) (stop bool)) error {
	if err := t.config.checkLanes(t.names, all); err != nil {
		return err
	}
	for width, first := t.lanes.cut.Items, 0; first < len(all); first += width {
		some := all[first:min(first+width, len(all))]
		if err := t.run(ctx, some, func(lane int, m run.Metrics) bool { return hear(first+lane, m) }); err != nil {
			return err
		}
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

// LaneCost is that of a search with these settings.
func (c *Config) LaneCost() (run.LaneCost, error) {
	if err := c.checkLane(); err != nil {
		return run.LaneCost{}, err
	}
	one := c.plain()
	one.Devices = 1
	x, err := one.experiment(plan.Machine{Devices: 1})
	if err != nil {
		return run.LaneCost{}, err
	}
	bytes, ok := x.memory()
	if !ok {
		bytes = math.MaxInt64
	}
	work := float64(x.params) * float64(c.Episodes) * float64(c.Steps)
	return run.LaneCost{Work: work * float64(c.Population) * float64(c.Generations), Bytes: bytes}, nil
}

// checkLane refuses settings that lanes cannot have.
func (c *Config) checkLane() error {
	switch {
	case c.Restarts != RestartsNone && c.Restarts != "":
		return settings.Wrong("restarts", c.Restarts, "none: lanes start once")
	case c.Island != "":
		return settings.Wrong("island", c.Island, "none: lanes share no folder")
	case c.Keys == KeysDevice:
		return settings.Wrong("keys", c.Keys, "%s: a lane is played on one device, wherever that is", KeysGlobal)
	}
	return nil
}

// checkLanes finds the first lane that cannot be one with these Numbers of its own.
func (c *Config) checkLanes(names []string, all []run.Lane) error {
	most := map[string][2]float64{}
	for i, lane := range all {
		if len(lane.Numbers) != len(names) {
			return fmt.Errorf("lane %d has %d numbers of its own, wants %d: give all the same", i, len(lane.Numbers), len(names))
		}
		for _, name := range names {
			x, ok := lane.Numbers[name]
			if !ok {
				return fmt.Errorf("lane %d has no %s of its own: give all the same", i, name)
			}
			ends, seen := most[name]
			switch {
			case x != x: // neither bound would be it
				ends = [2]float64{x, x}
			case !seen:
				ends = [2]float64{x, x}
			default:
				ends = [2]float64{min(ends[0], x), max(ends[1], x)}
			}
			most[name] = ends
		}
	}
	for _, p := range c.Parts() {
		f, _ := settings.Lookup(c, p.Name)
		for end := range 2 { // the ranges of settings are intervals
			own := c.Parted.Under(p.Name + ".")
			for name, ends := range most {
				if inner, ok := strings.CutPrefix(name, p.Name+"."); ok {
					own[inner] = ends[end]
				}
			}
			if chosen, ok := p.Choices[settings.Choice(f.Text())]; ok {
				if err := own.Apply(chosen, "the "+p.Name+" "+f.Text(), p.Name+"."); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// trials are lanes under way, some at a time.
type trials struct {
	config  *Config
	backend xlabridge.Backend
	lanes   *lanes
	names   []string
	reports []string
	target  float64
	loop    *run.Loop
}

// run runs as many as there are lanes, or fewer: the rest of the lanes repeats the last.
func (t *trials) run(ctx context.Context, some []run.Lane, hear func(lane int, m run.Metrics) bool) error {
	width := t.lanes.cut.Items
	each := map[string][]float64{}
	of := func(i int) run.Lane { return some[min(i, len(some)-1)] }
	for _, name := range t.names {
		for i := range width {
			each[name] = append(each[name], of(i).Numbers[name])
		}
	}
	var state LanesState
	if err := graph.Try(func() { state = t.lanes.starts(width, each, func(i int) random.Key { return random.New(of(i).Seed) }) }); err != nil {
		return err
	}
	if err := t.begin(state, each); err != nil {
		return err
	}
	type lane struct {
		best     float64
		patience patience
		over     bool
	}
	lanes := make([]lane, len(some))
	for i := range lanes {
		lanes[i] = lane{best: math.Inf(-1), patience: patience{best: math.Inf(-1)}}
	}
	for step, open := int64(0), len(some); open > 0 && step < t.config.Last(); {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		v, err := t.loop.Numbers()
		if err != nil {
			return err
		}
		step = t.loop.Steps()
		size := len(v) / width
		for i := range lanes {
			l := &lanes[i]
			if l.over {
				continue
			}
			m, s := t.config.metrics(v[i*size:(i+1)*size], step, t.reports, &l.best)
			m.Done, m.Stalled = s.mean >= t.target, l.patience.take(s.best, step, t.config)
			if stop := hear(i, m); stop || m.Done || m.Stalled || step >= t.config.Last() {
				l.over = true
				open--
			}
		}
	}
	return nil
}

// begin puts a first state on the devices; the program is compiled once.
func (t *trials) begin(state LanesState, each map[string][]float64) (err error) {
	if t.loop == nil {
		options := run.LoopOptions{Name: "lanes", Purpose: fmt.Sprintf("%d lanes, each %s", t.lanes.cut.Items, t.config.Purpose()), Plan: t.lanes.layout}
		t.loop, err = run.NewLoop(t.backend, options, state, t.lanes.shared(each), t.lanes.run)
		return err
	}
	s := run.Snapshot{Arrays: map[string]*graph.Array{}}
	leaves, tree := graph.Flatten(state)
	for i, a := range leaves {
		if s.Arrays[run.LeafName(tree.Path(i))], err = graph.Eval(a); err != nil {
			return err
		}
	}
	return t.loop.Restore(s)
}
