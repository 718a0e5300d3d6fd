// Package studies runs studies of hyper-parameters. It reads the search space from a file, asks trials from a sampler
// (studies/study), keeps them in a database (studies/rdb) and has them run by worker processes or as lanes of one
// program. Every process may be killed at any moment: the same command goes on, and the results are the same to the
// bit. The loop that asks, runs and tells trials is Coordinator.optimize.
package studies

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// Spec holds the settings of a study. Those with resume:"any" may change when a study is resumed.
type Spec struct {
	Name string `set:"name" json:"name" wants:"a name of letters, digits, dots, dashes and underscores" help:"name of the study"`

	Storage string `set:"storage" json:"-" resume:"any" help:"database of the study: sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE (default sqlite:///runs/study-NAME/study.db)"`

	Kind      string `set:"kind" json:"kind" help:"kind of run that a trial is"`
	Exec      string `set:"exec" json:"-" resume:"any" help:"program that a trial is, with {NAME} for parameters: words with blanks between them, or a JSON list of words"`
	Metric    string `set:"metric" json:"metric" help:"metric of the run that is the objective, a key of metrics.jsonl; several objectives: their metrics, with commas"`
	Direction string `set:"direction" json:"direction" wants:"maximize or minimize, with commas as many as metrics" help:"maximize or minimize; several: one for each metric"`
	Aggregate string `set:"aggregate" json:"aggregate" oneof:"mean,median,min,max" help:"how the values of several seeds make one"`
	Seeds     int    `set:"seeds" json:"seeds" min:"1" max:"1000" help:"runs of a trial, with the seeds 0, 1, …"`
	Trials    int    `set:"trials" json:"-" resume:"any" min:"1" max:"1000000" help:"trials of the study"`
	Seed      int64  `set:"seed" json:"seed" help:"seed of the sampler"`

	Sampler    string `set:"sampler" json:"sampler" oneof:"tpe,random,quasi-random,grid,cmaes,nsga2,pbt" help:"how parameters are chosen; pbt is population-based training"`
	GridPoints int    `set:"grid-points" json:"grid_points" min:"1" max:"1000" help:"values that the grid tries of a parameter without steps"`
	Startup    int    `set:"startup" json:"startup" min:"1" max:"100000" help:"first trials of tpe, which are random"`
	Population int    `set:"population" json:"population" min:"0" max:"100000" help:"trials of a generation of nsga2 and cmaes, members of pbt; 0 for the sampler's default"`

	Pruner      string `set:"pruner" json:"pruner" oneof:"none,median,asha,hyperband" help:"which trials end early"`
	ReportEvery int64  `set:"report-every" json:"report_every" min:"1" max:"1073741823" help:"generations, updates, … of a run between reports to the pruner (of a program 1); with pbt, those of a trial"`
	Window      int    `set:"window" json:"window" min:"1" max:"100000" help:"trials that may run at a time. The sampler of a trial sees the results of those that are at least so many before it. Results depend on the window, not on the workers"`

	TrialsAs string `set:"trials-as" json:"-" resume:"any" oneof:"auto,vectorized,processes" help:"how trials run: many at a time, vectorized in one program, in worker processes, or (auto) vectorized where they can be and are small. Results are the same to the byte"`
	Workers  int    `set:"workers" json:"-" resume:"any" min:"1" max:"4096" zero:"as many as there are cores for" help:"worker processes; 0 for as many as there are cores for"`
	Threads  int    `set:"threads" json:"threads" min:"1" max:"256" help:"devices (on cpu: cores) of a worker"`

	Timeout    string         `set:"timeout" json:"-" resume:"any" wants:"a time such as 10m, or none" help:"time after which a trial has failed, or none"`
	Memory     settings.Bytes `set:"memory" json:"-" resume:"any" min:"1" zero:"any" wants:"a number of bytes such as 2G" help:"memory of a worker from which its trial has failed; 0 for any"`
	Attempts   int64          `set:"attempts" json:"-" resume:"any" min:"1" max:"1000000" help:"workers that may die with a trial before it has failed"`
	Lease      string         `set:"lease" json:"-" resume:"any" wants:"a time of 100ms or more, such as 15s" help:"time without a heartbeat after which a worker has lost its trial"`
	Checkpoint string         `set:"checkpoint-every" json:"-" resume:"any" wants:"a time such as 30s, or none" help:"time between checkpoints of a running trial; another worker resumes from the last one"`
	Stall      string         `set:"stall" json:"-" resume:"any" wants:"a time such as 10m, or none" help:"time without a step of the run after which its worker has lost the trial"`

	Space study.Space    `json:"space"`
	Fixed map[string]any `json:"fixed"` // settings of the runs; those of parts with dots, "strategy.sigma"

	longest int64 // last step of the longest run that Check has seen; 0: none
}

