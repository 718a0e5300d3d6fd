package sparse

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// tiny is a config whose programs compile fast.
func tiny() Config {
	c := small()
	c.Hidden, c.Density, c.Population = c.Hidden[:1], c.Density[:2], 3
	return c
}

func hostArrays(t *testing.T, s Snapshot) map[string][]float64 {
	t.Helper()
	out := map[string][]float64{}
	for name, a := range s.Arrays {
		v, err := graph.Floats(a)
		require.NoError(t, err)
		out[name] = v
	}
	return out
}

// A snapshot holds every member's connections, and a run restored from it goes on to the byte, whatever the method keeps
// beside them and on another number of devices.
func TestRestoredRunsGoOnToTheByte(t *testing.T) {
	d := stripes(6, 200, 70)
	for _, method := range []string{"kernel", "masked"} {
		t.Run(method, func(t *testing.T) {
			c := tiny() // 12 steps, mutations after 5 and 10
			c.Method, c.Devices = method, 1
			p, err := New(open(t, 1), c, d)
			require.NoError(t, err)
			defer func() { require.NoError(t, p.Close()) }()
			var snapshots []Snapshot
			keep := func() {
				s, err := p.Snapshot()
				require.NoError(t, err)
				require.Equal(t, p.Steps(), s.Steps)
				snapshots = append(snapshots, s)
			}
			keep()
			require.NoError(t, p.Run(func(int, Stats, time.Duration) bool { keep(); return true }))
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
			q, err := New(open(t, 2), c, d)
			require.NoError(t, err)
			defer func() { require.NoError(t, q.Close()) }()
			for _, s := range snapshots {
				require.NoError(t, q.Restore(s))
				require.NoError(t, q.Run(nil))
				end, err := q.Snapshot()
				require.NoError(t, err)
				require.Equal(t, want, hostArrays(t, end), "from step %d", s.Steps)
				stats, err := q.Evaluate()
				require.NoError(t, err)
				require.Equal(t, last, stats)
			}
			require.ErrorContains(t, q.Restore(Snapshot{Steps: 13}), "taken after step 13, want 0 to the config's 12")
			require.ErrorContains(t, q.Restore(Snapshot{}), `no array "0.at"`)
		})
	}
}

// The index is made when a topology is made, and then stays.
func TestIndexStaysAsLongAsTheTopology(t *testing.T) {
	c := tiny()
	c.Method = "kernel"
	p, err := New(open(t, 1), c, stripes(6, 200, 70))
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	first := p.kept[0]
	_, _, err = p.Train(2)
	require.NoError(t, err)
	_, err = p.Evaluate()
	require.NoError(t, err)
	require.Same(t, first, p.kept[0])
	_, _, err = p.Train(3) // a mutation follows
	require.NoError(t, err)
	require.NotSame(t, first, p.kept[0])
}

// The tuner measures all methods and stores the fastest; later runs read it, on any number of devices; a run by a method
// that was measured is the run that names the method; where time is short, the rule decides.
func TestMethodIsMeasuredAndStored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "programs")
	client := func(devices int) *xlabridge.Client {
		b, err := xlabridge.Open(t.Context(), xlabridge.Options{Devices: devices, CacheDir: dir})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		return b
	}
	one, d := client(1), stripes(6, 200, 70)
	profile := func(b xlabridge.Backend, tune, method string) (Profile, Stats) {
		c := tiny()
		c.Tune, c.Method = tune, method
		p, s := run(t, b, c, d)
		return p.Profile(), s
	}
	quickBudget = time.Nanosecond
	p, _ := profile(one, "quick", "auto")
	require.Equal(t, "kernel", p.Method)
	require.Equal(t, "static", p.MethodSource)
	require.Contains(t, p.MethodReason, "--tune full takes longer")

	p, tuned := profile(one, "full", "auto")
	require.Equal(t, "tuned", p.MethodSource)
	require.Empty(t, p.MethodReason)
	require.Len(t, p.MethodsTried, 3)
	require.Equal(t, fastest(p.MethodsTried), p.Method)
	require.Positive(t, p.TuneSeconds)
	_, given := profile(one, "auto", p.Method)
	require.Equal(t, given, tuned)

	two := client(2)
	for _, c := range []struct {
		b                    xlabridge.Backend
		tune, method, source string
	}{
		{one, "auto", "auto", "stored"}, {two, "auto", "auto", "stored"}, {one, "quick", "auto", "stored"}, {one, "full", "auto", "stored"},
		{one, "off", "auto", "static"}, {one, "full", "masked", "given"},
	} {
		p, _ := profile(c.b, c.tune, c.method)
		require.Equal(t, c.source, p.MethodSource, c)
		require.Empty(t, p.MethodsTried, c)
	}
	entries, err := one.Cache().Plans().List()
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, p.Method+" (full)", entries[0].Meta.Name)
	require.Equal(t, "sparse 3 x 36-20-6, connections 216 60, batch 40, f32", entries[0].Meta.Purpose)

	files, err := filepath.Glob(filepath.Join(one.Cache().Plans().Dir(), "*"))
	require.NoError(t, err)
	for _, f := range files {
		require.NoError(t, os.WriteFile(f, []byte("x"), 0o600))
	}
	p, _ = profile(one, "auto", "auto")
	require.Equal(t, "static", p.MethodSource)
	require.Contains(t, p.MethodReason, "the stored plan is not used")
}

func TestFastest(t *testing.T) {
	for _, c := range []struct {
		seconds []float64
		want    string
	}{
		{[]float64{1, 2, 3}, "kernel"}, {[]float64{1, .5, .6}, "masked"}, {[]float64{1, .99, .5}, "blocks"},
		{[]float64{1, .98, .98}, "kernel"}, {[]float64{1}, "kernel"}, // less than 3 % is noise
	} {
		var tried []TriedMethod
		for i, s := range c.seconds {
			tried = append(tried, TriedMethod{Methods[1+i], s})
		}
		require.Equal(t, c.want, fastest(tried), c.seconds)
	}
}

// A run that does not fit is refused before anything is made, with the largest population that fits, which does.
func TestMemoryBudget(t *testing.T) {
	b, d := &xlabridge.Reference{}, stripes(6, 200, 70)
	c := tiny()
	c.Population, c.Memory = 1<<20, 4<<20
	_, err := New(b, c, d)
	var e *ConfigError
	require.True(t, errors.As(err, &e))
	require.Equal(t, "Population", e.Key)
	most := regexp.MustCompile(`^a run that fits in memory: 1048576 members of 276 connections take about \d.* GiB and 4.0 MiB is allowed; the largest population that fits is (\d+)$`).FindStringSubmatch(e.Wants)
	require.Len(t, most, 2, e.Wants)
	c.Population, _ = strconv.Atoi(most[1])
	c.Population++
	_, err = New(b, c, d)
	require.ErrorContains(t, err, "the largest population that fits is "+most[1])
	c.Population, c.Memory = 1, 1000
	_, err = New(b, c, d)
	require.ErrorContains(t, err, "no population fits: make the networks or the batch smaller")

	c = tiny()
	c.Memory = 1 << 30
	p, err := New(open(t, 1), c, d)
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	profile := p.Profile()
	require.Equal(t, c.Memory, profile.MemoryBudget)
	require.Less(t, profile.PeakMemoryBytes, profile.PlannedBytes, "the compiler's figure is within the estimate")
	p.config.Memory = profile.PeakMemoryBytes - 1
	require.ErrorContains(t, p.fitCompiled(), "the compiled program takes")
}
