package studies

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/studies/study"
)

// pbtHead is a study of population-based training: 5 members, 5 rungs of 2 steps.
const pbtHead = "sampler = \"pbt\"\npopulation = 5\nwindow = 3\ntrials = 25\npruner = \"none\"\nattempts = 1000\n"

// TestPBTGoesOn: each trial goes on from the state that its parent ended with, with parameters of its own; who does
// badly goes on from another.
func TestPBTGoesOn(t *testing.T) {
	t.Parallel()
	onEach(t, pbtGoesOn)
}

func pbtGoesOn(t *testing.T, at string) {
	trace := filepath.Join(t.TempDir(), "trace")
	_, s := writtenAt(t, at, pbtHead+"[run]\nsteps = 9\ntrace = \""+trace+"\"\n")
	c := coordinator(s)
	require.NoError(t, c.Run(t.Context()))
	trials := trialsOf(t, s)
	require.Len(t, trials, 25)
	ends := map[int64][]float64{} // sums of the seeds, by trial
	exploited := 0
	for _, x := range trials {
		at, ok := study.PlaceInPBT(x)
		require.True(t, ok)
		require.Equal(t, study.PBTPlace{Rung: x.Number / 5, Member: x.Number % 5, Parent: at.Parent}, at)
		if at.Parent >= 0 && at.Parent != x.Number-5 {
			exploited++
		}
		want := 0.
		for seed := range 2 {
			run := &bowling{bowl: &bowl{How: "well", Wait: "0s", X: x.Params["x"], Y: int(x.Params["y"])}, step: 2 *
				at.Rung}
			run.Seed = int64(seed)
			if at.Parent >= 0 {
				run.sum = ends[at.Parent][seed]
			}
			for run.step < min(2*at.Rung+2, 9) {
				m, err := run.Step(t.Context())
				require.NoError(t, err)
				value, _ := m.Get("loss")
				if run.step == min(2*at.Rung+2, 9) {
					want += value / 2
				}
			}
			ends[x.Number] = append(ends[x.Number], run.sum)
		}
		require.Equal(t, study.Complete, x.State)
		require.InDelta(t, want, x.Values[0], 1e-15, "trial %d", x.Number)
		require.Equal(t, []study.Reported{{Step: min(2*at.Rung+2, 9), Value: x.Values[0]}}, x.Intermediate)
	}
	require.GreaterOrEqual(t, exploited, 3)
	text, err := os.ReadFile(trace)
	require.NoError(t, err)
	require.Equal(t, 5*9*2, strings.Count(string(text), "."), "no step is computed twice")
	// The last round of a trial is computed again from the parameters of all before it.
	for _, number := range []int{0, 7, 24} {
		x := trials[number]
		again, err := s.LastRoundOfPBT(t.Context(), bowls{}, trials, x)
		require.NoError(t, err)
		require.Len(t, again, 2)
		for seed, before := range again {
			sum, err := graph.Floats(before.Arrays["sum"])
			require.NoError(t, err)
			run := &bowling{bowl: &bowl{How: "well", Wait: "0s", X: x.Params["x"], Y: int(x.Params["y"])},
				step: before.Step}
			run.Seed, run.sum = int64(seed), sum[0]
			_, err = run.Step(t.Context())
			require.NoError(t, err)
			require.Equal(t, x.Intermediate[0].Step, run.step)
			require.Equal(t, ends[int64(number)][seed], run.sum, "trial %d", number)
		}
	}
}

// TestPBTSurvives kills workers and deletes the checkpoints, which have the final states of trials: the study has the
// same results to the bit.
func TestPBTSurvives(t *testing.T) {
	t.Parallel()
	more := pbtHead + "lease = \"500ms\"\ncheckpoint-every = \"30ms\"\n[run]\nsteps = 10\nwait = \"15ms\"\n"
	path, s := written(t, more)
	workdir, _ := workdirOf(s.Storage)
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 4))
	kills, lost := 0, 0
	for _, after := range []int{4, 11, 18} { // trials that are over
		cmd := again(asCoordinator, path)
		require.NoError(t, cmd.Start())
		for before := -1; ; time.Sleep(10 * time.Millisecond) {
			n := finished(t, s)
			if n >= after {
				break
			}
			if n > before && killOne(s, r.IntN(2), syscall.SIGKILL) != 0 { // a kill for each trial that finishes
				kills, before = kills+1, n
			}
		}
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		require.NoError(t, os.RemoveAll(workdir.checkpoints(s.Name)))
		lost++
	}
	out, err := again(asCoordinator, path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	anew := 0
	for slot := range 2 {
		text, err := os.ReadFile(workdir.log(s.Name, slot))
		if err == nil {
			anew += strings.Count(string(text), "whose end is computed anew")
		}
	}
	t.Logf("%d kills, %d stores lost, %d ends computed anew", kills, lost, anew)
	require.Positive(t, kills)
	require.Positive(t, anew)
	require.Equal(t, undisturbed(t, more), plainText(trialsOf(t, s)))
}

// TestPBTRefuses: what population-based training cannot be is said by key.
func TestPBTRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ more, want string }{
		{"pruner = \"median\"\n", `key "pruner" got median, but pbt`},
		{"population = 1\n", `key "population" got 1, wants 2 or more`},
		{"window = 6\n", `key "window" got 6, wants at most the 5 members`},
		{"metric = \"loss,x\"\ndirection = \"minimize,minimize\"\n", "for one objective"},
		{"trials-as = \"vectorized\"\n[run]\nsteps = 10\n",
			`key "sampler" got pbt, whose trials continue from one another's states`},
		{"trials = 26\n[run]\nsteps = 10\n",
			`key "trials" got 26, but runs of 10 steps are 5 rungs of 2 (report-every), ` +
				`and those of 5 members 25 trials`},
	} {
		keys, tables, _ := strings.Cut(c.more, "[")
		text := replaced(replaced(strings.ReplaceAll(head, "%s", "sqlite:///s.db"), pbtHead), keys)
		if tables != "" {
			text += "[" + tables
		}
		s, err := Parse([]byte(text+onlyX), nil)
		if err == nil {
			err = s.Check(bowls{})
		}
		if err == nil {
			err = (&Coordinator{Spec: s, Runs: bowls{}}).chooseLanes()
		}
		require.ErrorContains(t, err, c.want, c.more)
	}
}

// The notice had the name of a variable instead of a word.
func TestAnEndThatIsNotStoredIsTold(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	told := stderrOf(t, func() {
		(&attempt{worker: &worker{reconnection: make(chan struct{})}}).storeEnd(ended, 7, &checkpoint{})
	})
	require.Equal(t, "the state at the end of trial 7 is not stored, so trials that go on from it compute it again: "+
		"context canceled\n", told)
}
