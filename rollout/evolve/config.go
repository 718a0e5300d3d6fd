package evolve

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Config is one experiment. Start from DefaultConfig: zero means zero, but where a field says otherwise.
type Config struct {
	run.Playing
	Strategy   string `set:"strategy" help:"how the next population comes about"`
	Population int    `set:"pop" short:"p" help:"members of the population"` // a multiple of the strategy's GroupSize
	// NormalizeObservations gives every member its observations less their means, over their standard deviations: of all that the population
	// observed in the generations before. See policy.Normalizing.
	NormalizeObservations bool `set:"normalize-observations" help:"members see each observation less its mean, over its standard deviation, of all that were made in the generations before"`
	Generations           int  `set:"generations" short:"g" program:"no" resume:"any" min:"1" max:"1073741823" help:"generations at most"`
	// Restarts is how the search starts anew where it has come to an end; see restarting. MaxPopulation bounds what it grows to.
	Restarts      string `set:"restarts" program:"no" oneof:"none,ipop,bipop" help:"how a search that has come to an end starts anew: not at all, with a population twice as large (ipop), or in turn with\nsmall populations that were given less (bipop)"`
	MaxPopulation int    `set:"max-population" program:"no" min:"2" max:"16777216" zero:"16 times the population" help:"members that a restart may grow the population to; 0 for 16 times as many as at first"`
	// HallOfFame is the number of members that are kept as the best of the whole run, or "auto"; see Hall.
	HallOfFame string `set:"hall-of-fame" number:"" wants:"a number of members from 0 to 1000, or auto" help:"members that are kept as the best of the whole run, from the best of each generation, and judged at its end; auto: 4, none of networks\nabove 65536 parameters"`
	// Patience is the number of generations after which the run ends where best_ever has not risen by more than MinImprovement.
	Patience       int     `set:"patience" program:"no" resume:"goal" min:"0" max:"1073741823" help:"generations without a better best_ever after which the run ends; 0 to go on"`
	MinImprovement float64 `set:"min-improvement" program:"no" resume:"goal" min:"0" help:"what best_ever has to rise by, at least, to count as better for --patience"`
	// Island is the name of this run among those that share MigrationDir, through which members travel; see Pool. "": nobody does.
	Island       string `set:"island" program:"no" help:"name of this run among the islands that share --migration-dir"`
	MigrationDir string `set:"migration-dir" program:"no" resume:"any" help:"folder that islands, runs of their own, share: through it their best members travel"`
	MigrateEvery int    `set:"migrate-every" program:"no" min:"0" max:"1073741823" help:"generations from one migration to the next; 0: nobody migrates"`
	Migrants     int    `set:"migrants" min:"1" max:"4096" help:"members that leave an island in a migration, and arrive at most"`
	run.Planning
	// Tile is the number of members that play together on one device, a multiple of GroupSize; 0: chosen. LanesLast and
	// Unroll (0: chosen) are the rest of the layout; see plan.Plan. Results depend on the three in the last digits, and
	// not on Devices.
	Tile      int  `set:"tile" help:"members that play together on a device; 0 to choose"`
	LanesLast bool `set:"lanes-last" help:"keep the members on the last axis; goes with --tile"`
	Unroll    int  `set:"unroll" min:"1" max:"64" zero:"the default" help:"steps in one turn of the loop; 0 to choose"`
	// VectorWidth is that of plan.Plan; 0: chosen.
	VectorWidth int `set:"vector-width" min:"128" max:"4096" zero:"the default" help:"width in bits of the vectors that the compiler prefers on cpu; 0 to choose"`
	// Keys is "global": random keys count groups and members over the whole population; or "device": on each device by
	// itself, so that results depend on the number of devices.
	Keys string                      `set:"keys" oneof:"global,device" help:"random keys count members over the whole population (global), or on each device (device: results depend on --devices)"`
	kept *atomic.Pointer[experiment] // what was made of this config or of one that it was copied from, perhaps in an earlier state; nil: nothing is kept
}

// DefaultConfig is evosax's Open_ES on CartPole.
func DefaultConfig() Config {
	return Config{Playing: run.Playing{Scene: run.Scene{Env: "CartPole-v1", Policy: "mlp:16,16"}, Steps: 500, Episodes: 1, Aim: run.Aim{Target: "auto", Judge: 100}},
		Strategy: "openes", Population: 256, Generations: 100, HallOfFame: auto, Restarts: RestartsNone, MigrateEvery: 10, Migrants: 5, Planning: run.Defaults(), Keys: KeysGlobal, kept: new(atomic.Pointer[experiment])}
}

