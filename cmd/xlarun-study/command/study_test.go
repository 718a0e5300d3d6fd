package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/studies/rdb/rdbtest"
)

// TestStudy runs a study as lanes of one program and in worker processes, with the same results, resumes it, and shows
// it.
func TestStudy(t *testing.T) {
	t.Parallel()
	s := shelltest.New(t)
	spec := `name = "small"
kind = "evolve"
metric = "best_ever"
trials = 4
seeds = 2
startup = 2
report-every = 1
sampler = "tpe"
[run]
env = "CartPole-v1"
policy = "linear"
pop = 8
steps = 20
generations = 2
eval-episodes = 4
[[param]]
name = "sigma"
type = "float"
low = 0.01
high = 1
log = true
`
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "spec.toml"), []byte(spec), 0o666))
	out := s.Do(t, "study", "run", "spec.toml", "--json")
	require.Contains(t, out, "trials vectorized in one program on ")
	require.Contains(t, out, ", up to 4 at a time")
	require.Contains(t, s.Do(t, "study", "run", "spec.toml", "--trials-as", "processes", "--storage", "processes.db"),
		"trials in processes: ")
	s.Do(t, "study", "export", "spec.toml", "--out", "lanes.jsonl")
	s.Do(t, "study", "export", "processes.db", "--out", "processes.jsonl")
	require.Equal(t, s.Read(t, "processes.jsonl"), s.Read(t, "lanes.jsonl"))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var result struct {
		Trials, Failed int
		BestValue      float64        `json:"best_value"`
		BestParams     map[string]any `json:"best_params"`
	}
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &result), out)
	require.Equal(t, 4, result.Trials)
	require.Zero(t, result.Failed, out)
	require.Positive(t, result.BestValue)
	require.Contains(t, result.BestParams, "sigma")
	out = s.Do(t, "study", "run", "spec.toml", "--trials", "5")
	require.Contains(t, out, "4 trials had ended before: xlarun study show lists them\ntrial 4  complete  ",
		"no other trial")
	require.Contains(t, out, "done: 5 trials, 0 failed, 1 of them now, in ")
	require.Regexp(t, `\nexpect less than \d+ on new episodes: best_ever is the largest of many returns`, out)
	out = s.Do(t, "study", "run", "spec.toml", "--trials", "5")
	require.NotContains(t, out, "complete", "all trials were once printed as if they had run")
	require.Contains(t, out, "\nnothing was left to do: 5 trials, 0 failed, had ended before\nbest: trial ")
	require.Contains(t, s.Do(t, "study", "show", "spec.toml"), "small: 5 trials, 5 complete")
	database := filepath.Join("runs", "study-small", "study.db")
	require.Contains(t, s.Do(t, "study", "best", database), "sigma=")
	// 2: the best trial leads to its config, its member, and a run.
	require.Contains(t, s.Do(t, "study", "best", "spec.toml", "--config", "best.toml", "--member", "m.safetensors"),
		"xlarun evolve best.toml repeats it, with the first of its 2 seeds")
	s.Do(t, "evolve", "best.toml", "--out", "a")
	s.Do(t, "evolve", "--from-study", "spec.toml", "--out", "b")
	require.Equal(t, s.Read(t, "a/metrics.jsonl"), s.Read(t, "b/metrics.jsonl"))
	require.Contains(t, s.Do(t, "play", "m.safetensors", "--episodes", "2", "--gif", "none"), "mean return")
	require.Contains(t, s.Refused(t, "evolve", "--from-study", "spec.toml:99"),
		"--from-study spec.toml:99: there is no trial 99: small has the trials 0 to 4")
	require.Contains(t, s.Refused(t, "ppo", "--from-study", "spec.toml"), "use xlarun evolve --from-study spec.toml")
	require.Contains(t, s.Refused(t, "study", "best", "spec.toml", "--trial", "99"), "has the trials 0 to 4")
	require.Contains(t, s.Refused(t, "study", "best", "spec.toml", "--member", "m.pt"), "ends in .safetensors")
	require.Contains(t, s.Refused(t, "study", "best", "spec.toml", "--member", "m.safetensors"), "is there already")
	require.Contains(t, s.Refused(t, "study", "run", "best.toml"),
		"it is the config of a run, which xlarun evolve runs")
	require.Contains(t, s.Refused(t, "study", "export", "spec.toml"), "--out is missing")
	require.Contains(t, s.Do(t, "study", "plot", database, "--out", "study.png"), "study.png")
	require.FileExists(t, filepath.Join(s.Dir, "study.png"))
	for name, want := range map[string]string{"t.csv": "number,state,value_0,params_sigma,reason\n0,COMPLETE,",
		"t.jsonl": `"number":0,`} {
		s.Do(t, "study", "export", database, "--out", name)
		text, err := os.ReadFile(filepath.Join(s.Dir, name))
		require.NoError(t, err)
		require.Contains(t, string(text), want)
		require.Equal(t, 5, strings.Count(string(text), "COMPLETE"))
	}
	require.Contains(t, s.Refused(t, "study", "run", "spec.toml", "--seeds", "3"), "--seeds got 3, but ")
	require.Contains(t, s.Refused(t, "study", "run", "spec.toml", "--timeout", "1m", "--trials-as", "vectorized"),
		`--trials-as got vectorized, but key "timeout" limits`)
	require.Contains(t, s.Refused(t, "serve", "spec.toml", "--listen", "127.0.0.1:0", "--trials-as", "vectorized"),
		`--trials-as got vectorized, but workers that join`)
	require.Contains(t, s.Refused(t, "study", "run", "spec.toml", "--sampler", "best"), `--sampler got "best"`)
	for old, want := range map[string]string{"sigma": `"sigmoid"`, "CartPole-v1": "CartPole", "evolve": "evolv"} {
		text := strings.Replace(spec, `"`+old+`"`, `"`+map[string]string{"sigma": "sigmoid", "CartPole-v1": "CartPole",
			"evolve": "evolv"}[old]+`"`, 1)
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "bad.toml"), []byte(text), 0o666))
		require.Contains(t, s.Refused(t, "study", "run", "bad.toml"), strings.Trim(want, `"`))
	}
	for i, c := range []struct{ old, new, want string }{
		{"pop = 8\nsteps = 20\ngenerations = 2\neval-episodes = 4\n", "steps = 20\n[[param]]\nname = \"pop\"\ntype = " +
			"\"int\"\nlow = 4\nhigh = 20\n", "; the study took this value from its parameter pop, 4 to 20 in steps " +
			"of 1: give low, high and step, such as step = 2, that leave it out"},
		{"pop = 8", "pop = 8\nstrategy = \"openess\"", `key "strategy" got "openess", wants one of annealing, `},
		{"high = 1\n", "high = 0.001\n",
			`key "param.sigma" is wrong: it has low 0.01 above high 0.001: give the smaller one as low`},
		{`"best_ever"`, `"best_evr"`,
			`key "metric" got best_evr, which runs of evolve do not have: they have step, best_fitness, `},
		{`name = "small"`, "name = \"small\"\nstorage = \"spec.toml\"",
			`key "storage" got spec.toml, which cannot be used: `},
		{`name = "small"`, "name = \"small\"\nstorage = \"spec.toml/s.db\"", `key "storage" got spec.toml/s.db`},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "bad.toml"),
			[]byte(strings.Replace(spec, c.old, c.new, 1)), 0o666))
		require.Contains(t, s.Refused(t, "study", "run", "bad.toml"), c.want, i)
	}
	require.Contains(t, s.Refused(t, "serve", "spec.toml", "--listen", "0.0.0.0:0"), "give a token")
	// 3: tokens that others can read or guess are refused, by the server and by workers.
	for _, c := range []struct {
		text string
		mode os.FileMode
		want string
	}{{"a-token-of-enough-letters", 0o644, "chmod 600 token"}, {"short", 0o600, "has a token of 5 characters"},
		{"", 0o600, "is empty"}} {
		file := filepath.Join(s.Dir, "token")
		require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
		require.NoError(t, os.Chmod(file, c.mode))
		require.Contains(t, s.Refused(t, "serve", "spec.toml", "--listen", "0.0.0.0:0", "--token-file", "token"),
			c.want)
		require.Contains(t, s.Refused(t, "work", "nats://127.0.0.1:1", "--token-file", "token"), c.want)
	}
	require.Contains(t, s.Refused(t, "work", "127.0.0.1:1"), "wants the address")
	require.Contains(t, s.Refused(t, "study", "show", "nothing.db"), "there is no study in nothing.db")
	// 1: looking at what is no database of studies leaves it as it is.
	for name, text := range map[string]string{"empty.db": "", "text.db": "no database, but longer than a header of " +
		"SQLite would be: one hundred bytes and a few more of them"} {
		file := filepath.Join(s.Dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
		require.Contains(t, s.Refused(t, "study", "best", name), name+" is no database of studies")
		after, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, text, string(after))
	}
}

