package plots

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	_ "xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/internal/chart"
	"xlarun/rollout/run"
)

const ofPPO = "kind = 'ppo'\nenv = 'CartPole-v1'\nseed = %s\nagents = %s\nlearning-rate = 0.001\n"

func ppo(seed, agents string) string {
	return strings.NewReplacer("seed = %s", "seed = "+seed, "agents = %s", "agents = "+agents).Replace(ofPPO)
}

// evaluated are rows of evolve and of ppo with evaluations in some of them.
var evaluated = map[string][]string{
	"evolve": {`{"generation":1,"mean_fitness":1,"env_steps":100}`,
		`{"generation":2,"mean_fitness":2,"env_steps":200,"eval_return":10}`,
		`{"generation":3,"mean_fitness":3,"env_steps":300,"eval_return":30}`},
	"ppo": {`{"update":1,"recent_return":null,"env_steps":50}`,
		`{"update":2,"recent_return":4,"env_steps":100,"eval_return":20}`,
		`{"update":3,"recent_return":5,"env_steps":150,"eval_return":21}`},
}

// Runs with evaluations are drawn by these over environment steps, with the population's mean beside them; runs of
// which one has none by the population's mean alone, and that is said. The mean was drawn of all, which ranks
// strategies by how much their noise costs.
func TestEvaluationsAreDrawn(t *testing.T) {
	dir := t.TempDir()
	evolve := saveRun(t, dir, "evolve", seeded("1"), evaluated["evolve"]...)
	other := saveRun(t, dir, "ppo", ppo("1", "1"), evaluated["ppo"]...)
	old := saveRun(t, dir, "old", seeded("2"), `{"generation":1,"mean_fitness":1,"env_steps":100}`)
	learned := "recent return while learning"
	population := "mean fitness of the population"
	for _, c := range []struct {
		number    int
		runs      []string
		measures  []string // of the first run
		axis, x   string
		said      string
		inPicture []string
	}{
		{1, []string{evolve}, []string{"eval_return", "mean_fitness"}, "eval return", "env_steps", "",
			[]string{"eval return", population, "env steps"}},
		{2, []string{other, evolve}, []string{"eval_return", "recent_return"}, "eval return", "env_steps", "",
			[]string{"eval return: ppo", "eval return: evolve", learned + ": ppo", population + ": evolve"}},
		{3, []string{old}, []string{"mean_fitness"}, population, "generation", ": " + population + " (" + old +
			" has no eval_return)", []string{population, "generation"}},
		{4, []string{evolve, old}, []string{"mean_fitness"}, population, "generation", ": " + population + " (" + old +
			" has no eval_return)", []string{population}},
		{5, []string{old, other}, []string{"mean_fitness"}, population + ", " + learned, "env_steps", ": " +
			population + ", " + learned + " (" + old + " has no eval_return)", []string{"env steps"}},
	} {
		runs, err := readRuns(c.runs)
		require.NoError(t, err)
		var names []string
		measures := defaultMeasures(runs)
		for _, m := range measures {
			names = append(names, m.name(group{runs: runs[:1]}))
		}
		require.Equal(t, c.measures, names, "case %d", c.number)
		require.Equal(t, c.axis, label(measures), "case %d", c.number)
		x, err := defaultX(runs)
		require.NoError(t, err)
		require.Equal(t, c.x, x, "case %d", c.number)
		path := filepath.Join(dir, "a.svg")
		drew, _, err := options{out: path}.plot(c.runs)
		require.NoError(t, err)
		require.Equal(t, path+c.said, drew, "case %d", c.number)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, want := range c.inPicture {
			require.Contains(t, string(text), want, "case %d", c.number)
		}
	}
	r, err := readRun(evolve)
	require.NoError(t, err)
	svg, err := chart.Draw("svg", 500, 500, []*chart.Chart{r.curves("eval_return")})
	require.NoError(t, err)
	for _, legend := range []string{">eval return<", ">mean fitness<"} {
		require.Contains(t, string(svg), legend)
	}
	require.NotContains(t, string(svg), "recent return", "the run has none")
	taller := func(metrics ...string) int {
		data, err := Curves(evolve, metrics)
		require.NoError(t, err)
		picture, err := png.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		return picture.Bounds().Dy()
	}
	require.Equal(t, taller("eval_return", "mean_fitness"), taller("mean_fitness"), "it has a chart for itself")
}

