package bench

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// clock stands still but for what is done on it, on a machine whose speed may change.
type clock struct {
	at    time.Time
	speed func() float64 // 1: as fast as ever
}

func (c *clock) now() time.Time { return c.at }

// work is a slicer whose unit takes so long on a machine of speed 1, on two threads that never wait.
func (c *clock) work(unit time.Duration) slicer {
	return func(n int) (cpu time.Duration, err error) {
		for range n {
			took := time.Duration(float64(unit) / c.speed())
			c.at = c.at.Add(took)
			cpu += 2 * took
		}
		return cpu, nil
	}
}

// contended is work of which another program takes a part of the cores away.
func (c *clock) contended(unit time.Duration, free float64) slicer {
	work := c.work(unit)
	return func(n int) (time.Duration, error) {
		before := c.at
		cpu, err := work(n)
		c.at = before.Add(time.Duration(float64(c.at.Sub(before)) / free))
		return cpu, err
	}
}

// steady is a machine of one speed.
func steady() *clock { return &clock{speed: func() float64 { return 1 }} }

func TestPairsOnASteadyMachine(t *testing.T) {
	c := steady()
	got, err := pairing{5, 100 * time.Millisecond, c.now}.measure(context.Background(), c.work(4*time.Millisecond), c.work(2*time.Millisecond), 2)
	require.NoError(t, err)
	require.InDelta(t, .004, got.Seconds, 1e-9)
	require.InDelta(t, .5, got.Calibrated, 1e-9)
	require.InDelta(t, 0, got.Spread, 1e-9)
	require.Equal(t, 5, got.Pairs)
	require.InDelta(t, .5, got.Clock, 1e-9)
	require.Equal(t, 5, got.Free)
}

func TestPairsBesideOtherPrograms(t *testing.T) {
	// Another program takes half of the cores, and more of them from the calibration than from the workload.
	c := steady()
	got, err := pairing{5, 100 * time.Millisecond, c.now}.measure(context.Background(), c.contended(4*time.Millisecond, .6), c.contended(2*time.Millisecond, .5), 2)
	require.NoError(t, err)
	require.InDelta(t, .5, got.Calibrated, 1e-9, "processor time is as ever")
	require.Zero(t, got.Clock, "the clock says nothing then")
	require.Zero(t, got.Free)
}

func TestPairsSeeWaiting(t *testing.T) {
	// The workload takes 4 ms on both cores, then sleeps for 4 ms: only the clock sees that.
	c := steady()
	got, err := pairing{5, 100 * time.Millisecond, c.now}.measure(context.Background(), c.contended(4*time.Millisecond, .5), c.work(2*time.Millisecond), 2)
	require.NoError(t, err)
	require.InDelta(t, .5, got.Calibrated, 1e-9)
	require.InDelta(t, .25, got.Clock, 1e-9)
}

func TestPairsOnAMachineThatSlowsDown(t *testing.T) {
	// The machine comes to half of its speed in the course of the measurement: seconds double, the ratio stays.
	c := steady()
	start := c.at
	c.speed = func() float64 { return 1 / (1 + c.at.Sub(start).Seconds()/4) }
	got, err := pairing{21, 100 * time.Millisecond, c.now}.measure(context.Background(), c.work(4*time.Millisecond), c.work(2*time.Millisecond), 2)
	require.NoError(t, err)
	require.Greater(t, got.Seconds, .005)
	require.InDelta(t, .5, got.Calibrated, .01)
}

func TestPairsWithHitches(t *testing.T) {
	// A third of the slices of the workload take ten times as long: the median does not care.
	c, calls := steady(), 0
	work := c.work(4 * time.Millisecond)
	got, err := pairing{21, 100 * time.Millisecond, c.now}.measure(context.Background(), func(n int) (time.Duration, error) {
		if calls++; calls%3 == 0 {
			n *= 10
		}
		return work(n)
	}, c.work(2*time.Millisecond), 2)
	require.NoError(t, err)
	require.InDelta(t, .5, got.Calibrated, 1e-9)
}

func TestPairsThatFail(t *testing.T) {
	c := steady()
	boom := errors.New("boom")
	_, err := pairing{3, time.Millisecond, c.now}.measure(context.Background(), c.work(time.Millisecond), func(int) (time.Duration, error) { return 0, boom }, 2)
	require.ErrorIs(t, err, boom)
	nothing := func(int) (time.Duration, error) { return 0, nil }
	_, err = pairing{3, time.Millisecond, c.now}.measure(context.Background(), nothing, nothing, 2)
	require.ErrorContains(t, err, "the clock did not move")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = pairing{3, time.Millisecond, c.now}.measure(ctx, c.work(time.Millisecond), c.work(time.Millisecond), 2)
	require.ErrorIs(t, err, context.Canceled)
}

