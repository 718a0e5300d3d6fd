package studies

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/studies/study"
)

// undisturbed returns the results of a study that one worker runs, without waits in rounds.
func undisturbed(t *testing.T, more string) string {
	more = regexp.MustCompile(`wait = "\w+"`).ReplaceAllString(more, `wait = "0s"`)
	_, s := written(t, "workers = 1\n"+more)
	require.NoError(t, coordinator(s).Run(t.Context()))
	return plainText(trialsOf(t, s))
}

// killOne sends a signal to the worker process of a study's slot. It returns 0 if there is none.
func killOne(s *Spec, slot int, signal syscall.Signal) (pid int) {
	workdir, _ := workdirOf(s.Storage)
	if held, err := locked(workdir.slot(s.Name, slot)); err != nil || !held {
		return 0
	}
	id, err := os.ReadFile(workdir.slot(s.Name, slot) + ".id")
	parts := strings.Split(string(id), ":")
	if err != nil || len(parts) < 3 {
		return 0
	}
	pid, _ = strconv.Atoi(parts[len(parts)-2])
	if syscall.Kill(pid, signal) != nil {
		return 0
	}
	return pid
}

// finished returns how many trials of a study have finished.
func finished(t *testing.T, s *Spec) (n int) {
	t.Helper()
	for _, x := range trialsOf(t, s) {
		if x.State.Finished() {
			n++
		}
	}
	return n
}

// untilFinished waits until n trials of a study have finished.
func untilFinished(t *testing.T, s *Spec, n int) {
	t.Helper()
	for began := time.Now(); finished(t, s) < n; time.Sleep(10 * time.Millisecond) {
		require.Less(t, time.Since(began), 3*time.Minute, "%d trials finish", n)
	}
}

// TestKilledWorkers kills workers at random times: the results are the same to the bit, and every trial finishes once.
func TestKilledWorkers(t *testing.T) {
	t.Parallel()
	onEach(t, killedWorkers)
}

func killedWorkers(t *testing.T, at string) {
	kills := 5
	if long.On() {
		kills = 300
	}
	more := "attempts = 100000\nlease = \"500ms\"\ntrials = " + strconv.Itoa(10+5*kills) + "\n[run]\nwait = \"3ms\"\n"
	_, s := writtenAt(t, at, more)
	c := coordinator(s)
	fired := 0
	c.Ended = func(x, _ *study.FrozenTrial) {
		if n := int(x.Number); n%5 == 4 && n < 5*kills {
			if killOne(s, n%2, syscall.SIGKILL) != 0 || killOne(s, 1-n%2, syscall.SIGKILL) != 0 {
				fired++
			}
			time.AfterFunc(rand.N(60*time.Millisecond), func() { killOne(s, n%2, syscall.SIGKILL) })
		}
	}
	require.NoError(t, c.Run(t.Context()))
	t.Logf("%d kills, %d deaths seen", fired, c.Deaths())
	require.Positive(t, fired)
	require.Positive(t, c.Deaths())
	require.Equal(t, undisturbed(t, more), plainText(trialsOf(t, s)))
}

// TestKilledCoordinators kills the coordinator several times: workers stay, and the results are the same.
func TestKilledCoordinators(t *testing.T) {
	t.Parallel()
	onEach(t, killedCoordinators)
}

func killedCoordinators(t *testing.T, at string) {
	kills := 3
	if long.On() {
		kills = 100
	}
	more := "attempts = 100000\nlease = \"500ms\"\ntrials = " + strconv.Itoa(10+8*kills) + "\n[run]\nwait = \"2ms\"\n"
	path, s := writtenAt(t, at, more)
	for n := range kills {
		cmd := again(asCoordinator, path)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		untilFinished(t, s, 5*(n+1))
		time.Sleep(rand.N(50 * time.Millisecond))
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		if finished(t, s) < s.Trials { // signal 0 changes nothing
			require.True(t, killOne(s, 0, 0) != 0 || killOne(s, 1, 0) != 0, "a worker stays")
		}
	}
	out, err := again(asCoordinator, path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, undisturbed(t, more), plainText(trialsOf(t, s)))
}

// TestStoppedWorker stops a worker until it has lost its lease and continues it: its late result is refused or the
// same.
func TestStoppedWorker(t *testing.T) {
	t.Parallel()
	stops := 2
	if long.On() {
		stops = 100
	}
	more := "attempts = 100000\nlease = \"200ms\"\ntrials = " + strconv.Itoa(10+10*stops) +
		"\n[run]\nwait = \"6ms\"\n"
	_, s := written(t, more)
	c := coordinator(s)
	over := make(chan struct{})
	var err error
	go func() {
		defer close(over)
		err = c.Run(t.Context())
	}()
	isOver := func() bool {
		select {
		case <-over:
			return true
		default:
			return false
		}
	}
	leases := func(pid int) (n int) {
		for _, w := range c.Status().Workers {
			if strings.Contains(w.ID, fmt.Sprintf(":%d:", pid)) {
				n += len(w.Leased)
			}
		}
		return n
	}
	fired := 0
	for fired < stops && !isOver() {
		pid := killOne(s, 0, syscall.SIGSTOP)
		if pid != 0 && leases(pid) > 0 {
			for fired++; leases(pid) > 0 && !isOver(); {
				time.Sleep(5 * time.Millisecond)
			}
		}
		if pid != 0 {
			require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
		}
		time.Sleep(20 * time.Millisecond)
	}
	<-over
	require.NoError(t, err)
	require.Positive(t, fired)
	t.Logf("%d stops past a lease", fired)
	trials := trialsOf(t, s)
	require.Equal(t, undisturbed(t, more), plainText(trials))
	for _, x := range trials {
		require.NotContains(t, x.SystemAttrs, study.ConflictAttr)
	}
}

