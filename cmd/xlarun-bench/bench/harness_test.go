package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/cmd/xlarun/console"
	"xlarun/xlabridge"
)

// bed is a command line that has only bench, with a suite of fake workloads whose processes are shell scripts.
type bed struct {
	*host
	out, err *bytes.Buffer
	opened   int    // backends
	script   string // of our processes
}

// Sides of fake workloads: one that answers each number of runs, with so many seconds for each.
func scripted(ready string, seconds float64) string {
	return fmt.Sprintf(
		`echo '%s'; while read n; do echo '{"seconds":[%g],"processor":0.5,"result":3,"peak":1000}'; done`,
		ready, seconds)
}

func newBed(t *testing.T, workloads ...Workload) *bed {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("XLARUN_CACHE", filepath.Join(t.TempDir(), "cache"))
	b := &bed{out: new(bytes.Buffer), err: new(bytes.Buffer), script: scripted(`{"compile":2,"checks":[1,2]}`, .25)}
	b.host = &host{
		Streams: console.Streams{In: strings.NewReader(""), Out: b.out, Err: b.err},
		openBackend: func(context.Context, console.BackendFlags, console.Listener) (xlabridge.Backend, error) {
			b.opened++
			return &xlabridge.Reference{}, nil
		},
		process: func(ctx context.Context, _ console.BackendFlags, _ string, _ ...string) (*exec.Cmd, error) {
			return exec.CommandContext(ctx, "sh", "-c", b.script), nil
		},
		now: time.Now,
		suites: []Suite{{Name: "fake", What: "Fakes", Turn: time.Second, Workloads: func(Options) []Workload {
			return workloads
		}}},
	}
	return b
}

// do runs bench with these arguments and returns the exit status.
func (b *bed) do(args ...string) int { return b.doIn(context.Background(), args...) }

func (b *bed) doIn(ctx context.Context, args ...string) int {
	root := &cobra.Command{Use: "xlarun"}
	root.AddCommand(rootCommand(b.host))
	return console.Run(ctx, root, append([]string{"bench"}, args...), b.Streams)
}

// result is the last line that bench printed.
func (b *bed) result(t *testing.T) (v map[string]any) {
	t.Helper()
	b.read(t, &v)
	return v
}

// rows are the rows of the last line that bench printed.
func (b *bed) rows(t *testing.T) []row {
	t.Helper()
	var v struct{ Workloads []row }
	b.read(t, &v)
	return v.Workloads
}

func (b *bed) read(t *testing.T, v any) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(b.out.String()), "\n")
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), v), "%s\n%s", b.out, b.err)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// peerScripts writes scripts that stand for Python and returns the path of their interpreter: the name of the script
// chooses what is done.
func peerScripts(t *testing.T, scripts map[string]string) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("#!/bin/sh\ncase $(basename $1) in\n")
	for name, script := range scripts {
		fmt.Fprintf(&text, "%s) %s;;\n", name, script)
	}
	text.WriteString("esac\n")
	path := filepath.Join(t.TempDir(), "python")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o755))
	return path
}

func TestWorkloadBesideItsPeers(t *testing.T) {
	b := newBed(t, Workload{Name: "one", What: "a thing", Work: 50, Unit: "things", Same: .01,
		Peers: []Peer{
			{Name: "slow", Script: "slow.py"}, {Name: "broken", Script: "broken.py"},
			{Name: "hangs", Script: "hangs.py"},
			{Name: "differs", Script: "differs.py"}, {Name: "dies", Script: "dies.py"},
			{Name: "lacks", Script: "lacks.py"}, {Name: "own", Workload: "other"}}},
		Workload{Name: "other", Explicit: true})
	python := peerScripts(t, map[string]string{
		"slow.py":    "echo hello from a library; " + scripted(`{"compile":4,"checks":[1.001,2]}`, 1),
		"broken.py":  "echo one >&2; echo '  two' >&2; echo three >&2; exit 3",
		"hangs.py":   "echo waiting >&2; sleep 600",
		"differs.py": scripted(`{"checks":[1,3]}`, 1),
		"dies.py":    `echo '{"checks":[1,2]}'; read n; echo the end >&2; exit 1`,
		"lacks.py": `printf 'Traceback (most recent call last):\n  File "lacks.py", line 1\n    import imageio\n` +
			`ModuleNotFoundError: No module named imageio:\n  version 2\n\nsee the manual\nor its page\n' >&2; exit 1`,
	})
	require.Equal(t, 0, b.do("--peers", "--peers-python", python, "--limit", "1s", "--repeats", "1", "--json"), b.err)
	rows := b.rows(t)
	require.Len(t, rows, 7)
	slow := rows[0]
	require.Equal(t, "one-slow", slow.Name)
	require.Equal(t, .25, slow.Ours)
	require.Equal(t, 4., *slow.Ratio)
	require.Equal(t, 2., slow.CompileRatio)
	require.Equal(t, 200., slow.Rate)
	require.Equal(t, 1., slow.ProcessorRatio)
	require.EqualValues(t, 1000, slow.PeakBytes)
	for i, want := range map[int]string{1: "its last lines were:\none\n  two\nthree", 2: "gave no answer for 1s",
		3: "not compute the same",
		4: "the end",
		5: "the peer lacks.py has ended: ModuleNotFoundError: No module named imageio: version 2 see the manual or " +
			"its page"} {
		require.Contains(t, rows[i].Failed, want)
		require.Nil(t, rows[i].Ratio, "%d", i)
		require.Contains(t, b.out.String(), want)
	}
	require.Contains(t, rows[2].Failed, "waiting")
	require.Equal(t, 1., *rows[6].Ratio)
}

