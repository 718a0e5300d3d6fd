package peers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The last line of aot_jax.py gives loops, whose launches count the loops around them.
func TestParseAhead(t *testing.T) {
	got, err := parseAhead(`some log
{"programs": [{"name": "play", "seconds": 1.5, "temporary": 100, "arguments": 7, "cost": {"flops": 3}, "loops": [
{"name": "main", "depth": 0, "trips": 1, "kernels": ["a", "b"]},
{"name": "steps", "depth": 1, "trips": 500, "kernels": ["c"]},
{"name": "inner", "depth": 2, "trips": 0, "kernels": ["d", "e", "f"]},
{"name": "other", "depth": 1, "trips": 2, "kernels": []}]}]}`)
	require.ErrorContains(t, err, "its last line is not what aot_jax.py prints", "one line")
	require.Empty(t, got)
	got, err = parseAhead("log\n" +
		`{"programs": [{"name": "play", "seconds": 1.5, "temporary": 100, "arguments": 7, ` +
		`"cost": {"flops": 3}, "loops": [{"name": "main", "depth": 0, "trips": 1, "kernels": ["a", "b"]}, ` +
		`{"name": "steps", "depth": 1, "trips": 500, "kernels": ["c"]}, ` +
		`{"name": "inner", "depth": 2, "trips": 0, "kernels": ["d", "e", "f"]}, ` +
		`{"name": "other", "depth": 1, "trips": 2, "kernels": []}]}]}` + "\n")
	require.NoError(t, err)
	require.Len(t, got, 1)
	var launches []int64
	for _, l := range got[0].Loops {
		launches = append(launches, l.Launches)
	}
	require.Equal(t, []int64{2, 500, 1500, 0}, launches)
	require.Equal(t, "c", got[0].Loops[1].Kernels[0].Name)
	require.Equal(t, []int64{100, 7}, []int64{got[0].Temporaries, got[0].Arguments})
	for text, want := range map[string]string{
		"":                   "its last line is not",
		`{"programs": []}`:   "it compiled no program",
		`{"programs": null}`: "it compiled no program",
		`{"programs": [{"loops": [{"name": "x", "depth": 3}]}]}`: "its loop x lies in none",
	} {
		_, err := parseAhead(text)
		require.ErrorContains(t, err, want, "%q", text)
	}
}

// A device needs the packages of a CPU, and JAX with the plugin of the device.
func TestRequirements(t *testing.T) {
	base, err := requirementsIn(RunRequirements)
	require.NoError(t, err)
	for file, more := range map[string]string{CUDARequirements: "jax[cuda13]==0.10.2\n",
		TPURequirements: "jax[tpu]==0.10.2\n"} {
		text, err := requirementsIn(file)
		require.NoError(t, err)
		require.Equal(t, string(base)+more, string(text))
	}
	require.False(t, strings.Contains(string(base), "-r "))
	_, err = requirementsIn("none.txt")
	require.Error(t, err)
}
