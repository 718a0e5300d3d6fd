package bench

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/internal/figures"
)

// reasons is the page of rows that are below their goals: the first cell of each row of its first table is a name.
const reasons = "docs/notes/beside-peers.md"

// Each goal is of a row that exists. What docs/figures.toml lacks, or has below its goal, is on the page of reasons,
// and what reaches its goal is not.
func TestGoals(t *testing.T) {
	names := map[string]bool{}
	for _, s := range suites() {
		names[s.Name+"/*"] = true
		for _, w := range s.Workloads(Options{}) {
			for _, row := range w.rowNames() {
				names[s.Name+"/"+row] = true
			}
		}
	}
	for _, r := range parallelSummary([]row{{Name: "small-10-1", Processor: 1}, {Name: "small-10-2"},
		{Name: "coordination"}}) {
		names["parallel/"+r.Name] = true // the model's
	}
	for _, id := range slices.Sorted(maps.Keys(goals)) {
		assert.Contains(t, names, id, "a goal of no row")
	}
	for suite := range meanGoals {
		assert.Contains(t, names, suite+"/*", "a goal of no suite")
	}
	root := filepath.Join("..", "..", "..")
	reason := map[string]bool{}
	for line := range strings.Lines(read(t, filepath.Join(root, reasons))) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, name := range strings.Split(cells[1], ",") {
				reason[strings.Trim(name, " `")] = true
			}
		}
	}
	f, err := figures.Read(filepath.Join(root, "docs", "figures.toml"))
	require.NoError(t, err)
	compared, figure := 0, map[string]bool{}
	for _, r := range f.Figures {
		figure[r.ID] = true
		suite, name, _ := strings.Cut(r.ID, "/")
		if suite == "commands" {
			continue
		}
		require.Contains(t, names, r.ID, "a figure of no workload")
		goal := goalOf(suite, name)
		if goal == (Goal{}) {
			continue
		}
		compared++
		below := goal.below(r.Ratio, r.RatioCPU, r.RatioCompile, r.Ours)
		assert.Equal(t, len(below) > 0, reason[r.ID], "%s is below its goal in %v: on %s: %t", r.ID, below, reasons,
			reason[r.ID])
	}
	require.Greater(t, compared, 60)
	for id := range goals {
		if !strings.HasSuffix(id, "/*") && !figure[id] {
			assert.Contains(t, reason, id, "a goal without a figure is on %s, too", reasons)
		}
	}
}

// A goal in CPU time does not hide behind a ratio by the clock. What is not known is not below.
func TestBelowGoal(t *testing.T) {
	g := Goal{Ratio: 3, CPU: 1.5, Compile: 1, Seconds: .2}
	require.Empty(t, g.below(3, 1.5, 1, .2))
	require.Empty(t, g.below(0, 0, 0, 0))
	require.Equal(t, []string{"ratio"}, g.below(2.9, 0, 0, 0))
	require.Equal(t, []string{"CPU", "compiling", "seconds"}, g.below(4, 1.4, .9, .3))
	require.Empty(t, Goal{}.below(.1, .1, .1, 9))
}

// The share of a limit is on all rows of its workload, and that of the tightest is taken.
func TestShareOfLimit(t *testing.T) {
	text := func(name string, seconds ...float64) *side {
		return &side{peer: &Peer{Name: name, Limit: strings.HasPrefix(name, "C")}, seconds: seconds, compile: seconds}
	}
	all := rows(Workload{Name: "w"}, &side{seconds: []float64{2}, compile: []float64{1}},
		[]*side{text("gymnax", 8), text("C-slow", 1.8), text("C", 1.3)})
	for _, r := range all {
		require.Equal(t, "C", r.Limit, r.Name)
		require.Equal(t, .65, r.Share, r.Name)
	}
	require.Equal(t, "w-gymnax", all[0].Name)
	var out strings.Builder
	all[0].Goal, all[0].Below = Goal{Ratio: 5}, []string{"ratio"}
	require.NoError(t, printRows(&out, all))
	require.Regexp(t, `w-gymnax +2 s +gymnax 8 s +4 +5 below +0.65 of C `, out.String())
}
