package selfplay

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Auto is replaced by what it stands for, which a resumed run repeats; the network's products decide.
func TestPrecisionAuto(t *testing.T) {
	c := small()
	c.Precision = "auto"
	x := startedOn(t, interpreted(t), c)
	require.Equal(t, "f32", x.config.Precision, "short products")
	require.Equal(t, "f32", x.Profile().Chosen["precision"], "what was chosen is kept")
	require.Contains(t, x.Profile().Chosen, "games-per-device")
	for network, least := range map[string]float64{"mlp:8": 5, "mlp:512,512": 200} {
		c.Network = network
		p, err := c.program()
		require.NoError(t, err)
		terms, err := p.terms()
		require.NoError(t, err)
		require.Greater(t, terms, least, "%s", network)
		require.Less(t, terms, 3*least, "%s", network)
	}
}
