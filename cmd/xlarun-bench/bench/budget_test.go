package bench

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
)

// Rows with a goal come first, then one of each suite in turn.
func TestRank(t *testing.T) {
	var jobs []*job
	for _, name := range strings.Fields("evolve/generation-forage evolve/episodes evolve/open journey/loop " +
		"journey/host grad/mlp") {
		suite, workload, _ := strings.Cut(name, "/")
		jobs = append(jobs, &job{suite: Suite{Name: suite}, workload: Workload{Name: workload}})
	}
	var got []int
	rank(jobs)
	for _, j := range jobs {
		got = append(got, j.rank)
	}
	require.Equal(t, []int{1, 0, 2, 0, 1, 0}, got)
}

// The time that is left, in all and of a suite, is divided by the rows that are left. So what a row does not use serves
// the others.
func TestShares(t *testing.T) {
	a, b := Suite{Name: "a"}, Suite{Name: "b"}
	jobs := []*job{{suite: a}, {suite: a}, {suite: a}, {suite: b}, {suite: b, rank: 1}}
	budget := budget{all: 20 * time.Minute, suite: 6 * time.Minute}
	share, timeout, _ := budget.share(jobs)
	require.Equal(t, 2*time.Minute, share, "a third of the suite's")
	require.Equal(t, 4*time.Minute, timeout)
	budget.spend(jobs[0], 5*time.Minute+30*time.Second)
	share, timeout, _ = budget.share(jobs[1:])
	require.Equal(t, 15*time.Second, share)
	require.Equal(t, 30*time.Second, timeout)
	budget.spend(jobs[1], 30*time.Second)
	_, _, reason := budget.share(jobs[2:])
	require.Equal(t, "the time of 6m0s of the suite a was over", reason)
	share, _, _ = budget.share(jobs[3:])
	require.Equal(t, 6*time.Minute, share)
	budget.total = 20 * time.Minute
	_, _, reason = budget.share(jobs[3:])
	require.Equal(t, "the time of 20m0s was over", reason)
}

// fakes returns workloads of these names, each with a peer.
func fakes(names string) func(Options) []Workload {
	return func(Options) []Workload {
		return each(strings.Fields(names), func(name string) Workload {
			return Workload{Name: name, What: "a thing", Peers: []Peer{{Name: "jax", Script: "slow.py"}}}
		})
	}
}

// allBed has two suites, and a clock in which each look takes 10 ms. started is called with each workload of ours.
func allBed(t *testing.T, started func(name string, clock *time.Time)) (b *bed, args []string) {
	b = newBed(t)
	clock := time.Unix(0, 0)
	b.now = func() time.Time { clock = clock.Add(10 * time.Millisecond); return clock }
	b.process = func(ctx context.Context, _ console.BackendFlags, _ string, args ...string) (*exec.Cmd, error) {
		started(args[2], &clock)
		return exec.CommandContext(ctx, "sh", "-c", scripted(`{}`, .01)), nil
	}
	b.suites = []Suite{{Name: "grad", Turn: time.Second, Workloads: fakes("whole long late")},
		{Name: "qd", Turn: time.Second, Workloads: fakes("whole")}}
	gitCommit(t, "One")
	python := peerScripts(t, map[string]string{"slow.py": scripted(`{}`, .02)})
	return b, []string{"--peers", "--peers-python", python, "--repeats", "1", "--json", "--budget", "24s", "--record",
		"--history", "speed.jsonl"} // 7.2 s a suite
}

// Without names all suites run and give one table, with the suite in each name. What does not fit is named, and what
// was cut short is not recorded: one short turn of a row of figures counted as a repeat.
func TestAllSuites(t *testing.T) {
	b, args := allBed(t, func(name string, clock *time.Time) {
		if name == "long" {
			*clock = clock.Add(6500 * time.Millisecond)
		}
	})
	require.Equal(t, 0, b.do(args...), b.err)
	var v struct {
		Workloads []row
		Left      map[string][]string `json:"not_measured"`
	}
	b.read(t, &v)
	require.Equal(t, map[string]bool{"grad/whole": false, "grad/long": true, "qd/whole": false}, shorts(v.Workloads))
	require.Equal(t, map[string][]string{"the time of 7.2s of the suite grad was over": {"grad/late"}}, v.Left)
	require.Contains(t, b.out.String(), "\nnot measured: grad/late: the time of 7.2s of the suite grad was over\n")
	require.Contains(t, b.out.String(), "\ncut short, so not recorded: grad/long: name them to measure all turns\n")
	require.Equal(t, []string{"grad/whole", "qd/whole"}, recorded(t))
	require.Equal(t, 2., *v.Workloads[2].Ratio)
}

