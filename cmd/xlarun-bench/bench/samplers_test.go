package bench

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"

	"xlarun/cmd/xlarun-bench/bench/samplerbench"
	"xlarun/cmd/xlarun/console"
)

// TestSamplersBesideOptunas: in the long form, after 50 and 200 trials, no sampler is worse than Optuna's on any of the
// problems, whose answers are committed. The short form compares the questions; studies/study compares samplers, too.
func TestSamplersBesideOptunas(t *testing.T) {
	kept, err := readKept[keptAnswer]("samplerbench/testdata/optuna.jsonl")
	require.NoError(t, err)
	marks := []int{50, 200}
	const seeds = 20
	for _, name := range samplerNames {
		var ours, theirs []bests
		for _, p := range samplerbench.Problems() {
			q, err := newSamplerQuestion(name, p, seeds, marks)
			require.NoError(t, err)
			text, err := json.Marshal(q)
			require.NoError(t, err)
			i := slices.IndexFunc(kept, func(k keptAnswer) bool { return k.Sampler == name && k.Problem == p.Name })
			require.GreaterOrEqual(t, i, 0, "%s, %s", name, p.Name)
			require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(text))[:16], kept[i].Digest,
				"Optuna was asked for another %s", p.Name)
			if !long.On() {
				continue
			}
			best, err := ownBests(t.Context(), name, p, seeds, marks)
			require.NoError(t, err)
			ours, theirs = append(ours, best), append(theirs, kept[i].Best)
		}
		if !long.On() {
			continue
		}
		c := compareSamplers(name, marks, ours, theirs)
		require.Len(t, c.Lines, 11*len(marks))
		for _, l := range c.Lines {
			require.NotEqual(t, "worse", l.verdict(), "%s: %+v", name, l)
		}
	}
}

// samplersAnswer is what a peer answers whose studies all come to a value after each of two marks.
func samplersAnswer(value string, seeds int) string {
	return `{"best": [` + strings.Join(slices.Repeat([]string{"[" + value + "," + value + "]"}, seeds), ",") + "]}"
}

// Against a peer that never comes down ours is better everywhere, and worse against one that is always there; answers
// that are kept are not asked for again.
func TestStudySamplers(t *testing.T) {
	for _, c := range []struct {
		number        int
		value         string
		better, worse int
		mark          string
	}{{1, "1e30", 22, 0, ` \*\* |`}, {2, "0", 0, 22, ` \* |`}} {
		b := newBed(t)
		args := []string{"samplers", "random", "--seeds", "12", "--trials", "2,4", "--json", "--peers",
			"--keep", "kept.jsonl", "--out", "table.md"}
		require.Equal(t, 0, b.do(append(args, "--peers-python", bbobPython(t, samplersAnswer(c.value, 12)))...), "%s",
			b.err)
		comparison := b.result(t)["comparisons"].([]any)[0].(map[string]any)
		if c.value == "0" { // the table has so few places that a study may find the best
			require.GreaterOrEqual(t, comparison["worse"], 20., "case %d", c.number)
		} else {
			require.EqualValues(t, c.better, comparison["better"], "case %d", c.number)
			require.EqualValues(t, c.worse, comparison["worse"], "case %d", c.number)
		}
		require.Contains(t, read(t, "table.md"), c.mark)
		require.Equal(t, 25, strings.Count(read(t, "table.md"), "\n"), "two lines of head, one of the sums")
		require.Equal(t, 11, strings.Count(read(t, "kept.jsonl"), "\n"))
		require.Equal(t, 0, b.do(append(args, "--peers-python", bbobPython(t, "nothing"))...), "%s", b.err)
		require.Equal(t, comparison, b.result(t)["comparisons"].([]any)[0])
	}
	b := newBed(t)
	require.Equal(t, 0, b.do("samplers", "nsga2", "--seeds", "1", "--trials", "3"), "%s", b.err)
	require.Equal(t, 12, strings.Count(b.out.String(), "\n"), "without a peer the medians alone")
}

// What cannot be compared is said so, before anything runs; so is an answer that is none.
func TestStudySamplersRefuses(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"tpee", `there is no sampler "tpee"`}, {"grid", "there is no sampler"}, {"--seeds 0", "--seeds got 0"},
		{"--trials 5,5", "--trials got [5 5], wants rising"}, {"--trials 0", "--trials got [0]"},
		{"--out x.md", "--out got \"x.md\", but there is nothing to compare"}, {"--keep x", "--keep got \"x\""},
	} {
		b := newBed(t)
		require.Equal(t, console.StatusUsage, b.do(append([]string{"samplers"}, strings.Fields(c.args)...)...),
			c.args)
		require.Contains(t, b.err.String(), c.want, c.args)
	}
	for _, c := range []struct{ limit, answer, want string }{{"200ms", "hello", "gave no answer for 200ms"},
		{"10m", `{"best": [[1]]}`, "answered with 1 studies, want 2 with 1 values each"}} {
		b := newBed(t)
		require.NotEqual(t, 0, b.do("samplers", "random", "--seeds", "2", "--trials", "1", "--limit", c.limit,
			"--peers", "--peers-python", bbobPython(t, c.answer)))
		require.Contains(t, b.err.String(), c.want)
	}
	b := newBed(t)
	write(t, "kept.jsonl", "{")
	require.Equal(t, console.StatusUsage, b.do("samplers", "--peers", "--keep", "kept.jsonl"))
	require.Contains(t, b.err.String(), "--keep kept.jsonl: line 1 is no answer that was kept")
}
