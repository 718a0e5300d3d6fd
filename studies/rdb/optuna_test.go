package rdb

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/studies/study"
)

// TestOptunasStudies reads a database that Optuna made (third_party/oracles/optuna_study.py), and goes on with it.
func TestOptunasStudies(t *testing.T) {
	packed, err := os.Open("testdata/optuna.db.gz")
	require.NoError(t, err)
	z, err := gzip.NewReader(packed)
	require.NoError(t, err)
	data, err := io.ReadAll(z)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "optuna.db")
	require.NoError(t, os.WriteFile(path, data, 0o666))
	var want struct {
		Trials []struct {
			Number       int64
			State        study.State
			Values       []string
			Params       map[string]any
			Intermediate [][2]any
			UserAttrs    map[string]json.RawMessage `json:"user_attrs"`
		}
	}
	text, err := os.ReadFile("testdata/optuna.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &want))

	d := opened(t, path)
	names, directions, err := d.Studies()
	require.NoError(t, err)
	require.Equal(t, []string{"all kinds", "two"}, names)
	require.Equal(t, []study.Direction{study.Minimize, study.Maximize}, directions["two"])
	st, err := study.New("all kinds", study.Options{Storage: d, Directions: directions["all kinds"],
		Sampler: study.Random{}})
	require.NoError(t, err)
	trials, err := st.Trials()
	require.NoError(t, err)
	require.Len(t, trials, len(want.Trials))
	for i, w := range want.Trials {
		got := trials[i]
		require.Equal(t, w.Number, got.Number)
		require.Equal(t, w.State, got.State, i)
		params, err := json.Marshal(got.External())
		require.NoError(t, err)
		wanted, err := json.Marshal(w.Params)
		require.NoError(t, err)
		require.JSONEq(t, string(wanted), string(params), i)
		require.Len(t, got.Intermediate, len(w.Intermediate))
		for j, r := range w.Intermediate {
			x, err := strconv.ParseFloat(r[1].(string), 64)
			require.NoError(t, err)
			require.Equal(t, int64(r[0].(float64)), got.Intermediate[j].Step)
			if x == x {
				require.Equal(t, x, got.Intermediate[j].Value)
			} else {
				require.NotEqual(t, got.Intermediate[j].Value, got.Intermediate[j].Value)
			}
		}
		if got.State == study.Complete {
			x, err := strconv.ParseFloat(w.Values[0], 64)
			require.NoError(t, err)
			require.Equal(t, []float64{x}, got.Values)
		}
		for key, value := range w.UserAttrs {
			require.JSONEq(t, string(value), string(got.UserAttrs[key]))
		}
	}
	best, err := st.Best()
	require.NoError(t, err)
	require.Equal(t, int64(4), best[0].Number, "+Inf is the greatest")

	// What Optuna enqueued comes first, and new trials are numbered behind its own.
	next, err := st.Ask()
	require.NoError(t, err)
	require.Equal(t, int64(7), next.Number())
	x, err := next.SuggestFloat("x", -1, 1)
	require.NoError(t, err)
	require.Equal(t, -.25, x)
	require.NoError(t, st.Tell(next, 1))
	next, err = st.Ask()
	require.NoError(t, err)
	require.Equal(t, int64(8), next.Number())
}
