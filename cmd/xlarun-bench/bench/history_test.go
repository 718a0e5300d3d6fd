package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
)

// gitCommit makes a commit of the current folder and returns its abbreviation.
func gitCommit(t *testing.T, subject string) string {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"add", "."},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", subject}} {
		out, err := exec.Command("git", args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	out, err := exec.Command("git", "rev-parse", "--short=8", "HEAD").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// --record adds a line to the history, and bench history names the commit at which a workload fell.
func TestHistory(t *testing.T) {
	b := newBed(t, Workload{Name: "one", What: "a thing", Work: 50, Unit: "things"})
	data := t.TempDir()
	b.Streams.Env = func(name string) string { return map[string]string{"XDG_DATA_HOME": data}[name] }
	require.Equal(t, console.StatusUsage, b.do("history"))
	require.Contains(t, b.err.String(), "make one by xlarun bench --record")
	var fell string
	for i, seconds := range []float64{.5, .5, .55, .5, .8, .8} {
		b.script = strings.ReplaceAll(scripted(`{"compile":2}`, seconds), `"processor":0.5`,
			fmt.Sprintf(`"processor":%g`, seconds))
		commit := gitCommit(t, fmt.Sprintf("Change %d", i))
		if i == 4 {
			fell = commit
		}
		require.Equal(t, 0, b.do("--record", "--repeats", "1"), b.err)
	}
	b.out.Reset()
	require.Equal(t, 0, b.do("history", "fake/one", "--out", "speed.svg", "--json"), b.err)
	require.Contains(t, b.out.String(), "fake/one fell at "+fell+", to 1.60 times the time before: Change 4\n")
	var v struct{ Rows []track }
	b.read(t, &v)
	require.Len(t, v.Rows, 1)
	require.Len(t, v.Rows[0].Points, 6)
	require.Equal(t, []fall{{fell, 1.6, "Change 4"}}, v.Rows[0].Falls)
	require.Contains(t, read(t, "speed.svg"), "<svg")
	require.Equal(t, console.StatusUsage, b.do("history", "fake/two"))
	require.Equal(t, console.StatusUsage, b.do("history", "--out", "speed.txt"))
	require.Equal(t, console.StatusUsage, b.do("history", "fake/one", "--commits", "nonsense"))

	lines := strings.Split(strings.TrimSpace(read(t, filepath.Join(data, "xlarun", "speed.jsonl"))), "\n")
	require.Len(t, lines, 6)
	write(t, "broken.jsonl", lines[0]+"\n{}\n")
	require.Equal(t, console.StatusUsage, b.do("history", "--history", "broken.jsonl"))
	require.Contains(t, b.err.String(), "line 2 of broken.jsonl")
}

// One slow measurement is no fall, and what fell before does not count again.
func TestFalls(t *testing.T) {
	at := func(seconds ...float64) (points []point) {
		for i, s := range seconds {
			points = append(points, point{fmt.Sprint(i), s})
		}
		return points
	}
	require.Empty(t, falls(at(1, 1, 2, 1, 1)))
	require.Empty(t, falls(at(3, 2, 1, 1.09, 1.05)))
	require.Equal(t, []fall{{Commit: "2", Ratio: 2}}, falls(at(1, 1, 2, 2, 2, 2)))
	require.Equal(t, []fall{{Commit: "1", Ratio: 2}, {Commit: "3", Ratio: 2}}, falls(at(1, 2, 2, 4)))
}

// Executables of a commit are built once; those of old commits are forgotten.
func TestKept(t *testing.T) {
	b := newBed(t)
	write(t, "go.mod", "module kept\n\ngo 1.26\n")
	require.NoError(t, os.Mkdir("hello", 0o755))
	write(t, "hello/main.go", "package main\n\nfunc main() { println(1) }\n")
	commit := gitCommit(t, "One")
	write(t, "hello/main.go", "package main\n\nfunc main() { println(2) }\n")
	gitCommit(t, "Two")
	for range 2 {
		programs, err := b.kept(t.Context(), commit, "./hello")
		require.NoError(t, err)
		out, err := exec.Command(programs[0]).CombinedOutput()
		require.NoError(t, err)
		require.Equal(t, "1\n", string(out))
	}
	require.Equal(t, 1, strings.Count(b.err.String(), "building"))
	_, err := b.kept(t.Context(), "nonsense", "./hello")
	require.ErrorContains(t, err, "is no revision")
	all := t.TempDir()
	for i := range mostKept + 3 {
		require.NoError(t, os.Mkdir(filepath.Join(all, fmt.Sprint(i)), 0o755))
	}
	require.NoError(t, forget(all))
	left, err := os.ReadDir(all)
	require.NoError(t, err)
	require.Len(t, left, mostKept)
}
