package studies

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// TestEnqueuedTrials: those that somebody has enqueued, before the study and while it runs, are trials of the study,
// and no other program's.
func TestEnqueuedTrials(t *testing.T) {
	t.Parallel()
	for _, as := range []string{trialsVectorized, trialsProcesses} {
		onEach(t, func(t *testing.T, at string) {
			_, s := writtenAt(t, at, "trials = 8\nsampler = \"random\"\npruner = \"none\"\nwindow = 2\nworkers = "+
				"1\ntrials-as = \""+as+"\"\n"+onlyX)
			db, err := rdb.Open(s.Storage)
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close()) }()
			st, err := study.New(s.Name, study.Options{Storage: db, Directions: s.Directions()})
			require.NoError(t, err)
			require.NoError(t, st.Enqueue(map[string]any{"x": .125}))
			c := coordinator(s)
			var ended []int64
			c.Notice = func(line string) { t.Error(line) }
			c.Ended = func(x, _ *study.FrozenTrial) {
				if ended = append(ended, x.Number); len(ended) == 1 {
					require.NoError(t, st.Enqueue(map[string]any{"x": .25}))
				}
			}
			require.NoError(t, c.Run(t.Context()))
			require.Zero(t, c.Foreign())
			require.Equal(t, []int64{0, 1, 2, 3, 4, 5, 6, 7}, ended)
			trials, err := st.Trials()
			require.NoError(t, err)
			require.Equal(t, .125, trials[0].Params["x"])
			over := 0
			for _, x := range trials {
				if x.State == study.Complete {
					over++
				} else { // all eight were asked before it came
					require.Equal(t, study.Waiting, x.State)
				}
			}
			require.Equal(t, 8, over)
			if as == trialsProcesses {
				require.Len(t, trials, 8)
				require.True(t, slices.ContainsFunc(trials, func(x *study.FrozenTrial) bool {
					return x.Params["x"] == .25
				}))
			}
		})
	}
}

// TestAskedAhead: trials of which none depends on how others ended do not wait for them, however small the window, and
// are the same.
func TestAskedAhead(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for name, head := range map[string]string{"one": "sampler = \"random\"\nworkers = 1\n",
		"two": "sampler = \"random\"\n", "sees": "sampler = \"tpe\"\n"} {
		_, s := written(t, head+"pruner = \"none\"\nwindow = 1\ntrials = 12\n"+onlyX)
		db, err := rdb.Open(s.Storage)
		require.NoError(t, err)
		st, err := study.New(s.Name, study.Options{Storage: db, Directions: s.Directions()})
		require.NoError(t, err)
		c := coordinator(s)
		asked := 0 // when the first was over
		c.Ended = func(x, _ *study.FrozenTrial) {
			if x.Number == 0 {
				all, err := st.Trials()
				require.NoError(t, err)
				asked = len(all)
			}
		}
		require.NoError(t, c.Run(t.Context()))
		require.NoError(t, db.Close())
		require.Equal(t, map[string]bool{"one": true, "two": true, "sees": false}[name], asked > 1, name)
		texts[name] = rows(t, s)
	}
	require.Equal(t, texts["one"], texts["two"])
}
