package cli

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/envs"
	"xlarun/internal/long"
	"xlarun/rollout/ppo"
	"xlarun/rollout/run"
)

// examples are the config files that README.md there lists, by name without their ending.
func examples(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../../examples/*.toml")
	require.NoError(t, err)
	files := map[string]string{}
	for _, path := range paths {
		if strings.HasPrefix(filepath.Base(path), "study-") { // those of studies, which xlarun/studies checks
			continue
		}
		whole, err := filepath.Abs(path)
		require.NoError(t, err)
		files[strings.TrimSuffix(filepath.Base(path), ".toml")] = whole
	}
	return files
}

// example runs a config file on the CPU plugin, and gives the run's result.
func example(t *testing.T, kind, path string, args ...string) map[string]any {
	t.Helper()
	shelltest.ShareCache(t)
	return onCPU.Result(t, append([]string{kind, "--config", path, "--out", "none"}, args...)...)
}

// stated is the score that the first line of a file's head states, of its environment's name and colon.
var stated = regexp.MustCompile(`^# [^:]+: (-?[0-9.,]+) \(500 new episodes; standard error ([0-9.]+)\)`)

// Every example is a config, and states the environment, a score and what it takes; the table has a row for each. The
// first of each kind of run runs on the interpreter, and the programs of the first with each policy are traced: in the
// long form all. PPO's of MuJoCo's tasks run on XLA, where all long forms run.
func TestExamplesRun(t *testing.T) {
	table := read(t, "../../../examples", "README.md")
	all := examples(t)
	require.GreaterOrEqual(t, len(all), 8)
	names := slices.Sorted(maps.Keys(all))
	sample := func(key func(c *configFile) string) []string {
		return long.Sample(names, func(name string) string {
			c, err := readConfig(all[name])
			require.NoError(t, err)
			return key(c)
		})
	}
	runs := sample(func(c *configFile) string { return kindOf(c.head) })
	traced := sample(func(c *configFile) string {
		policy, _, _ := strings.Cut(fmt.Sprint(c.values["policy"]), ":")
		return kindOf(c.head) + " " + policy
	})
	for _, name := range names {
		path := all[name]
		t.Run(name, func(t *testing.T) {
			text := read(t, filepath.Dir(path), filepath.Base(path))
			c, err := readConfig(path)
			require.NoError(t, err)
			k, ok := run.Lookup(kindOf(c.head))
			require.True(t, ok)
			_, err = (&flagValues{inspects: !slices.Contains(traced, name)}).resolve(k, "", c)
			require.NoError(t, err)
			if k.Name == "selfplay" {
				checkSelfplayExample(t, text, row(table, name))
				return
			}
			id := c.values["env"].(string)
			require.True(t, slices.Contains(envs.IDs(), id))
			require.True(t, strings.HasPrefix(text, "# "+id), "the head names the environment")
			score := stated.FindStringSubmatch(text)
			require.NotNil(t, score, "the head states the score")
			require.Contains(t, text, "machine of two cores")
			require.Contains(t, table, "["+name+".toml]("+name+".toml)")
			require.Regexp(t, `\| `+regexp.QuoteMeta(score[1])+` \|`, row(table, name),
				"the table's score is the file's")
			if k.Name == "ppo" { // Walker2d's were HalfCheetah's
				defaults := ppo.DefaultConfig()
				defaults.Env = id
				for key, value := range defaults.Suggested() {
					if given, ok := c.values[key]; ok && key != "policy" {
						require.Equal(t, fmt.Sprint(given), fmt.Sprint(value), "xlarun ppo %s takes its %s", id, key)
					}
				}
			}

			if !slices.Contains(runs, name) {
				return
			}
			if k.Name == "ppo" {
				backend := "reference"
				if strings.HasSuffix(id, "-v5") { // the interpreter takes an hour for an episode of Ant
					if !long.All() {
						return
					}
					backend = "cpu"
				}
				r := example(t, "ppo", path, "--backend", backend, "--envs", "4", "--horizon", "2", "--epochs", "1",
					"--minibatches", "1", "--steps", "16", "--eval-envs", "1", "--eval-episodes", "1", "--target", "0")
				require.EqualValues(t, 2, r["updates"])
				return
			}
			small := []string{"--pop", "8"} // pairs, and an elite
			if k.Name == "qd" {
				small = []string{"--batch", "2", "--tile", "2"}
			}
			small = append(small, "--backend", "reference", "--devices", "1", "--steps", "1", "--generations", "2",
				"--eval-envs", "1", "--eval-episodes", "1", "--target", "0")
			if k.Name == "islands" {
				small = append(small, "--migrants", "2")
			}
			r := example(t, k.Name, path, small...)
			require.EqualValues(t, 2, r["generations"])
		})
	}
}

// statedElo is what the first line of a self-play file's head states: of 2,069 won positions, or the score against the
// untrained network in per cent, or the number of colorings that were found.
var (
	statedWins  = regexp.MustCompile(`^# [^:]+: wins ([0-9,]+) of \d`)
	statedScore = regexp.MustCompile(`^# [^:]+: ([0-9.]+) % against the untrained network`)
	statedFound = regexp.MustCompile(`^# [^:]+: ([0-9]+) colorings of`)
)

// checkSelfplayExample checks that the head and the row of a game's example state the same result.
func checkSelfplayExample(t *testing.T, text, row string) {
	t.Helper()
	result := statedWins.FindStringSubmatch(text)
	if result == nil {
		result = statedScore.FindStringSubmatch(text)
	}
	if result == nil {
		result = statedFound.FindStringSubmatch(text)
	}
	require.NotNil(t, result, "the head states the result")
	require.Contains(t, text, "machine of two cores")
	require.Contains(t, row, " "+result[1]+" ", "the table has the file's result")
}

// kindOf is the kind of run that a config is for.
func kindOf(head map[string]any) string {
	if kind, ok := head[kindKey].(string); ok {
		return kind
	}
	return "evolve"
}

// row is the line of a table that names a file.
func row(table, name string) string {
	for _, line := range strings.Split(table, "\n") {
		if strings.Contains(line, "("+name+".toml)") {
			return line
		}
	}
	return ""
}

// Examples reach their scores, up to four standard errors and a twentieth: last digits are another machine's. The short
// form runs the one that takes the least time.
func TestExamplesReachTheirScores(t *testing.T) {
	for name, path := range examples(t) {
		if !long.All() && name != "cartpole" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if text := read(t, filepath.Dir(path), filepath.Base(path)); statedWins.MatchString(text) {
				require.EqualValues(t, 1, example(t, "selfplay", path)["won_classes_kept"])
				return
			} else if statedFound.MatchString(text) {
				require.Positive(t, example(t, "selfplay", path)["found"])
				return
			} else if statedScore.MatchString(text) {
				t.Skip("takes as long as its head says; the share of games that are won is not as sharp as a score")
			}
			score := stated.FindStringSubmatch(read(t, filepath.Dir(path), filepath.Base(path)))
			require.NotNil(t, score)
			want, err := strconv.ParseFloat(strings.ReplaceAll(score[1], ",", ""), 64)
			require.NoError(t, err)
			spread, err := strconv.ParseFloat(score[2], 64)
			require.NoError(t, err)
			c, err := readConfig(path)
			require.NoError(t, err)
			r := example(t, kindOf(c.head), path)
			require.Greater(t, r["best_member_mean_return"], want-4*spread-.05*max(want, -want))
		})
	}
}
