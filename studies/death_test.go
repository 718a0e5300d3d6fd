package studies

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/studies/lease"
	"xlarun/studies/study"
)

// Workers that die at the same time died of something else than their trials. A worker that was only silent has not
// died.
func TestExcusedDeaths(t *testing.T) {
	const ttl = 10 * time.Second
	for name, c := range map[string]struct {
		after          time.Duration // of the second death
		silent, again  bool          // again: the first one's trial has the second death too
		blamed, excuse int           // of the first trial
	}{
		"at once":               {after: 100 * time.Millisecond, excuse: 1},
		"one after the other":   {after: 2 * time.Second, blamed: 1},
		"silent within a lease": {after: 4 * time.Second, silent: true, excuse: 1},
		"silent, later":         {after: 6 * time.Second, silent: true, blamed: 1},
		"the same trial again":  {after: 100 * time.Millisecond, again: true, blamed: 2},
	} {
		d := lease.New(ttl, 3)
		d.Update(0, []int64{1, 2})
		now := time.Duration(0)
		until := func(at time.Duration) { // the table is asked all the time
			for ; now < at; now += time.Second / 10 {
				d.AnyFree(now)
			}
		}
		die := func(worker string, trial int64) {
			require.True(t, d.Beat(now, worker, trial), name)
			if !c.silent {
				d.Expire(now, worker)
			}
		}
		die("a", 1)
		until(c.after)
		if c.again {
			die("b", 1)
		} else {
			die("b", 2)
		}
		until(now + ttl + time.Second)
		require.Equal(t, lease.Deaths{Blamed: c.blamed, Excused: c.excuse}, d.ChangedDeaths()[1], name)
		require.Empty(t, d.ChangedDeaths(), name)
	}
}

// A trial fails when too many workers have died of it, once no other death can excuse the last one.
func TestHopelessTrials(t *testing.T) {
	d := lease.New(10*time.Second, 1)
	d.Update(0, []int64{1, 2})
	for i, worker := range []string{"a", "b"} {
		trial, ok := d.Next(0, worker)
		require.True(t, ok)
		require.EqualValues(t, 1+i, trial)
	}
	d.Expire(0, "a")
	require.Empty(t, d.Failed(time.Second/2), "b may die, too")
	_, ok := d.Next(time.Second/2, "a")
	require.False(t, ok, "a request of the dead comes late")
	_, ok = d.Next(time.Second/2, "c")
	require.False(t, ok, "nobody gets the trial")
	require.Equal(t, map[int64]lease.Deaths{1: {Blamed: 1}}, d.Failed(time.Second))

	const silent, back = 6 * time.Second, 17 * time.Second
	for at := time.Second; at < back; at += time.Second { // b is silent, and comes back
		if d.AnyFree(at); at <= silent {
			require.True(t, d.Beat(at, "b", 2))
		}
	}
	require.Equal(t, lease.Deaths{Blamed: 1}, d.ChangedDeaths()[2])
	require.True(t, d.Beat(back, "b", 2))
	require.Equal(t, lease.Deaths{}, d.ChangedDeaths()[2], "it has not died")
	require.True(t, d.Release(back, "b", 2, false))
	require.False(t, d.Beat(back, "b", 2), "what it sent before comes late")
	_, ok = d.Next(back, "b")
	require.True(t, ok)
	require.True(t, d.Release(back, "b", 2, true), "its run stood still")
	require.Equal(t, lease.Deaths{Blamed: 1, Stalled: 1}, d.ChangedDeaths()[2])
	d.Restore(back, 2, lease.Deaths{Excused: 10}, false)
	require.Contains(t, d.Failed(back+time.Second), int64(2), "all trials may be of the kind that kills workers")
}

// A coordinator that stood still has heard nobody: no worker loses its trial for that.
func TestCoordinatorThatStoodStill(t *testing.T) {
	d := lease.New(10*time.Second, 1)
	d.Update(0, []int64{1})
	_, ok := d.Next(0, "a")
	require.True(t, ok)
	_, ok = d.Next(time.Hour, "b")
	require.False(t, ok)
	died := time.Duration(0)
	for at := time.Hour; died == 0; at += time.Second {
		if d.AnyFree(at); len(d.Holders()) == 0 {
			died = at
		}
	}
	require.Equal(t, time.Hour+10*time.Second, died)
}

// A study whose workers are all killed at once, more often than attempts allow, fails no trial.
func TestAllWorkersKilledAtOnce(t *testing.T) {
	t.Parallel()
	more := "attempts = 1\nlease = \"20s\"\ntrials = 2\nworkers = 2\nwindow = 2\n[run]\nsteps = 40\nwait = \"20ms\"\n"
	_, s := written(t, more)
	c := coordinator(s)
	over := make(chan error, 1)
	go func() { over <- c.Run(t.Context()) }()
	kills := 0
	for kills < 4 {
		busy := 0
		for _, w := range c.Status().Workers {
			busy += len(w.Leased)
		}
		if busy == 2 && killOne(s, 0, syscall.SIGKILL) != 0 && killOne(s, 1, syscall.SIGKILL) != 0 {
			kills++
			for began := time.Now(); c.Deaths() < 2*kills && time.Since(began) < 20*time.Second; {
				time.Sleep(time.Millisecond)
			}
		}
		time.Sleep(time.Millisecond)
		if finished(t, s) > 0 {
			break
		}
	}
	require.NoError(t, <-over)
	require.Greater(t, kills, 1)
	for _, x := range trialsOf(t, s) {
		require.Equal(t, study.Complete, x.State, Reason(x))
	}
}
