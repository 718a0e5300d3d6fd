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
func TestOrder(t *testing.T) {
	var jobs []*job
	for _, name := range strings.Fields("evolve/generation-forage evolve/episodes evolve/open journey/loop " +
		"journey/host grad/mlp") {
		suite, workload, _ := strings.Cut(name, "/")
		jobs = append(jobs, &job{suite: Suite{Name: suite}, workload: Workload{Name: workload}})
	}
	var got []string
	for _, j := range order(jobs) {
		got = append(got, j.workload.Name)
	}
	require.Equal(t, strings.Fields("episodes loop mlp generation-forage host open"), got)
}

// A job's share is that of its rows in what is left of all time, and of its suite's. What others do not use is left.
func TestShares(t *testing.T) {
	a, b := Suite{Name: "a"}, Suite{Name: "b"}
	jobs := []*job{{suite: a, first: true}, {suite: a, first: true}, {suite: a, first: true}, {suite: b, first: true},
		{suite: b}}
	budget := budget{all: 20 * time.Minute, suite: 6 * time.Minute}
	share, most, _ := budget.share(jobs)
	require.Equal(t, 2*time.Minute, share, "a third of the suite's")
	require.Equal(t, 4*time.Minute, most)
	budget.spend(jobs[0], 5*time.Minute+30*time.Second)
	share, most, _ = budget.share(jobs[1:])
	require.Equal(t, 15*time.Second, share)
	require.Equal(t, 30*time.Second, most)
	budget.spend(jobs[1], 30*time.Second)
	_, _, why := budget.share(jobs[2:])
	require.Equal(t, "the time of 6m0s of the suite a was over", why)
	share, _, _ = budget.share(jobs[3:])
	require.Equal(t, 6*time.Minute, share)
	budget.total = 20 * time.Minute
	_, _, why = budget.share(jobs[3:])
	require.Equal(t, "the time of 20m0s was over", why)
}

// Without names all suites run and give one table, with the suite in each name. What does not fit is named.
func TestAllSuites(t *testing.T) {
	b := newBed(t)
	b.process = func(ctx context.Context, _ console.BackendFlags, _ string, args ...string) (*exec.Cmd, error) {
		script := scripted(`{}`, .01)
		if args[2] == "mmm" {
			script = "sleep 600"
		}
		return exec.CommandContext(ctx, "sh", "-c", script), nil
	}
	fakes := func(names ...string) func(Options) (all []Workload) {
		return func(Options) (all []Workload) {
			return each(names, func(name string) Workload {
				return Workload{Name: name, What: "a thing", Peers: []Peer{{Name: "jax", Script: "slow.py"},
					{Name: "hangs", Script: "hangs.py"}}[:min(len(name), 2)]}
			})
		}
	}
	b.suites = []Suite{{Name: "grad", Turn: time.Second, Workloads: fakes("m", "mm", "mmm")},
		{Name: "qd", Turn: time.Second, Workloads: fakes("m")}}
	python := peerScripts(t, map[string]string{"slow.py": scripted(`{}`, .02), "hangs.py": "sleep 600"})
	args := []string{"--peers", "--peers-python", python, "--repeats", "1", "--json"}
	require.Equal(t, 0, b.do(append(args, "--budget", "20s")...), b.err) // 6 s a suite
	var v struct {
		Workloads []row
		Left      map[string][]string `json:"not_measured"`
	}
	b.read(t, &v)
	require.Equal(t, []string{"grad/m", "grad/mm-jax", "grad/mm-hangs", "qd/m"},
		each(v.Workloads, func(r row) string { return r.Name }))
	require.Regexp(t, `(?m)^not measured: grad/mm-hangs: the peer hangs.py gave no answer for [23]\.`, b.out.String())
	require.Regexp(t, "(?m)^not measured: grad/mmm: it was ended after [23]s, the most that its row may take$",
		b.out.String())
	require.Len(t, v.Left, 2)
	require.Equal(t, 2., *v.Workloads[3].Ratio)
}
