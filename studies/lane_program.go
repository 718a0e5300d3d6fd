package studies

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"xlarun/rollout/run"
)

// lanesAtOnce is the number of runs in one call of a program of lanes. It is small enough that all seeds of a trial run
// side by side.
const lanesAtOnce = 1024

// LaneResult is the result of a trial that ran as a lane.
type LaneResult struct {
	Values  []float64
	Step    int64 // that its longest run has reached
	Stopped bool  // by the pruner
	Err     error // the run has no such metric
}

// Values of Spec.TrialsAs.
const trialsAuto, trialsVectorized, trialsProcesses = "auto", "vectorized", "processes"

// Limits of a trial that runs as a lane by default: it is not checkpointed.
const (
	smallWork  = 1 << 37 // multiplications by parameters: about ten seconds of a core
	smallBytes = 1 << 26 // memory of a run
	startWork  = 1 << 30 // about the cost of starting a run in a process
)

// laneSettings returns, for each parameter, the setting of the runs that it is. The error says why the trials cannot be
// lanes of one program: each parameter has to be an input of the program, and none may be conditional.
func (s *Spec) laneSettings(job *run.Job) (map[string]string, error) {
	if job.Lanes == nil {
		return nil, wrong("kind", "got %s, whose runs cannot be vectorized: set trials-as to auto or processes", s.Kind)
	}
	known := job.Lanes.Numbers()
	names := map[string]string{}
	for _, p := range s.Space {
		if len(p.When) > 0 {
			return nil, wrong("param."+p.Name+".when", "cannot be vectorized: trials without it are of another program")
		}
		full := p.Name
		if !slices.Contains(known, full) {
			i := slices.IndexFunc(known, func(name string) bool { return strings.HasSuffix(name, "."+p.Name) })
			if i < 0 {
				return nil, wrong("param."+p.Name, "makes another program of each trial: "+
					"trials of one may differ in %s", strings.Join(known, ", "))
			}
			full = known[i]
		}
		names[p.Name] = full
	}
	return names, nil
}

// FitsLanes returns nil if the trials of a study can be lanes of one program, else an error that says why not.
func (s *Spec) FitsLanes(runs Runs) error {
	_, err := s.laneCost(runs)
	return err
}

// laneCost returns the cost of one run.
func (s *Spec) laneCost(runs Runs) (run.VectorizedCost, error) {
	for key, isSet := range map[string]bool{"timeout": s.Timeout != "none" && s.Timeout != "", "memory": s.Memory != 0,
		"stall": s.Stall != "none" && s.Stall != ""} {
		if isSet {
			return run.VectorizedCost{}, wrong(key, "limits the process of a trial, and vectorized trials share "+
				"one: leave it out")
		}
	}
	if s.Sampler == samplerPBT {
		return run.VectorizedCost{}, wrong("sampler", "got pbt, whose trials continue from one another's states, "+
			"which vectorized trials do not keep")
	}
	if tune, given := s.Fixed["tune"]; given && tune != "off" {
		return run.VectorizedCost{}, wrong("run.tune", "got %v, wants off: vectorized trials have the plan by "+
			"rule", tune)
	}
	examples, err := s.Examples()
	if err != nil {
		return run.VectorizedCost{}, err
	}
	e, err := runs.Resolve(s.Kind, s.laneValues(examples[0]))
	if err != nil {
		return run.VectorizedCost{}, err
	}
	job := e.Job()
	if _, err = s.laneSettings(job); err != nil {
		return run.VectorizedCost{}, err
	}
	return job.Lanes.Cost()
}

// laneValues returns the settings of lanes, which get the devices of all workers.
func (s *Spec) laneValues(params map[string]any) map[string]any {
	values := s.Values(params, 0)
	values["devices"] = int64(s.Workers * s.Threads)
	return values
}

// lanesByDefault decides whether trials run as lanes if the spec leaves it open. why says why not.
func (s *Spec) lanesByDefault(runs Runs) (lanes bool, why error) {
	if s.Pruner != "none" {
		return false, wrong("pruner", "got %s, and a vectorized trial that is pruned takes as long as the "+
			"others", s.Pruner)
	}
	cost, err := s.laneCost(runs)
	switch {
	case err != nil:
		return false, err
	case cost.Work*float64(s.Seeds) > smallWork:
		return false, wrong("run", "makes trials that take long, and vectorized ones are not stored on the way")
	case cost.Bytes > smallBytes:
		return false, wrong("run", "makes runs of some %d MB, too large to have many at a time", cost.Bytes>>20)
	}
	if n := min(s.Window, s.Trials) * s.Seeds; !s.ahead() && n <= s.Workers*s.Threads && cost.Work > startWork {
		key, got := "window", s.Window
		if s.Trials < s.Window {
			key, got = "trials", s.Trials
		}
		return false, wrong(key, "got %d, which gives no device two runs at a time, and vectorized trials wait for "+
			"the slowest", got)
	}
	return true, nil
}

// maxLaneTrials returns the number of trials that can be lanes at a time.
func (s *Spec) maxLaneTrials() int { return max(1, lanesAtOnce/s.Seeds) }

