package rollout_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/plan"
)

func soon() time.Time { return time.Now().Add(time.Hour) }

// table returns times of plans from a table, and records the plans.
type table struct {
	seconds map[int]float64
	asked   []int
}

func (m *table) measure(n int) (float64, error) {
	m.asked = append(m.asked, n)
	s, ok := m.seconds[n]
	if !ok {
		return 0, errors.New("plan " + strconv.Itoa(n) + " is broken")
	}
	return s, nil
}

// Stages start from the best so far. No plan is measured twice. Less than 3 % is noise.
func TestPlanTuner(t *testing.T) {
	twice := func(best int) []int { return []int{2 * best, best / 2} }
	add := func(best int) []int { return []int{best + 1, best} }
	for i, c := range []struct {
		seconds map[int]float64
		stages  []plan.Stage[int]
		best    int
		asked   []int
		err     string
	}{
		{map[int]float64{8: 1}, nil, 8, []int{8}, ""},
		{map[int]float64{8: 1, 16: 2, 4: .5, 5: .4}, []plan.Stage[int]{twice, add}, 5, []int{8, 16, 4, 5}, ""},
		{map[int]float64{8: 1, 16: .98, 4: .98}, []plan.Stage[int]{twice}, 8, []int{8, 16, 4}, ""},
		// 4 is less than 3 % faster than 16
		{map[int]float64{8: 1, 16: .97, 4: .95}, []plan.Stage[int]{twice}, 16, []int{8, 16, 4}, ""},
		{map[int]float64{8: 1, 16: .5, 32: .1, 4: 2}, []plan.Stage[int]{twice, twice}, 32, []int{8, 16, 4, 32}, ""},
		{map[int]float64{}, []plan.Stage[int]{twice}, 8, []int{8}, "plan 8 is broken"},
		{map[int]float64{8: 1, 16: .5}, []plan.Stage[int]{twice}, 16, []int{8, 16, 4}, "plan 4 is broken"},
		{map[int]float64{8: 1}, []plan.Stage[int]{func(int) []int { return nil }}, 8, []int{8}, ""},
	} {
		m := &table{seconds: c.seconds}
		tuner := &plan.Tuner[int]{Deadline: soon(), Stages: c.stages, Measure: m.measure, Words: strconv.Itoa}
		best, tried, err := tuner.Run(t.Context(), 8)
		if c.err == "" {
			require.NoError(t, err, "%d", i)
			require.Len(t, tried, len(c.asked), "%d", i)
		} else {
			require.EqualError(t, err, c.err, "%d", i)
		}
		require.Equal(t, c.best, best, "%d", i)
		require.Equal(t, c.asked, m.asked, "%d", i)
		for k, x := range tried {
			want := plan.MeasuredPlan{Plan: strconv.Itoa(c.asked[k]), Seconds: c.seconds[c.asked[k]]}
			require.Equal(t, want, x, "%d", i)
		}
	}
}

// A measurement that runs past the deadline is ignored, and Late waits for it.
func TestPlanTunerIsOver(t *testing.T) {
	var late sync.WaitGroup
	release := make(chan struct{})
	var ended atomic.Bool
	tuner := &plan.Tuner[int]{Deadline: time.Now().Add(50 * time.Millisecond), Late: &late, Words: strconv.Itoa,
		Stages: []plan.Stage[int]{func(int) []int { return []int{2, 3} }}, Measure: func(n int) (float64, error) {
			if n == 1 {
				return 1, nil
			}
			<-release
			ended.Store(true)
			return .001, nil
		}}
	best, tried, err := tuner.Run(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, 1, best)
	require.Equal(t, []plan.MeasuredPlan{{Plan: "1", Seconds: 1}}, tried)
	require.False(t, ended.Load())
	close(release)
	late.Wait()
	require.True(t, ended.Load())

	tuner.Deadline = time.Now().Add(-1)
	tuner.Measure = func(int) (float64, error) { panic("there is no time") }
	best, tried, err = tuner.Run(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, 1, best)
	require.Empty(t, tried)
}

// Tuners of one process measure one after the other.
func TestPlanTunersTakeTurns(t *testing.T) {
	var busy, most atomic.Int32
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			tuner := &plan.Tuner[int]{Deadline: soon(), Words: strconv.Itoa, Stages: []plan.Stage[int]{func(int) []int {
				return []int{2, 3, 4}
			}}, Measure: func(int) (float64, error) {
				n := busy.Add(1)
				defer busy.Add(-1)
				if n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Millisecond)
				return 1, nil
			}}
			_, _, _ = tuner.Run(t.Context(), 1)
		})
	}
	wait.Wait()
	require.EqualValues(t, 1, most.Load())
}

// A tuner whose context ends does not wait for a measurement under way. An interrupt waited for that, or left it alone.
func TestPlanTunerIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	tuner := &plan.Tuner[int]{Deadline: time.Now().Add(time.Hour), Words: strconv.Itoa,
		Measure: func(int) (float64, error) { cancel(); <-release; return 1, nil }}
	_, tried, err := tuner.Run(ctx, 8)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, tried)
}
