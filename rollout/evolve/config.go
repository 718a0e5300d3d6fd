package evolve

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/rollout"
	"xlarun/rollout/policy"
)

// Config is one experiment. Start from DefaultConfig: zero means zero, but where a field says otherwise.
type Config struct {
	Env         string // id of an environment, "CartPole-v1"
	Policy      string // spec of a policy, "mlp:16,16"
	Strategy    string // one of Strategies
	Population  int    // members; a multiple of the strategy's GroupSize
	Generations int    // the most that the caller means to run; Step does not look at it
	Steps       int    // environment steps of an episode
	Episodes    int    // episodes of a member in a generation
	Seed        int64
	Devices     int // devices to run on; 0: all of the backend's
	// Tile is the number of members that play together on one device, a multiple of GroupSize; 0: chosen. LanesLast and
	// Unroll (0: chosen) are the rest of the layout; see rollout.Plan. Results depend on the three in the last digits, and
	// not on Devices.
	Tile      int
	LanesLast bool
	Unroll    int
	// Tune says how a layout that is not given is chosen: one of Tunes.
	Tune string
	// Memory is what the run may take on all devices together, in bytes; 0: what is free.
	Memory int64
	// Keys is "global" (also ""): random keys count groups and members over the whole population; or "device": on each
	// device by itself, so that results depend on the number of devices.
	Keys string
	// What follows are inputs of the compiled program, which a change does not recompile; see Settings.
	LearningRate    float64
	Sigma           float64
	SigmaDecay      float64
	StdLearningRate float64
}

// DefaultConfig is evosax's Open_ES on CartPole.
func DefaultConfig() Config {
	return Config{Env: "CartPole-v1", Policy: "mlp:16,16", Strategy: "openes", Population: 256, Generations: 100, Steps: 500, Episodes: 1, Tune: TuneAuto, Keys: KeysGlobal,
		LearningRate: .02, Sigma: .1, SigmaDecay: 1, StdLearningRate: .1}
}

// ConfigError is what is wrong with one field of a Config.
type ConfigError struct {
	Key   string // the field's name
	Got   string // its value
	Wants string // what would do, and what to do
}

// Error implements error: "Population: got 0, want an even number from 2 to 16777216".
func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s: got %s, want %s", e.Key, e.Got, e.Wants)
}

const (
	// maxPopulation is the number up to which float32 counts members one by one, as the ranks do.
	maxPopulation = 1 << 24
	maxSteps      = 1 << 24 // and the steps of an episode
	maxEpisodes   = 1 << 16
	maxDevices    = 1024
	maxUnroll     = 64
)

// Values of Config.Keys.
const (
	KeysGlobal = "global"
	KeysDevice = "device"
)

// Check finds the first mistake in the config, a *ConfigError, before anything is traced or compiled: unknown names,
// numbers out of range, more memory than is free.
func (c Config) Check() error {
	_, err := c.plan(machine{free: rollout.FreeMemory()})
	return err
}

// plan is a checked config and what it names.
type plan struct {
	config   Config
	env      envs.Environment
	policy   policy.Policy
	strategy Strategy
	on       machine
	groups   rollout.Tiles
	layout   rollout.Plan
	source   string // of the layout
	redraw   bool   // noise is drawn again at tell
	// mustRedraw: the compiled program with kept noise took more than was allowed.
	mustRedraw bool
}

// plan checks the config and cuts the population for a machine.
func (c Config) plan(on machine) (*plan, error) {
	p := &plan{on: on}
	make, ok := strategies[c.Strategy]
	if !ok {
		return nil, unknown("Strategy", c.Strategy, Strategies())
	}
	p.strategy = make(c.Population)
	var err error
	if p.env, err = envs.Make(c.Env); err != nil {
		return nil, unknown("Env", c.Env, envs.IDs())
	}
	spec := p.env.Spec()
	if p.policy, err = policy.Make(c.Policy, spec.Observation, spec.Action); err != nil {
		var e *policy.Error
		if errors.As(err, &e) {
			return nil, &ConfigError{"Policy", e.Got, e.Wants}
		}
		return nil, &ConfigError{"Policy", fmt.Sprintf("%q", c.Policy), "a policy that fits the environment: " + err.Error()}
	}
	if err := c.checkNumbers(p.strategy.GroupSize(), on.devices); err != nil {
		return nil, err
	}
	if c.Devices == 0 {
		c.Devices = max(on.devices, 1)
	}
	p.config = c
	if c.Memory > 0 {
		p.on.free = c.Memory
	}
	layout, source := p.staticPlan()
	p.lay(layout, source)
	return p, p.fit(p.on.free)
}