// judge writes the result of a run on 100 episodes, of which some failed. mean is "" if all failed: the file has none.
func judge(t *testing.T, dir, mean string, failed int) string {
	t.Helper()
	about := map[string]string{"failed_episodes": fmt.Sprint(failed), "episodes": "100"}
	if mean != "" {
		about["mean_return"] = mean
	}
	require.NoError(t, safetensors.Save(filepath.Join(dir, "best.safetensors"), map[string]*graph.Array{
		"x": graph.Scalar(1)}, about))
	return dir
}

func compare(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := Compare(console.Streams{Out: &out, Err: io.Discard})
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.Execute()
	return out.String(), err
}

// Eight seeds of evolve, three seeds of ppo, and eight agents of one run of ppo at two learning rates.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	var seeds, args []string
	for seed := range 8 {
		run := saveRun(t, dir, fmt.Sprint("e", seed), seeded(fmt.Sprint(seed)), evaluated["evolve"]...)
		seeds = append(seeds, judge(t, run, fmt.Sprint(seed*seed), 0))
	}
	args = append(args, seeds...)
	for seed, score := range []string{"20", "", "22"} {
		args = append(args, judge(t, saveRun(t, dir, fmt.Sprint("p", seed), ppo(fmt.Sprint(seed), "1"),
			evaluated["ppo"]...), score, []int{0, 100, 0}[seed]))
	}
	text, err := compare(t, args...)
	require.NoError(t, err)
	require.Equal(t, `CartPole-v1: mean return of each run's result on 100 new episodes; runs that failed episodes `+
		`are below all others
ALGORITHM  RUNS  INTERQUARTILE MEAN  95 % INTERVAL   MEAN  LEAST  GREATEST  WITH FAILURES
evolve     8     13.5                2.494 to 33.25  17.5  0      49        0
ppo        3     -Inf                too few runs    -Inf  -Inf   22        1

PROBABILITY OF IMPROVEMENT  OVER  PROBABILITY  95 % INTERVAL
evolve                      ppo   0.5833       too few runs
`, text)

	agents := saveRun(t, dir, "agents", ppo("1", "8"), evaluated["ppo"]...)
	require.NoError(t, os.WriteFile(filepath.Join(agents, "agents.json"), []byte(`{"recent_return":[1,1,1,1,1,1,1,1],`+
		`"eval_return":[10,20,30,null,1,2,3,4],"eval_failed":[0,0,0,32,0,0,0,0],`+
		`"eval_num_episodes":[32,32,32,32,32,32,32,32],"configurations":[1,2,3,4,5,6,7,{}],`+
		`"learning_rate":[0.1,0.1,0.1,0.1,0.2,0.2,0.2,0.2]}`), 0o644))
	picture := filepath.Join(dir, "profile.svg")
	text, err = compare(t, append(seeds[:2:2], agents, "--format", "markdown", "--out", picture)...)
	require.NoError(t, err)
	require.Equal(t, `CartPole-v1: a mix of mean returns: of each run's result on 100 new episodes (evolve); of each `+
		`agent's last evaluation on 32 new episodes (ppo); runs that failed episodes are below all others

| algorithm | runs | interquartile mean | 95 % interval | mean | least | greatest | with failures |
| --- | --- | --- | --- | --- | --- | --- | --- |
| ppo, learning-rate 0.1 | 4 | 15 | too few runs | -Inf | -Inf | 30 | 1 |
| ppo, learning-rate 0.2 | 4 | 2.5 | too few runs | 2.5 | 1 | 4 | 0 |
| evolve | 2 | 0.5 | too few runs | 0.5 | 0 | 1 | 0 |

| probability of improvement | over | probability | 95 % interval |
| --- | --- | --- | --- |
| ppo, learning-rate 0.1 | ppo, learning-rate 0.2 | 0.75 | too few runs |
| ppo, learning-rate 0.1 | evolve | 0.75 | too few runs |
| ppo, learning-rate 0.2 | evolve | 0.9375 | too few runs |
`, text)
	drawn, err := os.ReadFile(picture)
	require.NoError(t, err)
	require.Contains(t, string(drawn), "ppo, learning-rate 0.2: 4 runs")

	text, err = compare(t, append(seeds, "--format", "csv")...)
	require.NoError(t, err)
	lines := strings.Split(text, "\n")
	require.Equal(t, "environment,statistic,algorithm,over,threshold,value,low,high", lines[0])
	require.Equal(t, "CartPole-v1,runs,evolve,,,8,,", lines[1])
	require.Equal(t, "CartPole-v1,runs_with_failures,evolve,,,0,,", lines[2])
	require.True(t, strings.HasPrefix(lines[3], "CartPole-v1,interquartile_mean,evolve,,,13.5,2.49"), lines[3])
	require.Equal(t, "CartPole-v1,performance_profile,evolve,,0,0.875,0.625,1", lines[7])
	require.Len(t, lines, 7+profilePoints+1)

	text, err = compare(t, append(args, "--metric", "eval_return", "--at", "125", "--x", "env_steps", "--json")...)
	require.ErrorContains(t, err, "--at got 125, which is before the first eval_return of "+seeds[0])
	require.Empty(t, text)
	text, err = compare(t, append(args, "--at", "250", "--json")...)
	require.NoError(t, err)
	var result comparedRuns
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	require.NoError(t, json.Unmarshal([]byte(all[len(all)-1]), &result))
	require.Equal(t, "eval return at 250 env steps", result.Score)
	require.Len(t, result.Algorithms, 2)
	ppo, evolve := result.Algorithms[0], result.Algorithms[1]
	require.Equal(t, []float64{21, 21, 21}, ppo.Scores, "a run that ended keeps its last value")
	require.Nil(t, ppo.Interval)
	require.Equal(t, "evolve", evolve.Name)
	require.Equal(t, seeds, evolve.Runs)
	require.Equal(t, []float64{20, 20, 20}, []float64{evolve.InterquartileMean, evolve.Interval[0], evolve.Interval[1]})
	require.Equal(t, 1., result.Improvements[0].Probability)
	require.Nil(t, result.Improvements[0].Interval)
}

