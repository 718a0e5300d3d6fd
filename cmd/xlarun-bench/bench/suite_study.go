package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
	"xlarun/xlabridge"
)

// Sizes of the workloads.
const (
	trivialTrials                       = 500 // of a run
	lanesFirst, lanesMore               = 1000, 10000
	cartpoleTrials, cartpoleGenerations = 12, 40
)

func studyWorkloads(Options) []Workload {
	optuna := func(sampler string, before int) Peer {
		return Peer{Name: "optuna", Script: "optuna_study.py", Args: []string{"trivial", sampler, strconv.Itoa(before)}}
	}
	var cartpolePeers []Peer
	for _, name := range []string{"optuna", "threads", "joblib", "ray"} {
		cartpolePeers = append(cartpolePeers, Peer{Name: name, Script: "optuna_study.py", Args: []string{
			"cartpole", name,
			strconv.Itoa(cartpoleTrials), strconv.Itoa(cartpoleGenerations)}})
	}
	all := []Workload{
		{Name: "trials", Open: trivial("random", 0, 16), Peers: []Peer{optuna("random", 0)},
			What: "a trial of two parameters that computes nothing, 16 at a time, in an SQLite file; Optuna's " +
				"one by one"},
		{Name: "trials-one", Open: trivial("random", 0, 1), Peers: []Peer{optuna("random", 0)},
			What: "the same, ours one by one, too"},
		{Name: "lanes", Open: ownStudies(lanes), Peers: []Peer{optuna("random", 0)},
			What: "a search of 4 members that make one step for 2 generations, as a lane: each of 10,000 after 1,000"},
		{Name: "workers", Open: ownStudies(workers("2")), Peers: []Peer{{Name: "one-worker", Workload: "workers-one"}},
			What: "48 searches on CartPole-v1, 256 members, 100 generations, by two worker processes"},
		explicit(Workload{Name: "workers-one", Open: ownStudies(workers("1")), What: "the same by one worker"}),
		{Name: "cartpole", Peers: cartpolePeers, Open: ownStudies(func(s *ownStudy) (float64, error) {
			return s.run(cartpoleSpec)
		}), What: fmt.Sprintf("a study of %d searches on CartPole-v1, 256 members of mlp:16,16 for %d generations",
			cartpoleTrials, cartpoleGenerations)},
	}
	for _, sampler := range []string{"random", "quasi-random", "grid", "cmaes", "nsga2", "tpe"} {
		for _, n := range []int{100, 1000, 10000} {
			w := Workload{Name: fmt.Sprintf("cost-%s-%d", sampler, n), Open: trivial(sampler, n, 1), What: fmt.Sprintf(
				"a trial that computes nothing, by the sampler %s, in a study that has %d already", sampler, n)}
			if sampler == "random" || sampler == "tpe" {
				w.Peers = []Peer{optuna(sampler, n)}
			}
			all = append(all, w)
		}
	}
	return all
}

// studySpec is a study of searches on CartPole-v1, to which lines of its head and of its runs are added.
func studySpec(head, run string) string {
	return fmt.Sprintf(`name = "bench"
kind = "evolve"
metric = "mean_fitness"
%s

[run]
env = "CartPole-v1"
target = 0
%s

[[param]]
name = "strategy.sigma"
type = "float"
low = 0.02
high = 0.5
log = true

[[param]]
name = "strategy.learning-rate"
type = "float"
low = 0.001
high = 0.3
log = true
`, head, run)
}

var (
	trivialSpec = studySpec("sampler = \"random\"\ntrials-as = \"lanes\"",
		"policy = \"linear\"\npop = 4\nsteps = 1\ngenerations = 2")
	workersSpec = studySpec("sampler = \"random\"\ntrials-as = \"processes\"\ntrials = 48",
		"policy = \"mlp:16,16\"\npop = 256\ngenerations = 100")
	cartpoleSpec = studySpec(fmt.Sprintf("window = 2\ntrials = %d", cartpoleTrials),
		fmt.Sprintf("policy = \"mlp:16,16\"\npop = 256\ngenerations = %d", cartpoleGenerations))
)

// ownStudy runs studies in processes of its own.
type ownStudy struct {
	ctx  context.Context
	h    *host
	dir  string // of databases and specs
	made int    // files in it
}

