package xlarun_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/internal/figures"
)

const figuresFile = "docs/figures.toml"

// TestFigures fills the figures of docs/figures.toml into documents: `go test . -run Figures -update` writes them, and
// the test fails where a document has another value.
func TestFigures(t *testing.T) {
	f, err := figures.Read(figuresFile)
	require.NoError(t, err)
	for name, text := range documents(t) {
		filled, err := f.Fill(text)
		require.NoError(t, err, name)
		if *update && filled != text {
			require.NoError(t, os.WriteFile(name, []byte(filled), 0o644))
			continue
		}
		require.Equal(t, filled, text, "%s differs from %s: run go test . -run Figures -update", name, figuresFile)
	}
	if *update {
		require.NoError(t, f.Write(figuresFile))
		return
	}
	want, err := os.ReadFile(figuresFile)
	require.NoError(t, err)
	written := t.TempDir() + "/figures.toml"
	require.NoError(t, os.WriteFile(written, want, 0o644))
	require.NoError(t, f.Write(written))
	got, err := os.ReadFile(written)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "the file is as bench --figures writes it")
}

// TestFiguresAreComplete checks that each figure says what was measured, at which commit and on which machine.
func TestFiguresAreComplete(t *testing.T) {
	f, err := figures.Read(figuresFile)
	require.NoError(t, err)
	commits, seen := map[string]bool{}, map[string]bool{}
	for _, r := range f.Figures {
		require.False(t, seen[r.ID], r.ID)
		seen[r.ID] = true
		require.Regexp(t, `^[a-z]+/[\w-]+$`, r.ID)
		require.NotEmpty(t, r.What, r.ID)
		require.True(t, slices.ContainsFunc(f.Machines, func(m figures.Machine) bool { return m.Name == r.Machine }),
			"%s: the machine %q is not in the table", r.ID, r.Machine)
		require.Regexp(t, `^[0-9a-f]{8}$`, r.Commit, r.ID)
		require.NotZero(t, r.Date, r.ID)
		require.Positive(t, r.Repeats, r.ID)
		require.Positive(t, r.Ours+r.Ratio+r.RatioCPU+r.Rate+float64(r.Bytes), r.ID)
		require.Equal(t, r.Other+r.Ratio+r.RatioCPU > 0, r.Against != "", r.ID)
		commits[r.Commit] = true
	}
	require.Greater(t, len(seen), 100)
	shallow, _ := exec.Command("git", "rev-parse", "--is-shallow-repository").Output()
	if string(shallow) != "false\n" {
		return // not all commits are here
	}
	for c := range commits {
		require.NoError(t, exec.Command("git", "cat-file", "-e", c+"^{commit}").Run(), "there is no commit %s", c)
	}
}

// TestFill has the values of markers, and those that are wrong.
func TestFill(t *testing.T) {
	f := figures.File{
		Machines: []figures.Machine{{Name: "m", Processor: "a fast one", Cores: 2, Load: "nothing"}},
		Figures: []figures.Figure{
			{ID: "a/one", What: "one", Ours: .0441, Other: .309, Ratio: 7.02, Rate: 526e3, Unit: "steps", Bytes: 97e6,
				Against: "JAX 1", Machine: "m", Commit: "0123abcd"},
			{ID: "a/two", What: "two", Ours: 310, Ratio: .853, RatioCPU: 14.3, Machine: "m", Commit: "0123abcd"}}}
	filled, err := f.Fill("It takes <!-- fig a/one ours -->x<!-- /fig -->, a ratio of <!-- fig a/one ratio -->" +
		"<!-- /fig -->, or <!-- fig a/two ratio_cpu -->1<!-- /fig -->.\n")
	require.NoError(t, err)
	require.Equal(t, "It takes <!-- fig a/one ours -->44.1 ms<!-- /fig -->, a ratio of <!-- fig a/one ratio -->7.0"+
		"<!-- /fig -->, or <!-- fig a/two ratio_cpu -->14<!-- /fig -->.\n", filled)
	again, err := f.Fill(filled)
	require.NoError(t, err)
	require.Equal(t, filled, again)
	require.Equal(t, "It takes , a ratio of , or .\n", figures.Strip(filled))

	filled, err = f.Fill("<!-- figures a -->\n<!-- /figures -->\n")
	require.NoError(t, err)
	require.Equal(t, `<!-- figures a -->

| workload | what | ours | rate | memory | other | against | ratio, wall | ratio, CPU |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| `+"`one`"+` | one | 44.1 ms | 526 K steps/s | 97 MB | 309 ms | JAX 1 | 7.0 |  |
| `+"`two`"+` | two | 310 s |  |  |  |  | 0.85 | 14 |

All rows: machine m, commit `+"`0123abcd`"+`.

<!-- /figures -->
`, filled)

	f.Put(figures.Figure{ID: "b/one"})
	f.Put(figures.Figure{ID: "a/three"})
	f.Put(figures.Figure{ID: "a/one", What: "again"})
	var ids []string
	for _, r := range f.Figures {
		ids = append(ids, r.ID)
	}
	require.Equal(t, []string{"a/one", "a/two", "a/three", "b/one"}, ids, "rows of a suite are together")
	require.Equal(t, "again", f.Figures[0].What)

	for text, want := range map[string]string{
		"a <!-- fig a/four ours -->1<!-- /fig -->":       `there is no figure "a/four"`,
		"a <!-- fig a/two speed -->1<!-- /fig -->":       `has no field "speed"`,
		"a <!-- fig a/two memory -->1<!-- /fig -->":      "has no value of memory",
		"a <!-- fig a/one ours -->1":                     "is not closed",
		"a <!-- fig\na/one ours -->1<!-- /fig -->":       "is not closed",
		"a <!-- fig a/one -->1<!-- /fig -->":             "is not closed",
		"<!-- fig a/one ours -->1<!-- /fig --> at first": "begins a line",
		"<!-- figures c -->\n<!-- /figures -->\n":        `no figures of the suite "c"`,
		"<!-- figures a -->\n| a |\n":                    "is not closed",
	} {
		_, err := f.Fill(text)
		require.ErrorContains(t, err, want, text)
	}
}