func (c Config) checkNumbers(groupSize, devices int) error {
	multiple := "a whole number"
	if groupSize > 1 {
		multiple = "an even number"
		if groupSize > 2 {
			multiple = fmt.Sprintf("a multiple of %d", groupSize)
		}
	}
	for _, f := range []struct {
		key                string
		value, least, most int
		multipleOf         int
		kind               string
	}{
		{"Population", c.Population, groupSize, maxPopulation, groupSize, multiple},
		{"Generations", c.Generations, 1, math.MaxInt32 / 2, 1, "a whole number"},
		{"Steps", c.Steps, 1, maxSteps, 1, "a whole number"},
		{"Episodes", c.Episodes, 1, maxEpisodes, 1, "a whole number"},
		{"Devices", c.Devices, 0, maxDevices, 1, "a whole number"},
		{"Tile", c.Tile, 0, maxPopulation, groupSize, multiple},
		{"Unroll", c.Unroll, 0, maxUnroll, 1, "a whole number"},
	} {
		if f.value >= f.least && f.value <= f.most && f.value%f.multipleOf == 0 {
			continue
		}
		wants := fmt.Sprintf("%s from %d to %d", f.kind, f.least, f.most)
		if f.least == 0 {
			wants += ", 0 for the default"
		}
		if f.multipleOf > 1 && f.value >= f.least && f.value <= f.most {
			wants += fmt.Sprintf(": %s samples its members in groups of %d", c.Strategy, f.multipleOf)
		}
		return &ConfigError{f.key, fmt.Sprint(f.value), wants}
	}
	if c.Tune != "" && !slices.Contains(Tunes(), c.Tune) {
		return unknown("Tune", c.Tune, Tunes())
	}
	if keys := []string{KeysGlobal, KeysDevice}; c.Keys != "" && !slices.Contains(keys, c.Keys) {
		return unknown("Keys", c.Keys, keys)
	}
	if c.Memory < 0 {
		return &ConfigError{"Memory", fmt.Sprint(c.Memory), "a number of bytes, 0 for what is free"}
	}
	if devices > 0 && c.Devices > devices {
		return &ConfigError{"Devices", fmt.Sprint(c.Devices), fmt.Sprintf("at most the %d that the backend was opened with", devices)}
	}
	for _, f := range []struct {
		key   string
		value float64
	}{{"LearningRate", c.LearningRate}, {"Sigma", c.Sigma}, {"SigmaDecay", c.SigmaDecay}, {"StdLearningRate", c.StdLearningRate}} {
		if !(f.value > 0) || f.value > math.MaxFloat32 || float32(f.value) == 0 {
			return &ConfigError{f.key, fmt.Sprint(f.value), "a number above 0 that a float32 holds"}
		}
	}
	return nil
}

// unknown is the error for a name that does not exist.
func unknown(key, got string, known []string) error {
	wants := "one of " + strings.Join(known, ", ")
	if near := envs.Nearest(got, known); near != "" {
		wants += "; did you mean " + near + "?"
	}
	return &ConfigError{key, fmt.Sprintf("%q", got), wants}
}

func (p *plan) rollout() *rollout.Rollout {
	return &rollout.Rollout{Env: p.env, Policy: p.policy, Steps: p.config.Steps, Episodes: p.config.Episodes, Plan: p.layout}
}

func (c Config) settings() Settings {
	f := func(v float64) *graph.Array { return graph.Of(float32(v)) }
	return Settings{LearningRate: f(c.LearningRate), Sigma: f(c.Sigma), SigmaDecay: f(c.SigmaDecay), StdLearningRate: f(c.StdLearningRate)}
}
