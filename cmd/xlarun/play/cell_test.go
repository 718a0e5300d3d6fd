package play

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
)

// saveElites writes a run's folder with an archive of twelve cells, and returns the rollout and its elites: the member
// of key i is in the i-th of the cells.
func (b *bed) saveElites(folder string, cells []int32) (*episode.Rollout, any) {
	b.t.Helper()
	r := b.save(filepath.Join(folder, "final.safetensors"), "CartPole-v1", "linear", 50, 99)
	arrays := map[string]*graph.Array{"centers": graph.Zeros(graph.ShapeOf(graph.Float32, 12, 2))}
	var members any
	if len(cells) > 0 {
		members = graph.VMap(r.Policy.Init)(random.Split(random.New(4), len(cells)))
		arrays["cell"] = graph.Int32s(cells)
		arrays["fitness"] = graph.Iota(len(cells)).Convert(graph.Float32).Mul(.5)
		arrays["generation"] = graph.Iota(len(cells)).Mul(10).Add(1)
		leaves, tree := graph.Flatten(members)
		for i, leaf := range leaves {
			arrays["member."+safetensors.Name(tree.Path(i))] = leaf
		}
	}
	metadata, err := safetensors.WithDigest(arrays, map[string]string{"generation": "42",
		"format": "xlarun archive", "format_version": runfolder.ArchiveVersion})
	require.NoError(b.t, err)
	require.NoError(b.t, safetensors.Save(filepath.Join(folder, runfolder.ArchiveFile), arrays, metadata))
	return r, members
}

// The elites of an archive that another version wrote are refused by its version.
func TestCellOfAnotherFormat(t *testing.T) {
	b := newBed(t)
	b.saveElites("run", []int32{2, 7})
	path := filepath.Join("run", runfolder.ArchiveFile)
	old := &Saved{Path: path}
	require.NoError(t, old.read())
	metadata, err := safetensors.WithDigest(old.Arrays, map[string]string{"format": "xlarun archive",
		"format_version": "2"})
	require.NoError(t, err)
	require.NoError(t, safetensors.Save(path, old.Arrays, metadata))
	_, err = openCell("run", "cell-7")
	require.ErrorContains(t, err, `has the format_version "2" of an archive, want "3": another version of xlarun wrote`)
}

// --cell 7.1 is the second elite of the front of cell 7.
func TestCellOfFront(t *testing.T) {
	b := newBed(t)
	b.saveElites("run", []int32{2, 7, 7})
	b.good("export", "run", "--cell", "7.1", "--out", "elite.safetensors")
	file := &Saved{Path: "elite.safetensors"}
	require.NoError(t, file.read())
	require.Equal(t, []string{"1", "21", "cell-7.1"},
		[]string{file.Metadata["fitness"], file.Metadata["generation"], file.Metadata["member"]})
}

// the archive).
func TestCell(t *testing.T) {
	b := newBed(t)
	r, members := b.saveElites("run", []int32{2, 7, 9})
	elite, err := graph.Eval(graph.MapTree(func(a *graph.Array) *graph.Array { return a.Index(1) }, members))
	require.NoError(t, err)
	got, lines := b.json("play", "run", "--cell", "7", "--episodes", "1", "--seed", "3", "--gif", "none")
	s, err := graph.Eval(r.Episode(elite, random.FoldIn(run.EpisodesKey(3), 0)))
	require.NoError(t, err)
	want, err := graph.Floats(s.Return)
	require.NoError(t, err)
	require.Equal(t, want[0], *got.Mean)
	require.Equal(t, "cell-7", got.Member)
	require.Contains(t, lines[0], "cell-7 member of run, generation 11: linear for CartPole-v1")

	b.good("export", "run", "--cell", "7", "--out", "elite.safetensors")
	file := &Saved{Path: "elite.safetensors"}
	require.NoError(t, file.read())
	require.Equal(t, []string{"0.5", "11", "cell-7"},
		[]string{file.Metadata["fitness"], file.Metadata["generation"], file.Metadata["member"]})
	require.NotContains(t, file.Metadata, "mean_return", "that of the mean")
	again, _ := b.json("play", "elite.safetensors", "--episodes", "1", "--seed", "3", "--gif", "none")
	require.Equal(t, got.Mean, again.Mean)
}

func TestBadCells(t *testing.T) {
	b := newBed(t)
	b.saveElites("run", []int32{2, 7, 9})
	b.saveElites("full", []int32{0, 1, 2, 3, 4, 5, 6, 7, 8})
	b.saveElites("empty", nil)
	b.save("other/final.safetensors", "CartPole-v1", "linear", 50, 1)
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"a place beyond a front", []string{"run", "--cell", "7.1"}, "--cell got 7.1, wants an elite of " +
			"the cell's front: it has 1, counted from 0"},
		{"a word", []string{"run", "--cell", "x"},
			`--cell got "x", wants a cell such as 17, or an elite of its front such as 17.2`},
		{"a number below 0", []string{"run", "--cell=-1"}, "wants a cell such as 17"},
		{"two members", []string{"run", "--cell", "2", "--member", "best"}, "leave one of them out"},
		{"an empty archive", []string{"empty", "--cell", "2"}, "a cell without an elite: the archive is empty\n"},
		{"all elites are listed", []string{"run", "--cell", "3.2"}, "--cell got 3.2, a cell " +
			"without an elite; these have one (3): 2, 7, 9\n"},
		{"some are listed", []string{"full", "--cell", "9"}, "these have one (9): 0, 1, 2, 3, 4, 5, 6, 7, …\n"},
		{"beyond the last cell", []string{"run", "--cell", "12"}, "wants a cell from 0 to 11"},
		{"another kind of run", []string{"other", "--cell", "2"}, "give a run of qd"},
	} {
		status, _, errs := b.run(append([]string{"play"}, c.args...)...)
		require.Equal(t, console.StatusUsage, status, c.name)
		require.Contains(t, errs, c.want, c.name)
	}
}
