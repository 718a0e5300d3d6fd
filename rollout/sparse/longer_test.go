package sparse

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

// A run that is resumed with more steps goes on as the longer run: its rows, tests and state are equal to the byte. The
// first length ends at a mutation and a selection, which come with the next step.
func TestResumedWithMoreSteps(t *testing.T) {
	d := stripes(6, 260, 70)
	b := open(t, 1)
	const short, long = 10, 21
	c := tiny() // mutations after 5, 10, 15 and 20
	c.Select, c.HeldOut, c.Method, c.Devices = .4, 60, "kernel", 1
	begin := func(steps, testEvery int) run.Run {
		c := c
		c.Updates, c.TestEvery = steps, testEvery
		r, err := (&Experiment{Config: c, Data: d}).Start(t.Context(), b)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, r.Close()) })
		return r
	}
	toEnd := func(r run.Run, steps int64) (rows []run.Metrics, tests []int64, end run.Snapshot) {
		for {
			m, err := r.Step(t.Context())
			require.NoError(t, err)
			require.Equal(t, memberUpdates, m.Timings[0].Name)
			m.Timings = nil
			if m.Step == steps {
				values, err := r.Describe().Closing(t.Context())
				require.NoError(t, err)
				m.Values = append(m.Values, values...)
			}
			rows = append(rows, m)
			if _, tested := m.Get("test_loss"); tested {
				tests = append(tests, m.Step)
			}
			if m.Step == steps {
				end, err = r.Snapshot(t.Context())
				require.NoError(t, err)
				return rows, tests, end
			}
		}
	}
	for _, row := range []struct {
		name      string
		testEvery int
		tests     []int64 // of the longer run
		rows      bool    // are equal, too: the short run ends with a test of the longer one
	}{
		{"the length is a multiple of the interval of tests", 5, []int64{5, 10, 15, 20, 21}, true},
		{"a last test of the short run, between two of the longer one", 7, []int64{7, 14, 21}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			first, _, middle := toEnd(begin(short, row.testEvery), short)
			resumed := begin(long, row.testEvery)
			require.NoError(t, resumed.Restore(t.Context(), middle))
			rest, _, end := toEnd(resumed, long)
			want, tests, whole := toEnd(begin(long, row.testEvery), long)
			require.Equal(t, row.tests, tests)
			require.Equal(t, hostArrays(t, whole), hostArrays(t, end))
			require.Equal(t, want[len(want)-1].Values, rest[len(rest)-1].Values, "the last row")
			if row.rows {
				require.Equal(t, want, append(first, rest...))
			}
		})
	}
}

// A run that ends between two tests is tested at its end: a run with --for had no test accuracy of what it saved. The
// accuracy of the saved member is what the run reports, and its error that of a share.
func TestTestedAtTheEnd(t *testing.T) {
	c := tiny()
	c.Method, c.Devices, c.TestEvery = "kernel", 1, 10
	r, err := (&Experiment{Config: c, Data: stripes(6, 200, 70)}).Start(t.Context(), open(t, 1))
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	m, err := r.Step(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, m.Step, "up to the first mutation")
	require.EqualValues(t, 5*40, m.Number(stepsMetric), "a step is one example")
	require.EqualValues(t, 5*40, m.Work)
	_, tested := m.Get(run.EvalReturn)
	require.False(t, tested)
	can := r.Describe()
	values, err := can.Closing(t.Context())
	require.NoError(t, err)
	got := map[string]float64{}
	for _, v := range values {
		got[v.Name] = v.Number
	}
	x := r.(*training)
	require.Equal(t, x.test.Accuracy[x.best()], got[run.EvalReturn])
	p := got[run.EvalReturn]
	require.InDelta(t, math.Sqrt(p*(1-p)/69), got[run.EvalError], 1e-12)
	require.EqualValues(t, 70, got[run.EvalEpisodes])
	require.Contains(t, can.Ending(m), "test accuracy")
	files, err := can.Files(run.Snapshot{}, true)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(p), files[1].Metadata["test_accuracy"])
	values, err = can.Closing(t.Context())
	require.NoError(t, err)
	require.Nil(t, values, "once is enough")
}

// Where tests are not said, they come after each quarter of the steps. The config of the run keeps the interval.
func TestTestEvery(t *testing.T) {
	for _, c := range []struct{ steps, given, want int }{
		{2000, 0, 500}, {28125, 0, 7032}, {1, 0, 1}, {3, 0, 1}, {5, 0, 2}, {1e6, 0, 10000},
		{1<<30 - 1, 0, 500}, {100, 7, 7},
		{5, 100, 100},
	} {
		require.Equal(t, c.want, Config{Updates: c.steps, TestEvery: c.given}.testEvery(), c)
	}
	config := tiny()
	config.Updates, config.Method = 12, "kernel"
	p, err := New(t.Context(), open(t, 1), config, stripes(6, 200, 70))
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	require.EqualValues(t, 3, p.Profile().Chosen["test-every"])
}