// comparedRuns is the line of JSON of compare.
type comparedRuns struct {
	Environment, Score string
	Environments       []struct{ Environment string }
	Algorithms         []struct {
		Name               string
		Runs               []string
		Scores             []float64
		InterquartileMean  float64   `json:"interquartile_mean"`
		Interval           []float64 `json:"interval_95"`
		Mean               float64
		PerformanceProfile []float64 `json:"performance_profile"`
	}
	Improvements []struct {
		Of, Over    string
		Probability float64
		Interval    []float64 `json:"interval_95"`
	} `json:"probabilities_of_improvement"`
	LeftOut []string `json:"left_out"`
}

// Runs that failed episodes rank as members do: below all that failed none, the more failures the lower. Their means
// are of the episodes that did not fail. If one run has no result, all scores are of last evaluations.
func TestFailuresAndLastEvaluations(t *testing.T) {
	dir := t.TempDir()
	row := `{"generation":1,"mean_fitness":1,"env_steps":100,"eval_return":%d,"eval_num_episodes":64,"eval_failed":%d}`
	later := `{"generation":2,"mean_fitness":1,"env_steps":200,"eval_return":9,"eval_num_episodes":64,"eval_failed":0}`
	var args []string
	for i, c := range []struct {
		width  string
		mean   string
		failed int
	}{{"16", "3", 0}, {"32", "500", 1}, {"64", "600", 2}} {
		config := "width = " + c.width + "\n" + seeded(fmt.Sprint(i))
		args = append(args, judge(t, saveRun(t, dir, c.width, config, fmt.Sprintf(row, 7*i, i%2), later), c.mean,
			c.failed))
	}
	text, err := compare(t, args[2], args[1], args[0], "--by", "width")
	require.NoError(t, err)
	require.Equal(t, `CartPole-v1: mean return of each run's result on 100 new episodes; runs that failed episodes `+
		`are below all others
ALGORITHM  RUNS  INTERQUARTILE MEAN  95 % INTERVAL  MEAN  LEAST  GREATEST  WITH FAILURES
width 16   1     3                   too few runs   3     3      3         0
width 32   1     -Inf                too few runs   -Inf  -Inf   -Inf      1
width 64   1     -Inf                too few runs   -Inf  -Inf   -Inf      1

PROBABILITY OF IMPROVEMENT  OVER      PROBABILITY  95 % INTERVAL
width 16                    width 32  1            too few runs
width 16                    width 64  1            too few runs
width 32                    width 64  1            too few runs
`, text)
	require.NoError(t, os.Remove(filepath.Join(args[1], "best.safetensors")))
	runs, err := readRuns(args)
	require.NoError(t, err)
	for i, c := range []struct {
		by     scoring
		of     string
		scores []float64
	}{
		{scoring{}, "mean return of each run's last evaluation on 64 new episodes (" + args[1] +
			" has no judged result)", []float64{9, 9, 9}},
		{scoring{at: 100}, "eval return at 100 env steps", []float64{0, math.Inf(-1), 14}},
		{scoring{at: 150}, "eval return at 150 env steps", []float64{4.5, math.Inf(-1), 11.5}},
		{scoring{metric: "eval_return"}, "last eval return of each run", []float64{9, 9, 9}},
	} {
		all, what, err := scores(runs, c.by)
		require.NoError(t, err)
		require.Equal(t, c.of, what)
		var got []float64
		for _, s := range all {
			got = append(got, s.number())
		}
		require.Equal(t, c.scores, got, "case %d", i)
	}
}

