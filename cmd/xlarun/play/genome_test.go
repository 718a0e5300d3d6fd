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
	require.Contains(t, out, "of at most 5 steps")
	require.Contains(t, out, "network      net-play.svg")
	drawing, err := os.ReadFile("net-play.svg")
	require.NoError(t, err)
	require.Contains(t, string(drawing), "0: 1 to 3, weight -1.5", "the second input has the number 1")
	status, _, errs = b.run("export", "net.json", "--out", "net.safetensors")
	require.Equal(t, console.StatusOK, status, errs)
}

// A genome in a file may have been edited, so results that the file names are not its own.
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
	require.Equal(t, console.StatusUsage, status)
	require.Contains(t, errs, "names no environment in its metadata")
}

// Metadata that contradict the genome or each other are refused with one sentence.
func TestPlayRefusesContradictions(t *testing.T) {
	b := newBed(t)
	require.NoError(t, os.WriteFile("net.json", []byte(pythonNetwork), 0o644))
	status, _, errs := b.run("export", "net.json", "--out", "net.safetensors")
	require.Equal(t, console.StatusOK, status, errs)
	status, _, errs = b.run("export", "net.safetensors", "--out", "good.json")
	require.Equal(t, console.StatusOK, status, errs)
	text, err := os.ReadFile("good.json")
	require.NoError(t, err)
	require.NotContains(t, string(text), "digest", "a file that people edit has none")
	for _, c := range []struct{ name, old, new, want string }{
		{"not recurrent, as its policy is", `"recurrent": true,
  "nodes"`, `"recurrent": false,
  "nodes"`, "its connections form a cycle, but recurrent is false"},
		{"recurrent, as its policy is not", `\"recurrent\":true`, `\"recurrent\":false`,
			"the genome is recurrent, and the policy is not"},
		{"described as not recurrent", `"recurrent": "true"`, `"recurrent": "false"`,
			"bad.json contradicts itself: its metadata say recurrent false, and its policy genome has true"},
		{"other inputs", `"inputs": "3"`, `"inputs": "4"`,
			"its metadata say inputs 4, and its policy genome has 3"},
		{"another environment", `"env": "Pendulum-v1"`, `"env": "CartPole-v1"`,
			"want at least 6: 4 inputs and 2 outputs"},
		{"a format to come", `"format_version": "1"`, `"format_version": "7"`,
			`bad.json has the format_version "7" of an xlarun member, want "1": another version of xlarun wrote it`},
		{"no room", `\"nodes\":4`, `\"nodes\":3`, "policy.nodes: got 3, want at least 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Contains(t, string(text), c.old)
			require.NoError(t, os.WriteFile("bad.json", []byte(strings.Replace(string(text), c.old, c.new, 1)), 0o644))
			status, _, errs := b.run("play", "bad.json", "--episodes", "1", "--gif", "none")
			require.Equal(t, console.StatusUsage, status, errs)
			require.Contains(t, errs, c.want)
			require.Equal(t, 1, strings.Count(errs, "\n"), errs)
		})
	}
}