// Defaults returns a spec with the default of each setting.
func Defaults() *Spec {
	return &Spec{Kind: "evolve", Direction: "maximize", Aggregate: "mean", Seeds: 1, Trials: 100, Sampler: "tpe",
		GridPoints: 5, Startup: 10, Pruner: "none", ReportEvery: 10,
		Window: 4, TrialsAs: trialsAuto, Threads: 1, Timeout: "none", Attempts: 5, Lease: "15s", Checkpoint: "30s",
		Stall: "none", Fixed: map[string]any{}}
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// Metrics returns the names of the objectives.
func (s *Spec) Metrics() (names []string) {
	for _, name := range strings.Split(s.Metric, ",") {
		names = append(names, strings.TrimSpace(name))
	}
	return names
}

// Directions returns the directions of the objectives.
func (s *Spec) Directions() (all []study.Direction) {
	for _, d := range strings.Split(s.Direction, ",") {
		all = append(all, study.Direction(strings.ToUpper(strings.TrimSpace(d))))
	}
	return all
}

// sessionEnds are settings at which the command line ends a run. A trial has no such session: its runs end at their
// last step.
var sessionEnds = []string{"for", "rounds", "total-steps"}

// endsNoTrial says what ends a trial instead.
func (s *Spec) endsNoTrial() string {
	length := "the setting that is the length of the kind's runs, such as generations"
	if kind, ok := run.Lookup(s.Kind); ok && kind.Length != "" {
		length = kind.Length
	}
	return "does not end a trial: use " + length
}

func (s *Spec) check() error {
	if err := asSpecError(settings.Check(s)); err != nil {
		return err
	}
	if !namePattern.MatchString(s.Name) {
		return wrong("name", "got %q, wants a name of letters, digits, dots, dashes and underscores", s.Name)
	}
	if slices.Contains(s.Metrics(), "") {
		return wrong("metric", "got %q, wants a metric of the run, such as best_ever", s.Metric)
	}
	for _, d := range s.Directions() {
		if d != study.Maximize && d != study.Minimize {
			return wrong("direction", "got %q, wants maximize or minimize", s.Direction)
		}
	}
	if len(s.Directions()) != len(s.Metrics()) {
		return wrong("direction", "has %d directions for %d metrics: give one each", len(s.Directions()),
			len(s.Metrics()))
	}
	if len(s.Space) == 0 {
		return wrong("param", "is missing: give the parameters that are searched, each as a table [[param]]")
	}
	if err := s.Space.Check(); err != nil {
		e, _ := errors.AsType[*study.ParamError](err)
		return wrong("param."+e.Param, "is wrong: %s", e.Problem)
	}
	for _, p := range s.Space {
		if _, twice := s.Fixed[p.Name]; twice {
			return wrong("run."+p.Name, "is searched as a parameter too: leave one of them out")
		}
		if s.Programs() {
			continue
		}
		if p.Name == "seed" || p.Name == "devices" {
			return wrong("param."+p.Name, "cannot be searched: the study gives each run its own (seeds, threads)")
		}
		if slices.Contains(sessionEnds, p.Name) {
			return wrong("param."+p.Name, "%s", s.endsNoTrial())
		}
	}
	for _, name := range sessionEnds {
		if _, given := s.Fixed[name]; given && !s.Programs() {
			return wrong("run."+name, "%s", s.endsNoTrial())
		}
	}
	for _, name := range []string{"seed", "devices"} {
		if _, given := s.Fixed[name]; given && !s.Programs() {
			return wrong("run."+name, "is given by the study: use seeds and threads")
		}
	}
	if err := s.checkPBT(); err != nil {
		return err
	}
	if err := s.checkPrograms(); err != nil {
		return err
	}
	for _, f := range []func() (time.Duration, error){s.Limit, s.checkpointInterval, s.stall} {
		if _, err := f(); err != nil {
			return err
		}
	}
	if _, err := s.leaseTime(); err != nil {
		return err
	}
	if s.Workers == 0 {
		s.Workers = max(1, runtime.GOMAXPROCS(0)/s.Threads)
		if !s.ahead() {
			s.Workers = min(s.Workers, s.Window)
		}
	}
	if n := runtime.GOMAXPROCS(0); s.Threads > n {
		return wrong("threads", "got %d, wants 1 to the %d cores that this process may use", s.Threads, n)
	} else if s.Workers > n/s.Threads && !s.Programs() {
		return wrong("workers", "got %d of %d threads each, more than the %d cores that this process may use: "+
			"runs would wait for each other", s.Workers, s.Threads, n)
	}
	if s.Storage == "" {
		s.Storage = "sqlite:///runs/study-" + s.Name + "/study.db"
	}
	_, err := s.sampler()
	if err == nil {
		_, err = study.New(s.Name, s.options(nil))
	}
	if err != nil {
		return wrong("sampler", "got %s: %v", s.Sampler, err)
	}
	return nil
}

// Notices returns a sentence for each setting that has no effect. Check has been called before.
func (s *Spec) Notices() (all []string) {
	usual := Defaults()
	if s.Population != usual.Population && !slices.Contains([]string{"nsga2", "cmaes", samplerPBT}, s.Sampler) {
		all = append(all, fmt.Sprintf("population has no effect with the sampler %s: it is for nsga2, cmaes and pbt",
			s.Sampler))
	}
	if s.GridPoints != usual.GridPoints && s.Sampler != "grid" {
		all = append(all, fmt.Sprintf("grid-points has no effect with the sampler %s: it is for grid", s.Sampler))
	}
	if s.Pruner != usual.Pruner && s.longest > 0 && s.ReportEvery >= s.longest {
		all = append(all, fmt.Sprintf("pruner %s never ends a trial early: runs of %d steps have no report before "+
			"their last, as report-every is %d; a smaller one has effect", s.Pruner, s.longest, s.ReportEvery))
	}
	return all
}

// Limit returns the time limit of a trial; 0 for none.
func (s *Spec) Limit() (time.Duration, error) { return timeOf("timeout", s.Timeout, "10m") }

// checkpointInterval returns the time between checkpoints of a trial; 0 for none.
func (s *Spec) checkpointInterval() (time.Duration, error) {
	return timeOf("checkpoint-every", s.Checkpoint, "30s")
}

// stall returns the time limit of a step; 0 for none.
func (s *Spec) stall() (time.Duration, error) { return timeOf("stall", s.Stall, "10m") }

func timeOf(key, text, example string) (time.Duration, error) {
	if text == "none" || text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, wrong(key, "got %q, wants a time such as %s, or none", text, example)
	}
	return d, nil
}

