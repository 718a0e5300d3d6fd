package plots

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
)

// Of two folders with the same settings and seed one counts. The other was dropped without a word.
func TestLeftOut(t *testing.T) {
	dir := t.TempDir()
	rows := evaluated["evolve"]
	save := func(name, config string, rows ...string) string {
		return judge(t, saveRun(t, dir, name, config, rows...), "3", 0)
	}
	first := save("first", limited("1", "eval-envs = 64\nrounds = 0\n"), rows...)
	same := save("same", limited("1", "eval-envs = 64\nrounds = 0\n"), rows...)
	broken := save("broken", limited("1", "eval-envs = 64\nrounds = 0\n"), rows[0],
		strings.Replace(rows[1], `"mean_fitness":2`, `"mean_fitness":7`, 1), rows[2])
	often := save("often", limited("1", "eval-envs = 500\nrounds = 0\n"), rows[0],
		strings.Replace(rows[1], `"eval_return":10`, `"eval_return":11`, 1), rows[2])
	short := save("short", limited("1", "eval-envs = 64\nrounds = 2\n"), rows[:2]...)
	stopped := save("stopped", limited("1", "eval-envs = 64\nrounds = 0\n"), rows[:2]...)
	other := save("other", strings.Replace(seeded("1"), "openes", "pgpe", 1), rows...)
	left := ": same settings and seed as " + first
	for i, c := range []struct {
		runs []string
		said []string
	}{
		{[]string{first, first + "/"}, []string{first + "/ is given twice and counts once"}},
		{[]string{first, same}, []string{same + " left out" + left}},
		{[]string{first, broken}, []string{broken + " left out" + left + ", but other results (mean_fitness)"}},
		{[]string{first, often}, []string{often + " left out" + left + " except eval-envs"}},
		{[]string{stopped, first}, []string{stopped + " left out" + left + ", but only 2 of 3 generations"}},
		{[]string{short, first, other}, []string{short + " left out" + left + " except rounds, but only 2 of 3 " +
			"generations"}},
		{[]string{short, first}, nil}, // nothing but the length differs
	} {
		var out, said bytes.Buffer
		streams := console.Streams{Out: &out, Err: &said}
		want := strings.Join(append(c.said, ""), "\n")
		for _, cmd := range []*cobra.Command{Compare(streams), Command(streams)} {
			said.Reset()
			cmd.SetArgs(append(c.runs, "--out", filepath.Join(dir, "a.svg")))
			require.NoError(t, cmd.Execute(), "case %d", i+1)
			require.Equal(t, want, said.String(), "case %d", i+1)
		}
	}
	text, err := compare(t, short, first)
	require.NoError(t, err)
	require.Contains(t, text, "\nrounds 2   1 ")
	require.Contains(t, text, "\nevolve     1 ")
	unjudged := saveRun(t, dir, "unjudged", seeded("1"), rows...)
	text, err = compare(t, first, unjudged)
	require.NoError(t, err)
	require.Contains(t, text, "mean return of each run's result", "what is left out does not choose the score")
	text, err = compare(t, first, same, "--json")
	require.NoError(t, err)
	require.Contains(t, text, `"left_out":["`+same+` left out`)
}

// What is drawn by default is no counter, and names and titles say what the numbers are of.
func TestNamesOfResults(t *testing.T) {
	dir := t.TempDir()
	sparse := "kind = 'sparse'\nseed = %s\ndata = ''\n"
	seed := func(config, seed string) string { return strings.Replace(config, "%s", seed, 1) }
	untested := saveRun(t, dir, "untested", seed(sparse, "1"),
		`{"update":1,"steps":64,"loss":2,"worst_accuracy":0.1,"mean_accuracy":0.2}`,
		`{"update":2,"steps":128,"loss":1,"worst_accuracy":0.1,"mean_accuracy":0.3}`)
	tested := saveRun(t, dir, "tested", seed(sparse, "2"),
		`{"update":1,"steps":64,"loss":2,"mean_accuracy":0.2,"eval_return":0.5}`)
	clique := "kind = 'selfplay'\ngame = 'clique'\nvertices = 5\nk = [3]\nvariant = 'maker'\nseed = %s\n"
	game := saveRun(t, dir, "game", seed(clique, "1"), `{"iteration":1,"positions":9,"loss":3,"eval_return":0.5}`)
	larger := saveRun(t, dir, "larger", strings.Replace(seed(clique, "1"), "5", "6", 1), `{"iteration":1,"loss":3}`)
	null := saveRun(t, dir, "null", seeded("1"), `{"generation":1,"mean_fitness":1,"eval_return":null}`)
	counted := saveRun(t, dir, "counted", seeded("1"), `{"generation":1,"births":3,"width":0.5}`,
		`{"generation":2,"births":4,"width":0.25}`)
	a, b := saveRun(t, dir, "a", seeded("1"), evaluated["evolve"]...), saveRun(t, dir, "b", seeded("2"),
		evaluated["evolve"]...)
	for i, c := range []struct {
		runs    []string
		said    string // after the path
		texts   []string
		without string
	}{
		{[]string{untested}, ": mean accuracy in training (" + untested + " has no eval_return)",
			[]string{">MNIST<", ">mean accuracy in training<"}, ">steps<"},
		{[]string{tested}, "", []string{">MNIST<", ">test accuracy<", ">mean accuracy in training<"}, "return"},
		{[]string{game}, "", []string{">clique, vertices 5, k [3], variant maker<", ">share of points<"}, "return"},
		{[]string{null}, ": mean fitness of the population (" + null + " has no finite eval_return)",
			[]string{">mean fitness of the population<"}, "eval return"},
		{[]string{counted}, ": width (" + counted + " has no eval_return)", []string{">width<"}, "births"},
		{[]string{a, b}, "", []string{"eval return: interquartile mean of 2 runs, too few for an interval",
			"mean fitness of the population: interquartile mean of 2 runs<"}, ""},
	} {
		path := filepath.Join(dir, "a.svg")
		drew, leftOut, err := options{out: path}.plot(c.runs)
		require.NoError(t, err)
		require.Empty(t, leftOut)
		require.Equal(t, path+c.said, drew, "case %d", i+1)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, want := range c.texts {
			require.Contains(t, string(text), want, "case %d", i+1)
		}
		if c.without != "" {
			require.NotContains(t, string(text), c.without, "case %d", i+1)
		}
	}
	for _, c := range []struct {
		caption string
		args    []string
	}{
		{"MNIST: last test accuracy of each run\n", []string{tested}},
		{"clique, vertices 5, k [3], variant maker: last share of points of each run\n", []string{game}},
		{"CartPole-v1: eval return at 2 generations\n", []string{a, "--at", "2", "--x", "generation"}},
		{"CartPole-v1: mean fitness at 1 generation\n", []string{a, "--at", "1", "--x", "generation", "--metric",
			"mean_fitness"}},
	} {
		text, err := compare(t, c.args...)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(text, c.caption), text)
	}
	_, err := compare(t, game, larger)
	require.ErrorContains(t, err, "has no judged result and no eval_return: give --metric, one of loss")
}
