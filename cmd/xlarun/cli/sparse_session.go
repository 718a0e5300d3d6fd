package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/runfolder"
	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/rollout/evolve"
	"xlarun/rollout/sparse"
	"xlarun/xlabridge"
	"xlarun/xlabridge/plugin"
)

// sparseTests is how often a run is judged on the test data, the last time at its end.
const sparseTests = 4

// holdShare is how much longer training goes on between two copies of the state than one copy takes, at least.
const holdShare = 50

// sparseSession is a population in training, with the folder, log and display that it feeds.
type sparseSession struct {
	*sparseRun
	report display.TrainingReporter

	// What follows is written by work and read by finish, which may run while work is inside a call.
	mu        sync.Mutex
	logger    *runfolder.Logger
	profile   sparse.Profile
	backend   string
	last      display.Progress
	train     sparse.Stats     // of the last round
	test      sparse.Stats     // of the last test
	tested    int              // the step after which it was
	held      *sparse.Snapshot // a state on the host: see holdShare
	best      sparse.Member
	first     time.Duration // from the process's start to the end of the first round
	warm      float64       // seconds of all rounds but the first
	warmSteps int
	coldRate  float64 // examples a second in the first round
	ended     bool    // finish has the word
}

func newSparseSession(r *sparseRun) *sparseSession {
	return &sparseSession{sparseRun: r, report: display.NewTrainingReporter(r.Out, r.env, display.Training{
		Command: "sparse", Setup: r.setup(), Steps: r.flags.config.Steps, Start: r.start,
	})}
}

// Download and Notice make the session a listener.
func (s *sparseSession) Download(done, total int64) { s.report.Download(done, total) }
func (s *sparseSession) Notice(line string)         { s.report.Phase(line) }

// work runs from the data to the last test. What it leaves behind is written by finish.
func (s *sparseSession) work(ctx context.Context) error {
	if s.data.Train.Len() == 0 {
		dir, err := plugin.Data(ctx, "mnist", plugin.Request{Progress: s.Download, Notice: s.Notice})
		if err != nil {
			if ctx.Err() != nil {
				return errInterrupted
			}
			return err
		}
		s.report.Phase("reading the pictures")
		if s.data, err = sparse.ReadIDX(dir); err != nil {
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
		if _, ok := errors.AsType[*sparse.ConfigError](err); ok {
			return sparseError(err)
		}
		return err
	}
	s.mu.Lock()
	s.profile, s.backend = p.Profile(), b.Backend()
	err = s.recordMethod(s.profile)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	c := s.flags.config
	var snapshotAt, checkpointAt time.Time
	var holding time.Duration // that the last copy took
	for tests := 1; p.Steps() < c.Steps; {
		if ctx.Err() != nil {
			if p.Steps() > 0 {
				return errors.Join(s.hold(p), errInterrupted)
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
			checkpointAt = time.Now()
			if err := s.begin(); err != nil {
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
		if now := time.Now(); now.Sub(snapshotAt) > max(snapshotEvery, holdShare*holding) {
			if err := s.hold(p); err != nil {
				return err
			}
			snapshotAt = time.Now()
			holding = snapshotAt.Sub(now)
		}
		if time.Since(checkpointAt) > checkpointEvery {
			if err := s.checkpoint(); err != nil {
				return err
			}
			checkpointAt = time.Now()
		}
	}
	if err := s.hold(p); err != nil {
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

// hold copies the state to the host.
func (s *sparseSession) hold(p *sparse.Population) error {
	if s.folder == nil {
		return nil
	}
	snapshot, err := p.Snapshot()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = &snapshot
	return nil
}

// checkpoint puts the held state on disk.
func (s *sparseSession) checkpoint() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil || s.folder == nil || s.ended {
		return nil
	}
	_, err := s.writeCheckpoint()
	return err
}

// writeCheckpoint needs the mutex. A checkpoint's generation is the number of steps taken.
func (s *sparseSession) writeCheckpoint() (path string, err error) {
	return s.folder.SaveCheckpoint(runfolder.Checkpoint{Generation: s.held.Steps, Config: s.config, Arrays: s.held.Arrays,
		Info: map[string]string{"command": "sparse", "xlarun": version()}})
}

// begin opens the log once the first round is through, so that a run which never gets there leaves nothing.
func (s *sparseSession) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = time.Since(s.start)
	if s.folder == nil || s.ended {
		return nil
	}
	if err := s.folder.Write("config.toml", []byte(s.config)); err != nil {
		return err
	}
	var err error
	s.logger, err = s.folder.NewLogger("step")
	return err
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

// finish writes what the run leaves behind, closes the display and returns the command's error. cause is what work ended
// with, or errInterrupted while work is still inside a call.
func (s *sparseSession) finish(cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	interrupted := cause != nil && errors.As(cause, new(interruptedError))
	if s.last.Step == 0 {
		s.report.Close()
		if s.folder != nil {
			s.folder.Abandon()
		}
		if interrupted {
			return interruptedError{errors.New("interrupted before the first round was done; nothing was written")}
		}
		return cause
	}
	var state string
	var err error
	if s.folder != nil {
		state, err = s.leave()
	}
	s.report.Close(s.summary()...)
	if s.flags.json {
		line, jsonErr := json.Marshal(s.result())
		err = errors.Join(err, jsonErr)
		fmt.Fprintf(s.Out, "%s\n", line)
	}
	if interrupted {
		text := fmt.Sprintf("interrupted after step %d", s.last.Step)
		if state != "" {
			text += fmt.Sprintf("; the state of step %d is in %s", s.held.Steps, state)
		}
		return interruptedError{errors.Join(errors.New(text), err)}
	}
	return errors.Join(cause, err)
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

// leave writes the folder's last files.
func (s *sparseSession) leave() (state string, err error) {
	if s.held != nil {
		if state, err = s.writeCheckpoint(); err != nil {
			return "", err
		}
	}
	if s.logger != nil {
		err = s.logger.Close()
	}
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
	for name, value := range map[string]any{"profile.json": profile, "members.json": members} {
		text, e := json.MarshalIndent(value, "", "  ")
		if e == nil {
			e = s.folder.Write(name, append(text, '\n'))
		}
		err = errors.Join(err, e)
	}
	if s.best != nil {
		err = errors.Join(err, s.writeBest())
	}
	s.folder.Close()
	return state, err
}

// writeBest writes the best member's connections: places and weights, by layer.
func (s *sparseSession) writeBest() error {
	arrays := map[string]*graph.Array{}
	for l, c := range s.best {
		arrays[fmt.Sprintf("%d.at", l)], arrays[fmt.Sprintf("%d.w", l)] = c.At, c.W
	}
	var data bytes.Buffer
	metadata := map[string]string{"command": "sparse", "member": fmt.Sprint(best(s.test.Accuracy)), "test_accuracy": fmt.Sprint(s.last.TestBest), "xlarun": version()}
	if err := safetensors.Write(&data, arrays, metadata); err != nil {
		return err
	}
	return s.folder.Write("best.safetensors", data.Bytes())
}
