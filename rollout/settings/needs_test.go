package settings_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "xlarun/rollout/settings"
)

// needy has settings that have no effect without others.
type needy struct {
	Search string `set:"search"`
	Games  int    `set:"games"`
	Value  string `set:"value" needs:"search=puct|gumbel*"`
	Other  int    `set:"other" needs:"search=!puct"`
	Both   int    `set:"both" needs:"search=puct&games=!0"`
	Either int    `set:"either" needs:"search=puct|games=!0"`
	Chain  int    `set:"chain" needs:"search=puct|games=!0&search=a|b|games=3"`
	inner  `needs:"search=!"`
}

// inner has the tags of the field that embeds it.
type inner struct {
	Inner int `set:"inner"`
	Own   int `set:"own" needs:"games=!0"` // both must hold
}

func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		search string
		games  int
		want   map[string]string // what the settings without an effect need
	}{
		{"puct", 3, map[string]string{"other": "search other than puct"}},
		{"puct", 0, map[string]string{"other": "search other than puct", "both": "games other than 0",
			"own":   "games other than 0",
			"chain": "search a or b or --games 3"}},
		{"gumbel:4", 0, map[string]string{"both": "search puct", "either": "search puct or --games other than 0",
			"own":   "games other than 0",
			"chain": "search puct or --games other than 0"}},
		{"none", 1, map[string]string{"value": "search puct or gumbel…", "both": "search puct",
			"chain": "search a or b or --games 3"}},
		{"a", 1, map[string]string{"value": "search puct or gumbel…", "both": "search puct"}},
		{"", 3, map[string]string{"value": "search puct or gumbel…", "both": "search puct", "inner": "search ",
			"own": "search "}},
		{"", 0, map[string]string{"value": "search puct or gumbel…", "both": "search puct", "inner": "search ",
			"own": "games other than 0", "either": "search puct or --games other than 0",
			"chain": "search puct or --games other than 0"}},
	} {
		all := Fields(&needy{Search: c.search, Games: c.games})
		got := map[string]string{}
		for _, f := range all {
			if other, wants, missing := f.Needs(all); missing {
				got[f.Name] = other + " " + wants
			}
		}
		assert.Equal(t, c.want, got, "%s, %d", c.search, c.games)
	}
	type wrong struct {
		A int `set:"a" needs:"b=1"`
		C int `set:"c" needs:"a=[" `
	}
	for _, f := range Fields(&wrong{}) {
		require.Panics(t, func() { f.Needs(Fields(&wrong{})) }, f.Name)
	}
}

// Values that are given are refused where they have no effect, also equal to the default; others are not.
func TestCheckNeeds(t *testing.T) {
	require.NoError(t, Values{"games": 0, "own": 1, "absent": 1}.CheckNeeds(&needy{Search: "puct", Games: 3}, "x."))
	err := Values{"other": 0}.CheckNeeds(&needy{Search: "puct", Games: 3}, "x.")
	require.EqualError(t, err, "x.other: got 0, want --x.search other than puct beside it: it has no effect otherwise")
}

// Values that differ from the usual ones are refused where another setting takes their effect.
func TestCheckChanged(t *testing.T) {
	usual := needy{Search: "puct", Games: 3, Other: 2}
	for _, c := range []struct {
		config needy
		other  string
		want   string // "": it is right
	}{
		{usual, "search", ""},
		{needy{Search: "puct", Other: 3}, "search", "other: got 3, want --search other than puct beside it: it has " +
			"no effect otherwise"},
		{needy{Search: "puct", Other: 3}, "games", ""},
		{needy{Search: "a", Other: 2, Both: 1}, "search", "both: got 1, want --search puct beside it"},
		{needy{Search: "puct", Other: 2, Both: 1}, "search", ""},
		{needy{Search: "puct", Other: 2, Both: 1}, "games", "both: got 1, want --games other than 0 beside it"},
	} {
		err := CheckChanged(&c.config, &usual, c.other)
		if c.want == "" {
			assert.NoError(t, err, "%v", c.config)
			continue
		}
		assert.ErrorContains(t, err, c.want)
	}
}