// Every suite's --json ends with one object, {"workloads": […]} and what was not measured. All rows have the same five
// keys, with null for a peer that is missing or has failed.
func TestJSONOfSuites(t *testing.T) {
	python := peerScripts(t, map[string]string{"good.py": scripted(`{}`, 1), "broken.py": "exit 3"})
	for _, s := range suites() {
		b := newBed(t)
		b.suites = []Suite{{Name: s.Name, Turn: s.Turn, Devices: s.Devices, Workloads: func(Options) []Workload {
			return []Workload{{Name: "alone"}, {Name: "beside", Peers: []Peer{
				{Name: "good", Script: "good.py"}, {Name: "broken", Script: "broken.py"}}}}
		}}}
		require.Equal(t, 0, b.do(s.Name, "--peers", "--peers-python", python, "--repeats", "1", "--json"),
			"%s %s", s.Name, b.err)
		v := b.result(t)
		require.Len(t, v, 2, s.Name)
		require.Len(t, v["not_measured"], 1, "the peer that failed, by its reason")
		rows := v["workloads"].([]any)
		require.Len(t, rows, 3, s.Name)
		for i, want := range []map[string]any{{"name": "alone", "peer": nil},
			{"name": "beside-good", "peer": "good", "peer_seconds": 1., "ratio": 4.},
			{"name": "beside-broken", "peer": "broken"}} {
			want["ours_seconds"] = .25
			for _, key := range []string{"name", "ours_seconds", "peer", "peer_seconds", "ratio"} {
				got, ok := rows[i].(map[string]any)[key]
				require.True(t, ok, "%s: %s", s.Name, key)
				require.Equal(t, want[key], got, "%s: %s", s.Name, key)
			}
		}
	}
}

func TestWorkloadOfOursThatFails(t *testing.T) {
	b := newBed(t, Workload{Name: "one"}, Workload{Name: "two"})
	b.script = "echo no plugin here >&2; exit 1"
	require.Equal(t, 1, b.do("--json"))
	require.Contains(t, b.err.String(), "no plugin here")
	require.Contains(t, b.err.String(), "two", "the others are timed all the same")
	got := b.result(t)
	require.Equal(t, []any{}, got["workloads"])
	require.Equal(t, "failed", got["error"])
}

func TestStartsAreTimedFromTheStart(t *testing.T) {
	b := newBed(t, Workload{Name: "warm", Start: warmStart}, Workload{Name: "cold", Start: coldStart})
	require.Equal(t, 0, b.do("--json"), b.err)
	for _, r := range b.rows(t) {
		require.Positive(t, r.Ours)
		require.Less(t, r.Ours, .25*1000, "what the process says of its runs is not used")
		require.NotEqual(t, .25, r.Ours)
	}
}

