package bench

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/bench/parallelbench"
	"xlarun/cmd/xlarun/console"
)

func TestParallelBadInput(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"ceilin"}, `there is no workload "ceilin", did you mean ceiling?`},
		{[]string{"--tier", "huge"}, `--tier got "huge", wants small, medium or large`},
		{[]string{"--scale", "2"}, "--scale got 2, wants a number above 0, up to 1"},
		{[]string{"--repeats", "0"}, "--repeats got 0, wants 1 or more"},
		{[]string{"--backend", "reference"}, "which compiles nothing: use another backend"},
		{[]string{"--peers", "--peers-python", "/nowhere/python"}, "--peers-python /nowhere/python is no program that can be run"},
		{[]string{"--part", "x"}, "--part got \"x\", which is for bench parallel itself"},
		{[]string{"--part", `{"Role":"rest"}`}, `--part got the role "rest", wants serve or work`},
	} {
		b := newBed(t)
		require.Equal(t, console.StatusUsage, b.do(append([]string{"parallel"}, c.args...)...), c.args)
		require.Contains(t, b.err.String(), c.want)
	}
}

// Four trials of 3, 1, 1 and 1 s on two workers.
func TestWaysToHandOut(t *testing.T) {
	lengths := []float64{3, 1, 1, 1}
	require.Equal(t, 4., shares(lengths, 2))
	require.Equal(t, 4., batches(lengths, 2))
	require.Equal(t, 3., queued(lengths, 2))
	require.Equal(t, 6., queued(lengths, 1))
}

func TestReadsWhatSidesPrint(t *testing.T) {
	p, err := readPeer("a warning\n{\"seconds\": 2.5, \"start\": 0.5, \"busy\": 4, \"best\": 9, \"own\": 1}\n")
	require.NoError(t, err)
	require.Equal(t, peerSaid{2.5, .5, 4, 9, 1}, p)
	for _, out := range []string{"", "Traceback", "{}"} {
		_, err := readPeer(out)
		require.ErrorContains(t, err, "holds no time")
	}
	values, err := exported("study x\ndone\n{\"number\":0,\"values\":[1.5]}\n{\"number\":1,\"values\":[-2]}\n")
	require.NoError(t, err)
	require.Equal(t, []float64{1.5, -2}, values)
	_, err = exported("{\"number\":0,\"state\":\"fail\"}\n")
	require.ErrorContains(t, err, "ended without a value")
	_, err = exported("")
	require.ErrorContains(t, err, "no trials")
}

// The starts of processes are in neither speed-up: they are those of the trials that the longer studies have more.
func TestMeasuredCeiling(t *testing.T) {
	run := func(seconds, processor float64) parallelRuns {
		return parallelRuns{Runs: []taken{{Seconds: seconds, Processor: processor}}}
	}
	// A start takes 1 s for each worker, a trial 2 s alone and 2.2 s beside another.
	runs := []parallelRuns{run(9, 9), run(1+4*2.2/2, 2+4*2.2), run(17, 17), run(1+8*2.2/2, 2+8*2.2)}
	c := measuredCeiling(parallelbench.Tiers()[0], runs, 4)
	require.InDelta(t, 2, c.Trial, 1e-9)
	require.InDelta(t, 2/1.1, c.Clock, 1e-9)
	require.InDelta(t, 2/1.1, c.Processor, 1e-9)
	c.model(parallelbench.Cost{Fixed: .001, Serial: 1e-6, Pair: 1e-12})
	require.Len(t, c.Modelled, len(modelWorkers))
	for _, r := range c.Modelled {
		require.LessOrEqual(t, r.Contention, r.Coordination)
		require.LessOrEqual(t, r.OfHundred, r.Contention)
	}
	require.InDelta(t, 10/1.9, c.Modelled[2].Contention, .01)
	require.Equal(t, "5x wished: within", c.Modelled[2].Band)
	require.Equal(t, "10x wished: not reached", c.Modelled[3].Band)
}

// A spec of every tier is one that studies take.
func TestSpecsOfTrials(t *testing.T) {
	for _, tier := range parallelbench.Tiers() {
		b := &parallelBench{dir: t.TempDir()}
		path, err := evolveStudy{tier, 4, 2, 1, "tpe", false}.spec(b)
		require.NoError(t, err)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, string(text), "pop = ")
		other, err := evolveStudy{tier, 4, 2, 1, "tpe", false}.spec(b)
		require.NoError(t, err)
		require.NotEqual(t, path, other, "each run has a study of its own")
	}
}

func TestMeasure(t *testing.T) {
	bed := newBed(t)
	b := &parallelBench{host: bed.host, found: map[string]any{}, dir: t.TempDir()}
	sh := func(text string) func() ([]*exec.Cmd, error) {
		return func() ([]*exec.Cmd, error) {
			return []*exec.Cmd{exec.CommandContext(t.Context(), "/bin/sh", "-c", text)}, nil
		}
	}
	runs, err := b.inTurn(t.Context(), 2, []parallelSide{
		{"a", sh(`sleep 0.3; echo '{"seconds": 0.25}'`), peerWork}, {name: "b", make: sh("sleep 0.2")}})
	require.NoError(t, err)
	require.Len(t, runs, 2)
	require.Equal(t, "a", runs[0].Name)
	require.Len(t, runs[0].Runs, 2)
	require.InDelta(t, .25, runs[0].work(), 1e-9)
	require.GreaterOrEqual(t, runs[0].seconds(), .3)
	require.GreaterOrEqual(t, runs[1].work(), .2)
	require.Equal(t, 2, strings.Count(bed.out.String(), "  b: "))
	_, err = b.measure(t.Context(), sh("echo broken >&2; exit 3"))
	require.ErrorContains(t, err, "broken")
}

func TestNamespaces(t *testing.T) {
	n, err := newNamespaces(t.Context(), 2)
	if err != nil {
		t.Skip("network namespaces cannot be made here: ", err)
	}
	defer n.close()
	_, err = outputOf(n.in(t.Context(), n.workers[1], "ping", "-c", "1", "-W", "5", headAddress))
	if errors.Is(err, exec.ErrNotFound) || err != nil && strings.Contains(err.Error(), "No such file") {
		t.Skip("there is no ping here")
	}
	require.NoError(t, err)
	require.Positive(t, n.sent(context.Background()))
}
