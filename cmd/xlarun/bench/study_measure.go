package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"xlarun/cmd/xlarun/machine"
	"xlarun/rollout/study"
	"xlarun/studies/rdb"
	"xlarun/third_party/fetch"
)

// Sizes of the workloads.
const (
	trivialOurs, trivialTheirs          = 2000, 60 // trials
	cartpoleTrials, cartpoleGenerations = 12, 40
)

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
	trivialSpec  = studySpec("sampler = \"random\"\ntrials-as = \"lanes\"", "policy = \"linear\"\npop = 4\nsteps = 1\ngenerations = 2")
	workersSpec  = studySpec("sampler = \"random\"\ntrials-as = \"processes\"\ntrials = 48", "policy = \"mlp:16,16\"\npop = 256\ngenerations = 100")
	cartpoleSpec = studySpec(fmt.Sprintf("window = 2\ntrials = %d", cartpoleTrials), fmt.Sprintf("policy = \"mlp:16,16\"\npop = 256\ngenerations = %d", cartpoleGenerations))
)

// ownStudy runs a study from its start in a process of its own: what that took, from the process's start on. cache is its cache folder, "" for the user's.
func (b *studyBench) ownStudy(ctx context.Context, cache, spec string, args ...string) (t spent, err error) {
	self, err := os.Executable()
	if err != nil {
		return t, err
	}
	path := b.file("spec.toml")
	if err := os.WriteFile(path, []byte(spec), 0o666); err != nil {
		return t, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"study", "run", path, "--storage", b.file("study.db"), "--json"}, args...)...)
	cmd.Env = os.Environ()
	if cache != "" {
		cmd.Env = append(cmd.Env, fetch.EnvCache+"="+cache)
	}
	out, err := outputOf(cmd)
	if err != nil {
		return t, fmt.Errorf("a process of our own failed: %w", err)
	}
	t.clock, err = parseStudy(out)
	t.processor = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds() // with its workers
	return t, err
}