// A name is as tables have it: with its suite.
func TestNameWithSuite(t *testing.T) {
	var ran []string
	b, _ := allBed(t, func(name string, _ *time.Time) { ran = append(ran, name) })
	require.Equal(t, 0, b.do("grad/late", "grad/long", "--repeats", "1"), b.err)
	require.Equal(t, []string{"late", "long"}, ran)
	require.NotEqual(t, 0, b.do("qd/late"))
	require.Contains(t, b.err.String(), `there is no workload "late"; there are whole`)
}

// A budget in which no row fits left no row, no word and the status 0.
func TestBudgetForNothing(t *testing.T) {
	b, _ := allBed(t, func(name string, _ *time.Time) { t.Errorf("%s was started", name) })
	require.NotEqual(t, 0, b.do("--budget", "2s"))
	require.Contains(t, b.err.String(), "no row was measured: name a row, or give --budget more time")
	require.Contains(t, b.out.String(), "not measured: qd/whole: the time of 600ms of the suite qd was over\n")
}

// A row whose own side is a script made an environment of Python packages, without --peers.
func TestOursInPython(t *testing.T) {
	b, args := allBed(t, func(name string, _ *time.Time) { t.Errorf("%s was started", name) })
	b.suites = []Suite{{Name: "python", Turn: time.Second, Workloads: func(Options) []Workload {
		return []Workload{{Name: "step", Script: Peer{Script: "slow.py"}}}
	}}}
	require.NotEqual(t, 0, b.do("python/step"))
	require.Contains(t, b.out.String(), "not measured: step: it needs --peers\n")
	require.Equal(t, 0, b.do(args...), b.err)
	require.Equal(t, .02, b.rows(t)[0].Ours)
}

// An interrupt lost all rows.
func TestInterrupt(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	b, args := allBed(t, func(name string, _ *time.Time) {
		if name == "long" {
			interrupt()
		}
	})
	require.Equal(t, console.StatusInterrupted, b.doIn(ctx, args...), b.err)
	require.Regexp(t, "(?m)^grad/whole .*\n^qd/whole ", b.out.String())
	require.Contains(t, b.out.String(), "\nnot measured: grad/long, grad/late: the run was interrupted\n")
	require.Equal(t, []string{"grad/whole", "qd/whole"}, recorded(t))
}

func shorts(all []row) map[string]bool {
	short := map[string]bool{}
	for _, r := range all {
		short[r.Name] = r.Short
	}
	return short
}

// recorded are the workloads of the history.
func recorded(t *testing.T) []string {
	all, err := readHistory("speed.jsonl")
	require.NoError(t, err)
	return each(all, func(s speed) string { return s.Workload })
}

// A row that takes longer than it may is ended. A peer has half of that for an answer, whatever --limit is.
func TestTimesOfRows(t *testing.T) {
	b := newBed(t)
	x := bench{host: b.host, flags: flags{limit: time.Hour, repeats: 1}}
	_, err := x.measure(t.Context(), &job{timeout: time.Nanosecond})
	require.ErrorIs(t, err, overrun{time.Nanosecond})
	s := side{limit: time.Millisecond, start: func(ctx context.Context, _ string) (*process, func(), error) {
		p, err := startProcess(exec.CommandContext(ctx, "sleep", "600"), "the peer", time.Hour)
		return p, func() {}, err
	}}
	require.EqualError(t, s.begin(t.Context()), "the peer gave no answer for 1ms, half of the time of its row")
}

// Numbers that follow from several rows are cut short where one of them was.
func TestShortSummary(t *testing.T) {
	s := Suite{Name: "s", Summary: func(all []row) []row { return append(all, row{Name: "sum"}) }}
	all, _ := tableOf(s, []*job{{suite: s, rows: []row{{Name: "a", Short: true}, {Name: "b"}}}})
	require.Equal(t, map[string]bool{"a": true, "b": true, "sum": true}, shorts(all))
	none, _ := tableOf(s, nil)
	require.Empty(t, none)
}