// TestServe serves a study to a worker that joins from another folder, with a token: the results are the same as with
// study run, to the byte.
func TestServe(t *testing.T) {
	t.Parallel()
	spec := `name = "served"
kind = "evolve"
metric = "mean_fitness"
trials = 3
report-every = 1
checkpoint-every = "1ms"
[run]
env = "CartPole-v1"
backend = "reference"
policy = "linear"
pop = 4
steps = 5
generations = 3
[[param]]
name = "sigma"
type = "float"
low = 0.01
high = 1
`
	here, there := shelltest.New(t), shelltest.New(t)
	for _, s := range []*shelltest.Shell{here, there} {
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "token"), []byte("a-secret-of-21-letters\n"), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(here.Dir, "spec.toml"), []byte(spec), 0o666))
	p := here.Command("serve", "spec.toml", "--listen", "127.0.0.1:0", "--token-file", "token", "--no-workers")
	p.Stdout = nil
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	lines, url, last := bufio.NewScanner(out), "", ""
	page := ""
	for url == "" && lines.Scan() {
		_, by, _ := strings.Cut(lines.Text(), "workers join by: xlarun work ")
		url, _, _ = strings.Cut(by, " --token-file token") // which was not there
		if _, at, ok := strings.Cut(lines.Text(), "the study is shown at "); ok {
			page, _, _ = strings.Cut(at, " ")
		}
	}
	if url == "" {
		require.FailNow(t, "nobody can join", "status %d: %s", p.Ended(), &p.Err)
	}
	require.Contains(t, pageData(t, page, "a-secret-of-21-letters"), `"study":"served"`)
	require.Contains(t, pageData(t, page, "guess"), "Token <input")
	require.Regexp(t, `^1 x 1 core \(--workers\) join nats://\S+\njoined nats://\S+\n`+
		`(trial \d  complete  \S+  in \S+s\n){3}done: 3 trials, 0 failed, in \S+s\n$`,
		there.Do(t, "work", url, "--token-file", "token", "--workers", "1"))
	for lines.Scan() {
		last = last + lines.Text() + "\n"
	}
	require.Zero(t, p.Ended(), p.Err.String())
	require.Contains(t, last, "done: 3 trials, 0 failed")
	require.NoDirExists(t, filepath.Join(there.Dir, "runs"), "the worker has no database")
	here.Do(t, "study", "export", "spec.toml", "--out", "served.csv")
	here.Do(t, "study", "run", "spec.toml", "--storage", "alone.db")
	here.Do(t, "study", "export", "alone.db", "--out", "alone.csv")
	require.Equal(t, here.Read(t, "alone.csv"), here.Read(t, "served.csv"))
	checkWatch(t, here, "alone.db", "served")
	if server := postgres(t); server != "" {
		text := here.Do(t, "study", "run", "spec.toml", "--storage", server, "--json")
		text += here.Do(t, "study", "export", server, "--out", "server.csv") + here.Do(t, "study", "show", server)
		require.Equal(t, here.Read(t, "alone.csv"), here.Read(t, "server.csv"))
		require.Contains(t, text, "postgresql://tester@127.0.0.1:")
		require.NotContains(t, text, "cr%40t")
		text = here.Refused(t, "study", "run", "spec.toml", "--storage", server+"no")
		require.Contains(t, text, `--storage got postgresql://tester@`)
		require.Contains(t, text, "has no database test1no: make it")
		require.NotContains(t, text, "cr%40t")
		require.Contains(t, here.Refused(t, "study", "best", server+"no"), "has no database test1no")
	}
}