const (
	// maxPopulation is the number up to which float32 counts members one by one, as the ranks do.
	maxPopulation = 1 << 24
	maxUnroll     = 64
)

// Values of Config.Keys.
const (
	KeysGlobal = "global"
	KeysDevice = "device"
)

// Bound tells that what follows from keys of devices goes on on as many of them only.
func (c *Config) Bound() []string {
	if c.Keys == KeysDevice {
		return []string{"devices"}
	}
	return nil
}

// Parts are strategy and policy.
func (c *Config) Parts() []settings.Part { return []settings.Part{strategy.Part(), policy.Part()} }

// With is the config with one more setting of a part: With("strategy.sigma", .2).
func (c Config) With(name string, value any) Config {
	c.Parted = c.Parted.With(name, value)
	return c
}

// Check finds the first mistake in the config, a *settings.Error, before anything is traced or compiled: unknown names,
// numbers out of range, more memory than the machine has free.
func (c *Config) Check(on plan.Machine) error {
	if _, err := c.experiment(on); err != nil {
		return err
	}
	return c.checkGrown(on)
}

// Rollout is that of run.Playing, with observations normalised where they are to be.
func (c *Config) Rollout() (*episode.Rollout, error) {
	r, err := c.Playing.Rollout()
	if err != nil || !c.NormalizeObservations {
		return r, err
	}
	spec := r.Env.Spec()
	r.Policy, r.Head, err = policy.MakeNormalizing(c.Policy, c.Parted.Under("policy."), spec.Observation, spec.Action)
	return r, err
}

// experiment is a checked config and what it names.
type experiment struct {
	config   Config
	play     *episode.Rollout // without the layout
	strategy strategy.Strategy
	params   int // numbers of one member
	read     int // bytes that a step of an episode reads of a member
	sizes    sizes
	on       plan.Machine
	groups   population.Tiles
	layout   plan.Plan
	redraw   bool // draws are made again at tell
	shared   bool // members are played without forming the matrices that they share
	// mustRedraw: the compiled program with kept draws took more than was allowed.
	mustRedraw bool
	late       *sync.WaitGroup // measurements that nobody waits for any more
	migrating  migrating
	alone      bool // it is one of several that are cut over the devices
}

// experiment checks the config and cuts the population for a machine.
func (c *Config) experiment(on plan.Machine) (*experiment, error) {
	x, err := c.made(on.Devices)
	if err != nil {
		return nil, err
	}
	x.on, x.late = on, new(sync.WaitGroup)
	if c.Devices == 0 {
		x.config.Devices = max(on.Devices, 1)
	}
	if c.Memory > 0 {
		x.on.Free = int64(c.Memory)
	}
	x.lay(x.rule())
	return x, x.fit()
}

// made is what the config names, checked and counted, for any machine of so many devices (0: unknown). It is kept with the
// config: what was found when the config was checked is not sought again when the run starts.
func (c *Config) made(devices int) (*experiment, error) {
	if c.kept != nil {
		if k := c.kept.Load(); k != nil && reflect.DeepEqual(k.config, c.plain()) {
			return k.copied(), c.checkDevices(devices)
		}
	}
	x := &experiment{config: c.plain()}
	var err error
	if x.strategy, err = strategy.Make(c.Strategy, c.Parted.Under("strategy.")); err != nil {
		return nil, err
	}
	if err := c.checkParted(); err != nil {
		return nil, err
	}
	if x.play, err = c.Rollout(); err != nil {
		return nil, err
	}
	if err := c.checkNumbers(x.strategy); err != nil {
		return nil, err
	}
	if err := c.checkDevices(devices); err != nil {
		return nil, err
	}
	if _, err := c.places(0); err != nil {
		return nil, err
	}
	if c.MinImprovement > 0 && c.Patience == 0 {
		return nil, settings.Wrong("min-improvement", c.MinImprovement, "--patience beside it: without, the run does not end for want of improvement")
	}
	if x.params, err = policy.Size(policy.Behind(x.play.Policy)); err != nil {
		return nil, err
	}
	if err := c.checkIsland(x); err != nil {
		return nil, err
	}
	x.count()
	if c.kept != nil {
		c.kept.Store(x)
	}
	return x.copied(), nil
}

