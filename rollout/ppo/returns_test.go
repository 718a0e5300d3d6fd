package ppo

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// The table of returns says which these are. It has a line for each configuration, the best first, and one for all
// agents; agents.json has the same numbers. Of fewer than eight agents there is a word in place of an interval: the
// percentiles of resamples of four values once stood there as a 95 % interval.
func TestTableOfReturns(t *testing.T) {
	nan := math.NaN()
	learning := "recent returns while learning; a bootstrap interval wants 8 agents"
	for i, c := range []struct {
		change func(c *Config)
		recent []float64
		judged []float64 // eval_return of each agent; nil: there was no evaluation
		want   []string
	}{
		{func(c *Config) { c.Agents = 1 }, []float64{3}, nil, nil},
		{func(c *Config) { c.Agents = 4 }, nil, nil, nil}, // before an update
		{func(c *Config) { c.Agents = 4 }, []float64{1, 100, 3, 2}, nil, []string{
			learning, "AGENTS  INTERQUARTILE MEAN  95 % INTERVAL   MEAN  LEAST  GREATEST",
			"4       2.5                 too few agents  26.5  1      100"}},
		{func(c *Config) {
			c.Agents, c.Entropy = 5, settings.Number{Each: "0,0.5"}
		}, []float64{5, 9, 5, 9, 5}, nil, []string{
			learning, "ENTROPY COEF  AGENTS  INTERQUARTILE MEAN  95 % INTERVAL   MEAN  LEAST  GREATEST",
			"0.5           2       9                   too few agents  9     9      9",
			"0             3       5                   too few agents  5     5      5",
			"all           5       6.333               too few agents  6.6   5      9"}},
		{func(c *Config) {
			c.Agents, c.Entropy, c.Clip = 4, settings.Number{Each: "0,0.5"}, settings.Number{
				Value: .1, Each: "0.1,0.2,0.3"}
		}, []float64{5, nan, -7, 9}, nil, []string{
			learning, "CLIP  ENTROPY COEF  AGENTS  INTERQUARTILE MEAN  95 % INTERVAL   MEAN  LEAST  GREATEST",
			"0.1   0.5           1       9                   too few agents  9     9      9",
			"0.1   0             1       5                   too few agents  5     5      5",
			"0.3   0             1       -7                  too few agents  -7    -7     -7",
			"0.2   0.5           1       -                   -               -     -      -",
			"all                 4       -                   -               -     -      -"}},
		{func(c *Config) { c.Agents = 4 }, []float64{1, 2, 3, math.Inf(1)}, nil, []string{ // once no JSON
			learning, "AGENTS  INTERQUARTILE MEAN  95 % INTERVAL   MEAN  LEAST  GREATEST",
			"4       2.5                 too few agents  +Inf  1      +Inf"}},
		{func(c *Config) {
			c.Agents = 8
		}, []float64{1, 1, 1, 1, 1, 1, 1, 1}, []float64{5, 5, 5, 5, 5, 5, 5, 9}, []string{
			"mean returns of the last evaluation on new episodes; a bootstrap interval wants 8 agents",
			"AGENTS  INTERQUARTILE MEAN  95 % INTERVAL  MEAN  LEAST  GREATEST",
			"8       5                   5 to 6         5.5   5      9"}},
	} {
		config := small(c.change)
		training := &Training{config: config, recent: c.recent}
		if c.judged != nil {
			training.evaluated = map[string][]float64{run.EvalReturn: c.judged}
		}
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
				`"configurations":[{"agents":[1,3],"entropy_coef":0.5,"interquartile_mean":9},`+
					`{"agents":[0,2,4],"entropy_coef":0,`)
		}
		if c.judged != nil {
			require.Equal(t, `{"eval_return":[5,5,5,5,5,5,5,9],"interquartile_mean":5,"interval_95":[5,6],`+
				`"recent_return":[1,1,1,1,1,1,1,1]}`, string(text))
		}
	}
	config := small(func(c *Config) { c.Agents, c.Gamma = 50, settings.Number{Value: .9, Each: "0.9..0.99"} })
	training := &Training{config: config, recent: make([]float64, 50)}
	lines := training.Table()
	require.Len(t, lines, 2+maxTableRows+2)
	require.Equal(t, "30 more configurations are in agents.json", lines[len(lines)-1])
	require.True(t, strings.HasPrefix(lines[len(lines)-2], "all"))
}
