package studies

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// A study that was interrupted neither printed nor counted the finished trials after an open one.
func TestHeldTrialsAreAnnouncedAtTheEnd(t *testing.T) {
	t.Parallel()
	_, s := written(t, "")
	c := coordinator(s)
	c.NoWorkers = true
	var ended, bests []int64
	c.Ended = func(x, best *study.FrozenTrial) {
		ended, bests = append(ended, x.Number), append(bests, best.Number)
	}
	require.NoError(t, c.Open())
	trials, err := c.study.AskSpaces(4, s.Space, s.sees)
	require.NoError(t, err)
	for _, i := range []int{0, 2, 3} {
		require.NoError(t, c.db.FinishAll([]rdb.TrialResult{{Trial: trials[i].ID(),
			Result: study.Result{State: study.Complete, Values: []float64{float64(-i)}}}})[0])
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	require.ErrorIs(t, c.Run(ctx), context.Canceled)
	require.Equal(t, []int64{0, 2, 3}, ended)
	require.Equal(t, []int64{0, 2, 3}, bests, "smaller is better")
}

// What differs from the study's start in [run] or [[param]] is an error of the spec, as another key is: it ended with
// status 1.
func TestChangedRunOfASpec(t *testing.T) {
	t.Parallel()
	_, s := written(t, "")
	c := coordinator(s)
	require.NoError(t, c.Open())
	require.NoError(t, c.Close())
	changed := *s
	changed.Fixed = map[string]any{"wait": "7ms"}
	for name, v := range s.Fixed {
		if name != "wait" {
			changed.Fixed[name] = v
		}
	}
	var e *SpecError
	require.ErrorAs(t, coordinator(&changed).Open(), &e)
	require.Equal(t, "run.wait", e.Key)
	require.Regexp(t, `^got "7ms", but the study in \S+ was started with \S+: give that, or another name$`, e.Problem)
	changed.Fixed, changed.Space = s.Fixed, s.Space[1:]
	require.ErrorAs(t, coordinator(&changed).Open(), &e)
	require.Equal(t, "param", e.Key)
}
