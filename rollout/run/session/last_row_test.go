package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
	"xlarun/rollout/settings"
)

// TestLogsReachTheEnd: the logs of a run that has ended have its last row, also after 4,096 rows, of which
// not all are kept. A run that goes on from there has the logs of one that never stopped.
func TestLogsReachTheEnd(t *testing.T) {
	dir := t.TempDir()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name, "metrics.jsonl"))
		require.NoError(t, err)
		return string(text)
	}
	// run begins a run, or goes on with it, up to a step. It returns the rows.
	run := func(name string, steps int, change func(*session.Options, *halving)) string {
		h := &halving{Steps: steps}
		o := options(h, &watch{})
		o.Cadence.Steps = 1 << 30
		o.Config = func(settings.Values, bool) (string, error) { return "", nil }
		var err error
		if o.Folder, err = runfolder.Create(filepath.Join(dir, name), runfolder.Options{}); err != nil {
			o.Folder, err = runfolder.Open(filepath.Join(dir, name), runfolder.Options{})
			require.NoError(t, err)
			c, _, err := o.Folder.Newest()
			require.NoError(t, err)
			o.Resume = &c
		}
		if change != nil {
			change(&o, h)
		}
		out, err := session.Run(t.Context(), o)
		require.NoError(t, err)
		rows := read(name)
		lines := strings.Split(strings.TrimSpace(rows), "\n")
		assert.Regexp(t, fmt.Sprintf(`^{"step":%d,`, steps), lines[len(lines)-1], name)
		assert.EqualValues(t, steps, out.Step, name)
		return rows
	}
	for steps, want := range map[int]int{1: 1, 5: 5, 4096: 4096, 4097: 4097, 4101: 4097, 4104: 4097, 4105: 4098} {
		name := fmt.Sprint("whole", steps)
		rows := run(name, steps, nil)
		require.Equal(t, want, strings.Count(rows, "\n"), name)
		require.Equal(t, rows, run(name, steps, nil), "nothing is left to do")
	}
	whole := run("whole", 4110, nil)
	for _, stop := range []int{4096, 4097, 4103, 4104, 4109} {
		run("parts", stop, nil)
	}
	require.Equal(t, whole, run("parts", 4110, nil), "it was five runs, each longer than the last")

	run("ends", 4099, func(o *session.Options, h *halving) {
		h.Steps, o.Ends.Rounds = 4110, 4099
	})
	require.Equal(t, whole, run("ends", 4110, nil))
}
