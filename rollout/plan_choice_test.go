package rollout_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/plan"
	"xlarun/xlabridge"
)

// A plan is given, stored, measured or the rule's, in this order, as Tune allows. Each case may find what an earlier
// one has stored.
func TestPlanChoose(t *testing.T) {
	client, err := xlabridge.Open(t.Context(), xlabridge.Options{
		Devices: 1, CacheDir: filepath.Join(t.TempDir(), "programs")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	plans := client.Cache().Plans()
	damage := func() {
		files, err := filepath.Glob(filepath.Join(plans.Dir(), "*.xlaplan"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		require.NoError(t, os.WriteFile(files[0], []byte("x"), 0o600))
	}
	any, none := func(int) bool { return true }, func(int) bool { return false }
	fast4 := map[int]float64{8: 1, 4: .5}
	fast8 := map[int]float64{8: 1, 4: 2}
	for i, c := range []struct {
		what    string
		before  func()
		backend xlabridge.Backend
		given   bool
		tune    string
		seconds map[int]float64 // nil: nothing may be measured
		quick   time.Duration
		take    func(int) bool
		plan    int
		source  string
		tried   int
		reason  string
	}{
		{"nothing is stored", nil, client, false, plan.TuneAuto, nil, 0, any, 8, plan.Static, 0, ""},
		{"given", nil, client, true, plan.TuneFull, nil, 0, none, 8, plan.Given, 0, ""},
		{"the interpreter measures nothing", nil, &xlabridge.Reference{}, false, plan.TuneFull, nil, 0, any, 8,
			plan.Static, 0, ""},
		{"no time", nil, client, false, plan.TuneQuick, nil, 1, any, 8, plan.Static, 0, "the tuner's time was over " +
			"before there were two plans to compare; --tune full takes longer"},
		{"measured, but cannot be run", nil, client, false, plan.TuneQuick, fast4, 0, none, 8, plan.Static, 2, ""},
		{"quick measures", nil, client, false, plan.TuneQuick, fast4, 0, any, 4, plan.Tuned, 2, ""},
		{"auto finds it", nil, client, false, plan.TuneAuto, nil, 0, any, 4, plan.Present, 0, ""},
		{"quick finds it", nil, client, false, plan.TuneQuick, nil, 0, any, 4, plan.Present, 0, ""},
		{"off does not look", nil, client, false, plan.TuneOff, nil, 0, any, 8, plan.Static, 0, ""},
		{"given comes first", nil, client, true, plan.TuneAuto, nil, 0, any, 8, plan.Given, 0, ""},
		{"stored, but cannot be run", nil, client, false, plan.TuneAuto, nil, 0, none, 8, plan.Static, 0, ""},
		{"full does not trust quick", nil, client, false, plan.TuneFull, fast8, 0, any, 8, plan.Tuned, 2, ""},
		{"full finds full", nil, client, false, plan.TuneFull, nil, 0, any, 8, plan.Present, 0, ""},
		{"quick finds full", nil, client, false, plan.TuneQuick, nil, 0, any, 8, plan.Present, 0, ""},
		{"damaged", damage, client, false, plan.TuneAuto, nil, 0, any, 8, plan.Static, 0,
			"the stored plan is not used: entry is damaged"},
		{"damaged and measured anew", nil, client, false, plan.TuneQuick, fast4, 0, any, 4, plan.Tuned, 2,
			"the stored plan is not used: entry is damaged"},
		{"repaired", nil, client, false, plan.TuneAuto, nil, 0, any, 4, plan.Present, 0, ""},
	} {
		if c.before != nil {
			c.before()
		}
		m := &table{seconds: c.seconds}
		got, choice, err := plan.Chooser[int]{Tune: c.tune, Given: c.given, Rule: 8, Backend: c.backend,
			Purpose: "walk", Format: 1, Words: strconv.Itoa, Take: c.take, Quick: c.quick,
			Tuner: func(full bool) *plan.Tuner[int] {
				require.Equal(t, c.tune == plan.TuneFull, full, "%d: %s", i, c.what)
				require.False(t, c.seconds == nil && c.quick == 0, "%d: %s: nothing may be measured", i, c.what)
				four := func(int) []int { return []int{4} }
				return &plan.Tuner[int]{Measure: m.measure, Stages: []plan.Stage[int]{four}}
			}}.Choose(t.Context())
		require.NoError(t, err, "%d: %s", i, c.what)
		require.Equal(t, c.plan, got, "%d: %s", i, c.what)
		require.Equal(t, c.source, choice.Source, "%d: %s", i, c.what)
		require.Len(t, choice.Measured, c.tried, "%d: %s", i, c.what)
		require.Equal(t, c.tried > 0, choice.Seconds > 0 && c.quick == 0, "%d: %s", i, c.what)
		if c.reason == "" {
			require.Empty(t, choice.Reason, "%d: %s", i, c.what)
		}
		require.Contains(t, choice.Reason, c.reason, "%d: %s", i, c.what)
	}
	entries, err := plans.List()
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "4 (quick)", entries[0].Meta.Name)
	require.Equal(t, "walk", entries[0].Meta.Purpose)

	// What breaks while it is measured is an error, and stores nothing.
	broken := errors.New("the device caught fire")
	_, choice, err := plan.Chooser[int]{Tune: plan.TuneQuick, Rule: 8, Backend: client, Purpose: "other",
		Words: strconv.Itoa, Take: any,
		Tuner: func(bool) *plan.Tuner[int] {
			return &plan.Tuner[int]{Measure: func(int) (float64, error) { return 0, broken }}
		}}.Choose(t.Context())
	require.ErrorIs(t, err, broken)
	require.Equal(t, plan.Static, choice.Source)
	entries, err = plans.List()
	require.NoError(t, err)
	require.Len(t, entries, 1)
}
