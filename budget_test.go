package xlarun_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/budget"
	"xlarun/internal/figures"
	"xlarun/internal/programs"
)

var programsList = flag.String("programs", "", "a file that XLARUN_PROGRAMS=FILE go test ./... has written")

// weights is what internal/budget/budget.toml holds.
type weights struct {
	Xlarun struct {
		Packages int
		Modules  []string
	}
	Tests struct {
		Binaries int
		Twice    []string
	}
	Lines map[string][2]int
	Words map[string]int
}

const (
	weigh      = "go test . -run Budget -update"
	linesUpTo  = 100
	wordsUpTo  = 500
	twiceLines = 1000 // packages with fewer lines are cheap to compile twice
)

// TestBudget compares what the repository weighs with internal/budget/budget.toml, and the programs of test binaries
// with internal/budget/programs.toml if -programs names a list of them.
func TestBudget(t *testing.T) {
	texts := sources(t)
	got := weights{Lines: linesOf(texts), Words: wordsOf(documents(t))}
	got.Xlarun.Packages, got.Xlarun.Modules = partsOf(t, "./cmd/xlarun")
	var want weights
	require.NoError(t, budget.Read(".", budget.File, &want))
	got.Tests.Binaries, got.Tests.Twice = testBinaries(t, texts)
	if *update {
		require.NoError(t, os.WriteFile(budget.File, []byte(got.text()), 0o644))
		want = weights{}
		require.NoError(t, budget.Read(".", budget.File, &want))
	}
	check := func(what string, got, step, most int) {
		t.Helper()
		if err := budget.Check(what, got, step, most, budget.File, weigh); err != nil {
			t.Error(err)
		}
	}
	check("cmd/xlarun is built of %d packages", got.Xlarun.Packages, 1, want.Xlarun.Packages)
	require.Equal(t, want.Xlarun.Modules, got.Xlarun.Modules, "modules that have a part in cmd/xlarun: leave the new "+
		"ones out, or run `%s` and say why in the commit", weigh)
	require.False(t, keepsDeadCode(t, "./cmd/xlarun"), "the linker keeps all exported methods of cmd/xlarun, since "+
		"something looks for a method by a name that is no constant (go build -ldflags=-dumpdep, ReflectMethod): take "+
		"it out")
	check("there are %d test binaries", got.Tests.Binaries, 1, want.Tests.Binaries)
	require.Equal(t, want.Tests.Twice, got.Tests.Twice, "packages with C or %d lines whose tests lie inside of them, "+
		"so that they are compiled twice: name the tests' package PACKAGE_test, or run `%s`", twiceLines, weigh)
	for _, room := range slices.Sorted(maps.Keys(merged(got.Lines, want.Lines))) {
		for i, of := range []string{"without tests", "of tests"} {
			check(room+" has %d lines "+of, got.Lines[room][i], linesUpTo, want.Lines[room][i])
		}
	}
	for _, of := range slices.Sorted(maps.Keys(merged(got.Words, want.Words))) {
		check("documents of "+of+" have %d words", got.Words[of], wordsUpTo, want.Words[of])
	}
	if *programsList != "" {
		checkPrograms(t, *programsList)
	}
}

// checkPrograms compares the programs of all test binaries with their budgets.
func checkPrograms(t *testing.T, list string) {
	all, err := programs.Read(list)
	require.NoError(t, err)
	got := budget.Budgets{}
	for binary, seen := range all {
		if name, ours := strings.CutPrefix(binary, "xlarun/"); ours {
			got[name] = budget.Counted(seen)
		}
	}
	if *update {
		text := "# Different XLA programs of each test binary in its short form, and kB of their texts: rounded up.\n"
		for _, name := range slices.Sorted(maps.Keys(got)) {
			text += fmt.Sprintf("%q = [%d, %d]\n", name, got[name][0], got[name][1])
		}
		require.NoError(t, os.WriteFile(budget.ProgramsFile, []byte(text), 0o644))
	}
	want := budget.Budgets{}
	require.NoError(t, budget.Read(".", budget.ProgramsFile, &want))
	for _, name := range slices.Sorted(maps.Keys(merged(got, want))) {
		for i, what := range []string{"programs", "kB of programs"} {
			if err := budget.Check("the tests of "+name+" have %d "+what, got[name][i], 1, want[name][i],
				budget.ProgramsFile, weigh+" -programs FILE"); err != nil {
				t.Error(err)
			}
		}
	}
}

// merged has the keys of both maps.
func merged[V any](x, y map[string]V) map[string]V {
	all := maps.Clone(x)
	maps.Copy(all, y)
	return all
}

// sources returns the texts of sources in Go, C and assembly, by path.
func sources(t *testing.T) map[string][]byte {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard", "-z", "*.go", "*.c", "*.h", "*.s").Output()
	if err != nil {
		t.Skip("not a git checkout: ", err)
	}
	texts := map[string][]byte{}
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, not committed yet
		}
		require.NoError(t, err)
		texts[name] = text
	}
	return texts
}

