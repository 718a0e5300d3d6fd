package play

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
)

// A network as neat-python exports it, for an environment with three inputs and one output.
const pythonNetwork = `{"format_version":"1.0","network_type":"recurrent","metadata":{"env":"Pendulum-v1","steps":5},
"topology":{"input_keys":[-1,-2,-3],"output_keys":[0]},"connections":[{"from":-2,"to":0,"weight":-1.5,"enabled":true},
{"from":0,"to":0,"weight":0.5,"enabled":true}],"nodes":[{"id":0,"activation":{"name":"tanh","custom":false},
"aggregation":{"name":"sum","custom":false},"bias":0.25,"response":1}]}`

func TestPlayOfNeatPython(t *testing.T) {
	b := newBed(t)
	require.NoError(t, os.WriteFile("net.json", []byte(pythonNetwork), 0o644))
	status, out, errs := b.run("play", "net.json", "--episodes", "2", "--frames", "2")
	require.Equal(t, console.StatusOK, status, errs)
	require.Contains(t, out, "of at most 5 steps", "31.135")
	require.Contains(t, out, "network      net-play.svg", "31.136")
	drawing, err := os.ReadFile("net-play.svg")
	require.NoError(t, err)
	require.Contains(t, string(drawing), "0: 1 to 3, weight -1.5", "31.136: the second input has the number 1")
	status, _, errs = b.run("export", "net.json", "--out", "net.safetensors")
	require.Equal(t, console.StatusOK, status, errs)
}

// 31.344: a genome in a file may have been edited, so results that the file names are not its own.
func TestPlayDropsResultsOfGenomes(t *testing.T) {
	b := newBed(t)
	saved := strings.Replace(pythonNetwork, `"steps":5`, `"steps":5,"mean_return":"7","standard_error":"1",
"episodes":"100"`, 1)
	require.NoError(t, os.WriteFile("net.json", []byte(saved), 0o644))
	status, out, errs := b.run("play", "net.json", "--episodes", "2", "--gif", "none")
	require.Equal(t, console.StatusOK, status, errs)
	require.NotContains(t, out, "when saved")
	status, _, errs = b.run("export", "net.json", "--out", "again.json")
	require.Equal(t, console.StatusOK, status, errs)
	text, err := os.ReadFile("again.json")
	require.NoError(t, err)
	require.NotContains(t, string(text), "mean_return")
	require.Contains(t, string(text), `"steps": "5"`)
}

func TestPlayWantsAnEnvironment(t *testing.T) {
	b := newBed(t)
	require.NoError(t, os.WriteFile("net.json", []byte(`{"format_version":"1.0","network_type":"feedforward",
"topology":{"input_keys":[-1],"output_keys":[0]}}`), 0o644))
	status, _, errs := b.run("play", "net.json")
	require.Equal(t, console.StatusUsage, status, "31.137")
	require.Contains(t, errs, "names no environment in its metadata")
}