func TestWorkerAnswers(t *testing.T) {
	runs := 0
	b := newBed(t, Workload{Name: "one", Open: func(context.Context, *host, xlabridge.Backend,
		Options) (*Runner, error) {
		once := func() (float64, error) { runs++; return float64(runs), nil }
		return neurobench.Timed(once, func() error { return nil }), nil
	}})
	b.In = strings.NewReader("1\n3\n")
	require.Equal(t, 0, b.do("one", "--worker"), b.err)
	lines := strings.Split(strings.TrimSpace(b.out.String()), "\n")
	require.Len(t, lines, 3)
	var a answer
	require.NoError(t, json.Unmarshal([]byte(lines[2]), &a))
	require.Len(t, a.Seconds, 3)
	require.Equal(t, 5., a.Result, "one run to be ready, one, and three")
	require.Positive(t, a.Peak)

	b.In = strings.NewReader("many\n")
	require.Equal(t, console.StatusUsage, b.do("one", "--worker"))
}

func TestRefusedArguments(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"ones"}, "did you mean one?"},
		{[]string{"one", "--repeats", "0"}, "--repeats got 0"},
		{[]string{"one", "--limit", "0s"}, "--limit got 0s"},
		{[]string{"one", "--budget", "1ms"}, "--budget got 1ms, wants 1s or more, as 20m, or 0s"},
		{[]string{"one", "--tune", "best"}, "--tune got"},
		{[]string{"one", "--check"}, "--check got true without --against"},
		{[]string{"--against", "HEAD", "no-run"}, "there is no workload"},
		{[]string{"--against", "HEAD", "fake/two"}, `there is no workload "two"; there are one`},
		{[]string{"--against", "HEAD", "other/one"}, `there is no workload "other/one"; there are fake/…`},
		{[]string{"--against", "HEAD", "--rounds", "0"}, "--rounds got 0"},
		// A suite's name is the name of a run here, and no command.
		{[]string{"--against", "HEAD", "fake", "one"}, `there is no workload "fake"; there are levels, ppo,`},
		{[]string{"fake", "one", "--check"}, "--check got true without --against"},
		{[]string{"one", "--backend", "reference"}, "compiles nothing"},
		// It was taken, and nothing changed.
		{[]string{"one", "--devices", "2"}, "--devices got 2, wants 1 for the suite fake, which is timed on one"},
		{[]string{"--devices", "2"}, "leave it out, or name a suite"},
	} {
		b := newBed(t, Workload{Name: "one"})
		b.suites[0].Devices = 1
		b.suites = append(b.suites, Suite{Name: "free", Workloads: b.suites[0].Workloads})
		require.Equal(t, console.StatusUsage, b.do(c.args...), "%v", c.args)
		require.Contains(t, b.err.String(), c.want, "%v", c.args)
	}
}

func TestSuites(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range suites() {
		names := map[string]bool{}
		require.False(t, seen[s.Name], s.Name)
		seen[s.Name] = true
		all := s.Workloads(Options{})
		require.NotEmpty(t, all)
		for _, w := range all {
			require.False(t, names[w.Name], "%s %s", s.Name, w.Name)
			names[w.Name] = true
			require.NotEmpty(t, w.What, w.Name)
			require.NotEqual(t, w.Open != nil, w.Script.Script != "", w.Name)
		}
		for _, w := range all {
			for _, p := range w.Peers {
				require.True(t, names[p.Workload] || p.Workload == "", "%s: %s", w.Name, p.Workload)
				for _, script := range []string{p.Script, p.Source} {
					if script != "" {
						require.FileExists(t, filepath.Join("..", "..", "..", "third_party", "peers", script))
					}
				}
			}
		}
	}
}

