package envs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
)

type rangedParams struct {
	Free   int
	Part   int `min:"0" max:"1"`
	Length int `above:"0"`
	Angle  int `above:"-1.5" max:"1.5"`
	Least  int `min:"3"`
	Most   int `max:"2147483647"`
	Inner  struct {
		Deep int `min:"-2" max:"2"`
	}
	Bad int `min:"few"`
}

// A parameter's tags give its range and the words for it.
func TestRangeOf(t *testing.T) {
	for _, c := range []struct {
		number        int
		path, words   string
		holds, refuse []float64
	}{
		{1, ".Free", "", []float64{-1e30, 0, 1e30}, nil},
		{2, ".Part", " from 0 to 1", []float64{0, .5, 1}, []float64{-1e-9, 1.0001}},
		{3, ".Length", " above 0", []float64{1e-9, 1e30}, []float64{0, -1}},
		{4, ".Angle", " above -1.5, at most 1.5", []float64{1.5, -1.4}, []float64{-1.5, 1.6}},
		{5, ".Least", " from 3 on", []float64{3, 1e9}, []float64{2.9}},
		{6, ".Most", " up to 2147483647", []float64{2147483647, -9}, []float64{2147483648}},
		{7, ".Inner.Deep", " from -2 to 2", []float64{-2, 2}, []float64{3}},
		{8, ".None", "", []float64{7}, nil},
		{9, "[3]", "", []float64{7}, nil},
	} {
		for _, params := range []any{rangedParams{}, &rangedParams{}} {
			r := envs.RangeOf(params, c.path)
			require.Equal(t, c.words, r.String(), "case %d", c.number)
			for _, x := range c.holds {
				require.True(t, r.Holds(x), "case %d: %g", c.number, x)
			}
			for _, x := range c.refuse {
				require.False(t, r.Holds(x), "case %d: %g", c.number, x)
			}
		}
	}
	require.Panics(t, func() { envs.RangeOf(rangedParams{}, ".Bad") })
	require.Equal(t, "", envs.RangeOf(nil, "").String())
}
