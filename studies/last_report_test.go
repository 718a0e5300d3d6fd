package studies

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/studies/study"
)

// checkLastReports checks that the last report of each complete trial of one objective is its value, and that others
// have reported at the multiples of report-every alone.
func checkLastReports(t *testing.T, s *Spec, trials []*study.FrozenTrial) {
	t.Helper()
	require.NotEmpty(t, trials)
	for _, x := range trials {
		last, reported := x.Last()
		switch {
		case len(s.Directions()) > 1:
			assert.False(t, reported, "trial %d", x.Number)
		case x.State == study.Complete:
			assert.True(t, reported, "trial %d", x.Number)
			assert.Equal(t, x.Values[0], last.Value, "trial %d", x.Number)
		default:
			assert.Zero(t, last.Step%s.ReportEvery, "trial %d", x.Number)
		}
	}
}

// TestCurvesReachTheEnd: a complete trial has reported at its last step too, whatever report-every is, as
// a lane and alone. A trial that fails there has no such report.
func TestCurvesReachTheEnd(t *testing.T) {
	keep := func(func() (*checkpoint, error)) error { return nil }
	for _, c := range []struct {
		name, more string
		want       []int64
	}{
		{"each step", "report-every = 1\n[run]\nsteps = 4\n", []int64{1, 2, 3, 4}},
		{"a multiple", "report-every = 2\n[run]\nsteps = 6\n", []int64{2, 4, 6}},
		{"a rest", "report-every = 4\n[run]\nsteps = 6\n", []int64{4, 6}},
		{"as long", "report-every = 6\n[run]\nsteps = 6\n", []int64{6}},
		{"longer", "report-every = 100\n[run]\nsteps = 6\n", []int64{6}},
		{"one step", "report-every = 1\n[run]\nsteps = 1\n", []int64{1}},
		{"one seed", "report-every = 4\nseeds = 1\n[run]\nsteps = 5\n", []int64{4, 5}},
		{"two objectives", "report-every = 4\nsampler = \"random\"\npruner = \"none\"\nmetric = \"loss,x\"\n" +
			"direction = \"minimize,maximize\"\n[run]\nsteps = 5\n", nil},
		{"NaN", "report-every = 4\n[run]\nsteps = 5\nhow = \"nan\"\n", []int64{4}},
	} {
		_, s := written(t, c.more+onlyX)
		params := map[string]any{"x": .25}
		steps := func(reports []study.Reported) (all []int64) {
			for _, r := range reports {
				all = append(all, r.Step)
			}
			return all
		}
		var alone, together []study.Reported
		end, err := s.objective(t.Context(), bowls{}, params, hooks{checkpoint: keep,
			report: func(step, _ int64, value float64) (bool, error) {
				alone = append(alone, study.Reported{Step: step, Value: value})
				return false, nil
			}})
		require.NoError(t, err, c.name)
		lanes, err := s.Lanes(t.Context(), bowls{}, []map[string]any{params}, func(_ int, step, _ int64,
			value float64) (bool, error) {
			together = append(together, study.Reported{Step: step, Value: value})
			return false, nil
		})
		require.NoError(t, err, c.name)
		got := resultOf(end, alone, nil)
		lane := resultOf(outcome{lanes[0].Values, lanes[0].Step}, together, nil)
		assert.Equal(t, fmt.Sprint(got), fmt.Sprint(lane), c.name) // NaN equals none
		if got.State == study.Fail {
			assert.Equal(t, c.want, steps(got.Intermediate), c.name)
			continue
		}
		assert.Equal(t, c.want, steps(got.Intermediate), c.name)
		if n := len(got.Intermediate); n > 0 {
			assert.Equal(t, got.Values[0], got.Intermediate[n-1].Value, c.name)
		}
	}
}

// TestCurvesOfSolvedRuns: a run that reaches its goal before its last step ends its curve there.
func TestCurvesOfSolvedRuns(t *testing.T) {
	s, err := Parse([]byte(strings.NewReplacer("report-every = 1\n", "report-every = 1000\n", "generations = 4",
		"generations = 40", "target = 11", "target = 10").Replace(lanedSpec)), nil)
	require.NoError(t, err)
	params := map[string]any{"strategy.sigma": .5}
	end, err := s.objective(t.Context(), evolutions{}, params, hooks{
		checkpoint: func(func() (*checkpoint, error)) error { return nil }})
	require.NoError(t, err)
	e, err := evolutions{}.Resolve(s.Kind, s.Values(params, 0))
	require.NoError(t, err)
	require.Positive(t, end.step)
	require.Less(t, end.step, e.Job().Last, "it is solved earlier")
	lanes, err := s.Lanes(t.Context(), evolutions{}, []map[string]any{params}, nil)
	require.NoError(t, err)
	require.Equal(t, end, outcome{lanes[0].Values, lanes[0].Step})
	require.Equal(t, []study.Reported{{Step: end.step, Value: end.values[0]}}, resultOf(end, nil, nil).Intermediate)
}
