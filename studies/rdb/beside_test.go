package rdb

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/studies/study"
)

// seenByOptuna is what testdata/optuna_beside.py prints.
type seenByOptuna struct {
	Trials []struct {
		Number       int64
		State        study.State
		Values       []float64
		Params       map[string]any
		Intermediate [][2]float64
	}
	Best        int64
	Importances map[string]float64
}

// TestOptunaBeside: Optuna and xlarun resume each other's studies, and add trials to one study at the same time.
// XLARUN_OPTUNA_PYTHON is a Python with optuna 5.0 and psycopg2.
func TestOptunaBeside(t *testing.T) {
	python := os.Getenv("XLARUN_OPTUNA_PYTHON")
	if python == "" {
		t.Skip("XLARUN_OPTUNA_PYTHON is not set: want a Python with optuna 5.0.0 and psycopg2")
	}
	onEach(t, func(t *testing.T, at string) {
		if strings.HasSuffix(at, ".db") {
			at = filepath.Join(t.TempDir(), "s.db") // SQLAlchemy ends a name at a question mark
		}
		optuna := func(name string, trials, enqueued int) (seen seenByOptuna) {
			url := strings.Replace(at, "postgresql://", "postgresql+psycopg2://", 1)
			if url == at {
				url = "sqlite:///" + at
			}
			cmd := exec.Command(python, "testdata/optuna_beside.py", url, name, strconv.Itoa(trials),
				strconv.Itoa(enqueued))
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(out, &seen))
			return seen
		}
		d := opened(t, at)
		ours := func(name string, trials, parallel int) {
			s, err := study.New(name, study.Options{Storage: d, Directions: []study.Direction{study.Maximize},
				Sampler: &study.TPE{}, Seed: 3})
			require.NoError(t, err)
			require.NoError(t, s.Optimize(t.Context(), trials, parallel, func(x *study.Trial) ([]float64, error) {
				f, err := x.SuggestFloat("x", -1, 1)
				require.NoError(t, err)
				n, err := x.SuggestInt("n", 1, 9)
				require.NoError(t, err)
				_, err = x.SuggestCategorical("kind", "a", nil, true)
				require.NoError(t, err)
				return []float64{f * float64(n)}, x.Report(0, f)
			}))
		}
		same := func(name string, seen seenByOptuna) []*study.FrozenTrial {
			s, err := study.New(name, study.Options{Storage: d, Directions: []study.Direction{study.Maximize},
				Sampler: study.Random{}})
			require.NoError(t, err)
			all, err := s.Trials()
			require.NoError(t, err)
			require.Len(t, all, len(seen.Trials))
			for i, x := range all {
				w := seen.Trials[i]
				require.Equal(t, int64(i), w.Number, "numbers have no gaps")
				require.Equal(t, w.Number, x.Number)
				require.Equal(t, w.State, x.State)
				require.Equal(t, w.Values, x.Values)
				want, err := json.Marshal(w.Params)
				require.NoError(t, err)
				got, err := json.Marshal(x.External())
				require.NoError(t, err)
				require.JSONEq(t, string(want), string(got))
				require.Len(t, x.Intermediate, len(w.Intermediate))
				for j, r := range w.Intermediate {
					require.Equal(t, study.Reported{Step: int64(r[0]), Value: r[1]}, x.Intermediate[j])
				}
			}
			if best := study.Best(all, s.Directions()); len(best) > 0 {
				require.Equal(t, all[seen.Best].Values, best[0].Values)
			}
			return all
		}
		ours("ours", 12, 2)
		seen := optuna("ours", 5, 2)
		require.Len(t, same("ours", seen), 19)
		require.Len(t, seen.Importances, 3)
		ours("ours", 4, 1)
		all := same("ours", optuna("ours", 0, 0))
		require.Len(t, all, 21, "the two that Optuna enqueued came first")
		require.Equal(t, .125, all[18].Params["x"])

		require.Len(t, same("theirs", optuna("theirs", 6, 0)), 6)
		ours("theirs", 6, 3)
		require.Len(t, same("theirs", optuna("theirs", 1, 0)), 13)

		done := make(chan seenByOptuna, 1)
		go func() { done <- optuna("both", 40, 0) }()
		ours("both", 200, 4)
		<-done
		require.Len(t, same("both", optuna("both", 0, 0)), 240)
	})
}