// Runs in two environments have a table in each, and one over both: of rliable's statistics for several tasks, by
// scores that a random and a target score normalize, or of the probability of improvement alone.
func TestEnvironments(t *testing.T) {
	dir := t.TempDir()
	var args []string
	for seed := range 9 {
		for i, env := range []string{"CartPole-v1", "Acrobot-v1"} {
			for k, strategy := range []string{"snes", "openes"} {
				if seed == 8 && i+k > 0 {
					continue // snes has one run more in CartPole-v1
				}
				config := strings.NewReplacer("CartPole-v1", env, "openes", strategy).Replace(seeded(fmt.Sprint(seed)))
				row := `{"generation":1,"mean_fitness":1,"env_steps":100,"eval_return":9}`
				score := []int{22 + 100*seed - 50*k, -500 + 40*(seed+k)}[i]
				args = append(args, judge(t, saveRun(t, dir, fmt.Sprint(env, strategy, seed), config, row),
					fmt.Sprint(score), 0))
			}
		}
	}
	text, err := compare(t, args...)
	require.NoError(t, err)
	require.Equal(t, `CartPole-v1: mean return of each run's result on 100 new episodes
ALGORITHM        RUNS  INTERQUARTILE MEAN  95 % INTERVAL  MEAN  LEAST  GREATEST
strategy snes    9     422                 202 to 642     422   22     822
strategy openes  8     322                 97 to 547      322   -28    672

PROBABILITY OF IMPROVEMENT  OVER             PROBABILITY  95 % INTERVAL
strategy snes               strategy openes  0.6111       0.3333 to 0.8611

Acrobot-v1: mean return of each run's result on 100 new episodes
ALGORITHM        RUNS  INTERQUARTILE MEAN  95 % INTERVAL  MEAN  LEAST  GREATEST
strategy openes  8     -320                -410 to -230   -320  -460   -180
strategy snes    8     -360                -450 to -270   -360  -500   -220

PROBABILITY OF IMPROVEMENT  OVER           PROBABILITY  95 % INTERVAL
strategy openes             strategy snes  0.6172       0.3359 to 0.8672

2 environments: no --reference normalizes the scores
PROBABILITY OF IMPROVEMENT  OVER           PROBABILITY  95 % INTERVAL
strategy openes             strategy snes  0.5273       0.3319 to 0.7344
`, text)

	picture := filepath.Join(dir, "profile.svg")
	text, err = compare(t, append(args, "--reference", "CartPole-v1=22..522", "--reference", "Acrobot-v1=-500",
		"--format", "csv", "--json", "--out", picture)...)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	var result comparedRuns
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &result))
	require.Equal(t, "2 environments", result.Environment)
	require.Equal(t, "Acrobot-v1", result.Environments[1].Environment)
	require.Len(t, result.Algorithms, 2)
	openes, snes := result.Algorithms[0], result.Algorithms[1]
	require.Equal(t, "strategy openes", openes.Name)
	require.Equal(t, []float64{0, 0, .2, .1}, snes.Scores[:4], "by runs, and in each by environments")
	require.Len(t, snes.Scores, 16)
	require.Equal(t, filepath.Clean(args[len(args)-3]), snes.Runs[15])
	// Of rliable 1.2, as its metrics have them for these arrays of 8 runs and 2 tasks.
	require.InDelta(t, .5, openes.InterquartileMean, 1e-9)
	require.InDelta(t, .4625, snes.InterquartileMean, 1e-9)
	require.InDelta(t, .525, snes.Mean, 1e-9)
	require.Equal(t, .52734375, result.Improvements[0].Probability)
	require.Less(t, snes.Interval[0], .4)
	require.Greater(t, snes.Interval[1], .5)
	require.Equal(t, []string{"strategy snes has 9 runs in CartPole-v1: over all environments the first 8 count, as " +
		"many as in each"}, result.LeftOut)
	require.Contains(t, text, "\n2 environments,interquartile_mean,strategy snes,,,")
	drawn, err := os.ReadFile(picture)
	require.NoError(t, err)
	for _, title := range []string{"CartPole-v1", "Acrobot-v1", "2 environments"} {
		require.Contains(t, string(drawn), ">"+title+"<")
	}
	references := []string{"--by", "strategy", "--reference", "CartPole-v1=22..522", "--reference", "Acrobot-v1=-500"}
	text, err = compare(t, append([]string{args[0], args[2]}, references...)...)
	require.NoError(t, err)
	require.Contains(t, text, "\n2 environments: normalized scores, 0 of random actions and 1 of the target\n")
	require.Contains(t, text, "\nevolve, strategy snes  1     0  ", "also where one environment has no other strategy")
	text, err = compare(t, append([]string{args[0], args[3]}, references...)...)
	require.NoError(t, err)
	require.NotContains(t, text, "2 environments", "no algorithm has runs in both")
}

