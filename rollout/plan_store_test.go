package rollout_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/plan"
	"xlarun/xlabridge"
)

// A stored plan is found by purpose and format, and is described in the cache's listing. A damaged one is a miss.
func TestPlanStore(t *testing.T) {
	type method struct {
		Kernel string `json:"kernel"`
		Width  int    `json:"width"`
	}
	b, err := xlabridge.Open(t.Context(), xlabridge.Options{
		Devices: 1, CacheDir: filepath.Join(t.TempDir(), "programs")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	store := plan.StoreOf[method](b, "sparse, 3 networks", 1)
	_, err = store.Get()
	require.ErrorIs(t, err, plan.ErrNone)
	quick := plan.Stored[method]{Tune: plan.TuneQuick, Plan: method{"block", 32}}
	require.NoError(t, store.Put(quick, "kernel block, 32 wide", 1.5))
	got, err := store.Get()
	require.NoError(t, err)
	require.Equal(t, plan.Stored[method]{Tune: plan.TuneQuick, Plan: method{"block", 32}}, got)
	for _, other := range []*plan.Store[method]{plan.StoreOf[method](b, "sparse, 4 networks", 1),
		plan.StoreOf[method](b, "sparse, 3 networks", 2)} {
		_, err = other.Get()
		require.ErrorIs(t, err, plan.ErrNone)
	}

	entries, err := b.Cache().Plans().Verify()
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "kernel block, 32 wide", entries[0].Meta.Name)
	require.Equal(t, "sparse, 3 networks", entries[0].Meta.Purpose)
	require.Equal(t, 1.5, entries[0].Meta.CompileSeconds)
	require.Less(t, entries[0].Age().Hours(), 1.)

	_, err = plan.StoreOf[struct{ Other int }](b, "sparse, 3 networks", 1).Get()
	require.ErrorContains(t, err, `the stored plan is damaged: json: unknown field "kernel"`)
	path := filepath.Join(b.Cache().Plans().Dir(), entries[0].Key+".xlaplan")
	require.NoError(t, os.Truncate(path, entries[0].Bytes-1))
	_, err = store.Get()
	require.ErrorContains(t, err, "the stored plan is not used: entry is damaged")
	require.NoError(t, store.Put(plan.Stored[method]{Tune: plan.TuneFull, Plan: method{"plain", 8}}, "kernel plain", 1))
	got, err = store.Get()
	require.NoError(t, err)
	require.Equal(t, plan.Stored[method]{Tune: plan.TuneFull, Plan: method{"plain", 8}}, got)

	require.Nil(t, plan.StoreOf[method](&xlabridge.Reference{}, "sparse, 3 networks", 1))
}

// A plan is stored under these names. Other names need another format, here too: else plans of before are damaged, and
// that is reported, where they should be measured anew.
func TestPlanStoredNames(t *testing.T) {
	text, err := json.Marshal(plan.Plan{Tile: 48, BatchLast: true, Unroll: 4, EpisodeBatch: 2, VectorWidth: 512})
	require.NoError(t, err)
	require.JSONEq(t, `{"tile":48,"batch_last":true,"unroll":4,"episode_batch":2,"vector_width":512}`, string(text))
	require.Equal(t, 4, plan.StoreFormat)
}
