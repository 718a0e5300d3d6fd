package sparse

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/cache"
)

// tiny is a config whose programs compile fast.
func tiny() Config {
	c := small()
	c.Hidden, c.Density, c.Population = c.Hidden[:1], c.Density[:2], 3
	return c
}

func hostArrays(t *testing.T, s run.Snapshot) map[string][]float64 {
	t.Helper()
	out := map[string][]float64{}
	for name, a := range s.Arrays {
		v, err := graph.Floats(a)
		require.NoError(t, err)
		out[name] = v
	}
	return out
}

// A snapshot has every member's connections. A run restored from it continues to the byte, with every method and on
// another number of devices.
func TestRestoredRunsGoOnToTheByte(t *testing.T) {
	d := stripes(6, 200, 70)
	for _, method := range []string{"kernel", "masked"} {
		t.Run(method, func(t *testing.T) {
			c := tiny() // 12 steps, mutations after 5 and 10
			c.Method, c.Devices = method, 1
			p, err := New(t.Context(), open(t, 1), c, d)
			require.NoError(t, err)
			defer func() { require.NoError(t, p.Close()) }()
			var snapshots []run.Snapshot
			keep := func() {
				s, err := p.Snapshot(t.Context())
				require.NoError(t, err)
				require.Equal(t, int64(p.Updates()), s.Step)
				snapshots = append(snapshots, s)
			}
			keep()
			require.NoError(t, runToEnd(p, func(Stats) { keep() }))
			last, err := p.Evaluate()
			require.NoError(t, err)
			require.Len(t, snapshots, 4) // after 0, 5, 10 and 12 steps
			want := hostArrays(t, snapshots[3])
			require.NotEqual(t, want["0.at"], hostArrays(t, snapshots[0])["0.at"], "mutations moved connections")
			member, err := p.Member(1)
			require.NoError(t, err)
			for l, m := range hostMember(t, member) {
				n := p.Shape()[l].Connections
				require.Equal(t, m[0], want[strconv.Itoa(l)+".at"][n:2*n])
				require.Equal(t, m[1], want[strconv.Itoa(l)+".w"][n:2*n])
			}

			c.Devices = 2
			q, err := New(t.Context(), open(t, 2), c, d)
			require.NoError(t, err)
			defer func() { require.NoError(t, q.Close()) }()
			for _, s := range snapshots {
				require.NoError(t, q.Restore(t.Context(), s))
				require.NoError(t, runToEnd(q, nil))
				end, err := q.Snapshot(t.Context())
				require.NoError(t, err)
				require.Equal(t, want, hostArrays(t, end), "from step %d", s.Step)
				stats, err := q.Evaluate()
				require.NoError(t, err)
				require.Equal(t, last, stats)
			}
			require.ErrorContains(t, q.Restore(t.Context(), run.Snapshot{Step: 13}),
				"taken after update 13, want 0 to the config's 12")
			require.ErrorContains(t, q.Restore(t.Context(), run.Snapshot{}), `no array "0.at"`)
		})
	}
}

// The ending names members whose loss is not finite.
func TestEndingNamesTheMembersThatFailed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		number      int
		train, test []float64
		want        string
	}{
		{1, []float64{1, 2}, nil, ""},
		{2, nil, nil, ""},
		{3, []float64{1, nan, 2}, nil, "; the loss of 1 of the 3 members (1) is not finite: take a smaller --lr"},
		{4, []float64{nan, 1, 2, 3}, []float64{nan, 1, inf, 3}, "; the loss of 2 of the 4 members (0, 2) is not " +
			"finite: take a smaller --lr"},
		{5, []float64{inf, nan}, []float64{nan, nan}, "; the loss of all 2 members is not finite: take a smaller --lr"},
		{6, []float64{nan, nan, nan, 0, nan, nan, nan}, nil, "; the loss of 6 of the 7 members (0, 1, 2, 4, 5, …) is " +
			"not finite: take a smaller --lr"},
	} {
		require.Equal(t, c.want, failures(c.train, c.test), "case %d", c.number)
	}

	// A learning rate that makes all of them fail.
	c := tiny()
	c.LearningRate, c.Method, c.Devices = 1e30, "kernel", 1
	e := &Experiment{Config: c, Data: stripes(6, 200, 70)}
	r, err := e.Start(t.Context(), open(t, 1))
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	var m run.Metrics
	for m.Step < int64(c.Updates) {
		m, err = r.Step(t.Context())
		require.NoError(t, err)
	}
	require.Contains(t, r.Describe().Ending(m), "; the loss of all 3 members is not finite: take a smaller --lr")
}