// ownStudies is the Runner of a function that returns seconds.
func ownStudies(f func(s *ownStudy) (float64, error)) openRunner {
	return func(ctx context.Context, h *host, _ xlabridge.Backend, _ Options) (*Runner, error) {
		dir, err := os.MkdirTemp("", "xlarun-study-*")
		if err != nil {
			return nil, err
		}
		s := &ownStudy{ctx: ctx, h: h, dir: dir}
		r := neurobench.Repeated(func() (float64, float64, error) {
			seconds, err := f(s)
			return seconds, 0, err
		}, func() error { return os.RemoveAll(dir) })
		r.Compile = new(float64) // by other processes
		return r, nil
	}
}

// run runs a study and returns its seconds, by its own account.
func (s *ownStudy) run(spec string, args ...string) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	s.made++
	path := filepath.Join(s.dir, fmt.Sprintf("%d.toml", s.made))
	if err := os.WriteFile(path, []byte(spec), 0o666); err != nil {
		return 0, err
	}
	args = append([]string{"study", "run", path, "--storage", filepath.Join(s.dir, fmt.Sprintf("%d.db", s.made)),
		"--json"}, args...)
	out, err := outputOf(exec.CommandContext(s.ctx, self, args...))
	if err != nil {
		return 0, err
	}
	return parseStudy(out)
}

// parseStudy reads the seconds of a study of ours, all of whose trials must be complete.
func parseStudy(out string) (float64, error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var result struct {
		Trials, Failed int
		Seconds        float64 `json:"wall_seconds"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &result); err != nil {
		return 0, fmt.Errorf("a study of ours ended with %q, not a line of JSON", lines[len(lines)-1])
	}
	if result.Failed > 0 || result.Trials == 0 {
		return 0, fmt.Errorf("in a study of ours, %d of %d trials failed", result.Failed, result.Trials)
	}
	return result.Seconds, nil
}

// lanes returns the seconds of one lane, without the start of the process.
func lanes(s *ownStudy) (float64, error) {
	few, err := s.run(trivialSpec, "--trials", strconv.Itoa(lanesFirst))
	if err != nil {
		return 0, err
	}
	many, err := s.run(trivialSpec, "--trials", strconv.Itoa(lanesFirst+lanesMore))
	return (many - few) / lanesMore, err
}

func workers(n string) func(s *ownStudy) (float64, error) {
	return func(s *ownStudy) (float64, error) { return s.run(workersSpec, "--workers", n) }
}

// trivial runs trials that compute nothing, some at a time, in a study that has a number of trials before.
func trivial(sampler string, before, parallel int) openRunner {
	return ownStudies(func(s *ownStudy) (float64, error) {
		s.made++
		path := filepath.Join(s.dir, fmt.Sprintf("%d.db", s.made))
		if err := fill(path, before); err != nil {
			return 0, err
		}
		seconds, err := timeTrials(s.ctx, path, sampler, parallel)
		return seconds, errors.Join(err, os.Remove(path))
	})
}

// timeTrials returns the seconds of one trivial trial.
func timeTrials(ctx context.Context, path, sampler string, parallel int) (seconds float64, err error) {
	d, err := rdb.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	by, err := newSampler(sampler)
	if err != nil {
		return 0, err
	}
	s, err := study.New("bench", study.Options{Storage: d, Sampler: by})
	if err != nil {
		return 0, err
	}
	objective := func(t *study.Trial) ([]float64, error) {
		x, err := t.SuggestFloat("x", 0, 1)
		if err != nil {
			return nil, err
		}
		y, err := t.SuggestFloat("y", 0, 1)
		return []float64{x + y}, err
	}
	if err := s.Optimize(ctx, 2, 1, objective); err != nil { // as the peer does
		return 0, err
	}
	start := time.Now()
	err = s.Optimize(ctx, trivialTrials, parallel, objective)
	return time.Since(start).Seconds() / trivialTrials, err
}

// fill makes a study with a number of finished trials.
func fill(path string, trials int) (err error) {
	d, err := rdb.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	s, err := study.New("bench", study.Options{Storage: d, Sampler: study.Random{}})
	if err != nil {
		return err
	}
	unit := study.Distribution{Kind: study.Float, High: 1}
	now := time.Now()
	var all []*study.FrozenTrial
	for i := range trials {
		x := float64(i) / float64(trials)
		all = append(all, &study.FrozenTrial{State: study.Complete, Values: []float64{2 * x}, Start: now, Complete: now,
			Params:        map[string]float64{"x": x, "y": x},
			Distributions: map[string]study.Distribution{"x": unit, "y": unit}})
	}
	return d.Add(s.ID(), -1, all...)
}
