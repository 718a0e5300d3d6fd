package evolve

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/rollout/evolve/pool"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Case 27.143: an island that cannot share its folder, or whose name is not free, was refused only after the backend
// was opened and the generation compiled. A resumed island goes on under the name that it has.
func TestIslandIsRefusedBeforeTheBackendOpens(t *testing.T) {
	dir := t.TempDir()
	file, shared := filepath.Join(dir, "file"), filepath.Join(dir, "shared")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	taken := pool.New(shared, "taken")
	require.NoError(t, os.MkdirAll(shared, 0o777))
	require.NoError(t, taken.Open())
	defer func() { require.NoError(t, taken.Close()) }()
	require.NoError(t, os.MkdirAll(filepath.Join(shared, "migration_pool", "island-left", "gen-3"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(shared, "migration_pool", "island-blocked"), nil, 0o666))
	opened := errors.New("the backend was opened")
	for _, c := range []struct {
		name, dir, island string
		resumed           bool
		key, want         string // "": the backend is opened
	}{
		{"a file", file, "a", false, "migration-dir", "a folder that can be written to"},
		{"below a file", filepath.Join(file, "x"), "a", false, "migration-dir", "a folder that can be written to"},
		{"resumed, with a file", file, "a", true, "migration-dir", "a folder that can be written to"},
		{"a file in the island's place", shared, "blocked", false, "migration-dir", "in which the island can write"},
		{"a name in use", shared, "taken", false, "island", "another run, which is under way, is this island"},
		{"resumed, with a name in use", shared, "taken", true, "island", "another run, which is under way"},
		{"a name with members", shared, "left", false, "island", "has members of an earlier run"},
		{"resumed, with members", shared, "left", true, "", ""},
		{"a missing parent", filepath.Join(dir, "new", "deep"), "a", false, "", ""},
	} {
		config := DefaultConfig()
		config.MigrationDir, config.Island, config.MigrateEvery = c.dir, c.island, 2
		o := session.Options{Kind: run.Kind{Name: "evolve", Unit: "generation", Round: "generation", Version: 1},
			Experiment: &config,
			Open: func(context.Context, run.Progress) (xlabridge.Backend, error) {
				return nil, opened
			}}
		if c.resumed {
			folder, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), runfolder.Options{})
			require.NoError(t, err, c.name)
			o.Folder, o.Resume = folder, &runfolder.Checkpoint{}
		}
		_, err := session.Run(context.Background(), o)
		if c.key == "" {
			assert.ErrorIs(t, err, opened, c.name)
			continue
		}
		wrong, ok := err.(*settings.Error)
		if assert.True(t, ok, "%s: %v", c.name, err) {
			assert.Equal(t, c.key, wrong.Key, c.name)
			assert.Contains(t, wrong.Error(), c.want, c.name)
		}
	}
}
