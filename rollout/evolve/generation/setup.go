package generation

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// LargeMember is the number of parameters from which the first state is computed on the devices.
const LargeMember = 1 << 18

// Options are the options of a generation that depend on the kind of run.
type Options struct {
	NormalizeObservations bool // see policy.Normalizing
	// Migrants is the number of members that leave an island, and the most that arrive, in a migration; 0: no
	// migration.
	Migrants, Islands int
	Alone             bool // each device has a population of its own; see population.Tiles.Alone
}

// spread reports whether the devices share one population.
func (o Options) spread() bool { return !o.Alone && o.Migrants == 0 }

// Setup is a checked search, with its strategy and policy, and the layout of its population on a machine.
type Setup struct {
	Search   Search
	Options  Options
	Rollout  *episode.Rollout // without the layout
	Strategy *strategy.Erased
	Params   int // of one member
	Machine  plan.Machine
	Groups   population.Tiles // the population's groups, cut over the devices
	Layout   plan.Plan
	// Regenerate makes tell draw noise again from its keys instead of storing it from ask to tell.
	Regenerate     bool
	Undivided      bool       // one device plays the only tile, and the cores of the others help it
	mustRegenerate bool       // the compiled program with stored noise took more memory than allowed
	reads          plan.Reads // of a step of an episode
	sizes          sizes
	shared         bool            // members are played without forming their matrices
	narrow         func() bool     // see episode.Rollout.Narrow; called where the rule needs it, since it traces
	late           *sync.WaitGroup // measurements that still run after their deadline
}

// NewSetup checks the search and lays its population out on a machine. It returns the first mistake, a *settings.Error:
// unknown names, numbers out of range, more memory than the machine has free.
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
	large := x.Params >= LargeMember || on.Accelerator
	if used := x.Groups.Used(); c.Devices == 0 && large && used < x.Search.Devices && o.spread() {
		// Another device would hold a state of its own and play nobody.
		x.Search.Devices, x.Undivided = used, used == 1 && on.CPU
		x.Lay(x.rule())
	}
	return x, x.Fit()
}

// made is what the checks of a Search have made.
type made struct {
	sync.Mutex
	setup *Setup // nil: nothing yet
}

// Once returns a copy whose strategy and policy are made once, so that the start of a run does not repeat the check
// before. Nobody changes its settings: With and Clone return searches that are made anew.
func (c *Search) Once() Search {
	once := c.Clone()
	once.made = &made{}
	return once
}

// named returns the Setup without a layout, for any machine with a number of devices (0: unknown).
func (c *Search) named(o Options, devices int) (*Setup, error) {
	if c.made == nil {
		return c.make(o, devices)
	}
	c.made.Lock()
	defer c.made.Unlock()
	if k := c.made.setup; k != nil && k.Options == o {
		return k.clone(), c.CheckDevices(devices)
	}
	x, err := c.make(o, devices)
	if err != nil {
		return nil, err
	}
	c.made.setup = x
	return x.clone(), nil
}

// make is named, made anew.
func (c *Search) make(o Options, devices int) (*Setup, error) {
	x := &Setup{Search: c.Clone(), Options: o}
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
	if x.Strategy.Fit != nil {
		if err := x.Strategy.Fit(policy.Unwrap(x.Rollout.Policy)); err != nil {
			if wrong, ok := errors.AsType[*settings.Error](err); ok && wrong.Key == "policy" {
				wrong.Got = strconv.Quote(c.Policy)
			}
			return nil, err
		}
	}
	if err := c.check(x.Strategy); err != nil {
		return nil, err
	}
	if err := c.CheckDevices(devices); err != nil {
		return nil, err
	}
	if x.Params, err = policy.Size(policy.Unwrap(x.Rollout.Policy)); err != nil {
		return nil, err
	}
	if err := x.checkGenome(); err != nil {
		return nil, err
	}
	if err := x.checkMigration(); err != nil {
		return nil, err
	}
	x.Count()
	return x, nil
}

// checkGenome refuses a policy without parameters and, for strategies that search among vectors, one whose genome is no
// vector of floats.
func (x *Setup) checkGenome() error {
	var params any
	if err := graph.Try(func() { params = policy.Unwrap(x.Rollout.Policy).Init(random.New(0)) }); err != nil {
		return err
	}
	if len(graph.Leaves(params)) == 0 {
		return settings.Wrong("policy", x.Search.Policy, "a policy with parameters, which a search changes: its Init "+
			"returns none")
	}
	if !x.Strategy.Flat {
		return nil
	}
	path, shape, other := population.OtherDType(params)
	if !other {
		return nil
	}
	return settings.Wrong("policy", x.Search.Policy, "a policy whose parameters are all float32 (its %s is %s): %s "+
		"searches among vectors; --strategy neat takes %s, and eggroll takes any policy", strings.TrimPrefix(path, "."),
		shape, x.Search.Strategy, settings.AnyOf(policy.GenomePolicies()))
}

// clone returns a Setup that can be changed without changing x.
func (x *Setup) clone() *Setup {
	clone, rollout := *x, *x.Rollout
	clone.Rollout = &rollout
	return &clone
}