// Algorithms have the same names in all environments, so that two with other settings are never one over all of them:
// snes in one environment and openes in the other were both called evolve, and their scores were averaged.
func TestNamesInSeveralEnvironments(t *testing.T) {
	for i, c := range []struct {
		runs [][2]string // environment and other settings
		want []string    // over all environments
	}{
		{[][2]string{{"CartPole-v1", "strategy = 'snes'"}, {"Acrobot-v1", "strategy = 'openes'"}}, nil},
		{[][2]string{{"CartPole-v1", "width = 16\nstrategy = 'snes'"},
			{"CartPole-v1", "width = 16\nstrategy = 'openes'"}, {"Acrobot-v1", "width = 32\nstrategy = 'snes'"},
			{"Acrobot-v1", "width = 16\nstrategy = 'openes'"}},
			[]string{"strategy openes, width 16"}},
		{[][2]string{{"CartPole-v1", "strategy = 'snes'"}, {"CartPole-v1", "strategy = 'openes'"},
			{"Acrobot-v1", "strategy = 'snes'"}}, []string{"strategy snes"}},
		{[][2]string{{"CartPole-v1", "steps = 200\nenv-param.a = 1"}, {"Acrobot-v1", "steps = 500\ngenerations = 9"}},
			[]string{"evolve"}},
		{[][2]string{{"CartPole-v1", "steps = 200"}, {"CartPole-v1", "steps = 500"}, {"Acrobot-v1", "steps = 500"}},
			[]string{"steps 500"}},
		{[][2]string{{"CartPole-v1", "generations = 1"}, {"CartPole-v1", "generations = 2"},
			{"Acrobot-v1", "generations = 1"}}, []string{"generations 1"}},
	} {
		dir := t.TempDir()
		args := []string{"--reference", "CartPole-v1=0..500", "--reference", "Acrobot-v1=-500..-100"}
		for k, of := range c.runs {
			var rows []string
			for n := range k + 1 {
				rows = append(rows, fmt.Sprintf(`{"generation":%d,"mean_fitness":1}`, n+1))
			}
			config := fmt.Sprintf("kind = 'evolve'\nenv = '%s'\nseed = 1\n%s\n", of[0], of[1])
			args = append(args, judge(t, saveRun(t, dir, fmt.Sprint(k), config, rows...), "3", 0))
		}
		text, err := compare(t, append(args, "--format", "csv")...)
		require.NoError(t, err)
		var names []string
		for _, line := range strings.Split(text, "\n") {
			if name, ok := strings.CutPrefix(line, "2 environments,runs,"); ok {
				names = append(names, strings.Trim(strings.TrimSuffix(name, ",,,1,,"), `"`))
			}
		}
		require.Equal(t, c.want, names, "case %d", i+1)
	}
}