func (s *Spec) leaseTime() (time.Duration, error) {
	d, err := time.ParseDuration(s.Lease)
	if err != nil || d < 100*time.Millisecond {
		return 0, wrong("lease", "got %q, wants a time of 100ms or more, such as 15s", s.Lease)
	}
	return d, nil
}

func (s *Spec) sampler() (study.Sampler, error) {
	switch s.Sampler {
	case "random":
		return study.Random{}, nil
	case "quasi-random":
		return &study.Halton{Space: s.Space}, nil
	case "grid":
		return study.NewGrid(s.Space, s.GridPoints)
	case "cmaes":
		return &study.CMAES{Population: s.Population}, nil
	case "nsga2":
		return &study.NSGA2{Population: s.Population}, nil
	case samplerPBT:
		return &study.PBT{Population: s.Population}, nil
	}
	return &study.TPE{Startup: s.Startup}, nil
}

// pruner returns the pruner for runs whose last step is `last`.
func (s *Spec) pruner(last int64) study.Pruner {
	switch s.Pruner {
	case "median":
		return study.Median{}
	case "asha":
		return study.ASHA{Least: s.ReportEvery}
	case "hyperband":
		return study.Hyperband{Least: s.ReportEvery, Most: last}
	}
	return nil
}

// prunes reports whether the pruner stops a trial after its reports so far. last is the last step of its runs.
func (s *Spec) prunes(st *study.Study, t *study.FrozenTrial, last int64) (bool, error) {
	pruner := s.pruner(last)
	if pruner == nil {
		return false, nil
	}
	sees, _ := study.System[int64](t, study.SeesAttr)
	v, err := st.View(t.Number, sees)
	if err != nil {
		return false, err
	}
	return pruner.Prune(v, t), nil
}

