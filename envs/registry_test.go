package envs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/classic"
)

func TestMake(t *testing.T) {
	require.Subset(t, envs.IDs(), []string{"Acrobot-v1", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0",
		"Pendulum-v1"})
	env, err := envs.Make("CartPole-v1")
	require.NoError(t, err)
	require.Equal(t, "CartPole-v1", env.Spec().ID)
}

func TestMakeUnknown(t *testing.T) {
	for _, c := range []struct{ id, hint string }{
		{"cartpole", ", did you mean CartPole-v1?"},
		{"CartPole-v0", ", did you mean CartPole-v1?"},
		{"Pendulm-v1", ", did you mean Pendulum-v1?"},
		{"MountainCarContinous-v0", ", did you mean MountainCarContinuous-v0?"},
		{"mountaincar", ", did you mean MountainCar-v0?"},
		{"Breakout", ""},
		{"", ""},
	} {
		_, err := envs.Make(c.id)
		require.ErrorContains(t, err, `there is no environment "`+c.id+`"`+c.hint+
			"; known are Acrobot-v1, BernoulliBandit-misc-v1, ")
	}
}

func TestRegister(t *testing.T) {
	mine := func() envs.Environment { return envs.Erase(classic.CartPole{}) }
	require.ErrorContains(t, envs.Register("CartPole-v1", mine), "registered already")
	require.ErrorContains(t, envs.Register("CartPole", mine), `want "Name-vN"`)
	require.ErrorContains(t, envs.Register("Mine-v0", nil), "constructor of Mine-v0 is nil")
}

func TestNearest(t *testing.T) {
	known := []string{"openes", "pgpe", "snes", "activation"}
	for name, want := range map[string]string{"open-es": "openes", "OpenES": "openes", "sns": "snes", "adam": "",
		"p": "pgpe", "": "",
		"population": ""} { // half of its letters are in "activation"
		require.Equal(t, want, envs.Nearest(name, known), name)
	}
}
