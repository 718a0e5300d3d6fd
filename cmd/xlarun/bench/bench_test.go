package bench

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
)

func TestParseEvosax(t *testing.T) {
	got, err := parseEvosax("evosax POP=256 H=16: first generation after 3.81s; then 35.6 ms/gen 3.60M steps/s; mean fitness 9.4; total 5.6s\n")
	require.NoError(t, err)
	require.InDelta(t, 3.81, got.first, 1e-12)
	require.InDelta(t, .0356, got.generation, 1e-12)
	_, err = parseEvosax("Traceback\n")
	require.ErrorContains(t, err, "holds no times")
}

func TestBenchLineInJSON(t *testing.T) {
	line := row{Name: "evolve-small", Ours: .005}
	text, err := json.Marshal(line)
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"evolve-small","ours_seconds":0.005,"peer":null,"peer_seconds":null,"ratio":null}`, string(text))
	text, err = json.Marshal(line.against("evosax", .04))
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"evolve-small","ours_seconds":0.005,"peer":"evosax","peer_seconds":0.04,"ratio":8}`, string(text))
}

func TestBenchRunsAWorkload(t *testing.T) {
	b := newBed(t)
	require.Equal(t, console.StatusOK, b.do("evolve-small", "--backend", "reference", "--json"), "%s", b.err)
	var got struct{ Workloads []row }
	r := b.result(t)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &got))
	require.Len(t, got.Workloads, 1)
	require.Equal(t, "evolve-small", got.Workloads[0].Name)
	require.Positive(t, got.Workloads[0].Ours)
	require.Equal(t, warmUp+50, b.engine.done)
	require.Equal(t, 256, b.engine.config.Population)
}

func TestPeersPythonThatIsNone(t *testing.T) {
	b := newBed(t)
	require.Equal(t, console.StatusUsage, b.do("--peers", "--peers-python", "/nowhere/python"))
	require.Contains(t, b.err.String(), "xlarun bench: --peers-python /nowhere/python is no program that can be run")
}