// Workers without a coordinator end after --wait and are not started again: they were, twenty times.
func TestWorkersWithoutAServer(t *testing.T) {
	t.Parallel()
	s := shelltest.New(t)
	p := s.Command("work", "nats://127.0.0.1:1", "--workers", "2", "--wait", "300ms")
	require.NoError(t, p.Start())
	require.Equal(t, 3, p.Ended(), p.Err.String())
	require.Regexp(t, `^\S+ work: no study is served at nats://127.0.0.1:1 .*: start xlarun serve SPEC.toml there, or `+
		"give its address\n$", p.Err.String(), "each worker said it, and a line that each says why")
}

// pageData returns the data of a page that was asked for with a token.
func pageData(t *testing.T, page, token string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page+"data", nil)
	require.NoError(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return string(text)
}

// checkWatch checks the page of study watch, and ends it.
func checkWatch(t *testing.T, s *shelltest.Shell, database, name string) {
	t.Helper()
	page, end := watch(t, s, database, "the study")
	require.Contains(t, pageData(t, page, ""), `"study":"`+name+`"`)
	// A browser's spare connection, on which nothing is ever asked, does not hold up the end.
	spare, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(page, "http://"), "/"))
	require.NoError(t, err)
	end()
	require.NoError(t, spare.Close())
	require.Contains(t, s.Refused(t, "study", "watch", database, "--web", "0.0.0.0:0"), "--web: 0.0.0.0:0 can be "+
		"reached from other machines: give a token")
}

