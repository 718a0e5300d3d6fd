package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/bench/gradbench"
	"xlarun/cmd/xlarun/console"
)

func TestPairs(t *testing.T) {
	p := pairs{ours: []float64{1, 4, 2}, theirs: []float64{2, 4, 6}}
	l := p.line("mlp", gradRun, "jax 1", wantedRun)
	require.EqualValues(t, 2, l.Ours)
	require.EqualValues(t, 4, *l.PeerSeconds)
	require.EqualValues(t, 2, *l.Ratio, "the median of 2, 1 and 3")
	require.True(t, p.slow())
	require.False(t, pairs{ours: []float64{9}, theirs: []float64{4}}.slow())

	text, err := json.Marshal(pairs{ours: []float64{.5}}.line("gru", gradCold, "", wantedCold))
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"gru","ours_seconds":0.5,"peer":null,"peer_seconds":null,"ratio":null,"wanted":2,"measures":"trace and compile, nothing cached"}`, string(text))
}

func TestBlock(t *testing.T) {
	require.Equal(t, 1, block(20))
	require.Equal(t, 3, block(.09))
	require.Equal(t, 100, block(1e-6))
}

func TestFirstLine(t *testing.T) {
	s, err := firstLine(exec.Command("sh", "-c", "echo well; sleep .1"))
	require.NoError(t, err)
	require.Positive(t, s)
	_, err = firstLine(exec.Command("sh", "-c", "echo too bad >&2; exit 3"))
	require.ErrorContains(t, err, "too bad")
	require.ErrorContains(t, err, "exit status 3")
}

func TestBenchGradRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"grue"}, `there is no workload "grue", did you mean gru?; there are mlp, cnn, cnn-scan, gru`},
		{[]string{"--repeats", "0"}, "--repeats got 0, wants 1 or more"},
		{[]string{"--backend", "cup"}, `--backend got "cup"`},
	} {
		b := newBed(t)
		require.Equal(t, console.StatusUsage, b.do(append([]string{"grad"}, c.args...)...))
		require.Contains(t, b.err.String(), "xlarun bench grad: "+c.want)
		require.Zero(t, b.opened)
	}
}

// One process as bench grad times it, on the CPU plugin.
func TestGradFirstOnTheRealThing(t *testing.T) {
	cache := t.TempDir()
	require.NoError(t, EmptyCache(cache))
	t.Setenv("XLARUN_CACHE", cache)
	var out, errs bytes.Buffer
	s := console.Streams{Out: &out, Err: &errs, Env: os.Getenv}
	require.Equal(t, console.StatusOK, do(s, Command(s, console.OpenBackend), "grad", "--first", "mlp"), "%s", &errs)
	require.Empty(t, errs.String())
	var n gradbench.Numbers
	require.NoError(t, json.Unmarshal(out.Bytes(), &n))
	require.InDelta(t, 2.3587, n.Loss, 1e-3)
}
