package studies

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/study"
)

// long is set for the long form of tests.
var long = os.Getenv("XLARUN_LONG") != ""

// undisturbed runs a study with one worker and gives its results.
func undisturbed(t *testing.T, more string) string {
	_, s := written(t, "workers = 1\n"+more)
	require.NoError(t, coordinator(s).Run(t.Context()))
	return plainText(trialsOf(t, s))
}

// killOne kills, or stops, a process that is at work for a study's slot.
func killOne(s *Spec, slot int, signal syscall.Signal) (pid int) {
	place, _ := PlaceOf(s.Storage)
	if !locked(place.slot(s.Name, slot)) {
		return 0
	}
	id, err := os.ReadFile(place.slot(s.Name, slot) + ".id")
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

// TestKilledWorkers kills workers with SIGKILL at random moments: the study is the same to the bit, and every trial ends once.
func TestKilledWorkers(t *testing.T) { onEach(t, killedWorkers) }

func killedWorkers(t *testing.T, at string) {
	kills := 20
	if long {
		kills = 300
	}
	more := "attempts = 100000\ntrials = " + strconv.Itoa(40+3*kills) + "\n[run]\nwait = \"3ms\"\n"
	_, s := writtenAt(t, at, more)
	done := make(chan error, 1)
	c := coordinator(s)
	go func() { done <- c.Run(t.Context()) }()
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	fired := 0
	for fired < kills {
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
		if killOne(s, r.IntN(2), syscall.SIGKILL) != 0 {
			fired++
		}
		select {
		case err := <-done:
			require.NoError(t, err)
			require.Fail(t, "the study ended too early", "after %d kills", fired)
		default:
		}
	}
	require.NoError(t, <-done)
	t.Logf("%d kills, %d deaths seen", fired, c.Deaths())
	require.Positive(t, c.Deaths())
	require.Equal(t, undisturbed(t, more), plainText(trialsOf(t, s)))
}

// TestKilledCoordinators kills the coordinator now and then: workers live on, and the results are the same.
func TestKilledCoordinators(t *testing.T) { onEach(t, killedCoordinators) }

func killedCoordinators(t *testing.T, at string) {
	kills := 5
	if long {
		kills = 100
	}
	more := "trials = " + strconv.Itoa(20+10*kills) + "\n[run]\nwait = \"2ms\"\n"
	path, s := writtenAt(t, at, more)
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 2))
	survived := 0
	for n := 0; n < kills || survived == 0 && n < 5*kills; n++ { // on a machine that does other work it may take longer until there are workers
		cmd := again(asCoordinator, path)
		require.NoError(t, cmd.Start())
		time.Sleep(time.Duration(150+r.IntN(250)+100*max(0, n-kills)) * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		if killOne(s, 0, 0) != 0 || killOne(s, 1, 0) != 0 { // signal 0 asks whether it is there
			survived++
		}
	}
	require.Positive(t, survived, "workers live on without a coordinator")
	t.Logf("%d kills of coordinators, after %d of which workers lived on", kills, survived)
	out, err := again(asCoordinator, path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, undisturbed(t, more), plainText(trialsOf(t, s)))
}

// TestStoppedWorker stops a worker past its lease and lets it go on: its late result is refused or the same.
func TestStoppedWorker(t *testing.T) {
	t.Parallel()
	stops := 5
	if long {
		stops = 100
	}
	more := "trials = " + strconv.Itoa(10+8*stops) + "\nlease = \"300ms\"\n[run]\nwait = \"10ms\"\n"
	_, s := written(t, more)
	done := make(chan error, 1)
	c := coordinator(s)
	go func() { done <- c.Run(t.Context()) }()
	for fired := 0; fired < stops; {
		select {
		case err := <-done:
			require.NoError(t, err)
			require.Fail(t, "the study ended too early", "after %d stops", fired)
		default:
		}
		pid := killOne(s, 0, syscall.SIGSTOP)
		if pid == 0 {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		fired++
		time.Sleep(400 * time.Millisecond)
		require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
		time.Sleep(50 * time.Millisecond)
	}
	require.NoError(t, <-done)
	t.Logf("%d stops past a lease; %d requests of workers that had lost their trial were refused", stops, c.desk.refused)
	trials := trialsOf(t, s)
	require.Equal(t, undisturbed(t, more), plainText(trials))
	for _, x := range trials {
		require.NotContains(t, x.SystemAttrs, study.ConflictAttr)
	}
}

// TestTwoCoordinators: the second says so.
func TestTwoCoordinators(t *testing.T) { onEach(t, twoCoordinators) }

func twoCoordinators(t *testing.T, at string) {
	path, s := writtenAt(t, at, "[run]\nwait = \"10ms\"\n")
	done := make(chan error, 1)
	go func() { done <- coordinator(s).Run(t.Context()) }()
	place, err := PlaceOf(s.Storage)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return locked(place.coordinator(s.Name)) }, 10*time.Second, time.Millisecond)
	out, err := again(asCoordinator, path).CombinedOutput()
	require.ErrorAs(t, err, new(*exec.ExitError))
	require.Contains(t, string(out), "another process runs the study bowl")
	require.NoError(t, <-done)
}

// TestTrialsThatFail: each way to fail has its reason, and the study goes on.
func TestTrialsThatFail(t *testing.T) {
	t.Parallel()
	_, s := written(t, `sampler = "grid"
trials = 100
pruner = "none"
timeout = "4s"
memory = "200M"
attempts = 2
[run]
x = 0.5
steps = 40
[[param]]
name = "how"
type = "categorical"
choices = ["well", "nan", "error", "panic", "die", "hang", "eat"]
`)
	require.NoError(t, coordinator(s).Run(t.Context()))
	got := map[string]string{}
	for _, x := range trialsOf(t, s) {
		got[x.External()["how"].(string)] = string(x.State) + ": " + Reason(x)
	}
	require.Len(t, got, 7, "no point twice, none left out")
	for how, want := range map[string]string{
		"well": "COMPLETE: ", "nan": "FAIL: the objective is not a number: [NaN]", "error": "FAIL: it does not start", "panic": "FAIL: the run panicked: broken",
		"die": "FAIL: 2 workers died while they ran it: see their logs", "hang": "FAIL: it took more than 4s", "eat": "FAIL: its worker took more than 200000000 bytes of memory",
	} {
		require.Equal(t, want, got[how], how)
	}
}

// TestChangedSpec: a study goes on with more trials, and not with other parameters.
func TestChangedSpec(t *testing.T) { onEach(t, changedSpec) }

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
	require.ErrorContains(t, coordinator(other).Run(t.Context()), "or other parameters")
}