// CheckDevices refuses more devices than a machine has (0: unknown).
func (c *Search) CheckDevices(devices int) error {
	if devices > 0 && c.Devices > devices {
		return settings.Wrong("devices", c.Devices, "at most the %d that the backend was opened with", devices)
	}
	return nil
}

// Purpose describes the program.
func (x *Setup) Purpose() string { return Purpose(&x.Search, x.Options) }

// Purpose describes the program of a search with options.
func Purpose(c *Search, o Options) string {
	if o.NormalizeObservations {
		return c.Purpose() + ", normalized observations"
	}
	return c.Purpose()
}

// Wait waits for measurements that still run after their deadline. Until then the backend must stay open.
func (x *Setup) Wait() { x.late.Wait() }

// Chosen returns the settings of the chosen layout, by name.
func (x *Setup) Chosen() settings.Values { return x.Layout.Settings(&x.Search) }

// Tiles returns the number of tiles of the population, with those that make it equal on all devices.
func (x *Setup) Tiles() int {
	return (x.Groups.Used() + x.Groups.Devices - 1) / x.Groups.Devices * x.Groups.Devices
}

// Program returns the generation of the search, ready to be traced.
func (x *Setup) Program() (*Program, error) {
	rollout := *x.Rollout
	rollout.Steps, rollout.Plan, rollout.Gather = x.Search.Steps, x.Layout, x.Options.NormalizeObservations
	rollout.Spread = x.Search.EvalEnvs > 0
	p := &Program{Rollout: &rollout, Strategy: x.Strategy, Groups: x.Groups, Options: x.Options,
		EvalMembers: x.Search.EvalMembers(x.Search.Episodes), regenerate: x.Regenerate}
	var err error
	if p.Places, err = x.Search.places(x.Params); err != nil {
		return nil, err
	}
	return p, graph.Try(func() {
		params := p.policy().Init(random.New(0))
		if p.Strategy.Flat {
			p.Genomes = population.LayoutOf(params)
		}
		zero := graph.Scalar(0, graph.Int32)
		genome := p.genome(params)
		state := p.Strategy.Init(genome, p.members())
		p.notNil("Init", state)
		p.draw = p.Strategy.Sample(random.New(0), state, zero)
		p.notNil("Sample", p.draw)
		p.sameTree("Member", p.Strategy.Member(state, p.draw, zero), genome, "as the genome that Init gets")
		p.sameTree("Mean", p.Strategy.Mean(state), genome, "as the genome that Init gets")
	})
}

// notNil refuses a nil that a method of the strategy returned.
func (p *Program) notNil(method string, result any) {
	if result == nil || result == any((*graph.Array)(nil)) {
		panic(envs.ResultError(p.Strategy.Settings, "strategy", method, "got nil, want a tree of arrays"))
	}
}

// sameTree refuses a result of a method of the strategy whose structure, shapes or dtypes are not those of like. what
// says what like is.
func (p *Program) sameTree(method string, result, like any, what string) {
	p.notNil(method, result)
	leaves, got := graph.Flatten(result)
	wanted, want := graph.Flatten(like)
	wrong := func(format string, args ...any) {
		panic(envs.ResultError(p.Strategy.Settings, "strategy", method, fmt.Sprintf(format, args...)))
	}
	if d := got.Difference("result", want, "tree that is wanted"); d != "" {
		if reflect.TypeOf(result) != reflect.TypeOf(like) {
			wrong("got a %T of %s, want a %T of %s, %s", result, leavesText(got), like, leavesText(want), what)
		}
		wrong("got a %T of another structure, want one %s: %s", result, what, d)
	}
	for i, a := range leaves {
		if w := wanted[i].Shape(); !w.Equal(a.Shape()) {
			wrong("got %s at %s, want %s, %s: convert or reshape it", a.Shape(), got.Path(i), w, what)
		}
	}
}

// leavesText counts the leaves of a tree.
func leavesText(t *graph.Tree) string {
	if t.Len() == 1 {
		return "1 leaf"
	}
	return fmt.Sprintf("%d leaves", t.Len())
}

// leastCounted is the work of a tile from which tiles are counted: steps of its members times parameters of a member.
// Each step counts as 100 parameters more. Such a tile takes 75 microseconds. To count it takes half of one, which is
// too much for tiles of a few microseconds.
const leastCounted, stepWork = 1 << 20, 100

// Counter returns a counter of a number of tiles on some devices, or nil if each takes too little time to be counted.
// This does not depend on the number of devices.
func (x *Setup) Counter(tiles, devices int) *run.PartCounter {
	steps := float64(x.Layout.Tile) * float64(x.Search.Steps) * float64(x.Search.Episodes)
	if steps*float64(x.Params+stepWork) < leastCounted {
		return nil
	}
	return run.NewPartCounter("tiles", tiles, devices)
}

// Inputs returns the inputs of the program, given the number of tiles of a device.
func (x *Setup) Inputs(tiles int) Inputs {
	in := Inputs{Settings: settings.Inputs(x.Strategy.Settings, "strategy."), Tiles: graph.Of(int32(tiles))}
	for name, a := range x.Rollout.Inputs() {
		in.Settings[name] = a
	}
	if x.Search.EvalEnvs > 0 {
		in.Settings[evalEvery] = graph.Of(int32(x.Search.EvalEvery))
	}
	return in
}
