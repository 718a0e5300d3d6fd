package generation

import (
	"reflect"
	"sync"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// LargeMember is the number of a member's parameters from which on the first state is computed on the devices.
const LargeMember = 1 << 18

// Options say what a kind of run asks of a generation beyond the settings of a Search. The zero value asks for nothing.
type Options struct {
	NormalizeObservations bool // see policy.Normalizing
	DeviceKeys            bool // see Program.keys
	// Migrants is the number of members that leave, and arrive at most, in a migration among so many Islands; 0: nobody
	// migrates.
	Migrants, Islands int
	Alone             bool // each device has a population of its own; see population.Tiles.Alone
}

// Setup is a checked search, what it names, and how its population is laid out on a machine.
type Setup struct {
	Search   Search
	Options  Options
	Rollout  *episode.Rollout // without the layout
	Strategy strategy.Strategy
	Params   int // numbers of one member
	Machine  plan.Machine
	Groups   population.Tiles // the population's groups, cut over the devices
	Layout   plan.Plan
	// Regenerate makes tell draw noise again from its keys instead of storing it from ask to tell.
	Regenerate     bool
	mustRegenerate bool // the compiled program with stored noise took more memory than allowed
	read           int  // bytes that a step of an episode reads of a member
	sizes          sizes
	shared         bool            // members are played without forming the matrices that they share
	late           *sync.WaitGroup // measurements that nobody waits for any more
}

// NewSetup checks the search and cuts the population for a machine. Its first mistake is a *settings.Error: unknown
// names, numbers out of range, more memory than the machine has free.
func (c *Search) NewSetup(o Options, on plan.Machine) (*Setup, error) {
	x, err := c.named(o, on.Devices)
	if err != nil {
		return nil, err
	}
	x.Machine, x.late = on, new(sync.WaitGroup)
	if c.Devices == 0 {
		x.Search.Devices = max(on.Devices, 1)
	}
	if c.Memory > 0 {
		x.Machine.Free = int64(c.Memory)
	}
	x.Lay(x.rule())
	return x, x.Fit()
}

// named returns what the search names, checked and counted, for any machine of so many devices (0: unknown). It is kept
// with the search, so that a run that starts does not repeat the work of the check before.
func (c *Search) named(o Options, devices int) (*Setup, error) {
	search := c.Clone()
	search.checked = nil
	if c.checked != nil {
		if k := c.checked.Load(); k != nil && k.Options == o && reflect.DeepEqual(k.Search, search) {
			return k.clone(), c.CheckDevices(devices)
		}
	}
	x := &Setup{Search: search, Options: o}
	var err error
	if x.Strategy, err = strategy.Make(c.Strategy, c.Parted.Under("strategy.")); err != nil {
		return nil, err
	}
	if err := c.checkParted(); err != nil {
		return nil, err
	}
	if o.NormalizeObservations {
		x.Rollout, err = c.NormalizedRollout()
	} else {
		x.Rollout, err = c.Rollout()
	}
	if err != nil {
		return nil, err
	}
	if err := c.check(x.Strategy); err != nil {
		return nil, err
	}
	if err := c.CheckDevices(devices); err != nil {
		return nil, err
	}
	if x.Params, err = policy.Size(policy.Behind(x.Rollout.Policy)); err != nil {
		return nil, err
	}
	if err := x.checkMigration(); err != nil {
		return nil, err
	}
	x.Count()
	if c.checked != nil {
		c.checked.Store(x)
	}
	return x.clone(), nil
}

// clone returns a Setup that can be changed without changing x.
func (x *Setup) clone() *Setup {
	clone, rollout := *x, *x.Rollout
	clone.Rollout = &rollout
	return &clone
}

// CheckDevices refuses more devices than a machine has; 0 where that is unknown.
func (c *Search) CheckDevices(devices int) error {
	if devices > 0 && c.Devices > devices {
		return settings.Wrong("devices", c.Devices, "at most the %d that the backend was opened with", devices)
	}
	return nil
}

// Purpose says in a few words what the program is for.
func (x *Setup) Purpose() string { return Purpose(&x.Search, x.Options) }

// Purpose says in a few words what the program of a search with options is for.
func Purpose(c *Search, o Options) string {
	if o.NormalizeObservations {
		return c.Purpose() + ", normalized observations"
	}
	return c.Purpose()
}

// Wait waits for measurements that still run after their deadline. The backend must stay open until then.
func (x *Setup) Wait() { x.late.Wait() }

// Chosen returns the settings that the plan has chosen, by name.
func (x *Setup) Chosen() settings.Values {
	return settings.Values{"tile": x.Layout.Tile, "lanes-last": x.Layout.LanesLast, "unroll": x.Layout.Unroll,
		"vector-width": x.Layout.VectorWidth}
}

// Program returns the generation of the search, ready to be traced.
func (x *Setup) Program() (*Program, error) {
	rollout := *x.Rollout
	rollout.Steps, rollout.Plan, rollout.Gather = x.Search.Steps, x.Layout, x.Options.NormalizeObservations
	p := &Program{Rollout: &rollout, Strategy: x.Strategy, Groups: x.Groups, Options: x.Options,
		regenerate: x.Regenerate}
	var err error
	if p.Places, err = x.Search.places(x.Params); err != nil {
		return nil, err
	}
	return p, graph.Try(func() {
		params := p.policy().Init(random.New(0))
		if _, flat := p.Strategy.(strategy.Flat); flat {
			p.Genomes = population.LayoutOf(params)
		}
		state := p.Strategy.Init(p.genome(params), p.members())
		p.draw = strategy.Draw(p.Strategy, random.New(0), state, graph.Zeros(graph.ShapeOf(graph.Int32)))
	})
}

// Inputs returns the inputs of the program; tiles is the number of tiles of a device.
func (x *Setup) Inputs(tiles int) Inputs {
	in := Inputs{Settings: settings.Inputs(x.Strategy, "strategy."), Tiles: graph.Of(int32(tiles))}
	for name, a := range x.Rollout.Inputs() {
		in.Settings[name] = a
	}
	return in
}