// fakeBench measures on a clock of its own: a generation takes as long as generation says (by the number of the measurement),
// a unit of the calibration 2 ms.
func fakeBench(b *bed, flags flags, generation func(measurement int) time.Duration) *bench {
	flags.Backend, flags.history, flags.json = console.Reference, "history.jsonl", true
	c, measurements := steady(), 0
	var cpu time.Duration
	b.shape.step = func(int) {
		took, _ := c.work(generation(measurements))(1)
		cpu += took
	}
	bench := newBench(b.host, flags)
	bench.pairing = pairing{3, 20 * time.Millisecond, c.now}
	bench.processorTime = func(xlabridge.Backend) time.Duration { return cpu }
	bench.startCalibrator = func(_ context.Context, _ calibratorSize, _ int) (slicer, func() error, error) {
		measurements++
		return c.work(2 * time.Millisecond), func() error { return nil }, nil
	}
	return bench
}

func smallOnly(t *testing.T) []workload {
	t.Helper()
	chosen, err := chooseWorkloads([]string{"generation-small"}, true)
	require.NoError(t, err)
	return chosen
}

func TestCheckAgainstTheHistory(t *testing.T) {
	fast, slow := 4*time.Millisecond, 6*time.Millisecond // calibrated 1/2 and 1/3
	for _, c := range []struct {
		name         string
		history      []historyLine
		generation   func(measurement int) time.Duration
		failed       string
		tries, runs  int
		speed        float64
		saysNoneHere bool
	}{
		{"as ever", historyOf(.5, .4, .6), func(int) time.Duration { return fast }, "", 1, 3, 1, false},
		{"slow in every try", historyOf(.5, .5, .5), func(int) time.Duration { return slow },
			"1 figure stays more than 25 % below the history's median in 3 tries: generation-small (0.67 of the median)", 3, 3, 2. / 3, false},
		{"slow at first", historyOf(.5, .5, .5), func(m int) time.Duration {
			if m < 3 {
				return slow
			}
			return fast
		}, "", 3, 3, 1, false},
		{"one run to compare with", historyOf(.5), func(int) time.Duration { return fast }, "", 1, 1, 1, false},
		{"no history", nil, func(int) time.Duration { return slow }, "", 1, 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t)
			writeHistory(t, c.history)
			before := read(t, "history.jsonl")
			err := fakeBench(b, flags{check: true}, c.generation).run(context.Background(), smallOnly(t))
			if c.failed == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.failed)
				require.Equal(t, console.StatusFailed, console.StatusOf(context.Background(), err))
				require.Contains(t, b.out.String(), "generation-small: 0.67 of the history's median in try 3 of 3\n")
			}
			r := b.result(t)["check"].([]any)[0].(map[string]any)
			require.Equal(t, "generation-small", r["workload"])
			require.EqualValues(t, c.tries, r["tries"])
			require.EqualValues(t, c.runs, r["runs"])
			require.Equal(t, c.failed == "", r["ok"])
			if c.runs > 0 {
				require.InDelta(t, c.speed, r["speed"], 1e-9)
			} else {
				require.Nil(t, r["speed"])
			}
			require.Equal(t, c.saysNoneHere, strings.Contains(b.out.String(), "nothing to compare generation-small with: the history has no run on this kind of machine"))
			require.Equal(t, c.tries, b.opened, "each try opens its own backend")
			require.Equal(t, before, read(t, "history.jsonl"), "a check records nothing")
			require.Equal(t, plan.TuneOff, b.engine.config.Tune, "a plan that a tuner chose would move the figure")
		})
	}
}

// What a start takes is checked beside the speed: compiling, in units of the calibration (2 ms on two threads: 4 ms of the processor), and peak memory.
func TestCheckOfStarts(t *testing.T) {
	const mb = 1 << 20
	started := func(compile time.Duration, peak int64) startCost { return startCost{compile, peak} }
	usual := started(400*time.Millisecond, 200*mb)
	for i, c := range []struct {
		starts func(measurement int) startCost
		failed string
		tries  int
	}{
		{func(int) startCost { return usual }, "", 1},
		{func(int) startCost { return started(590*time.Millisecond, 239*mb) }, "", 1},
		{func(int) startCost { return started(200*time.Millisecond, 100*mb) }, "", 1},
		{func(int) startCost { return started(640*time.Millisecond, 200*mb) },
			"1 workload takes more to start in 3 tries: generation-small (compiling takes 1.60 of the median, at most 1.5 is well)", 3},
		{func(int) startCost { return started(400*time.Millisecond, 250*mb) },
			"1 workload takes more to start in 3 tries: generation-small (its peak memory is 1.25 of the median, at most 1.2 is well)", 3},
		{func(int) startCost { return started(800*time.Millisecond, 500*mb) },
			"1 workload takes more to start in 3 tries: generation-small (compiling takes 2.00 of the median, at most 1.5 is well; its peak memory is 2.50 of the median, at most 1.2 is well)", 3},
		{func(m int) startCost { // 7: each is well once
			if m == 1 {
				return started(800*time.Millisecond, 200*mb)
			}
			return started(400*time.Millisecond, 500*mb)
		}, "", 2},
	} {
		b := newBed(t)
		history := historyOf(.5, .5, .5)
		for j, compile := range []float64{99, 100, 101} { // of units
			history[j].Compile, history[j].PeakBytes = compile, 200*mb
		}
		writeHistory(t, append(historyOf(.5), history...)) // a line of before that was measured counts as nothing
		bench := fakeBench(b, flags{check: true}, func(int) time.Duration { return 4 * time.Millisecond })
		measurement, calibrator := 0, bench.startCalibrator
		bench.startCalibrator = func(ctx context.Context, size calibratorSize, threads int) (slicer, func() error, error) {
			measurement++
			return calibrator(ctx, size, threads)
		}
		bench.startCost = func(_ context.Context, args []string) (startCost, error) {
			require.Contains(t, strings.Join(args, " "), "evolve CartPole-v1 --pop 256 ")
			return c.starts(measurement), nil
		}
		err := bench.run(context.Background(), smallOnly(t))
		if c.failed == "" {
			require.NoError(t, err, "case %d", i+1)
		} else {
			require.EqualError(t, err, c.failed, "case %d", i+1)
		}
		r := b.result(t)["check"].([]any)[0].(map[string]any)
		require.EqualValues(t, c.tries, r["tries"], "case %d", i+1)
		require.EqualValues(t, c.failed == "", r["ok"], "case %d", i+1)
	}
}

