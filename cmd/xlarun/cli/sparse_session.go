package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/runfolder"
	"xlarun/graph"
	"xlarun/rollout/evolve"
	"xlarun/rollout/sparse"
	"xlarun/xlabridge"
)

// sparseTests is how often a run is judged on the test data, the last time at its end.
const sparseTests = 4

// sparseSession is a population in training, with the folder, log and display that it feeds.
type sparseSession struct {
	*sparseRun
	keeper
	report     display.TrainingReporter
	population *sparse.Population

	// What follows is written by work and read by finish, with the keeper's mutex.
	profile   sparse.Profile
	backend   string
	last      display.Progress
	train     sparse.Stats // of the last round
	test      sparse.Stats // of the last test
	tested    int          // the step after which it was
	best      sparse.Member
	warm      float64 // seconds of all rounds but the first
	warmSteps int
	coldRate  float64 // examples a second in the first round
}

func newSparseSession(r *sparseRun) *sparseSession {
	return &sparseSession{sparseRun: r, keeper: keeper{run: &r.commandRun, unit: "step", round: "round"}, report: display.NewTrainingReporter(r.Out, r.env, display.Training{
		Command: "sparse", Setup: r.setup(), Steps: r.flags.config.Steps, Start: r.start,
	})}
}

// Download and Notice make the session a listener.
func (s *sparseSession) Download(done, total int64) { s.report.Download(done, total) }
func (s *sparseSession) Notice(line string)         { s.report.Phase(line) }

// work runs from the data to the last test. What it leaves behind is written by finish.
func (s *sparseSession) work(ctx context.Context) error {
	if s.data.Train.Len() == 0 {
		var err error
		if s.data, err = fetchPictures(ctx, s); err != nil {
			return err
		}
	}
	s.report.Phase("opening the " + s.flags.backend + " backend")
	b, err := s.openBackend(ctx, s.flags.backendOptions, s)
	if err != nil {
		return err
	}
	phase := "compiling the programs and making the members"
	if c := s.flags.config; c.Method == "auto" && (c.Tune == evolve.TuneQuick || c.Tune == evolve.TuneFull) {
		phase = "measuring methods, " + phase
	}
	s.report.Phase(phase)
	p, err := sparse.New(b, s.flags.config, s.data)
	if err != nil {
		return sparseError(err)
	}
	s.mu.Lock()
	s.population, s.profile, s.backend = p, p.Profile(), b.Backend()
	err = s.record(map[string]any{"method": s.profile.Method})
	s.mu.Unlock()
	if err != nil {
		return err
	}
	c := s.flags.config
	for tests := 1; p.Steps() < c.Steps; {
		if ctx.Err() != nil {
			if p.Steps() > 0 {
				return errors.Join(s.hold(s.state), errInterrupted)
			}
			return errInterrupted
		}
		// A test comes after every fourth of the steps.
		until := max(p.Steps()+1, c.Steps*tests/sparseTests)
		start := time.Now()
		n, stats, err := p.Train(until - p.Steps())
		if err != nil {
			return fmt.Errorf("step %d: %w", p.Steps()+1, err)
		}
		took := time.Since(start).Seconds()
		if p.Steps() == n {
			if err := s.begin(time.Now()); err != nil {
				return err
			}
		}
		var test *sparse.Stats
		if p.Steps() == until || p.Steps() == c.Steps {
			s.report.Phase("testing")
			measured, err := p.Evaluate()
			if err != nil {
				return err
			}
			test = &measured
			for tests <= sparseTests && c.Steps*tests/sparseTests <= p.Steps() {
				tests++
			}
		}
		s.note(p.Steps(), n, stats, test, took)
		if err := s.keep(s.state); err != nil {
			return err
		}
	}
	if err := s.hold(s.state); err != nil {
		return err
	}
	member, err := p.Member(best(s.test.Accuracy))
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.best = member
	s.mu.Unlock()
	return nil
}

// best is the place of the largest value, of equal ones the first.
func best(values []float64) int {
	at := 0
	for i, v := range values {
		if v > values[at] {
			at = i
		}
	}
	return at
}

