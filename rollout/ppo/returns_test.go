package ppo

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/settings"
)

// The table of final returns has a line for each configuration, the best first, and one for all agents; agents.json has
// the same numbers.
func TestTableOfReturns(t *testing.T) {
	nan := math.NaN()
	for i, c := range []struct {
		change func(c *Config)
		recent []float64
		want   []string
	}{
		{func(c *Config) { c.Agents = 1 }, []float64{3}, nil},
		{func(c *Config) { c.Agents = 4 }, nil, nil}, // before an update
		{func(c *Config) { c.Agents = 4 }, []float64{1, 100, 3, 2}, []string{
			"AGENTS  INTERQUARTILE MEAN  95 % INTERVAL  MEAN  LEAST  GREATEST",
			"4       2.5                 1 to 100       26.5  1      100"}},
		{func(c *Config) {
			c.Agents, c.Entropy = 5, settings.Number{Each: "0,0.5"}
		}, []float64{5, 9, 5, 9, 5}, []string{
			"ENTROPY COEF  AGENTS  INTERQUARTILE MEAN  95 % INTERVAL  MEAN  LEAST  GREATEST",
			"0.5           2       9                   9 to 9         9     9      9",
			"0             3       5                   5 to 5         5     5      5",
			"all           5       6.333               5 to 9         6.6   5      9"}},
		{func(c *Config) {
			c.Agents, c.Entropy, c.Clip = 4, settings.Number{Each: "0,0.5"}, settings.Number{
				Value: .1, Each: "0.1,0.2,0.3"}
		}, []float64{5, nan, -7, 9}, []string{
			"CLIP  ENTROPY COEF  AGENTS  INTERQUARTILE MEAN  95 % INTERVAL  MEAN  LEAST  GREATEST",
			"0.1   0.5           1       9                   -              9     9      9",
			"0.1   0             1       5                   -              5     5      5",
			"0.3   0             1       -7                  -              -7    -7     -7",
			"0.2   0.5           1       -                   -              -     -      -",
			"all                 4       -                   -              -     -      -"}},
		{func(c *Config) { c.Agents = 4 }, []float64{1, 2, 3, math.Inf(1)}, []string{ // once no JSON
			"AGENTS  INTERQUARTILE MEAN  95 % INTERVAL  MEAN  LEAST  GREATEST",
			"4       2.5                 1 to +Inf      +Inf  1      +Inf"}},
	} {
		config := small(c.change)
		training := &Training{config: config, recent: c.recent}
		require.Equal(t, c.want, training.Table(), "case %d", i+1)
		if c.want == nil {
			continue
		}
		file, ok := training.agentsFile()
		require.True(t, ok)
		text, err := json.Marshal(file.JSON)
		require.NoError(t, err, "case %d", i+1)
		if i == 3 {
			require.Contains(t, string(text),
				`"configurations":[{"agents":[1,3],"entropy_coef":0.5,"interquartile_mean":9,"interval_95":[9,9]},`+
					`{"agents":[0,2,4],"entropy_coef":0,`)
		}
	}
	config := small(func(c *Config) { c.Agents, c.Gamma = 50, settings.Number{Value: .9, Each: "0.9..0.99"} })
	training := &Training{config: config, recent: make([]float64, 50)}
	lines := training.Table()
	require.Len(t, lines, 1+maxTableRows+2)
	require.Equal(t, "30 more configurations are in agents.json", lines[len(lines)-1])
	require.True(t, strings.HasPrefix(lines[len(lines)-2], "all"))
}