// The command lines by which starts are measured have only flags that their kinds of runs have.
func TestCommandLinesOfStarts(t *testing.T) {
	b := newBed(t)
	bench := fakeBench(b, flags{}, func(int) time.Duration { return 4 * time.Millisecond })
	seen := 0
	for _, w := range workloads {
		if w.sliced == nil {
			continue
		}
		seen++
		work, err := w.sliced(context.Background(), bench)
		require.NoError(t, err)
		k, ok := run.Lookup(work.args[0])
		require.True(t, ok, w.name)
		names := append(settings.Names(k.New()), "out")
		for _, arg := range work.args {
			if flag, is := strings.CutPrefix(arg, "--"); is {
				require.Contains(t, names, flag, w.name)
			}
		}
	}
	require.GreaterOrEqual(t, seen, 5)
}

// A start that cannot be measured is told, and nothing is recorded.
func TestStartsThatFail(t *testing.T) {
	b := newBed(t)
	bench := fakeBench(b, flags{record: true}, func(int) time.Duration { return 4 * time.Millisecond })
	bench.startCost = func(context.Context, []string) (startCost, error) { return startCost{-time.Millisecond, 1}, nil }
	require.ErrorContains(t, bench.run(context.Background(), smallOnly(t)), "took no more of the processor than those that find their programs, in 4 of 4")
	boom := errors.New("boom")
	bench.startCost = func(context.Context, []string) (startCost, error) { return startCost{}, boom }
	require.ErrorIs(t, bench.run(context.Background(), smallOnly(t)), boom)
}

func TestRecordAppends(t *testing.T) {
	b := newBed(t)
	for range 2 {
		require.NoError(t, fakeBench(b, flags{record: true}, func(int) time.Duration { return 4 * time.Millisecond }).run(context.Background(), smallOnly(t)))
	}
	require.Contains(t, b.out.String(), "1 figure recorded in history.jsonl")
	history, err := readHistory("history.jsonl")
	require.NoError(t, err)
	require.Len(t, history, 2)
	for _, h := range history {
		require.Equal(t, "2026-01-02T03:04:05Z", h.Date.Format(time.RFC3339))
		require.NotEmpty(t, h.Commit)
		require.InDelta(t, .004, h.Seconds, 1e-9)
		require.InDelta(t, .5, h.Calibrated, 1e-9)
		h.paired = historyOf(1)[0].paired
		require.Equal(t, historyOf(1)[0].figure, h.figure)
	}
	var keys map[string]any
	line, _, _ := strings.Cut(read(t, "history.jsonl"), "\n")
	require.NoError(t, json.Unmarshal([]byte(line), &keys))
	for _, key := range []string{"commit", "date", "cpu", "backend", "devices", "workload", "seconds", "calibrated", "spread", "pairs", "calibration", "plugin"} {
		require.Contains(t, keys, key)
	}
}

func TestSlowFigureIsNotRecorded(t *testing.T) {
	b := newBed(t)
	writeHistory(t, historyOf(5))
	before := read(t, "history.jsonl")
	require.Error(t, fakeBench(b, flags{check: true, record: true}, func(int) time.Duration { return 4 * time.Millisecond }).run(context.Background(), smallOnly(t)))
	require.Equal(t, before, read(t, "history.jsonl"))
}

// TestCalibrator compiles and runs the program in C.
func TestCalibrator(t *testing.T) {
	newBed(t) // a cache of its own
	work, stop, err := startCalibrator(context.Background(), calibratorSize{16, 16, 8}, 2)
	require.NoError(t, err)
	one, err := work(1)
	require.NoError(t, err)
	require.Positive(t, one)
	_, err = work(3)
	require.NoError(t, err)
	require.NoError(t, stop())
	_, err = work(1)
	require.ErrorContains(t, err, "calibrate.c has ended")
	t.Setenv("PATH", t.TempDir())
	_, _, err = startCalibrator(context.Background(), calibratorSize{16, 16, 8}, 2)
	require.EqualError(t, err, "a figure cannot be calibrated: there is no C compiler named cc in the PATH")
}