// The index is computed once for each topology.
func TestIndexStaysAsLongAsTheTopology(t *testing.T) {
	c := tiny()
	c.Method = "kernel"
	p, err := New(t.Context(), open(t, 1), c, stripes(6, 200, 70))
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	first := p.indexes[0]
	_, _, err = p.Train(2)
	require.NoError(t, err)
	_, err = p.Evaluate()
	require.NoError(t, err)
	require.Same(t, first, p.indexes[0])
	_, _, err = p.Train(3)
	require.NoError(t, err)
	require.Same(t, first, p.indexes[0])
	_, _, err = p.Train(1) // after a mutation
	require.NoError(t, err)
	require.NotSame(t, first, p.indexes[0])
}

// Tune measures all methods and stores the fastest. Later runs read it, on any number of devices, and neither compiles
// the programs of the other. A run with a measured method equals one with that method in its settings. Without time to
// measure, the rule decides.
func TestMethodIsMeasuredAndStored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "programs")
	client := func(devices int) *xlabridge.Client {
		b, err := xlabridge.Open(t.Context(), xlabridge.Options{Devices: devices, CacheDir: dir})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		return b
	}
	one, d := client(1), stripes(6, 200, 70)
	profile := func(b xlabridge.Backend, tune, method string) (run.Profile, Stats) {
		c := tiny()
		c.Tune, c.Method = tune, method
		p, s := train(t, b, c, d)
		return p.Profile(), s
	}
	quickBudget = time.Nanosecond
	t.Cleanup(func() { quickBudget = plan.QuickBudget })
	p, _ := profile(open(t, 1), "quick", "auto")
	require.Equal(t, "kernel", p.Plan)
	require.Equal(t, "static", p.Source)
	require.Contains(t, p.Choice.Reason, "--tune full takes longer")

	c := tiny()
	c.Tune, c.Method = "auto", "masked"
	choice, err := Tune(t.Context(), one, c, d)
	require.NoError(t, err)
	require.Equal(t, plan.Choice{Plan: "masked", Source: plan.Given}, choice)
	c.Tune, c.Method = "full", "auto"
	choice, err = Tune(t.Context(), one, c, d)
	require.NoError(t, err)
	require.Equal(t, "tuned", choice.Source)
	require.Empty(t, choice.Reason)
	require.Len(t, choice.Measured, 3)
	require.Positive(t, choice.Seconds)
	p, tuned := profile(one, "auto", "auto")
	require.Equal(t, choice.Plan, p.Plan)
	for _, x := range p.Programs {
		measured := x.Name == "sparse_members" || x.Name == "sparse_index" || x.Name == "sparse_train"
		require.Equal(t, measured, x.Cache == cache.Hit, x.Name)
		require.Positive(t, x.Bytes, x.Name)
	}
	_, given := profile(one, "auto", p.Plan)
	require.Equal(t, given, tuned)

	for _, c := range []struct{ tune, source string }{
		{"auto", "stored"}, {"quick", "stored"}, {"full", "stored"}, {"off", "static"},
	} {
		p, _ := profile(one, c.tune, "auto")
		require.Equal(t, c.source, p.Source, c)
		require.Empty(t, p.Measured, c)
	}
	purpose := c.Purpose(c.Shape(d))
	require.Equal(t, plan.StoreOf[string](one, purpose, methodFormat),
		plan.StoreOf[string](client(2), purpose, methodFormat))
	entries, err := one.Cache().Plans().List()
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, p.Plan+" (full)", entries[0].Meta.Name)
	require.Equal(t, "sparse 3 x 36-20-6, connections 216 60, batch 40, f32", entries[0].Meta.Purpose)

	files, err := filepath.Glob(filepath.Join(one.Cache().Plans().Dir(), "*"))
	require.NoError(t, err)
	for _, f := range files {
		require.NoError(t, os.WriteFile(f, []byte("x"), 0o600))
	}
	p, _ = profile(one, "auto", "auto")
	require.Equal(t, "static", p.Source)
	require.Contains(t, p.Choice.Reason, "the stored plan is not used")
	c.Population = 0
	_, err = Tune(t.Context(), one, c, d)
	require.ErrorContains(t, err, "pop: got 0")
}

