package studies

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/studies/study"
)

// Workers that die at the same time, or with their coordinator, died of something else than their trials.
func TestExcusedDeaths(t *testing.T) {
	start := time.Now()
	at := start
	now := func() time.Time { return at }
	granted := func(worker string) *lease { return &lease{Worker: worker, Attempts: 1} }
	for name, c := range map[string]struct {
		after  time.Duration // of the second death
		silent bool
		same   bool // the second death is of the same trial
		want   bool
	}{
		"at once":               {after: 100 * time.Millisecond, want: true},
		"one after the other":   {after: 2 * time.Second},
		"silent within a lease": {after: 4 * time.Second, silent: true, want: true},
		"silent, later":         {after: 6 * time.Second, silent: true},
		"the same trial again":  {after: 100 * time.Millisecond, same: true},
	} {
		at = start
		a, b := granted("a"), granted("b")
		second := int64(2)
		if c.same {
			second = 1
		}
		s := &server{now: now, ttl: 10 * time.Second, leases: map[int64]*lease{1: a, 2: b}}
		s.recordDeath(1, a, at, c.silent)
		require.False(t, s.excused(a), name)
		blamed := granted("c") // the trial of a, in a second attempt
		blamed.Attempts, blamed.blamed = 2, a.death
		s.leases[1] = blamed
		at = start.Add(c.after)
		s.recordDeath(second, b, at, c.silent)
		s.recordDeath(second, b, at.Add(time.Hour), c.silent) // it dies once
		require.Equal(t, c.want, s.excused(a), name)
		require.Equal(t, c.want, s.excused(b), name)
		want := [2]int64{2, 0}
		if c.want {
			want = [2]int64{1, 1}
		}
		require.Equal(t, want, [2]int64{blamed.Attempts, blamed.Excused}, name)
	}
	s := &server{now: now, ttl: time.Second}
	require.True(t, s.excused(&lease{Worker: "a", unheard: true}), "it died with the coordinator")
	given := &lease{Worker: "a", released: true}
	s.recordDeath(3, given, at, false)
	require.Nil(t, given.death, "it gave the trial back")
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
		for _, w := range c.WorkerStatus() {
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
