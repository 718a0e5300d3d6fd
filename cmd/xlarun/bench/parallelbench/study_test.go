package parallelbench

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDurations(t *testing.T) {
	d := Durations(50, .2, .8)
	sum := 0.
	for _, x := range d {
		require.Positive(t, x)
		sum += x
	}
	require.InDelta(t, 10, sum, 1e-9)
	require.Equal(t, d, Durations(50, .2, .8))
	require.Equal(t, []float64{.1, .1}, Durations(2, .1, 0))
}

// Every nap of a study is slept once, by several workers, and what they lost beside it is not negative.
func TestNaps(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n := Naps{Workers: 4, Trials: 12, Mean: .01, Spread: .5, Window: 8, Folder: t.TempDir()}
	at, over := make(chan string, 1), make(chan error, 1)
	var served Served
	go func() {
		s, err := n.Serve(ctx, func(address string) { at <- address })
		served = s
		over <- err
	}()
	select {
	case n.Address = <-at:
	case err := <-over:
		require.NoError(t, err)
	}
	w, err := n.Work(ctx)
	require.NoError(t, err)
	require.NoError(t, <-over)
	require.Equal(t, 12, served.Trials)
	require.Equal(t, 12, w.Trials)
	require.GreaterOrEqual(t, w.Asleep, .12)
	require.LessOrEqual(t, w.Asleep, w.Span*4)
	require.InDelta(t, 1-w.Efficiency(4), w.Lost(4)*12/(w.Span*4), 1e-9)
	require.FileExists(t, n.Folder+"/study.db")
}

// A worker that asks for a nap that there is not is told so.
func TestNapsKnowTheirKind(t *testing.T) {
	log := &napLog{zero: time.Now()}
	_, err := naps{log}.Resolve("evolve", nil)
	require.ErrorContains(t, err, `no kind "evolve"`)
	e, err := naps{log}.Resolve(napKind, map[string]any{"which": int64(3), "naps": int64(3), "mean": .01, "spread": 0., "seed": int64(0), "devices": int64(1)})
	require.NoError(t, err)
	_, err = e.Start(nil)
	require.ErrorContains(t, err, "there are 3 naps, and none with the number 3")
}

// Those with the mark are seen, also one that its parent has left; others are not.
func TestWatch(t *testing.T) {
	if _, err := os.Stat("/proc/self/smaps_rollup"); err != nil {
		t.Skip("this system does not tell what memory processes share")
	}
	w := NewWatch()
	other := exec.Command("sleep", "30")
	require.NoError(t, other.Start())
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	cmd := exec.Command("/bin/sh", "-c", "(sleep 1.2 &) ; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; sleep 0.8")
	cmd.Env = w.Environ(os.Environ())
	require.NoError(t, cmd.Run())
	all, _ := w.End()
	names := map[string]int{}
	for _, p := range all {
		names[p.Name]++
		require.Positive(t, p.Threads, "%+v", p)
		require.Positive(t, p.RSS, "%+v", p)
	}
	require.Positive(t, names["sh"])
	require.Positive(t, names["sleep"])
	for _, p := range all {
		require.NotEqual(t, other.Process.Pid, p.pid)
	}
	require.Positive(t, all[0].Processor)
	require.Positive(t, all[0].PSS)
	require.NotEmpty(t, Workers(all))
	require.Positive(t, Busy())
}

func TestCutStat(t *testing.T) {
	name, rest, ok := cutStat("12 (a ) b) S 1 2")
	require.True(t, ok)
	require.Equal(t, "a ) b", name)
	require.Equal(t, " S 1 2", rest)
	_, _, ok = cutStat("")
	require.False(t, ok)
}
