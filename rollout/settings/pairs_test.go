package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/rollout/settings"
)

// Pairs are read from texts and tables, and have one normal form.
func TestPairs(t *testing.T) {
	type config struct {
		Params Pairs `set:"env-param" zero:"none" help:"parameters"`
	}
	for _, c := range []struct {
		number int
		value  any
		want   string // "!": refused
		shape  string
	}{
		{1, "", "", ""},
		{2, "  ", "", ""},
		{3, "walls=0.20", "walls=0.2", "walls"},
		{4, "walls=.1..0.30,food=1e-1", "food=0.1,walls=0.1..0.3", "food, walls.."},
		{5, " max_steps = 5 ", "max-steps=5", "max-steps"},
		{6, "a=1..1", "a=1..1", "a"},
		{7, "a=x", "a=x", "a"},
		{8, "a=1..2..3", "a=1..2..3", "a.."},
		{9, "a", "!", ""},
		{10, "a=", "!", ""},
		{11, "=1", "!", ""},
		{12, "a=1,a=2", "!", ""},
		{13, "a=1,a_=2", "a=1,a-=2", "a, a-"},
		{14, "a=1,", "!", ""},
		{15, map[string]any{"walls": .2, "max_steps": int64(7), "food": "0.1..0.20"},
			"food=0.1..0.2,max-steps=7,walls=0.2", "food.., max-steps, walls"},
		{16, map[string]any{"walls": true}, "!", ""},
		{17, map[string]any{}, "", ""},
		{18, 3, "!", ""},
		{19, Pairs{"a": "1"}, "a=1", "a"},
	} {
		x := &config{}
		f := Fields(x)[0]
		require.Equal(t, "pairs", f.Type)
		err := f.Set(c.value)
		if c.want == "!" {
			require.ErrorContains(t, err, "want NAME=VALUE, each name once, with commas between several", "case %d",
				c.number)
			continue
		}
		require.NoError(t, err, "case %d", c.number)
		require.NoError(t, Check(x))
		require.Equal(t, c.want, f.Text(), "case %d", c.number)
		require.Equal(t, c.shape, x.Params.Shape(""), "case %d", c.number)
		again := &config{}
		require.NoError(t, Fields(again)[0].Set(f.Value()))
		require.Equal(t, x, again, "case %d", c.number)
		if c.want == "" {
			require.Empty(t, Words(x))
			require.Nil(t, x.Params)
		}
	}
	a, b, c := &config{Pairs{"a": "1"}}, &config{Pairs{"a": "2"}}, &config{Pairs{"a": "1..2"}}
	require.Equal(t, Program(a), Program(b))
	require.NotEqual(t, Program(a), Program(c))
	require.Equal(t, "env-param a=1", Words(a))
	one := Pairs{"a": "1"}
	require.Equal(t, Pairs{"a": "1", "b": "2"}, one.With("b", "2"))
	require.Len(t, one, 1)
}