// copied is an experiment that can be changed without a change of this one.
func (x *experiment) copied() *experiment {
	c, play := *x, *x.play
	c.play = &play
	return &c
}

// plain is the config without what is kept with it.
func (c *Config) plain() Config {
	plain := *c
	plain.kept = nil
	plain.Parted, plain.EnvParam = maps.Clone(c.Parted), maps.Clone(c.EnvParam)
	return plain
}

// checkParted refuses settings of parts that there are not.
func (c *Config) checkParted() error {
	for name, value := range c.Parted {
		if part, _, _ := strings.Cut(name, "."); part != "strategy" && part != "policy" {
			return settings.Wrong(name, value, "strategy.NAME or policy.NAME")
		}
	}
	return nil
}

func (c *Config) checkNumbers(s strategy.Strategy) error {
	groupSize := s.GroupSize()
	least := groupSize
	if b, ok := s.(strategy.Bounded); ok {
		least = max(least, b.LeastPopulation())
	}
	multiple := "a whole number"
	if groupSize > 1 {
		multiple = "an even number"
		if groupSize > 2 {
			multiple = fmt.Sprintf("a multiple of %d", groupSize)
		}
	}
	for _, f := range []struct {
		key          string
		value, least int
	}{{"pop", c.Population, least}, {"tile", c.Tile, 0}} {
		if f.value >= f.least && f.value <= maxPopulation && f.value%groupSize == 0 {
			continue
		}
		wants := fmt.Sprintf("%s from %d to %d", multiple, f.least, maxPopulation)
		if f.least == 0 {
			wants += ", 0 for the default"
		}
		if f.key == "pop" && least > groupSize && f.value > 0 && f.value < least {
			wants += fmt.Sprintf(": %s needs %d members at least", c.Strategy, least)
		}
		if groupSize > 1 && f.value >= f.least && f.value <= maxPopulation {
			wants += fmt.Sprintf(": %s samples its members in groups of %d", c.Strategy, groupSize)
		}
		return settings.Wrong(f.key, f.value, "%s", wants)
	}
	if c.MaxPopulation != 0 && (c.Restarts == RestartsNone || c.MaxPopulation < c.Population) {
		return settings.Wrong("max-population", c.MaxPopulation, "restarts (--restarts ipop or bipop) and the population, %d, or more", c.Population)
	}
	return settings.Check(c)
}

// checkDevices holds the config against the devices of a machine, 0 where that is not known.
func (c *Config) checkDevices(devices int) error {
	if devices > 0 && c.Devices > devices {
		return settings.Wrong("devices", c.Devices, "at most the %d that the backend was opened with", devices)
	}
	return nil
}

// rollout is how the experiment's members are evaluated.
func (x *experiment) rollout() *episode.Rollout {
	r := *x.play
	r.Steps, r.Plan, r.Gather = x.config.Steps, x.layout, x.config.NormalizeObservations
	return &r
}

// Last is the number of generations.
func (c *Config) Last() int64 { return int64(c.Generations) }

// Setup says what is run.
func (c *Config) Setup() string {
	return fmt.Sprintf("%d x %s, %s, %d steps, seed %d", c.Population, c.Policy, c.Strategy, c.Steps, c.Seed)
}

// Purpose says in a few words what the experiment's program is for: all that its shapes depend on.
func (c *Config) Purpose() string {
	text := fmt.Sprintf("evolve %s, %d x %s, %s, %d steps", c.Env, c.Population, c.Policy, c.Strategy, c.Steps)
	if c.NormalizeObservations {
		text += ", normalized observations"
	}
	if c.Episodes > 1 {
		text += fmt.Sprintf(" x %d episodes", c.Episodes)
	}
	if len(c.EnvParam) > 0 {
		text += ", given " + c.EnvParam.Shape()
	}
	if c.HallOfFame != auto && c.HallOfFame != "" {
		text += ", hall of fame of " + c.HallOfFame
	}
	for _, p := range settings.ChosenParts(c) {
		text += settings.Unusual(p, c)
	}
	return text
}

// Start chooses the plan, traces one generation, compiles it for b (through the cache) and puts the first state on the
// devices.
func (c *Config) Start(b xlabridge.Backend) (run.Run, error) {
	if c.Island != "" {
		return newPooled(b, *c)
	}
	if c.Restarts != RestartsNone {
		return newRestarting(b, *c)
	}
	return New(b, *c)
}