func TestCompareRefuses(t *testing.T) {
	dir := t.TempDir()
	good := judge(t, saveRun(t, dir, "good", seeded("1"), evaluated["evolve"]...), "3", 0)
	old := saveRun(t, dir, "old", seeded("2"), `{"generation":1,"mean_fitness":1}`)
	several := judge(t, saveRun(t, dir, "several", ppo("1", "4"), `{"update":1,"recent_return":1}`), "5", 0)
	acrobot := strings.Replace(seeded("1"), "CartPole-v1", "Acrobot-v1", 1)
	other := saveRun(t, dir, "other", acrobot, evaluated["evolve"]...)
	for i, c := range []struct {
		args []string
		want string
	}{
		{nil, "got no argument, wants the folders of runs"},
		{[]string{good, "--reference", "CartPole-v1"}, `--reference got "CartPole-v1", wants an environment and two ` +
			"scores, such as CartPole-v1=22..475"},
		{[]string{good, "--reference", "Acrobot-v1=1..2"}, "wants an environment of the runs: CartPole-v1"},
		{[]string{good, "--reference", "CartPole-v1=475..475"}, "wants a target above the score of random"},
		{[]string{good, "--reference", "CartPole-v1=475..22"}, `--reference got "CartPole-v1=475..22", wants a ` +
			"target above the score of random actions, both finite"},
		{[]string{good, "--reference", "CartPole-v1=22..+Inf"}, "both finite"},
		{[]string{good, "--reference", "CartPole-v1=500"}, "wants a target above the score of random actions"},
		{[]string{good, "--reference", "CartPole-v1=22", "--reference", "CartPole-v1=30"}, `--reference got ` +
			`"CartPole-v1=30", wants one --reference of each environment: CartPole-v1 has another one`},
		{[]string{good, other, "--reference", "CartPole-v1=22"}, "--reference is missing for Acrobot-v1: give one of " +
			"each environment, Acrobot-v1=RANDOM..TARGET"},
		{[]string{good, old}, old + " has no judged result and no eval_return: give --metric, one of mean_fitness"},
		{[]string{several}, several + " has no judged result and no eval_return: give --metric, one of recent_return"},
		{[]string{good, "--metric", "mean"}, `--metric got "mean", wants a number that ` + good + " has"},
		{[]string{good, "--x", "env_steps"}, `--x got "env_steps" without --at`},
		{[]string{good, "--at", "9", "--x", "time"}, `--x got "time", wants a number that`},
		{[]string{good, "--format", "html"}, `--format got "html", wants text, markdown, csv`},
		{[]string{good, "--out", "a.gif"}, `--out got "a.gif", wants a file that ends in .png`},
		{[]string{good, "--by", "sigma"}, `--by got "sigma", wants settings of the runs`},
	} {
		_, err := compare(t, c.args...)
		require.ErrorContains(t, err, c.want, "case %d", i+1)
		var usage console.UsageError
		require.ErrorAs(t, err, &usage, "case %d", i+1)
	}
	runs, err := readRuns([]string{good, other})
	require.NoError(t, err)
	last, _, err := scores(runs, scoring{metric: run.EvalReturn})
	require.NoError(t, err)
	require.Equal(t, 30., last[0].number())
}
