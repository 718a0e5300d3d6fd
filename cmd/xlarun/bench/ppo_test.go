package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
)

// The rates that the peers print, as they print them.
func TestParsePPO(t *testing.T) {
	for i, c := range []struct {
		out  string
		want float64
	}{
		{"CartPole-v1 4 x 128, 1 agents: import 3.1 s, compile 3.0 s, 499712 steps in 1.91 s: 261.0 K steps/s, peak 790 MB\nmean return by tenth of the training: 107 286\n", 261_000},
		{"env and view only, random actions: compile 0.80 s, median 4.7 ms, min 4.6 ms, 1743.0 K steps/s\nparameters 43000; return of random actions 1.2\n" +
			"training: compile 5.10 s; block of 10 updates median 1.84 s, min 1.80 s: 44.40 K env steps/s; 245760 steps in 5.5 s\n", 44_400},
	} {
		got, err := parsePPO("peer.py", c.out)
		require.NoError(t, err, "case %d", i+1)
		require.InDelta(t, c.want, got, 1e-6, "case %d", i+1)
	}
	_, err := parsePPO("peer.py", "acting only: 12 K steps/s\n")
	require.ErrorContains(t, err, "holds no rate of training")
}

func TestBenchPPORefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"ppo-cartpol"}, `there is no workload "ppo-cartpol", did you mean ppo-cartpole?`},
		{[]string{"--repeats", "0"}, "--repeats got 0, wants 1 or more"},
		{[]string{"--backend", "reference"}, "which compiles nothing"},
	} {
		b := newBed(t)
		require.Equal(t, console.StatusUsage, b.do(append([]string{"ppo"}, c.args...)...))
		require.Contains(t, b.err.String(), "xlarun bench ppo: ")
		require.Contains(t, b.err.String(), c.want)
		require.Zero(t, b.opened)
	}
}