// watch starts study watch, which shows what is at path. It returns the page's address, and a function that interrupts
// the process and checks that it ends well.
func watch(t *testing.T, s *shelltest.Shell, path, what string) (page string, end func()) {
	t.Helper()
	p := s.Command("study", "watch", path)
	p.Stdout = nil
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	_, page, ok := strings.Cut(lines.Text(), what+" is shown at ")
	require.True(t, ok, lines.Text())
	return page, func() {
		require.NoError(t, p.Process.Signal(os.Interrupt))
		require.Zero(t, p.Ended(), p.Err.String())
	}
}

// TestRunsInTheBrowser: study watch shows the folders of runs of islands and of evolve, and says where there is none.
func TestRunsInTheBrowser(t *testing.T) {
	t.Parallel()
	s := shelltest.New(t)
	s.Do(t, "islands", "CartPole-v1", "--backend", "reference", "--islands", "3", "--migrate-every", "2", "--migrants",
		"2", "--pop", "8", "--policy", "linear", "--steps", "5", "--eval-episodes", "2", "--target", "0",
		"--generations", "4",
		"--out", "run")
	page, end := watch(t, s, "run", "the run")
	var shown struct {
		Rows     []map[string]float64
		Standing struct{ Islands []map[string]any }
	}
	require.NoError(t, json.Unmarshal([]byte(pageData(t, page, "")), &shown))
	require.Len(t, shown.Rows, 4)
	require.Len(t, shown.Standing.Islands, 3)
	best := math.Inf(-1)
	for i, of := range shown.Standing.Islands {
		mean := shown.Rows[3][fmt.Sprint("mean_", i)]
		require.Equal(t, of["mean_fitness"], mean)
		best = max(best, mean)
	}
	require.Equal(t, shown.Rows[3]["best_mean"], best)
	end()
	s.Do(t, "evolve", "CartPole-v1", "--backend", "reference", "--pop", "8", "--policy", "linear", "--steps", "5",
		"--eval-episodes", "2", "--target", "0", "--generations", "3", "--out", "evolve")
	page, end = watch(t, s, "evolve", "the run")
	shown.Rows = nil
	require.NoError(t, json.Unmarshal([]byte(pageData(t, page, "")), &shown))
	require.Len(t, shown.Rows, 3)
	end()
	require.Contains(t, s.Refused(t, "study", "watch", "."), ". is no folder of a run: it has no config.toml")
}

// postgres returns the address of a database on a PostgreSQL server; "" if there is no server.
func postgres(t *testing.T) string {
	t.Helper()
	server, err := rdbtest.New()
	if errors.Is(err, rdbtest.ErrNone) {
		return ""
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Remove()) })
	return server.Database(t)
}