// TestTwoCoordinators: a second coordinator of a study ends with an error.
func TestTwoCoordinators(t *testing.T) {
	t.Parallel()
	onEach(t, twoCoordinators)
}

func twoCoordinators(t *testing.T, at string) {
	path, s := writtenAt(t, at, "")
	release, done := make(chan struct{}), make(chan error, 1)
	c := coordinator(s)
	c.Ended = func(*study.FrozenTrial, *study.FrozenTrial) { <-release }
	go func() { done <- c.Run(t.Context()) }()
	workdir, _ := workdirOf(s.Storage)
	require.Eventually(t, func() bool {
		held, err := locked(workdir.coordinator(s.Name))
		return err == nil && held
	}, time.Minute, time.Millisecond)
	out, err := again(asCoordinator, path).CombinedOutput()
	require.ErrorAs(t, err, new(*exec.ExitError))
	require.Contains(t, string(out), "another process runs the study bowl")
	close(release)
	require.NoError(t, <-done)
}

// TestTrialsThatFail: each failed trial has a reason, and the study goes on.
func TestTrialsThatFail(t *testing.T) {
	t.Parallel()
	_, s := written(t, `sampler = "grid"
trials = 100
pruner = "none"
memory = "200M"
attempts = 2
lease = "1m"
[run]
x = 0.5
steps = 40
[[param]]
name = "how"
type = "categorical"
choices = ["well", "nan", "error", "panic", "die", "eat"]
`)
	require.NoError(t, coordinator(s).Run(t.Context()))
	got, reports := map[string]string{}, map[string][]study.Reported{}
	for _, x := range trialsOf(t, s) {
		reports[x.External()["how"].(string)] = x.Intermediate
		got[x.External()["how"].(string)] = string(x.State) + ": " + Reason(x)
	}
	require.Len(t, got, 6, "no point twice, none left out")
	for how, want := range map[string]string{
		"well": "COMPLETE: ", "nan": "FAIL: the objective is not a number: [NaN]", "error": "FAIL: it does not start",
		"panic": "FAIL: the run panicked: broken",
		"die":   "FAIL: 2 workers died while running it: see the logs",
		"eat":   "FAIL: its worker took more than 200000000 bytes of memory",
	} {
		require.Equal(t, want, got[how], how)
	}
	require.Len(t, reports["panic"], 2, "of steps 2 and 4: it panics at 5")
}

// TestTrialsThatHang: a trial that takes too long fails. It is a study of its own, so that a busy machine cannot hold
// up other trials for so long.
func TestTrialsThatHang(t *testing.T) {
	t.Parallel()
	_, s := written(t, `trials = 1
pruner = "none"
timeout = "300ms"
lease = "1m"
[run]
how = "hang"
`)
	require.ErrorContains(t, coordinator(s).Run(t.Context()), "it took more than 300ms")
	trials := trialsOf(t, s)
	require.Len(t, trials, 1)
	require.Equal(t, study.Fail, trials[0].State)
	require.Equal(t, "it took more than 300ms", Reason(trials[0]))
	require.Len(t, trials[0].Intermediate, 2, "of steps 2 and 4: it hangs at 5")
}

// TestChangedSpec: a study can be resumed with more trials, but not with other parameters.
func TestChangedSpec(t *testing.T) {
	t.Parallel()
	onEach(t, changedSpec)
}

func changedSpec(t *testing.T, at string) {
	path, s := writtenAt(t, at, "trials = 6\n")
	require.NoError(t, coordinator(s).Run(t.Context()))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	more, err := Parse(text, map[string]string{"trials": "9"})
	require.NoError(t, err)
	require.NoError(t, coordinator(more).Run(t.Context()))
	require.Len(t, trialsOf(t, s), 9)
	other, err := Parse(text, map[string]string{"sampler": "random"})
	require.NoError(t, err)
	require.ErrorContains(t, coordinator(other).Run(t.Context()), `key "sampler" got random, but the study`)
	other, err = Parse([]byte(strings.Replace(string(text), "high = 9", "high = 8", 1)), nil)
	require.NoError(t, err)
	require.ErrorContains(t, coordinator(other).Run(t.Context()), `key "param" has other parameters than those with`)
}
