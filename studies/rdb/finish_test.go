package rdb

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/stretchr/testify/require"

	"xlarun/studies/study"
)

// TestFinishAll: many trials end in one step as they end one by one; a second result of one keeps none of the others
// from being written, and what is wrong with one keeps all.
func TestFinishAll(t *testing.T) { onEach(t, finishesAll) }

func finishesAll(t *testing.T, at string) {
	d := opened(t, at)
	now := time.Date(2020, 1, 2, 3, 4, 5, 0, time.Local)
	d.now = func() time.Time { return now }
	const n = 3*rowsAtOnce + 7 // statements of all lengths
	result := func(i int) TrialResult {
		e := TrialResult{Result: study.Result{State: study.Complete, Values: []float64{float64(i), math.Inf(1)},
			Intermediate: []study.Reported{{Step: 2, Value: math.NaN()}, {Step: int64(3 + i), Value: .5}}}}
		switch i % 4 {
		case 1:
			e.Result = study.Result{State: study.Fail, Reason: fmt.Sprint("number ", i),
				Intermediate: []study.Reported{{Step: 9, Value: float64(i)}}}
		case 2:
			e.Result = study.Result{State: study.Pruned, Values: []float64{1, 2}}
		}
		return e
	}
	kept := func(name string, finish func(all []TrialResult)) []*study.FrozenTrial {
		id, err := d.Open(name, []study.Direction{study.Minimize, study.Maximize})
		require.NoError(t, err)
		var trials []*study.FrozenTrial
		for i := range n {
			trials = append(trials, &study.FrozenTrial{State: study.Running, Start: now, Params: map[string]float64{
				"x": float64(i), "y": 1},
				Distributions: map[string]study.Distribution{"x": {Kind: study.Int, High: float64(n + i%2), Step: 1},
					"y": {Kind: study.Float, High: 1}}})
		}
		require.NoError(t, d.Add(id, 0, trials...))
		var all []TrialResult
		for i, x := range trials {
			require.EqualValues(t, i, x.Number)
			require.True(t, i == 0 || x.ID > trials[i-1].ID)
			e := result(i)
			e.Trial = x.ID
			all = append(all, e)
		}
		finish(all)
		read, err := d.Updates(id, 0, nil, nil)
		require.NoError(t, err)
		first := trials[0].ID
		for _, x := range read {
			x.ID -= first
		}
		return read
	}
	first := int64(0)
	together := kept("together", func(all []TrialResult) {
		first = all[0].Trial
		for _, err := range d.FinishAll(all) {
			require.NoError(t, err)
		}
	})
	alone := kept("alone", func(all []TrialResult) {
		for _, e := range all {
			require.NoError(t, d.Finish(e.Trial, e.Result))
		}
	})
	require.Equal(t, fmt.Sprintf("%+v", values(alone)), fmt.Sprintf("%+v", values(together)))

	id, err := d.Open("again", []study.Direction{study.Minimize})
	require.NoError(t, err)
	open := []*study.FrozenTrial{{State: study.Running}, {State: study.Running}, {State: study.Running}}
	require.NoError(t, d.Add(id, -1, open...))
	good := study.Result{State: study.Complete, Values: []float64{1}}
	errs := d.FinishAll([]TrialResult{{Trial: open[0].ID, Result: good}, {Trial: first, Result: good},
		{Trial: open[1].ID, Result: good}})
	require.NoError(t, errs[0])
	require.ErrorAs(t, errs[1], new(*study.Nondeterminism))
	require.NoError(t, errs[2])
	errs = d.FinishAll([]TrialResult{{Trial: open[0].ID, Result: good}, {Trial: open[2].ID, Result: good},
		{Trial: 1 << 30, Result: good}})
	require.ErrorContains(t, errors.Join(errs...), "no trial of ID 1073741824")
	running, err := d.Updates(id, math.MaxInt32, []int64{open[2].ID}, nil)
	require.NoError(t, err)
	require.Equal(t, study.Running, running[0].State, "all or none")
	more, err := d.Updates(id, math.MaxInt32, nil, []int64{open[0].ID, open[2].ID})
	require.NoError(t, err)
	require.Len(t, more, 1, "of those that ran, those that run no more")
	require.Equal(t, open[0].ID, more[0].ID)
	require.Empty(t, d.FinishAll(nil))
}

// values are trials without their addresses.
func values(trials []*study.FrozenTrial) (all []study.FrozenTrial) {
	for _, x := range trials {
		all = append(all, *x)
	}
	return all
}

// TestPreparesOnce: SQLite prepares no statement of a trial anew for each value it is given, nor the same one twice.
func TestPreparesOnce(t *testing.T) {
	d := opened(t, backends[0].at(t))
	s, err := study.New("s", study.Options{Storage: d, Sampler: study.Random{}})
	require.NoError(t, err)
	require.NoError(t, s.Optimize(t.Context(), 30, 3, quadratic))
	before, reads := len(d.writeStatements.all), len(d.readStatements.all)
	require.Positive(t, before)
	require.Positive(t, reads)
	require.NoError(t, s.Optimize(t.Context(), 60, 3, quadratic))
	require.Less(t, len(d.writeStatements.all), before+12, "texts of a few lengths")
	require.Equal(t, reads, len(d.readStatements.all))
	require.Empty(t, d.writeStatements.new)
	require.Empty(t, d.readStatements.new)
	c, err := sqlite3.Open(uri(d.at.file))
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	for _, text := range slices.Concat(slices.Collect(maps.Keys(d.readStatements.all)),
		slices.Collect(maps.Keys(d.writeStatements.all))) {
		p, _, err := c.Prepare(text)
		require.NoError(t, err)
		for value := range 3 {
			require.NoError(t, c.Exec(`BEGIN`))
			for i := range p.BindCount() {
				require.NoError(t, p.BindInt(i+1, value))
			}
			for p.Step() { // whatever it finds, or finds wrong
			}
			_ = p.Reset()
			require.NoError(t, c.Exec(`ROLLBACK`))
		}
		require.Zero(t, p.Status(sqlite3.STMTSTATUS_REPREPARE, false), text)
		require.NoError(t, p.Close())
	}
}
