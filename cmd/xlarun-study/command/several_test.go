package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
)

// smallRun ends the spec of a study: runs of two generations, of which one number is searched.
const smallRun = `[run]
env = "CartPole-v1"
backend = "reference"
policy = "linear"
pop = 4
steps = 5
generations = 2
[[param]]
name = "learning-rate"
type = "float"
low = 0.01
high = 1
`

// TestTrialsAreNoIslands: all trials of a study of islands had one name, so that most of them failed.
func TestTrialsAreNoIslands(t *testing.T) {
	t.Parallel()
	s := shelltest.New(t)
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "spec.toml"), []byte("name = \"one\"\nmetric = "+
		"\"best_fitness\"\n"+strings.Replace(smallRun, "[run]", "[run]\nisland = \"a\"\nmigration-dir = "+
		"\"shared\"\nmigrants = 1", 1)), 0o666))
	require.Contains(t, s.Refused(t, "study", "run", "spec.toml"), `key "run.island" got a value, but results of `+
		"trials do not depend on other runs: leave it out")
	require.NoDirExists(t, s.Path("shared"))
}

// TestStudiesOfOneDatabase: a database with two studies, what is said of it where it is cut, and where it is a folder.
func TestStudiesOfOneDatabase(t *testing.T) {
	t.Parallel()
	s := shelltest.New(t)
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "spec.toml"), []byte(`name = "one"
storage = "sqlite:///mine.db"
metric = "best_fitness"
trials = 1
population = 3
pruner = "median"
`+smallRun), 0o666))
	// What has no effect is said.
	out := s.Do(t, "study", "run", "spec.toml")
	require.Contains(t, out, "population has no effect with the sampler tpe: it is for nsga2, cmaes and pbt\n")
	require.Contains(t, out, "pruner median never ends a trial early: runs of 2 steps have no report before their last")
	s.Do(t, "study", "run", "spec.toml", "--name", "two", "--seed", "1")

	// A run names one of the studies without a flag of study best.
	message := s.Refused(t, "evolve", "--from-study", "mine.db")
	require.Contains(t, message, "mine.db has the studies one, two: say which by --from-study mine.db:STUDY")
	for i, at := range []string{"mine.db:two", "mine.db:two:0"} {
		folder := []string{"a", "b"}[i]
		s.Do(t, "evolve", "--from-study", at, "--out", folder)
	}
	require.Equal(t, s.Read(t, "a", "metrics.jsonl"), s.Read(t, "b", "metrics.jsonl"))
	// The line of JSON has the trials, and the config if it goes to stdout.
	best := s.Result(t, "study", "best", "mine.db", "--study", "two")
	require.Len(t, best["trials"], 1)
	require.NotContains(t, best, "config")
	best = s.Result(t, "study", "best", "mine.db", "--study", "two", "--config", "-")
	require.Equal(t, s.Do(t, "study", "best", "mine.db", "--study", "two", "--config", "-"), best["config"])
	require.Contains(t, s.Refused(t, "evolve", "--from-study", "mine.db:three"), "has the studies one, two")
	require.Contains(t, s.Refused(t, "evolve", "--from-study", ""), "--from-study is empty")

	// A file that is cut and a folder are named, by every command that looks.
	whole, err := os.ReadFile(filepath.Join(s.Dir, "mine.db"))
	require.NoError(t, err)
	for _, size := range []int{len(whole) / 2, 5000, 4096, 512, 150} {
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "cut.db"), whole[:size], 0o666))
		for _, command := range []string{"show", "best", "watch"} {
			message := s.Refused(t, "study", command, "cut.db", "--study", "one")
			require.Contains(t, message, "cut.db is a damaged or cut database", "%s of %d bytes", command, size)
			require.Contains(t, message, "take it from a copy")
		}
	}
	require.Contains(t, s.Refused(t, "study", "run", "spec.toml", "--storage", "cut.db"),
		`--storage got cut.db, which is a damaged or cut database: take it from a copy, or give another path`)
	require.Contains(t, s.Refused(t, "study", "run", "spec.toml", "--storage", "a"),
		`--storage got a, which is a folder: give the path of a file in it`)
	require.Contains(t, s.Refused(t, "study", "show", "a"),
		"a is a folder: give the file of a study that was run, or its database")
	// The folder of a run has no studies to choose from.
	require.Contains(t, s.Refused(t, "study", "watch", "a", "--study", "one"), "--study got one, but a is a folder")
}
