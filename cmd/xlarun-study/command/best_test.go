package command

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

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
			members[i] = member{string(rune('a' + i)), episode.EvalScore{Mean: r}}
		}
		assert.Equal(t, members[c.want].path, slices.MinFunc(members, byScore).path, "returns %v", c.returns)
	}
	failing := []member{{"a", episode.EvalScore{Mean: 9, Failed: 1}}, {"b", episode.EvalScore{Mean: 1}}}
	assert.Equal(t, "b", slices.MinFunc(failing, byScore).path, "a failed in an episode")
}
