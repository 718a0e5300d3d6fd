package play

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A member with spiking neurons is drawn: its raster, its potentials, its weights; one without is refused.
func TestRenderSpikes(t *testing.T) {
	b := newBed(t)
	r := b.rendered("render", "CartPole-v1", "--policy", "spiking:5,3", "--steps", "9", "--out", "none", "--spikes",
		"pictures")
	require.Equal(t, []string{"pictures/raster.png", "pictures/membrane.png", "pictures/weights.png"}, r.Spikes)
	require.Empty(t, r.Gif)
	for _, path := range r.Spikes {
		size := pngOf(t, path).Bounds().Size()
		require.Greater(t, size.X, 300, path)
		require.Greater(t, size.Y, 200, path)
	}
	for i, c := range []struct {
		args []string
		want string
	}{
		{[]string{"render", "CartPole-v1", "--policy", "mlp:3", "--spikes", "other"},
			"the policy mlp:3 has no spiking neurons"},
		{[]string{"render", "CartPole-v1", "--spikes", "other"}, "the policy random has no spiking neurons"},
		{[]string{"render", "CartPole-v1", "--policy", "spiking:3", "--spikes", "no/such"}, "there is no folder no"},
	} {
		status, _, errs := b.run(c.args...)
		require.NotZero(t, status, "%d", i+1)
		require.Contains(t, errs, c.want, "%d", i+1)
		_, err := os.Stat("other")
		require.Error(t, err, "%d", i+1)
	}
}