// parseStudy reads the seconds of a study of ours, all of whose trials are to be complete.
func parseStudy(out string) (float64, error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var result struct {
		Trials, Failed int
		Seconds        float64 `json:"wall_seconds"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &result); err != nil {
		return 0, fmt.Errorf("a study of our own ended with %q, not a line of JSON", lines[len(lines)-1])
	}
	if result.Failed > 0 || result.Trials == 0 {
		return 0, fmt.Errorf("of a study of our own, %d of %d trials failed", result.Failed, result.Trials)
	}
	return result.Seconds, nil
}

var optunaTrial = regexp.MustCompile(`(?m)^a trial: ([0-9.]+) s, ([0-9.]+) s of processor time$`)

// optuna runs trivial trials in Optuna, on a database that may have the study: what one takes.
func (b *studyBench) optuna(ctx context.Context, path, sampler string) (spent, error) {
	out, err := b.python(ctx, "trivial", path, "bench", strconv.Itoa(trivialTheirs), sampler)
	if err != nil {
		return spent{}, err
	}
	return parseOptuna(out)
}

func parseOptuna(out string) (t spent, err error) {
	m := optunaTrial.FindStringSubmatch(out)
	if m == nil {
		return t, fmt.Errorf("the peer optuna_study.py printed %q, which holds no time", out)
	}
	if t.clock, err = strconv.ParseFloat(m[1], 64); err == nil {
		t.processor, err = strconv.ParseFloat(m[2], 64)
	}
	return t, err
}

func (b *studyBench) python(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, b.peers.python, append([]string{filepath.Join(b.peers.scripts, "peers", "optuna_study.py")}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "JAX_PLATFORMS=cpu")
	out, err := outputOf(cmd)
	if err != nil {
		return "", fmt.Errorf("the peer optuna_study.py failed: %w", err)
	}
	return out, nil
}

// peerNames are those that run, which are none without --peers.
func (b *studyBench) peerNames(names ...string) []string {
	if b.peers == nil {
		return nil
	}
	return names
}

// trivial runs trivial trials here, some at a time, on a database that may have the study: what one takes.
func trivial(ctx context.Context, path, sampler string, trials, parallel int) (t spent, err error) {
	d, err := rdb.Open(path)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	by, err := samplerOf(sampler)
	if err != nil {
		return t, err
	}
	s, err := study.New("bench", study.Options{Storage: d, Sampler: by})
	if err != nil {
		return t, err
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
		return t, err
	}
	start, before := time.Now(), processorSoFar()
	err = s.Optimize(ctx, trials, parallel, objective)
	n := float64(trials)
	return spent{time.Since(start).Seconds() / n, (processorSoFar() - before).Seconds() / n}, err
}

// processorSoFar is the processor time of this process.
func processorSoFar() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for no process of its own
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func trivialTrials(ctx context.Context, b *studyBench, w studyWorkload) (studyLine, error) {
	parallel := 16
	if w.name == "trials-one" {
		parallel = 1
	}
	return b.beside(w.name, func() (spent, error) { return trivial(ctx, b.file("study.db"), "random", trivialOurs, parallel) },
		b.peerNames("optuna"), func(string) (spent, error) { return b.optuna(ctx, b.file("optuna.db"), "random") })
}

func trivialLanes(ctx context.Context, b *studyBench, w studyWorkload) (studyLine, error) {
	const first, more = 1000, 10000
	if _, err := b.ownStudy(ctx, "", trivialSpec, "--trials", strconv.Itoa(first)); err != nil { // compiled
		return studyLine{}, err
	}
	var whole []float64 // from the start of the process
	l, err := b.beside(w.name, func() (spent, error) {
		few, err := b.ownStudy(ctx, "", trivialSpec, "--trials", strconv.Itoa(first))
		if err != nil {
			return spent{}, err
		}
		many, err := b.ownStudy(ctx, "", trivialSpec, "--trials", strconv.Itoa(first+more))
		whole = append(whole, many.clock)
		return spent{(many.clock - few.clock) / more, (many.processor - few.processor) / more}, err
	}, b.peerNames("optuna"), func(string) (spent, error) { return b.optuna(ctx, b.file("optuna.db"), "random") })
	if l.Ours > 0 {
		l.note += fmt.Sprintf("%s: %.0f trials/s, with the start of the process %.0f; %.0f in a second of processor time; %d are wanted\n", w.name, 1/l.Ours, (first+more)/machine.Median(whole), 1/l.Processor, lanesWanted)
	}
	return l, err
}

func twoWorkers(ctx context.Context, b *studyBench, w studyWorkload) (studyLine, error) {
	by := func(workers int) func() (spent, error) {
		return func() (spent, error) { return b.ownStudy(ctx, "", workersSpec, "--workers", strconv.Itoa(workers)) }
	}
	if _, err := b.ownStudy(ctx, "", workersSpec, "--workers", "1", "--trials", "1"); err != nil { // compiled
		return studyLine{}, err
	}
	return b.beside(w.name, by(2), []string{"one worker"}, func(string) (spent, error) { return by(1)() })
}

func cartpoleStudy(ctx context.Context, b *studyBench, w studyWorkload) (studyLine, error) {
	return b.beside(w.name, func() (spent, error) {
		cache, remove, err := scratchCache()
		if err != nil {
			return spent{}, err
		}
		defer remove()
		return b.ownStudy(ctx, cache, cartpoleSpec)
	}, b.peerNames("optuna", "threads", "joblib", "ray"), func(how string) (spent, error) {
		start := time.Now()
		_, err := b.python(ctx, "cartpole", how, strconv.Itoa(cartpoleTrials), strconv.Itoa(cartpoleGenerations))
		return spent{clock: time.Since(start).Seconds()}, err
	})
}

// costSamplers are the samplers whose cost is timed; Optuna's are those that do the same.
var costSamplers = []string{"random", "quasi-random", "grid", "cmaes", "nsga2", "tpe"}

// samplerOf is a new sampler of the space of trivial trials.
func samplerOf(name string) (study.Sampler, error) {
	switch name {
	case "quasi-random":
		return &study.Halton{}, nil
	case "grid":
		unit := study.Distribution{Kind: study.Float, High: 1}
		return study.NewGrid(study.Space{{Name: "x", Distribution: unit}, {Name: "y", Distribution: unit}}, 128)
	case "cmaes":
		return &study.CMAES{}, nil
	case "nsga2":
		return &study.NSGA2{}, nil
	case "tpe":
		return &study.TPE{}, nil
	}
	return study.Random{}, nil
}

// costOfTrial times trials in a study that has so many already. Both sides get them in a file of their own that is made here: it is the same schema.
func costOfTrial(ctx context.Context, b *studyBench, w studyWorkload, sampler string, before int) (studyLine, error) {
	filled := func() (string, error) {
		path := b.file("study.db")
		return path, fill(path, before)
	}
	var peers []string
	if sampler == "random" || sampler == "tpe" {
		peers = b.peerNames("optuna")
	}
	return b.beside(w.name, func() (spent, error) {
		path, err := filled()
		if err != nil {
			return spent{}, err
		}
		return trivial(ctx, path, sampler, trivialOurs/4, 1)
	}, peers, func(string) (spent, error) {
		path, err := filled()
		if err != nil {
			return spent{}, err
		}
		return b.optuna(ctx, path, sampler)
	})
}

// fill makes a study of so many trials that are over.
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
		all = append(all, &study.FrozenTrial{State: study.Complete, Values: []float64{2 * x}, Start: now, Complete: now, Params: map[string]float64{"x": x, "y": x},
			Distributions: map[string]study.Distribution{"x": unit, "y": unit}})
	}
	return d.Add(s.ID(), -1, all...)
}
