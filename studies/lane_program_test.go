package studies

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "xlarun/envs/classic"
	"xlarun/rollout/evolve"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// evolutions are runs of evolve on the interpreter.
type evolutions struct{}

func (evolutions) Resolve(_ string, values map[string]any) (run.Experiment, error) {
	c := evolve.DefaultConfig()
	for name, value := range values {
		if strings.HasPrefix(name, "strategy.") {
			c = c.With(name, value)
			continue
		}
		f, ok := settings.Lookup(&c, name)
		if !ok {
			return nil, fmt.Errorf("no setting %s", name)
		}
		if err := f.Set(value); err != nil {
			return nil, err
		}
	}
	return &c, nil
}

func (evolutions) Backend(context.Context, run.Experiment) (xlabridge.Backend, error) {
	return &xlabridge.Reference{}, nil
}

const lanedSpec = `
name = "lanes"
kind = "evolve"
metric = "mean_fitness"
seeds = 2
report-every = 1
sampler = "random"

[run]
env = "CartPole-v1"
policy = "linear"
pop = 4
tile = 4
steps = 12
generations = 4
target = 11
strategy = "simplega"

[[param]]
name = "strategy.sigma"
type = "float"
low = 0.01
high = 2.0
log = true
`

// A trial has the same results as a lane and alone, to the bit: values, reports, and the step at which the pruner stops
// it.
func TestLanesAreTrials(t *testing.T) {
	s, err := Parse([]byte(lanedSpec), nil)
	require.NoError(t, err)
	require.NoError(t, s.FitsLanes(evolutions{}))
	var params []map[string]any
	for i := range 7 {
		params = append(params, map[string]any{"strategy.sigma": .02 * math.Pow(1.9, float64(i))})
	}
	type heard struct {
		Step, Last int64
		Value      float64
	}
	prunes := func(trial int, step int64) bool { return trial%3 == 1 && step == 2 }
	together := make([][]heard, len(params))
	results, err := s.Lanes(t.Context(), evolutions{}, params, func(trial int, step, last int64,
		value float64) (bool, error) {
		together[trial] = append(together[trial], heard{step, last, value})
		return prunes(trial, step), nil
	})
	require.NoError(t, err)
	stopped, reports := 0, 0
	for i, p := range params {
		var alone []heard
		end, err := s.objective(t.Context(), evolutions{}, p,
			hooks{report: func(step, last int64, value float64) (bool, error) {
				alone = append(alone, heard{step, last, value})
				return prunes(i, step), nil
			}, checkpoint: func(func() (*checkpoint, error)) error { return nil }})
		require.Equal(t, errors.Is(err, errStopped), results[i].Stopped, "trial %d", i)
		require.Equal(t, end, outcome{results[i].Values, results[i].Step}, "trial %d", i)
		require.Equal(t, alone, together[i], "trial %d", i)
		reports += len(alone)
		if results[i].Stopped {
			stopped++
		}
	}
	require.Positive(t, stopped)
	require.Greater(t, reports, len(params))
}

// What cannot be lanes says why.
func TestWhatFitsLanes(t *testing.T) {
	for _, c := range []struct {
		number    int
		what      string
		old, new  string
		complains string
	}{
		{1, "a size", "name = \"strategy.sigma\"\ntype = \"float\"\nlow = 0.01\nhigh = 2.0\nlog = true",
			"name = \"pop\"\ntype = \"int\"\nlow = 4\nhigh = 8", "makes another program"},
		{2, "a part of the name", "name = \"strategy.sigma\"", "name = \"strategy.none\"", "strategy.none"},
	} {
		text := lanedSpec
		if c.number == 1 {
			text = strings.Replace(text, "pop = 4\n", "", 1)
		}
		s, err := Parse([]byte(strings.Replace(text, c.old, c.new, 1)), nil)
		require.NoError(t, err, "case %d", c.number)
		require.ErrorContains(t, s.FitsLanes(evolutions{}), c.complains, "case %d: %s", c.number, c.what)
	}
	s, err := Parse([]byte(lanedSpec), nil)
	require.NoError(t, err)
	s.Metric = "none"
	results, err := s.Lanes(t.Context(), evolutions{}, []map[string]any{{"strategy.sigma": .1}}, nil)
	require.NoError(t, err)
	require.ErrorContains(t, results[0].Err, "no round of the run has measured it")
	_, err = s.Lanes(t.Context(), evolutions{}, []map[string]any{{"strategy.sigma": "x"}}, nil)
	require.Error(t, err)
}
