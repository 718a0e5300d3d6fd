package evolve

import (
	"cmp"
	"context"
	"maps"

	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Config is one experiment. Start from DefaultConfig: zero means zero, except where a field says otherwise.
type Config struct {
	generation.Search
	// NormalizeObservations normalizes observations by the statistics of all earlier generations; see
	// policy.Normalizing.
	NormalizeObservations bool `set:"normalize-observations" help:"observations less the mean of all earlier generations, over their standard deviation"`

	GrowSettings                `advanced:""`
	RestartSettings             `advanced:""`
	generation.PatienceSettings `advanced:""`
	ValidationSettings          `advanced:""`
	PoolSettings                `advanced:""`
	HostSettings                `advanced:"" flag:"names a server and files"`

	caller *run.Job // has what the caller sets before Job.Start; nil: nothing
}

// called returns what the caller sets before Job.Start.
func (c *Config) called() *run.Job { return cmp.Or(c.caller, &run.Job{}) }

// DefaultConfig is evosax's Open_ES on CartPole.
func DefaultConfig() Config {
	return Config{Search: generation.DefaultSearch(), RestartSettings: RestartSettings{Restarts: RestartsNone},
		ValidationSettings: ValidationSettings{ValidationEpisodes: 100},
		PoolSettings:       PoolSettings{MigrationSettings: generation.DefaultMigration()},
		HostSettings:       HostSettings{Wait: "10m", AloneFor: "10m"}}
}

// With returns the config with one more setting of a part: With("strategy.sigma", .2).
func (c Config) With(name string, value any) Config {
	c.Search = c.Search.With(name, value)
	return c
}

// clone returns a copy that shares no map with c.
func (c *Config) clone() Config {
	clone := *c
	clone.Search, clone.ValidationParam = c.Search.Clone(), maps.Clone(c.ValidationParam)
	return clone
}

// options returns the options of the generation.
func (c *Config) options() generation.Options {
	o := generation.Options{NormalizeObservations: c.NormalizeObservations}
	if c.Island != "" {
		o.Migrants, o.Islands = c.Migrants, poolIslands
	}
	return o
}

// Suggested returns settings for the environment, and of an island as many migrants as the population allows.
func (c *Config) Suggested() settings.Values {
	values := c.EpisodeSettings.Suggested()
	c.SuggestEval(values, c.Population*c.Episodes)
	if c.Island != "" {
		c.SuggestMigrants(values, c.MigrationSettings)
	}
	return values
}

// Check finds the first mistake in the config, a *settings.Error, before anything is traced or compiled: unknown names,
// numbers out of range, more memory than the machine has free.
func (c *Config) Check(on plan.Machine) error {
	if _, err := c.setup(on); err != nil {
		return err
	}
	return cmp.Or(c.checkMedium(), c.checkGrown(on))
}

// setup checks the config and lays its population out on a machine.
func (c *Config) setup(on plan.Machine) (*generation.Setup, error) {
	if err := c.checkTogether(false); err != nil {
		return nil, err
	}
	x, err := c.NewSetup(c.options(), on)
	if err != nil {
		return nil, err
	}
	if c.Sample > c.Population {
		return nil, settings.Wrong("sample", c.Sample, "at most %d, the members of the population", c.Population)
	}
	for _, p := range parts {
		if p.check == nil {
			continue
		}
		if err := p.check(c); err != nil {
			return nil, err
		}
	}
	if err := settings.Check(c); err != nil {
		return nil, err
	}
	usual := DefaultConfig()
	for _, other := range []string{"patience", "validation-target"} {
		if err := settings.CheckChanged(c, &usual, other); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// Rollout returns how members are evaluated.
func (c *Config) Rollout() (*episode.Rollout, error) {
	if c.NormalizeObservations {
		return c.NormalizedRollout()
	}
	return c.Search.Rollout()
}

// Purpose describes the program: all that its shapes depend on.
func (c *Config) Purpose() string { return generation.Purpose(&c.Search, c.options()) }

// ChoosePlan chooses the plan of an experiment as Start does, without compiling a generation. It stores a plan that it
// measures, and a Start with plan.TuneAuto finds it.
func (c *Config) ChoosePlan(ctx context.Context, b xlabridge.Backend) (plan.Choice, error) {
	x, err := c.setup(plan.MachineOf(b, c.Devices))
	if err != nil {
		return plan.Choice{}, err
	}
	choice, err := x.Choose(ctx, b)
	x.Wait()
	return choice, err
}

// Start chooses the plan, traces one generation, compiles it for b (through the cache) and puts the first state on the
// devices.
func (c *Config) Start(ctx context.Context, b xlabridge.Backend) (run.Run, error) {
	return New(ctx, b, *c)
}

// StartAlone is Start of a run that exchanges nothing: an island's run does not touch the folder that the islands
// share, and a host computes the whole population.
func (c *Config) StartAlone(ctx context.Context, b xlabridge.Backend) (run.Run, error) {
	alone := *c
	if c.Island == "" { // the program of an island depends on it, that of a host on whether it is one
		alone.HostSettings = HostSettings{}
	}
	return newEvolution(ctx, b, alone, true)
}

// Remake makes members again, by their numbers, of the population that a state asks for next.
func (c *Config) Remake(b xlabridge.Backend, s run.Snapshot, numbers []int) ([]run.Sampled, error) {
	c, err := c.searchOf(s)
	if err != nil {
		return nil, err
	}
	x, err := c.setup(plan.MachineOf(b, c.Devices))
	if err != nil {
		return nil, err
	}
	return x.Remake(b, s, numbers)
}

// MemberCount returns the size of the population after a state.
func (c *Config) MemberCount(s run.Snapshot) (int, error) {
	c, err := c.searchOf(s)
	if err != nil {
		return 0, err
	}
	return c.Population, nil
}
