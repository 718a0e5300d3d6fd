package studies

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/studies/study"
)

const good = `name = "bowl"
kind = "bowl"
metric = "loss"
direction = "minimize"
seeds = 2
trials = 20
sampler = "grid"
timeout = "10m"
memory = "2G"
[run]
steps = 3
[[param]]
name = "how"
type = "categorical"
choices = ["well", "nan"]
[[param]]
name = "x"
type = "float"
low = 1e-3
high = 10
log = true
when = { how = "well" }
[[param]]
name = "y"
type = "int"
low = 1
high = 9
step = 2
`

func TestSpecs(t *testing.T) {
	s, err := Parse([]byte(good), map[string]string{"trials": "7", "memory": "1M"})
	require.NoError(t, err)
	require.NoError(t, s.Check(bowls{}))
	require.Equal(t, 7, s.Trials)
	require.Equal(t, int64(1e6), int64(s.Memory))
	require.Equal(t, "sqlite:///runs/study-bowl/study.db", s.Storage)
	require.Equal(t, study.Distribution{Kind: study.Int, Low: 1, High: 9, Step: 2}, s.Space[2].Distribution)
	require.Equal(t, map[string][]any{"how": {"well"}}, s.Space[1].When)
	require.Equal(t, map[string]any{"steps": int64(3), "x": .5, "seed": int64(4), "devices": int64(1)},
		s.Values(map[string]any{"x": .5}, 4))

	for i, c := range []struct{ what, old, new, want string }{
		{"no TOML", "seeds = 2", "seeds = = 2", "line 5, column"},
		{"an unknown key", "seeds", "sedes", `key "sedes" is not known`},
		{"a wrong type", "seeds = 2", "seeds = 'two'", `key "seeds" got "two", wants a whole number`},
		{"out of range", "seeds = 2", "seeds = 0", `key "seeds" got 0, wants a whole number from 1`},
		{"no name", `name = "bowl"`, `name = ""`, `key "name" got ""`},
		{"a path as a name", `name = "bowl"`, `name = "../b"`, `key "name" got "../b"`},
		{"no metric", `"loss"`, `""`, `key "metric" got ""`},
		{"a metric too many", `"loss"`, `"loss,x"`, `key "direction" has 1 directions for 2 metrics`},
		{"no direction", `"minimize"`, `"down"`, `key "direction" got "down"`},
		{"an unknown sampler", `"grid"`, `"gird"`, `key "sampler" got "gird", wants one of`},
		{"a sampler of one objective", "metric = \"loss\"\ndirection = \"minimize\"\nseeds = 2\ntrials = 20\nsampler " +
			"= \"grid\"", "metric = \"loss,x\"\ndirection = \"minimize,maximize\"\nsampler = \"tpe\"",
			`key "sampler" got tpe`},
		{"too large a grid", "high = 9", "high = 900001", `key "sampler" got grid`},
		{"no time", `"10m"`, `"10"`, `key "timeout" got "10"`},
		{"no time of checkpoints", `"10m"`, "\"10m\"\ncheckpoint-every = 'often'",
			`key "checkpoint-every" got "often"`},
		{"no time to stall", `"10m"`, "\"10m\"\nstall = '-1s'", `key "stall" got "-1s"`},
		{"no size", `"2G"`, `"lots"`, `key "memory" got "lots"`},
		{"too many threads", "seeds = 2", "threads = 200", `key "threads" got 200, wants 1 to `},
		{"an unknown kind of parameter", `"categorical"`, `"choice"`, `key "param.how.type" got choice`},
		{"a bound missing", "low = 1e-3\n", "", `key "param.x.low" is missing`},
		{"a bound that is a text", "high = 10", "high = '10'", `key "param.x.high" got 10, wants a number`},
		{"bounds turned round", "high = 10\n", "high = 1e-4\n", `key "param.x" is wrong: it has low`},
		{"a step too far", "step = 2", "step = 9", `key "param.y" is wrong: it has step 9, want one of at most 8`},
		{"log of nothing", "low = 1e-3", "low = 0", `key "param.x" is wrong`},
		{"a key of another type", "step = 2", "choices = [2]", `key "param.y.choices" is not known`},
		{"a condition on nothing", `{ how = "well" }`, `{ z = 3 }`, `key "param.x" is wrong: its condition names "z"`},
		{"a condition that never holds", `{ how = "well" }`, `{ how = "ill" }`, `which it never is`},
		{"a condition that is no table", `{ how = "well" }`, `3`, `key "param.x.when" got 3`},
		{"equal names", `name = "y"`, `name = "x"`, `key "param.x" is wrong: it stands twice`},
		{"no name of a parameter", `name = "y"`, ``, `key "param" number 3 has no name`},
		{"fixed and searched", "steps = 3", "y = 3", `key "run.y" is searched`},
		{"a seed of a run", "steps = 3", "seed = 3", `key "run.seed" is given`},
		{"rounds of a run", "steps = 3", "rounds = 3",
			`key "run.rounds" does not end a trial: use the setting that is the length`},
		{"steps in all", "steps = 3", "total_steps = 3", `key "run.total-steps" does not end a trial`},
		{"time of a run", "steps = 3", "for = '1s'", `key "run.for" does not end a trial`},
		{"steps in all that are searched", `name = "y"`, `name = "total-steps"`,
			`key "param.total-steps" does not end a trial`},
		{"rounds that are searched", `name = "y"`, `name = "rounds"`, `key "param.rounds" does not end`},
		{"a list of texts", "steps = 3", "steps = ['a']", `key "run.steps" got a list with a`},
		{"a date", "steps = 3", "steps = 2026-01-02", `key "run.steps" got 2026-01-02`},
		{"tables in tables", "steps = 3", "a.b.c = 3", `key "run.a.b" got a table`},
		{"a long key", "seeds", strings.Repeat("s", 100000), `key "sss`},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		require.NotEqual(t, good, text, c.what)
		_, err := Parse([]byte(text), nil)
		require.ErrorContains(t, err, c.want, "%d: %s", i, c.what)
		require.Less(t, len(err.Error()), 1000, c.what)
	}
	s, err = Parse([]byte(strings.Replace(good, "steps = 3", "stepps = 3", 1)), nil)
	require.NoError(t, err)
	require.ErrorContains(t, s.Check(bowls{}), "stepps", "settings of the run are the kind's to check")
	s, err = Parse([]byte(strings.Replace(good, `"loss"`, `"lost"`, 1)), nil)
	require.NoError(t, err)
	require.EqualError(t, s.Check(bowls{}),
		`key "metric" got lost, which runs of bowl do not have: they have step, loss, x`)
}

