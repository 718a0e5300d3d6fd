package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/xlabridge"
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

// What the peers come to, as they print it, and what a run's metrics say of ours.
func TestFinalReturns(t *testing.T) {
	for i, c := range []struct {
		out  string
		want float64
	}{
		{"training: compile 9.78 s\nmean episodic return at 10 updates each: 3.1 4.6 6.8; last 5 updates 7.19\n", 7.19},
		{"Breakout-MinAtar 64 x 128\nmean return by tenth of the training: 0.8 3.5 5.0 5.5\n", 5.5},
		{"mean return by tenth of the training: -1300 -1100.5\n", -1100.5},
	} {
		got, err := parseReturn("peer.py", c.out)
		require.NoError(t, err, "case %d", i+1)
		require.InDelta(t, c.want, got, 1e-9, "case %d", i+1)
	}
	_, err := parseReturn("peer.py", "last\n")
	require.ErrorContains(t, err, "holds no return")

	metrics := ""
	for i := range 20 {
		metrics += fmt.Sprintf("{\"update\":%d,\"episodes\":%d,\"mean_return\":%d}\n", i+1, i, 10*i)
	}
	metrics += "{\"update\":21,\"episodes\":0,\"mean_return\":null}\n"
	got, err := finalReturn([]byte(metrics), 0) // of the last three updates, one without an episode
	require.NoError(t, err)
	require.InDelta(t, (18*180.+19*190)/37, got, 1e-9)
	got, err = finalReturn([]byte(metrics), 5)
	require.NoError(t, err)
	require.InDelta(t, 175, got, 1e-9)
	_, err = finalReturn([]byte(metrics), 1)
	require.ErrorContains(t, err, "no episode ended")
	_, err = finalReturn(nil, 5)
	require.ErrorContains(t, err, "no episode ended in the last 5 of 0 updates")
}

// Logging is measured by pairs; what is asked for must make sense.
func TestLoggingCost(t *testing.T) {
	b := newBed(t)
	at := time.Unix(0, 0)
	b.now = func() time.Time { at = at.Add(100 * time.Millisecond); return at }
	b.shape.step = func(int) { // so that processor time goes by
		for start := processorTime(&xlabridge.Reference{}); processorTime(&xlabridge.Reference{}) == start; {
		}
	}
	require.Equal(t, console.StatusOK, b.do("ppo-logging", "--pairs", "3", "--json"), b.err.String())
	require.EqualValues(t, 3, b.result(t)["pairs"])
	require.Contains(t, b.out.String(), "of the processor time of an update")
	b = newBed(t)
	require.Equal(t, console.StatusUsage, b.do("ppo-logging", "--pairs", "0"))
	require.Contains(t, b.err.String(), "--pairs got 0, wants 1 to 10000")
}
