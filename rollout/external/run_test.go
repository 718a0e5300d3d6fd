package external

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

// A program that ends without a number of a metric is told what it gave instead: of that metric, not of one that had a
// number later.
func TestMissingMetrics(t *testing.T) {
	for script, want := range map[string]string{
		`echo '{"a": "1"}'; echo '{"b": "2"}'; echo '{"a": 3}'`: `the program ended without a value of b; it gave ` +
			`"b": "2", which is no number of 64 bits`,
		`echo '{"a": "1"}'; echo '{"a": 3}'`:         "", // the study says that no round has b
		`echo '{"a": 1, "b": "2"}'; echo '{"b": 4}'`: "",
		`echo '{"x": "0"}'; echo '{"b": true, "a": "2"}'; echo '{"b": "3"}'`: `the program ended without values: let ` +
			`it print a line such as {"step": 1, "loss": 0.5}; it gave "a": "2", which is no number of 64 bits`,
	} {
		p := Program{Command: []string{"sh", "-c", script, "{folder}"}, Metrics: []string{"a", "b"},
			Folder: filepath.Join(t.TempDir(), "run")}
		r, err := p.Start()
		require.NoError(t, err)
		for m := (run.Metrics{}); err == nil && !m.Done; {
			m, err = r.Step(t.Context())
		}
		require.NoError(t, r.Close())
		if want == "" {
			require.NoError(t, err, script)
			continue
		}
		require.EqualError(t, err, want, script)
	}
}