// options returns the options of the study, with a new sampler.
func (s *Spec) options(storage study.Storage) study.Options {
	sampler, _ := s.sampler() // check has tried it
	o := study.Options{Storage: storage, Directions: s.Directions(), Sampler: sampler, Seed: s.Seed}
	if p := s.pruner(math.MaxInt32); p != nil {
		o.Pruner = p
	}
	return o
}

// Where returns the address of the storage without its password.
func (s *Spec) Where() string { return rdb.Shown(s.Storage) }

// text returns the settings that change results, as JSON.
func (s *Spec) text() ([]byte, error) { return json.Marshal(s) }

// Values returns the settings of one run of a trial.
func (s *Spec) Values(params map[string]any, seed int) map[string]any {
	values := maps.Clone(s.Fixed)
	if values == nil {
		values = map[string]any{}
	}
	maps.Copy(values, params)
	values["seed"], values["devices"] = int64(seed), int64(s.Threads)
	return values
}

// Examples returns points of the space: both ends of all parameters, the lowest values but one, and some between them.
func (s *Spec) Examples() (all []map[string]any, err error) {
	for _, sampler := range []study.Sampler{edge(0), edge(1), second{}, &study.Halton{Plain: true}} {
		st, err := study.New("examples", study.Options{Sampler: sampler})
		if err != nil {
			return nil, err
		}
		n := 1
		if _, ok := sampler.(*study.Halton); ok {
			n = 8
		}
		for range n {
			t, err := st.AskSpace(s.Space, 0)
			if err != nil {
				return nil, err
			}
			all = append(all, t.Params())
		}
	}
	return all, nil
}

// edge is a sampler that chooses the lowest (0) or highest (1) values.
type edge float64

func (edge) Name() string                                     { return "edge" }
func (edge) Relative(*study.View) (map[string]float64, error) { return nil, nil }
func (e edge) Independent(_ *study.View, _ string, d study.Distribution) (float64, error) {
	return d.At(float64(e)), nil
}

// second is a sampler that chooses the lowest values but one. An odd population is found by it where both ends are
// even.
type second struct{}

func (second) Name() string                                     { return "second" }
func (second) Relative(*study.View) (map[string]float64, error) { return nil, nil }
func (second) Independent(_ *study.View, _ string, d study.Distribution) (float64, error) {
	if d.Kind == study.Categorical {
		return float64(min(1, len(d.Choices)-1)), nil
	}
	return min(d.Low+d.Step, d.High), nil
}