func mean(values []float64) float64 {
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(1, len(values)))
}

// state copies the state to the host. A checkpoint's generation is the number of steps taken.
func (s *sparseSession) state() (c runfolder.Checkpoint, err error) {
	snapshot, err := s.population.Snapshot()
	return runfolder.Checkpoint{Step: int64(snapshot.Steps), Kind: "sparse", Format: 1, Arrays: snapshot.Arrays,
		Info: map[string]string{"command": "sparse", "xlarun": version()}}, err
}

// note takes down a round of n steps that ended with the given step.
func (s *sparseSession) note(step, n int, stats sparse.Stats, test *sparse.Stats, took float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	rate := float64(n*s.flags.config.Batch) / took
	if s.coldRate == 0 {
		s.coldRate = rate
	} else {
		s.warm, s.warmSteps = s.warm+took, s.warmSteps+n
	}
	s.train = stats
	p := &s.last
	p.Step, p.StepsPerSecond = step, rate
	p.Worst, p.Mean, p.Best, p.Loss = slices.Min(stats.Accuracy), mean(stats.Accuracy), slices.Max(stats.Accuracy), mean(stats.Loss)
	p.Devices, p.Method, p.Cache = devicesText(s.profile.Devices, s.backend), s.profile.Method, s.profile.Cache
	p.Trace, p.CompileWaited = seconds(s.profile.TraceSeconds), seconds(s.profile.CompileSeconds)
	if m, err := xlabridge.ProcessMemory(); err == nil {
		p.Memory = m.InUse
	}
	metrics := []runfolder.Value{{Name: "loss", Number: p.Loss}, {Name: "worst_accuracy", Number: p.Worst},
		{Name: "mean_accuracy", Number: p.Mean}, {Name: "best_accuracy", Number: p.Best}}
	if test != nil {
		s.test, s.tested = *test, step
		p.TestBest, p.TestMean = slices.Max(test.Accuracy), mean(test.Accuracy)
		metrics = append(metrics, runfolder.Value{Name: "test_loss", Number: mean(test.Loss)},
			runfolder.Value{Name: "best_test_accuracy", Number: p.TestBest}, runfolder.Value{Name: "mean_test_accuracy", Number: p.TestMean})
	}
	s.report.Progress(*p)
	if s.logger != nil {
		s.logger.Log(runfolder.Row{Step: int64(step), Time: time.Now(), Metrics: metrics,
			Timings: []runfolder.Value{{Name: "seconds", Number: took}, {Name: "steps_per_second", Number: rate}}})
	}
}

// sparseResult is the line that --json ends with.
type sparseResult struct {
	Population       int     `json:"population"`
	Connections      int     `json:"connections"`
	Method           string  `json:"method"`
	DType            string  `json:"dtype"`
	Steps            int     `json:"steps"`
	Batch            int     `json:"batch"`
	Loss             number  `json:"loss"`
	BestTestAccuracy number  `json:"best_test_accuracy"`
	MeanTestAccuracy number  `json:"mean_test_accuracy"`
	BestMember       int     `json:"best_member"`
	StepsPerSecond   number  `json:"steps_per_second"`
	TraceSeconds     float64 `json:"trace_seconds"`
	CompileSeconds   float64 `json:"compile_seconds"`
	Cache            string  `json:"cache"`
	TimeToFirst      float64 `json:"time_to_first_round_seconds"`
	WallSeconds      float64 `json:"wall_seconds"`
	PeakMemoryBytes  int64   `json:"peak_memory_bytes"`
	Devices          int     `json:"devices"`
}

