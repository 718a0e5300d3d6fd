package ppo

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/ppo/value"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// torn is an environment of a user whose own code panics.
type torn struct{ clock }

// tornError names the line of the panic.
const tornError = "config_test.go:27: panic: runtime error: index out of range"

func (torn) Spec() envs.Spec { s := clock{}.Spec(); s.ID = "Torn-v0"; return s }
func (torn) Reset(random.Key, graph.None) (s clockState, obs *graph.Array) {
	var none []*graph.Array
	return s, none[len(none)] // its line is in the error
}

// bare is an environment that does not say what it shows.
type bare struct{ clock }

func (bare) Spec() envs.Spec {
	return envs.Spec{ID: "Bare-v0", Action: envs.Discrete{N: 2}, MaxSteps: 1}
}

// mute is a value head that reads nothing.
type mute struct{ value.Plain }

func (*mute) Outputs() int { return 0 }

func init() {
	envs.MustRegister[clockState, graph.None](torn{})
	envs.MustRegister[clockState, graph.None](bare{})
	value.MustRegister("test-mute", func() value.Head { return &mute{} })
}

// Bad input is refused in a sentence before anything is compiled.
func TestRefuses(t *testing.T) {
	for i, c := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) {
			c.Minibatches = 3
		}, "minibatches: got 3, want a number that divides 64, the steps of an update"},
		{func(c *Config) {
			c.Policy, c.Minibatches = "gru:4", 8
		}, "minibatches: got 8, want a number that divides 4, the environments, whose sequences stay whole"},
		{func(c *Config) { c.Deviation = .5 }, "deviation: got 0.5, want 1: the actions of CartPole-v1 are choices"},
		{func(c *Config) { c.Env, c.Deviation = "Pendulum-v1", .5 }, ""},
		{func(c *Config) { c.Env, c.Deviation = "Pendulum-v1", 0 }, "deviation: got 0, want a number from 1e-6 to 1e3"},
		{func(c *Config) { c.Deviation = -1 }, "deviation: got -1, want a number from"},
		{func(c *Config) { c.Deviation = 1e-300 }, "deviation: got 1e-300, want a number from"},
		{func(c *Config) { c.Deviation = 1e9 }, "deviation: got 1e+09, want a number from"},
		{func(c *Config) { c.Deviation = math.NaN() }, "deviation: got NaN, want a number from"},
		{func(c *Config) { c.Steps = 10 }, "steps: got 10, want at least 64"},
		{func(c *Config) { c.Value = "best" }, `value: got "best", want one of`},
		{func(c *Config) {
			c.Value = "test-mute"
		}, `value: got "test-mute", want a head that reads 1 output of the critic or more: its Outputs are 0`},
		{func(c *Config) {
			c.Policy, c.Parted = "blockmlp:64,64", settings.Values{"policy.masks": "own"}
		}, `policy: got "blockmlp:64,64", want one whose parameters are all floats, which gradients can change: its ` +
			`Blocks[0].From is i32[2]`}, // it named no policy
		{func(c *Config) {
			c.Env = "Torn-v0"
		}, tornError},
		{func(c *Config) {
			c.Env, c.Agents = "Torn-v0", 2
		}, tornError},
		{func(c *Config) {
			c.Env = "Bare-v0"
		},
			`env: got "Bare-v0", want an environment whose Spec is complete: ` +
				`the Spec of "Bare-v0": Observation: got none`},
		{func(c *Config) {
			c.Agents, c.Entropy = 2, settings.Number{Value: .1, Each: "0.1,0.2,0.3"}
		}, "entropy-coef: got \"0.1,0.2,0.3\", want at most 2 numbers, one for each agent"},
		{func(c *Config) { c.Agents, c.Entropy = 2, settings.Number{Value: .1, Each: "0.1..0.3"} }, ""},
		{func(c *Config) { c.Target = "high" }, `target: got "high"`},
		{func(c *Config) {
			c.Env, c.NormalizeObservations = "FourRooms-misc-v1", true
			c.Env = "MemoryChain-bsuite-v1"
		}, ""},
	} {
		config := small(c.change)
		err := config.Check(plan.Machine{})
		if c.want == "" {
			require.NoError(t, err, i)
			continue
		}
		require.ErrorContains(t, err, c.want, i)
		if c.want == tornError { // no setting is wrong
			require.ErrorAs(t, err, new(*graph.Error), i)
		} else {
			require.ErrorAs(t, err, new(*settings.Error), i)
		}
		require.NotContains(t, err.Error(), "\n", i)
		_, err = New(&xlabridge.Reference{}, config)
		require.Error(t, err, i)
	}
}