// constants are numbers with a unit that are no measurement.
var constants = []struct{ page, text, why string }{
	{"install.md", "63 MB", "size of a pinned download"}, {"accelerators.md", "240 MB", "the same"},
	{"accelerators.md", "137 MB", "the same"}, {"accelerators.md", "3.0 GB", "the same"},
}

var (
	codeBlock = regexp.MustCompile("(?s)```.*?\n *```|`[^`\n]*`")
	// quantity is a measured number: with a unit, or a factor.
	quantity = regexp.MustCompile(`\b\d[\d,.]*(?: to \d[\d,.]*)? ?(?:us|ms|seconds|minutes|[KMGT]?B/s|` +
		`GFLOP/s|s|KB|MB|GB|[KM] steps|steps/s|times)\b`)
)

// TestPagesHaveNoFiguresOfTheirOwn checks that a number with a unit in the README and in docs stands between the
// markers of a figure. Notes on what was measured may have numbers of their own.
func TestPagesHaveNoFiguresOfTheirOwn(t *testing.T) {
	all := documents(t)
	checked, used := 0, make([]bool, len(constants))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name != "README.md" && !strings.HasPrefix(name, "docs/") || strings.HasPrefix(name, "docs/notes/") ||
			isGenerated(name) {
			continue
		}
		checked++
		text := codeBlock.ReplaceAllString(figures.Strip(all[name]), "")
		for i, c := range constants {
			if c.page == path.Base(name) && strings.Contains(text, c.text) {
				text, used[i] = strings.ReplaceAll(text, c.text, ""), true
			}
		}
		var faults []string
		for line := range strings.SplitSeq(text, "\n") {
			for _, m := range quantity.FindAllString(line, -1) {
				faults = append(faults, fmt.Sprintf("%s has %q in %q: put it between the markers of a row of %s, or "+
					"move it to docs/notes", name, m, line, figuresFile))
			}
		}
		for _, f := range faults {
			t.Error(f)
		}
	}
	require.Greater(t, checked, 20)
	for i, c := range constants {
		assert.True(t, used[i], "%s has no %q (%s)", c.page, c.text, c.why)
	}
}

// isGenerated reports whether tests or benchmarks write a page.
func isGenerated(name string) bool {
	return slices.Contains([]string{"from-jax.md", "bbob.md", "commands.md", "environments.md", "policies.md",
		"strategies.md"}, path.Base(name)) || name == "docs/reference/qd.md"
}

func TestQuantities(t *testing.T) {
	for text, want := range map[string]string{
		"it takes 3.3 ms": "3.3 ms", "5 to 7 times as fast": "5 to 7 times", "400 KB": "400 KB",
		"1.2 M steps/s": "1.2 M steps",
		"20 seeds":      "", "64 x 128 steps": "", "30 GB/s": "30 GB/s", "3 states": "", "16 MiB": "", "in 2 steps": "",
	} {
		require.Equal(t, want, quantity.FindString(text), text)
	}
}
