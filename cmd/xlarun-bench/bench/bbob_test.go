package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/bbob"
	"xlarun/cmd/xlarun/console"
)

// bbobPython returns a program that stands for the peers' Python and answers each question with the same values.
func bbobPython(t *testing.T, answer string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	script := fmt.Sprintf("#!/bin/sh\necho {}\nwhile read line; do cat <<'END'\n%s\nEND\ndone\n", answer)
	require.NoError(t, os.WriteFile(path, []byte(script), 0o755))
	return path
}

// bbobAnswer gives the runs of every function the values.
func bbobAnswer(values string) string {
	all := slices.Repeat([]string{"[" + values + "]"}, len(bbob.Functions()))
	return `{"best": [` + strings.Join(all, ",") + `], "compile": 1.5, "run": 2}`
}

// A tiny comparison ends with its table and the line of JSON: against a peer that never comes down ours is better
// everywhere, and worse against one that is always there.
func TestBBOB(t *testing.T) {
	for _, c := range []struct {
		number        int
		what, answer  string
		better, worse int
		mark          string
	}{
		{1, "a peer that fails", bbobAnswer("Infinity, 1e29, 1e30, 1e30, 1e30, 1e30, 1e30, 1e30"), 24, 0, " **"},
		{2, "a peer that is there", bbobAnswer("0, 0, 0, 0, 0, 0, 0, 0"), 0, 24, " *"},
	} {
		b := newBed(t)
		args := []string{"bbob", "randomsearch", "--dims", "2", "--populations", "4", "--generations", "2", "--seeds",
			"8", "--json", "--out", "table.md"}
		require.Equal(t, 0, b.do(append(args, "--peers", "--peers-python", bbobPython(t, c.answer))...), "%d %s: %s",
			c.number, c.what, b.err)
		comparison := b.result(t)["comparisons"].([]any)[0].(map[string]any)
		require.EqualValues(t, c.better, comparison["better"], "case %d: %s", c.number, c.what)
		require.EqualValues(t, c.worse, comparison["worse"], "case %d: %s", c.number, c.what)
		require.Len(t, comparison["lines"], 24)
		w := b.result(t)["workloads"].([]any)[0].(map[string]any)
		require.Equal(t, "bbob-randomsearch-2", w["name"])
		require.EqualValues(t, 2, w["peer_seconds"])
		table := read(t, "table.md")
		require.Contains(t, table, "`xlarun bench bbob --peers --dims 2 --populations 4 --generations 2 --seeds 8 "+
			"--out docs/reference/bbob.md`")
		require.Contains(t, table, fmt.Sprintf("| `randomsearch` | sigma 2 | %d | 0 | %d |", c.better, c.worse))
		require.Regexp(t, `\| sphere \|`+regexp.QuoteMeta(c.mark)+`\d`, table)
		require.Equal(t, 24, strings.Count(table, "\n| ")-5, "a line a function beside the heads")
	}
}

// What --keep has is not run again, so that a comparison goes on where it was stopped.
func TestBBOBKeeps(t *testing.T) {
	b := newBed(t)
	args := []string{"bbob", "randomsearch", "--dims", "2", "--populations", "4", "--generations", "1", "--seeds", "2",
		"--keep", "kept.jsonl", "--json"}
	require.Equal(t, 0, b.do(args...), b.err)
	first := b.result(t)
	require.Equal(t, 1, strings.Count(read(t, "kept.jsonl"), "\n"))
	require.Equal(t, 0, b.do(args...), b.err)
	require.Equal(t, first, b.result(t), "seconds and all")
	require.Equal(t, 1, strings.Count(read(t, "kept.jsonl"), "\n"))
	require.Equal(t, 0, b.do(append(args, "--seed", "2")...), b.err)
	require.Equal(t, 2, strings.Count(read(t, "kept.jsonl"), "\n"), "another search")
	require.Equal(t, 0, b.do(append(args, "--peers", "--peers-python", bbobPython(t, bbobAnswer("0, 0")))...), b.err)
	require.Equal(t, 3, strings.Count(read(t, "kept.jsonl"), "\n"), "the first had no peer")
	write(t, "kept.jsonl", "{")
	require.Equal(t, console.StatusUsage, b.do(args...))
	require.Contains(t, b.err.String(), "--keep kept.jsonl: line 1 is no answer that was kept")
}

// What cannot be compared is said so, before anything runs.
func TestBBOBRefuses(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"cmaess", `there is no strategy "cmaess"`},
		{"eggroll", "to compare with evosax's"},
		{"--dims 10", "--populations got 2 numbers, wants 1"},
		{"--dims 1,2", "--dims got 1, wants 2 to 1000"},
		{"--populations 31,64", "--populations got 31, wants an even number"},
		{"--generations 0", "--generations got 0"},
		{"--seeds 0", "--seeds got 0"},
		{"--out x.md", "there is nothing to compare: add --peers"},
	} {
		b := newBed(t)
		require.Equal(t, console.StatusUsage, b.do(append([]string{"bbob"}, strings.Fields(c.args)...)...), c.args)
		require.Contains(t, b.err.String(), c.want, c.args)
		require.Zero(t, b.opened)
	}
}

// A peer that gives up, or answers what is no answer, ends the comparison with a sentence.
func TestBBOBPeerFails(t *testing.T) {
	for _, c := range []struct{ limit, answer, want string }{
		{"200ms", "hello", "gave no answer for 200ms"},
		{"10m", `{"best": [[1]]}`, "answered with 1 functions, want 24 of 2 runs each"},
	} {
		b := newBed(t)
		require.NotEqual(t, 0, b.do("bbob", "randomsearch", "--dims", "2", "--populations", "4", "--generations", "1",
			"--seeds", "2", "--limit", c.limit, "--peers", "--peers-python", bbobPython(t, c.answer)))
		require.Contains(t, b.err.String(), c.want)
	}
	b := newBed(t)
	dead := filepath.Join(t.TempDir(), "python")
	require.NoError(t, os.WriteFile(dead, []byte("#!/bin/sh\necho no such module >&2\nexit 3\n"), 0o755))
	require.NotEqual(t, 0, b.do("bbob", "randomsearch", "--dims", "2", "--populations", "4", "--generations", "1",
		"--seeds", "2", "--peers", "--peers-python", dead))
	require.Contains(t, b.err.String(), "no such module")
}

// Every strategy with settings exists on both sides.
func TestBBOBStrategies(t *testing.T) {
	require.Len(t, bbobNames(), len(bbobStarts))
	script := read(t, "../../../third_party/peers/evosax_bbob.py")
	for name := range bbobStarts {
		require.Contains(t, script, `"`+name+`"`)
	}
}