// linesOf returns the lines without tests and those of tests by folder: that of the root, or one below cmd and rollout.
func linesOf(texts map[string][]byte) map[string][2]int {
	lines := map[string][2]int{}
	for name, text := range texts {
		parts := strings.Split(path.Dir(name), "/")
		if slices.Contains([]string{"cmd", "rollout"}, parts[0]) {
			parts[0] = path.Join(parts[:min(2, len(parts))]...)
		}
		n, test := lines[parts[0]], 0
		if strings.HasSuffix(name, "_test.go") {
			test = 1
		}
		n[test] += bytes.Count(text, []byte("\n"))
		lines[parts[0]] = n
	}
	return lines
}

// wordsOf counts the words of documents for users, for those who change the code, and of those that a test or a
// command writes.
func wordsOf(documents map[string]string) map[string]int {
	words := map[string]int{}
	for name, text := range documents {
		of := "developers"
		switch {
		case referencePages[name] != nil || name == "docs/reference/from-jax.md" || name == "docs/reference/bbob.md":
			of = "reference"
		case name == "README.md" || strings.HasPrefix(name, "docs/") && !strings.HasPrefix(name, "docs/notes/") ||
			strings.HasPrefix(name, "examples/") || strings.HasPrefix(name, "python/"):
			of = "users"
		}
		written := len(strings.Fields(figures.Strip(text))) // without what a test fills in
		words[of] += written
		words["reference"] += len(strings.Fields(text)) - written
	}
	return words
}

// partsOf returns the number of packages that a program is built of, and their modules.
func partsOf(t *testing.T, program string) (packages int, modules []string) {
	t.Helper()
	all := goListFor(t, []string{"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=1"}, "-deps", program)
	for _, p := range all {
		if p.Module != nil && p.Module.Path != "xlarun" {
			modules = append(modules, p.Module.Path)
		}
	}
	slices.Sort(modules)
	return len(all), slices.Compact(modules)
}

// keepsDeadCode reports whether the linker keeps all exported methods of a program's types, since something looks for
// a method by a name that only the running program knows.
func keepsDeadCode(t *testing.T, program string) bool {
	t.Helper()
	// Of a program that did not change, go run does not link again: it prints again what the linker printed.
	// Go keeps these lines by the key of package main: -gcflags=-e gives it a key of its own, so that a person's
	// go run of the program does not print them.
	out, err := exec.Command("go", "run", "-exec", "true", "-gcflags=-e", "-ldflags=-dumpdep -s -w",
		program).CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), " -> main.main", "the linker prints what it keeps")
	return bytes.Contains(out, []byte("<ReflectMethod>"))
}

// testBinaries returns how many packages have tests, and those of the larger ones whose tests lie inside.
func testBinaries(t *testing.T, texts map[string][]byte) (binaries int, twice []string) {
	t.Helper()
	for _, p := range goList(t, "./...") {
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		binaries++
		folder, lines := strings.TrimPrefix(p.ImportPath, "xlarun/"), 0
		for name, text := range texts {
			if path.Dir(name) == folder && !strings.HasSuffix(name, "_test.go") {
				lines += bytes.Count(text, []byte("\n"))
			}
		}
		if len(p.TestGoFiles) > 0 && (lines > twiceLines || slices.Contains(p.Imports, "C")) {
			twice = append(twice, folder)
		}
	}
	return binaries, twice
}

// text is the file that holds the weights, lines and words rounded up.
func (w weights) text() string {
	var b strings.Builder
	list := func(names []string) string {
		text := "["
		for _, name := range names {
			text += fmt.Sprintf("\n  %q,", name)
		}
		return text + "\n]"
	}
	fmt.Fprintf(&b, "# What the repository may weigh. `%s` writes this file. A commit that raises a\n"+
		"# number says why.\n\n", weigh)
	fmt.Fprintf(&b, "[xlarun] # what cmd/xlarun is built of, on Linux with C\npackages = %d\nmodules = %s\n\n",
		w.Xlarun.Packages, list(w.Xlarun.Modules))
	fmt.Fprintf(&b, "[tests] # twice: packages with C or %d lines that are compiled again for tests inside of them\n"+
		"binaries = %d\ntwice = %s\n\n", twiceLines, w.Tests.Binaries, list(w.Tests.Twice))
	fmt.Fprintf(&b, "[lines] # without tests, of tests\n")
	for _, room := range slices.Sorted(maps.Keys(w.Lines)) {
		n := w.Lines[room]
		fmt.Fprintf(&b, "%q = [%d, %d]\n", room, budget.UpTo(n[0], linesUpTo), budget.UpTo(n[1], linesUpTo))
	}
	fmt.Fprintf(&b, "\n[words] # of documents\n")
	for _, of := range slices.Sorted(maps.Keys(w.Words)) {
		fmt.Fprintf(&b, "%s = %d\n", of, budget.UpTo(w.Words[of], wordsUpTo))
	}
	return b.String()
}