func TestAgainst(t *testing.T) {
	for _, c := range []struct {
		name   string
		ours   []cost // of rounds: an empty cache, a full one
		check  bool
		rounds int
		worse  []string
	}{
		{"the same", []cost{{processor: 5, peak: 100}, {processor: 2, seconds: 1}}, true, 1, nil},
		{"faster", []cost{{processor: 4, peak: 90}, {processor: 1, seconds: 1}}, true, 1, nil},
		{"slower", []cost{{processor: 5.2, peak: 100}, {processor: 2.2, seconds: 1}}, true, 3, []string{"time"}},
		{"compiles longer", []cost{{processor: 6, peak: 100}, {processor: 2, seconds: 1}}, true, 3,
			[]string{"compiling"}},
		{"more memory", []cost{{processor: 5, peak: 110}, {processor: 2, seconds: 1}}, true, 3, []string{"memory"}},
		{"slower in two rounds of three", []cost{{processor: 5.2, peak: 100}, {processor: 2.2, seconds: 1},
			{processor: 5.2, peak: 100}, {processor: 2.2, seconds: 1}, {processor: 5, peak: 100},
			{processor: 2, seconds: 1}},
			true, 3, nil},
		{"slower, no check", []cost{{processor: 5.2, peak: 100}, {processor: 2.2, seconds: 1}}, false, 3,
			[]string{"time"}},
	} {
		b := newBed(t)
		calls := map[string]int{}
		base := []cost{{processor: 5, peak: 100}, {processor: 2, seconds: 1}}
		a := &against{host: b.host, flags: againstFlags{revision: "REV", check: c.check, rounds: 3},
			once: func(_ context.Context, program, _ string, args []string) (cost, error) {
				require.NotEmpty(t, args)
				i := calls[program]
				calls[program]++
				if program == "base" {
					return base[i%2], nil
				}
				return c.ours[i%len(c.ours)], nil
			}}
		err := a.compare(t.Context(), []string{"levels"}, programs{ours: "ours", base: "base"}, true)
		require.Equal(t, c.check && c.worse != nil, err != nil, "%s: %v", c.name, err)
		var v struct{ Runs []againstRow }
		lines := strings.Split(strings.TrimSpace(b.out.String()), "\n")
		text := []byte(lines[len(lines)-1])
		if failed, ok := errors.AsType[console.ResultError](err); ok { // the command line prints both
			var wrong error
			text, wrong = json.Marshal(failed.Result)
			require.NoError(t, wrong)
		}
		require.NoError(t, json.Unmarshal(text, &v))
		require.Equal(t, c.rounds, v.Runs[0].Rounds, c.name)
		require.ElementsMatch(t, c.worse, v.Runs[0].Worse, c.name)
	}
}

// A run of 500 trials gave the time of one trial, so that a turn of 0.3 s took minutes. An update of ppo gave
// the time of a million steps, so that a turn of 2 s was one update.
func TestRunsFillTurns(t *testing.T) {
	for _, c := range []struct {
		turn, run time.Duration
		want      int
	}{{time.Second, 250 * time.Millisecond, 4}, {time.Second, 2 * time.Second, 1}, {time.Second, 0, mostRuns},
		{time.Second, time.Nanosecond, mostRuns}} {
		require.Equal(t, c.want, runsOf(c.turn, c.run), "%+v", c)
	}
}

// A workload of a suite runs by the benches of both revisions in turn. One that a revision lacks is left out.
func TestAgainstWorkloads(t *testing.T) {
	b := newBed(t, Workload{Name: "one", What: "a thing"}, Workload{Name: "new", What: "another thing"})
	a := &against{host: b.host, flags: againstFlags{revision: "REV", check: true, rounds: 2},
		process: func(ctx context.Context, program string, _ console.BackendFlags, _ string,
			args ...string) (*exec.Cmd, error) {
			script := `echo '{"compile":2}'; while read n; do echo '{"seconds":[1],"processor":0.5,"peak":1000}'; done`
			switch {
			case program == "base" && args[2] == "new":
				script = "echo no such workload >&2; exit 2"
			case program == "base":
				script = strings.NewReplacer("0.5", "0.4", "1000", "2000", ":2", ":4").Replace(script)
			}
			return exec.CommandContext(ctx, "sh", "-c", script), nil
		}}
	names := []string{"fake/new", "fake/one"}
	err := a.compare(t.Context(), names, programs{oursBench: "ours", baseBench: "base"}, true)
	require.ErrorContains(t, err, "this tree is worse than REV in each of 2 rounds: fake/one (time)")
	require.Contains(t, b.err.String(), "fake/new is left out: REV cannot run it: our process has ended")
	failed, ok := errors.AsType[console.ResultError](err)
	require.True(t, ok)
	text, err := json.Marshal(failed.Result)
	require.NoError(t, err)
	var v struct{ Runs []againstRow }
	require.NoError(t, json.Unmarshal(text, &v))
	require.Equal(t, []againstRow{{Name: "fake/one", Time: 1.25, Clock: 1, Compile: .5, Memory: .5, Ours: .5, Base: .4,
		Rounds: 2, Worse: []string{"time"}}}, v.Runs)
}

// Each workload that --against runs by itself is one of a suite.
func TestAgainstWorkloadsExist(t *testing.T) {
	h := &host{suites: suites()}
	for _, name := range againstWorkloads {
		_, _, err := h.workloadOf(name, Options{})
		require.NoError(t, err, name)
	}
}

func TestPicturesAreRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pictures")
	require.NoError(t, writePictures(dir))
	require.FileExists(t, filepath.Join(dir, "t10k-labels-idx1-ubyte"))
}