// result needs the mutex.
func (s *sparseSession) result() sparseResult {
	c := s.flags.config
	r := sparseResult{Population: c.Population, Connections: s.profile.Connections, Method: s.profile.Method, DType: c.DType,
		Steps: s.last.Step, Batch: c.Batch, Loss: number(s.last.Loss), BestMember: best(s.test.Accuracy), StepsPerSecond: number(s.stepsPerSecond()),
		TraceSeconds: s.profile.TraceSeconds, CompileSeconds: s.profile.CompileSeconds, Cache: s.profile.Cache,
		TimeToFirst: s.first.Seconds(), WallSeconds: time.Since(s.start).Seconds(), Devices: s.profile.Devices,
		BestTestAccuracy: number(s.last.TestBest), MeanTestAccuracy: number(s.last.TestMean)}
	if s.tested == 0 {
		r.BestTestAccuracy, r.MeanTestAccuracy = number(math.NaN()), number(math.NaN())
	}
	if m, err := xlabridge.ProcessMemory(); err == nil {
		r.PeakMemoryBytes = m.Peak
	}
	return r
}

// stepsPerSecond is the steady speed: of all rounds but the first, where there are others. Mutations are in it, tests are
// not.
func (s *sparseSession) stepsPerSecond() float64 {
	if s.warmSteps == 0 {
		return s.coldRate
	}
	return float64(s.warmSteps*s.flags.config.Batch) / s.warm
}

// finish ends the run: see supervise.
func (s *sparseSession) finish(cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keeper.finish(cause, ending{last: s.last.Step, close: s.report.Close, json: s.flags.json,
		files: s.writeFiles, summary: s.summary, result: func() any { return s.result() }})
}

func (s *sparseSession) summary() []string {
	text := fmt.Sprintf("stopped after step %d", s.last.Step)
	if s.tested > 0 {
		text = fmt.Sprintf("after step %d the best member is number %d with %s on the test data, the mean is %s", s.tested, best(s.test.Accuracy),
			display.Percent(s.last.TestBest), display.Percent(s.last.TestMean))
	}
	lines := []string{text}
	if s.folder != nil {
		lines = append(lines, "the run is in "+s.folder.Dir())
	}
	return lines
}

// writeFiles writes the folder's last files but for the state. It needs the mutex.
func (s *sparseSession) writeFiles() error {
	profile := struct {
		sparse.Profile
		StepsPerSecond number  `json:"steady_steps_per_second"`
		TimeToFirst    float64 `json:"time_to_first_round_seconds"`
		WallSeconds    float64 `json:"wall_seconds"`
		ProcessPeak    int64   `json:"process_peak_memory_bytes"`
		Backend        string  `json:"backend"`
	}{s.profile, number(s.stepsPerSecond()), s.first.Seconds(), time.Since(s.start).Seconds(), s.result().PeakMemoryBytes, s.backend}
	type memberResult struct {
		Member       int     `json:"member"`
		Loss         number  `json:"loss"`
		Accuracy     number  `json:"accuracy"`
		TestLoss     *number `json:"test_loss"`
		TestAccuracy *number `json:"test_accuracy"`
	}
	members := make([]memberResult, len(s.train.Loss))
	for i := range members {
		members[i] = memberResult{Member: i, Loss: number(s.train.Loss[i]), Accuracy: number(s.train.Accuracy[i])}
		if s.tested == s.last.Step {
			loss, accuracy := number(s.test.Loss[i]), number(s.test.Accuracy[i])
			members[i].TestLoss, members[i].TestAccuracy = &loss, &accuracy
		}
	}
	err := errors.Join(s.writeJSON("profile.json", profile), s.writeJSON("members.json", members))
	if s.best != nil {
		err = errors.Join(err, s.writeBest())
	}
	return err
}

// writeBest writes the best member's connections: places and weights, by layer.
func (s *sparseSession) writeBest() error {
	arrays := map[string]*graph.Array{}
	for l, c := range s.best {
		arrays[fmt.Sprintf("%d.at", l)], arrays[fmt.Sprintf("%d.w", l)] = c.At, c.W
	}
	metadata := map[string]string{"command": "sparse", "member": fmt.Sprint(best(s.test.Accuracy)), "test_accuracy": fmt.Sprint(s.last.TestBest), "xlarun": version()}
	return s.folder.WriteArrays("best.safetensors", arrays, metadata)
}