// 1: measurements that run past the deadline share nothing with the run, and Close waits for them.
func TestLateMeasurementsDoNotDisturb(t *testing.T) {
	d := stripes(6, 200, 70)
	c := tiny()
	c.Method = "kernel"
	b := open(t, 1)
	_, want := train(t, b, c, d)
	c.Method = "auto"
	p, name, err := newPopulation(t.Context(), b, c, d)
	require.NoError(t, err)
	require.Equal(t, "kernel", name)
	tuner := p.tuner([]string{"masked"})
	tuner.Words = func(name string) string { return name }
	tuner.Deadline = time.Now().Add(10 * time.Millisecond)
	release, late := make(chan struct{}), make(chan error, 1)
	measure := tuner.Measure
	tuner.Measure = func(name string) (float64, error) {
		<-release
		seconds, err := measure(name)
		late <- err
		return seconds, err
	}
	best, tried, err := tuner.Run(t.Context(), "masked")
	require.NoError(t, err)
	require.Equal(t, "masked", best)
	require.Empty(t, tried)
	require.NoError(t, p.build(name))
	close(release)
	require.NoError(t, runToEnd(p, nil))
	got, err := p.Evaluate()
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.NoError(t, p.Close())
	select {
	case err := <-late:
		require.ErrorIs(t, err, plan.ErrTime)
	default:
		t.Fatal("Close did not wait for the measurement")
	}
}

// A run that does not fit in memory is refused before anything is computed. The error has the largest population that
// fits, which does fit.
func TestMemoryBudget(t *testing.T) {
	b, d := &xlabridge.Reference{}, stripes(6, 200, 70)
	c := tiny()
	c.Population, c.Memory = 1<<20, 4<<20
	_, err := New(t.Context(), b, c, d)
	var e *settings.Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, "pop", e.Key)
	most := regexp.MustCompile(
		`^a run that fits in memory: 1048576 members of 276 connections take about \d.* GiB, which is more than the ` +
			`4.0 MiB that --memory allows; the largest population that fits is (\d+)$`).FindStringSubmatch(e.Wants)
	require.Len(t, most, 2, e.Wants)
	c.Population, _ = strconv.Atoi(most[1])
	c.Population++
	_, err = New(t.Context(), b, c, d)
	require.ErrorContains(t, err, "the largest population that fits is "+most[1])
	c.Population, c.Memory = 1, 1000
	_, err = New(t.Context(), b, c, d)
	require.ErrorContains(t, err, "no population fits: allow more, or make the networks smaller")

	c = tiny()
	c.Memory = 1 << 30
	p, err := New(t.Context(), open(t, 1), c, d)
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	profile := p.Profile()
	require.EqualValues(t, c.Memory, profile.MemoryBudget)
	require.Less(t, profile.PeakMemoryBytes, profile.PlannedBytes, "the compiler's figure is within the estimate")
	p.config.Memory = settings.Bytes(profile.PeakMemoryBytes - 1)
	require.ErrorContains(t, p.fitCompiled(), "the compiled program takes")
}

// Files belong to the step of the state, and test results to a test in that step. Files that waited for a test were
// once older than the state after an interrupt.
func TestFilesAreOfTheStep(t *testing.T) {
	c := tiny()
	c.Method, c.Devices = "kernel", 1
	r, err := (&Experiment{Config: c, Data: stripes(6, 200, 70)}).Start(t.Context(), open(t, 1))
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	training := r.(*training)
	metadata := func() map[string]string {
		files, err := training.Files(run.Snapshot{}, true)
		require.NoError(t, err)
		return files[1].Metadata
	}
	_, err = r.Step(t.Context()) // with a test
	require.NoError(t, err)
	require.Equal(t, "3", metadata()["update"])
	require.NotEmpty(t, metadata()["test_accuracy"])
	_, _, err = training.Train(1)
	require.NoError(t, err)
	require.Equal(t, "4", metadata()["update"])
	require.Empty(t, metadata()["test_accuracy"])
}