// TestNotices: settings that have no effect are named.
func TestNotices(t *testing.T) {
	const never = "pruner median never ends a trial early: runs of 3 steps have no report before their last, as " +
		"report-every is 3; a smaller one has effect"
	for _, c := range []struct {
		add  string
		want []string
	}{
		{"sampler = 'grid'\ngrid-points = 3\n", nil},
		{"sampler = 'tpe'\ngrid-points = 3\n", []string{
			"grid-points has no effect with the sampler tpe: it is for grid"}},
		{"sampler = 'tpe'\npopulation = 3\ngrid-points = 6\n", []string{
			"population has no effect with the sampler tpe: it is for nsga2, cmaes and pbt",
			"grid-points has no effect with the sampler tpe: it is for grid"}},
		{"sampler = 'random'\npopulation = 3\n", []string{
			"population has no effect with the sampler random: it is for nsga2, cmaes and pbt"}},
		{"sampler = 'nsga2'\npopulation = 3\n", nil},
		{"sampler = 'cmaes'\npopulation = 3\n", nil},
		{"sampler = 'grid'\npruner = 'median'\nreport-every = 2\n", nil},
		{"sampler = 'grid'\npruner = 'median'\nreport-every = 3\n", []string{never}},
		{"sampler = 'grid'\npruner = 'asha'\nreport-every = 1000\n", []string{
			strings.NewReplacer("median", "asha", "is 3", "is 1000").Replace(never)}},
		{"sampler = 'grid'\npruner = 'none'\nreport-every = 1000\n", nil},
	} {
		s, err := Parse([]byte(strings.Replace(good, "sampler = \"grid\"\n", c.add, 1)), nil)
		require.NoError(t, err, c.add)
		require.NoError(t, s.Check(bowls{}))
		require.NoError(t, s.Check(bowls{}), "a second time")
		require.Equal(t, c.want, s.Notices(), c.add)
	}
}

// parsed reads any text as a spec: it may be refused, but never panics.
func parsed(t *testing.T, text []byte) {
	s, err := Parse(text, nil)
	if err == nil {
		err = s.Check(bowls{})
	}
	if err != nil {
		require.NotEmpty(t, err.Error())
	}
}

func FuzzSpec(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(fmt.Sprintf(head, "s.db") + space))
	f.Fuzz(func(t *testing.T, text []byte) { parsed(t, text) })
}

// TestMutatedSpecs is a short fuzz: specs with values, lines and bytes that stand where they should not.
func TestMutatedSpecs(t *testing.T) {
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	odd := []string{"nan", "inf", "-1", "0", "1e308", "9223372036854775807", "''", "'a'", "[]", "[1, 'a']", "{}",
		"{ how = [] }", "true", "2026-01-02", "\"\\u0000\"", "1e-320", "4e9", "[[1]]", "'../x'", "\"postgresql://x\""}
	for range 1500 {
		lines := strings.Split(good, "\n")
		for range 1 + r.IntN(3) {
			i := r.IntN(len(lines))
			switch r.IntN(5) {
			case 0:
				lines = append(lines[:i], lines[i+1:]...)
			case 1:
				lines[i] = lines[r.IntN(len(lines))]
			case 2:
				if b := []byte(lines[i]); len(b) > 0 {
					b[r.IntN(len(b))] = byte(r.IntN(256))
					lines[i] = string(b)
				}
			default:
				if key, _, ok := strings.Cut(lines[i], " = "); ok {
					lines[i] = key + " = " + odd[r.IntN(len(odd))]
				}
			}
			if len(lines) == 0 {
				break
			}
		}
		parsed(t, []byte(strings.Join(lines, "\n")))
	}
}

// TestExamples: the studies under examples/ are read.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob("../examples/study-*.toml")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		_, err = Parse(text, nil)
		require.NoError(t, err, path)
	}
}
