package play

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/episode"
	"xlarun/rollout/settings"
)

// A spiking member is played with other dynamics, beside those that it was trained with: the mechanistic form of lif
// spikes as the fast one does, that of other models does not.
func TestPlayWithOtherDynamics(t *testing.T) {
	b := newBed(t)
	r := b.save("fast.safetensors", "Pendulum-v1", "spiking:4", 6, 3)
	metadata := episode.Describe("Pendulum-v1", "spiking:4", settings.Values{"dynamics": "mechanistic:adex",
		"dt": 1}, 6)
	require.NoError(t, safetensors.Save("adex.safetensors", r.Policy.Init(random.New(3)), metadata))
	play := func(file, dynamics string) (Result, []string) {
		t.Helper()
		return b.json("play", file, "--episodes", "3", "--gif", "none", "--seed", "5", "--dynamics", dynamics)
	}
	got, lines := play("fast.safetensors", "mechanistic")
	require.Equal(t, []string{"mechanistic:lif", "fast"}, []string{got.Parity.Dynamics, got.Parity.Trained})
	require.Equal(t, got.Mean, got.Parity.Mean)
	require.Zero(t, *got.Parity.Difference)
	require.Contains(t, lines, "             the return is the same in each of them")
	alone, _ := b.json("play", "fast.safetensors", "--episodes", "3", "--gif", "none", "--seed", "5")
	require.Nil(t, alone.Parity)
	require.Equal(t, alone.Mean, got.Parity.Mean)

	other, _ := play("fast.safetensors", "mechanistic:izhikevich")
	require.Equal(t, alone.Mean, other.Parity.Mean)
	require.NotEqual(t, *alone.Mean, *other.Mean)
	require.InDelta(t, *other.Mean-*alone.Mean, *other.Parity.Difference, 1e-4)
	require.Positive(t, *other.Parity.DifferenceError)

	back, _ := play("adex.safetensors", "fast")
	require.Equal(t, "mechanistic:adex", back.Parity.Trained)
	require.NotEqual(t, back.Mean, back.Parity.Mean)
}

// A member without such neurons, the dynamics of the training and unknown ones are refused in a sentence.
func TestDynamicsThatCannotBePlayed(t *testing.T) {
	b := newBed(t)
	b.save("mlp.safetensors", "Pendulum-v1", "mlp:3", 6, 3)
	b.save("fast.safetensors", "Pendulum-v1", "spiking:4", 6, 3)
	for _, c := range []struct{ file, dynamics, want string }{
		{"mlp", "fast", "xlarun play: --dynamics got fast, but the member's policy is mlp:3, which " +
			"has no such neurons: " +
			"leave it out, or play a member of the policy spiking\n"},
		{"fast", "fast", "xlarun play: --dynamics got fast, with which the member was trained: leave it out, or give " +
			"others\n"},
		{"fast", "slow", `xlarun play: --dynamics slow: policy.dynamics: got "slow", want one of fast, `},
	} {
		status, _, errs := b.run("play", c.file+".safetensors", "--dynamics", c.dynamics)
		require.NotZero(t, status)
		require.Contains(t, errs, c.want)
	}
	require.Zero(t, b.opened)
}