// Lanes runs trials with the given parameters as lanes of one program, hundreds at a time. The results equal those of
// objective to the bit. report is called as by objective, with the index of the trial.
func (s *Spec) Lanes(ctx context.Context, runs Runs, trials []map[string]any, report func(trial int, step, last int64,
	value float64) (stop bool, err error)) ([]LaneResult, error) {
	if len(trials) == 0 {
		return nil, nil
	}
	p, err := s.openLanes(ctx, runs, trials[0], len(trials))
	if err != nil {
		return nil, err
	}
	results, err := p.run(ctx, trials, report)
	return results, errors.Join(err, p.close())
}

// laneProgram is a program whose lanes are the runs of trials.
type laneProgram struct {
	spec  *Spec
	last  int64
	names map[string]string // of the runs' settings, by those of parameters
	lanes run.Lanes
}

// openLanes makes a program for up to `most` trials at a time.
func (s *Spec) openLanes(ctx context.Context, runs Runs, params map[string]any, most int) (*laneProgram, error) {
	e, err := runs.Resolve(s.Kind, s.laneValues(params))
	if err != nil {
		return nil, err
	}
	job := e.Job()
	p := &laneProgram{spec: s, last: job.Last}
	if p.names, err = s.laneSettings(job); err != nil {
		return nil, err
	}
	b, err := fetchAndOpen(ctx, runs, e, job)
	if err != nil {
		return nil, err
	}
	p.lanes, err = job.Lanes.Open(ctx, b, slices.Collect(maps.Values(p.names)), min(most, s.maxLaneTrials())*
		s.Seeds)
	return p, err
}

func (p *laneProgram) close() error { return p.lanes.Close() }

// run runs trials. See Spec.Lanes.
func (p *laneProgram) run(ctx context.Context, trials []map[string]any, report func(trial int, step, last int64,
	value float64) (stop bool, err error)) ([]LaneResult, error) {
	s := p.spec
	var lanes []run.Lane
	for i, params := range trials {
		numbers := map[string]float64{}
		for name, full := range p.names {
			switch x := params[name].(type) {
			case float64:
				numbers[full] = x
			case int64:
				numbers[full] = float64(x)
			default:
				return nil, fmt.Errorf("trial %d has %v for %s, wants a number", i, params[name], name)
			}
		}
		for seed := range s.Seeds {
			lanes = append(lanes, run.Lane{Seed: int64(seed), Numbers: numbers})
		}
	}
	results := make([]LaneResult, len(trials))
	for first := 0; first < len(trials); first += s.maxLaneTrials() {
		end := min(first+s.maxLaneTrials(), len(trials))
		t := &laneTrials{spec: s, last: p.last, results: results[first:end],
			seeds: make(seeds, (end-first)*s.Seeds)}
		t.report = func(trial int, step int64, value float64) (bool, error) {
			if report == nil {
				return false, nil
			}
			return report(first+trial, step, p.last, value)
		}
		for i := range t.seeds {
			t.seeds[i] = &seedRun{last: p.last}
		}
		if err := p.lanes.Run(ctx, lanes[first*s.Seeds:end*s.Seeds], t.onMetrics); err != nil {
			return nil, err
		}
		if t.err != nil {
			return nil, t.err
		}
		for i := range t.results {
			if r := &t.results[i]; !r.Stopped && r.Err == nil {
				end, err := t.seeds[i*s.Seeds : (i+1)*s.Seeds].outcome(s)
				r.Values, r.Step, r.Err = end.values, end.step, err
			}
		}
	}
	return results, nil
}

// laneTrials are trials whose runs are lanes that run now. The lanes of one trial are next to each other.
type laneTrials struct {
	spec    *Spec
	last    int64
	results []LaneResult
	seeds   seeds
	report  func(trial int, step int64, value float64) (bool, error)
	err     error
}

// onMetrics records a step of a lane. It reports the objective of the trial when all its lanes have reached a step at
// which it is reported. stop reports whether the lane has to end.
func (t *laneTrials) onMetrics(lane int, m run.Metrics) (stop bool) {
	trial := lane / t.spec.Seeds
	r := &t.results[trial]
	if r.Stopped || r.Err != nil || t.err != nil {
		return true
	}
	t.seeds[lane].record(m)
	if m.Step%t.spec.ReportEvery != 0 || m.Step >= t.last {
		return false
	}
	runs := t.seeds[trial*t.spec.Seeds:][:t.spec.Seeds]
	behind := slices.ContainsFunc(runs, func(other *seedRun) bool { return !other.over && other.metrics.Step < m.Step })
	if behind || runs.done() {
		return false
	}
	now, err := runs.outcome(t.spec)
	if _, early := errors.AsType[*unmeasured](err); early {
		return false // the first evaluation is still to come
	}
	if err != nil {
		r.Err = err
		return true
	}
	if len(now.values) == 1 {
		if r.Stopped, t.err = t.report(trial, m.Step, now.values[0]); r.Stopped {
			r.Values, r.Step = now.values, now.step
		}
	}
	return r.Stopped || t.err != nil
}
