package command

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/runtest"
	"xlarun/cmd/internal/shelltest"
	"xlarun/rollout/episode"
)

// A member whose mean return is NaN is never chosen beside one with a number.
func TestBestMember(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		returns []float64
		want    int // index of the best
	}{
		{[]float64{nan}, 0}, {[]float64{3}, 0}, {[]float64{nan, 1}, 1}, {[]float64{1, nan}, 0},
		{[]float64{nan, -inf}, 1}, {[]float64{nan, 2, nan, 5, 3}, 3}, {[]float64{nan, nan}, 0},
		{[]float64{-1, -1}, 0}, {[]float64{1, inf, nan}, 1},
	} {
		members := make([]member, len(c.returns))
		for i, r := range c.returns {
			members[i] = member{path: string(rune('a' + i)), score: episode.EvalScore{Mean: r}}
		}
		assert.Equal(t, members[c.want].path, slices.MinFunc(members, byScore).path, "returns %v", c.returns)
	}
	failing := []member{{path: "a", score: episode.EvalScore{Mean: 9, Failed: 1}},
		{path: "b", score: episode.EvalScore{Mean: 1}}}
	assert.Equal(t, "b", slices.MinFunc(failing, byScore).path, "a failed in an episode")
}

// The best member of a study of sparse networks has a test accuracy, that of the trial, also if the run ends between
// two tests. It plays no episodes: it was said to have a mean return of NaN. Of pbt there was none: which one is saved
// depends on the last round, which was not repeated.
func TestBestSparseMember(t *testing.T) {
	t.Parallel()
	s := shelltest.New(t)
	runtest.Pictures(t, s.Path("pictures"))
	for name, trials := range map[string]string{"nets": "trials = 1",
		"rungs": "trials = 4\nsampler = \"pbt\"\npopulation = 2\nwindow = 2\nreport-every = 3"} {
		require.NoError(t, os.WriteFile(s.Path("spec.toml"), []byte("name = \""+name+"\"\n"+trials+`
kind = "sparse"
metric = "eval_return"
direction = "maximize"
[run]
data = "pictures"
backend = "reference"
pop = 2
batch = 7
hidden = [9, 5]
updates = 5
test-every = 3
[[param]]
name = "lr"
type = "float"
low = 0.1
high = 0.5
`), 0o666))
		value, ok := s.Result(t, "study", "run", "spec.toml", "--json")["best_value"].(float64)
		require.True(t, ok)
		file := name + ".safetensors"
		out := s.Do(t, "study", "best", "spec.toml", "--member", file)
		require.Contains(t, out, fmt.Sprintf("the best member, with the test accuracy %.4g, is in %s\n", value, file))
		require.NotContains(t, out, "xlarun play")
		require.Contains(t, s.Do(t, "export", file, "--out", "of-"+file), "is in of-"+file)
	}
}
