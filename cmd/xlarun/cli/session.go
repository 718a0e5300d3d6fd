package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/runfolder"
	"xlarun/graph/safetensors"
	"xlarun/rollout/evolve"
	"xlarun/xlabridge"
)

const (
	// snapshotEvery is how old the state held for an interrupt may get; a shorter time would cost short generations
	// a transfer each.
	snapshotEvery = 200 * time.Millisecond
	// checkpointEvery is how often a running evolution puts its state on disk.
	checkpointEvery = 10 * time.Second
	// memoryEvery is how often the display's figure of memory is read.
	memoryEvery = 500 * time.Millisecond
)

// session is an evolution under way, with the folder, log and display that it feeds.
type session struct {
	*evolveRun
	report display.Reporter

	// What follows is written by work and read by finish, which may run while work is inside a call.
	mu         sync.Mutex
	engine     engine
	backend    xlabridge.Backend
	logger     *runfolder.Logger
	held       *evolve.Snapshot // a state on the host, at most snapshotEvery old between generations
	last       evolve.Metrics
	profile    evolve.Profile
	deviceName string
	first      time.Duration // from the process's start to the end of the first generation
	after      time.Duration // the same to the end of the last one
	steady     float64       // seconds of all generations but the first
	peak       int64
	solved     bool
	ended      bool // finish has the word
}

func newSession(r *evolveRun) *session {
	c := r.flags.config
	return &session{evolveRun: r, report: display.NewReporter(r.Out, r.env, display.Run{
		Command: "evolve " + c.Env, Setup: r.setup(), Generations: c.Generations, Target: r.flags.target, Start: r.start,
	})}
}

// Download and Notice make the session a listener.
func (s *session) Download(done, total int64) { s.report.Download(done, total) }
func (s *session) Notice(line string)         { s.report.Phase(line) }

// work runs from the opening of the backend to the last generation. What it leaves behind is written by finish.
func (s *session) work(ctx context.Context) error {
	o := s.flags.backendOptions
	s.report.Phase("opening the " + o.backend + " backend")
	b, err := s.openBackend(ctx, o, s)
	if err != nil {
		return err
	}
	phase := "tracing and compiling the program of one generation"
	if t := s.flags.config.Tune; t == evolve.TuneQuick || t == evolve.TuneFull {
		phase = "measuring plans, then " + phase
	}
	s.report.Phase(phase)
	e, err := s.newEngine(b, s.flags.config)
	if err != nil {
		return experimentError(err)
	}
	s.mu.Lock()
	s.backend, s.engine, s.profile = b, e, e.Profile()
	err = s.recordPlan(s.profile)
	if f, ok := b.(*nanFinder); ok {
		f.tile, f.lanesLast, f.place = s.profile.Tile, s.profile.LanesLast, e.MemberAt
	}
	s.deviceName = devicesText(s.profile.Devices, b.Backend())
	s.mu.Unlock()
	if err != nil {
		return err
	}
	var snapshotAt, checkpointAt, memoryAt time.Time
	var memory int64
	for g := 1; g <= s.flags.config.Generations && ctx.Err() == nil; g++ {
		m, err := e.Step()
		if err != nil {
			return fmt.Errorf("generation %d: %w", g, err)
		}
		now := time.Now()
		if g == 1 {
			checkpointAt = now
			if err := s.begin(now.Sub(s.start)); err != nil {
				return err
			}
		}
		if now.Sub(memoryAt) > memoryEvery {
			if m, err := xlabridge.ProcessMemory(); err == nil {
				memory = m.InUse
			}
			memoryAt = now
		}
		s.note(m, now, memory)
		if now.Sub(snapshotAt) > snapshotEvery {
			if err := s.hold(e); err != nil {
				return err
			}
			snapshotAt = now
		}
		if now.Sub(checkpointAt) > checkpointEvery {
			if err := s.checkpoint(); err != nil {
				return err
			}
			checkpointAt = now
		}
		if s.solved {
			break
		}
	}
	if err := s.hold(e); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}

// begin opens the log once the first generation is through, so that a run which never gets there leaves nothing.
func (s *session) begin(first time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = first
	if s.folder == nil || s.ended {
		return nil
	}
	if err := s.folder.Write("config.toml", []byte(s.config)); err != nil {
		return err
	}
	var err error
	s.logger, err = s.folder.NewLogger("generation")
	return err
}

// note takes down a generation's metrics.
func (s *session) note(m evolve.Metrics, now time.Time, memory int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	perGeneration := float64(m.EnvSteps) / float64(m.Generation)
	if m.Generation > 1 {
		s.steady += m.Seconds
	}
	s.last = m
	s.solved = m.MeanFitness >= s.flags.target
	s.after = now.Sub(s.start)
	s.report.Generation(display.Generation{
		Number: m.Generation, Best: m.BestEver, Mean: m.MeanFitness, StepsPerSecond: perGeneration / m.Seconds,
		Devices: s.deviceName, Cache: s.profile.Cache, Trace: seconds(s.profile.TraceSeconds), Compile: seconds(s.profile.CompileSeconds),
		Memory: memory,
	})
	if s.logger != nil {
		s.logger.Log(runfolder.Row{Step: int64(m.Generation), Time: now,
			Metrics: []runfolder.Value{
				{Name: "best_fitness", Number: m.BestFitness}, {Name: "mean_fitness", Number: m.MeanFitness},
				{Name: "std_fitness", Number: m.StdFitness}, {Name: "worst_fitness", Number: m.WorstFitness},
				{Name: "best_ever", Number: m.BestEver}, {Name: "mean_length", Number: m.MeanLength},
				{Name: "failed", Number: float64(m.Failed)},
				{Name: "env_steps", Number: float64(m.EnvSteps)},
			},
			Timings: []runfolder.Value{{Name: "seconds", Number: m.Seconds}, {Name: "steps_per_second", Number: perGeneration / m.Seconds}},
		})
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// hold copies the state to the host.
func (s *session) hold(e engine) error {
	if s.folder == nil {
		return nil
	}
	snapshot, err := e.Snapshot()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = &snapshot
	return nil
}

// checkpoint puts the held state on disk.
func (s *session) checkpoint() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil || s.folder == nil || s.ended {
		return nil
	}
	_, err := s.writeCheckpoint()
	return err
}

// writeCheckpoint needs the mutex.
func (s *session) writeCheckpoint() (path string, err error) {
	return s.folder.SaveCheckpoint(runfolder.Checkpoint{
		Generation: s.held.Generation, Config: s.config, Arrays: s.held.Arrays,
		Info: map[string]string{
			"command":   "evolve",
			"env_steps": strconv.FormatInt(s.last.EnvSteps/int64(max(1, s.last.Generation))*int64(s.held.Generation), 10),
			"xlarun":    version(),
		},
	})
}

// finish writes what the run leaves behind, closes the display and returns the command's error. cause is what work
// ended with, or errInterrupted while work is still inside a call.
func (s *session) finish(cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	interrupted := cause != nil && errors.As(cause, new(interruptedError))
	if m, err := xlabridge.ProcessMemory(); err == nil {
		s.peak = m.Peak
	}
	if c, ok := s.backend.(*xlabridge.Client); ok && c.Platform() != "cpu" {
		if m, err := c.Memory(0); err == nil {
			s.peak = m.Peak
		}
	}
	if s.last.Generation == 0 {
		s.report.Close()
		if s.folder != nil {
			s.folder.Abandon()
		}
		if interrupted {
			return interruptedError{errors.New("interrupted before the first generation was done; nothing was written")}
		}
		return cause
	}
	var state string
	var err error
	if s.folder != nil {
		state, err = s.leave(cause)
	}
	s.report.Close(s.summary(cause)...)
	if s.flags.json {
		line, jsonErr := json.Marshal(s.result())
		err = errors.Join(err, jsonErr)
		fmt.Fprintf(s.Out, "%s\n", line)
	}
	if interrupted {
		text := fmt.Sprintf("interrupted after generation %d", s.last.Generation)
		if state != "" {
			text += fmt.Sprintf("; the state of generation %d is in %s", s.held.Generation, state)
		}
		return interruptedError{errors.Join(errors.New(text), err)}
	}
	return errors.Join(cause, err)
}

// leave writes the folder's last files. It needs the mutex.
func (s *session) leave(cause error) (state string, err error) {
	if s.held != nil {
		if state, err = s.writeCheckpoint(); err != nil {
			return "", err
		}
	}
	if s.logger != nil {
		err = s.logger.Close()
	}
	err = errors.Join(err, s.writeProfile())
	if cause == nil || s.held != nil && errors.As(cause, new(interruptedError)) && s.held.Generation == s.last.Generation {
		err = errors.Join(err, s.writeBest(cause == nil))
	}
	s.folder.Close()
	return state, err
}

// profileFile is profile.json.
type profileFile struct {
	evolve.Profile
	StepsPerSecond number   `json:"steady_steps_per_second"`
	TimeToFirst    float64  `json:"time_to_first_generation_seconds"`
	WallSeconds    float64  `json:"wall_seconds"`
	ProcessPeak    int64    `json:"process_peak_memory_bytes"`
	Backend        string   `json:"backend"`
	Plugin         string   `json:"plugin,omitempty"`
	DeviceNames    []string `json:"device_names,omitempty"`
}

func (s *session) writeProfile() error {
	p := profileFile{Profile: s.profile, StepsPerSecond: number(s.stepsPerSecond()), TimeToFirst: s.first.Seconds(),
		WallSeconds: time.Since(s.start).Seconds(), ProcessPeak: s.peak, Backend: s.backend.Backend()}
	if c, ok := s.backend.(*xlabridge.Client); ok {
		p.Plugin = fmt.Sprintf("%s (%s)", filepath.Base(c.PluginPath()), c.Fingerprint())
		p.DeviceNames, _ = c.DeviceDescriptions()
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return s.folder.Write("profile.json", append(text, '\n'))
}

// writeBest writes the best member, and its picture where there is time for it.
func (s *session) writeBest(picture bool) error {
	params, fitness, err := s.engine.Best()
	if err != nil {
		return err
	}
	c := s.flags.config
	var data bytes.Buffer
	metadata := map[string]string{"env": c.Env, "policy": c.Policy, "fitness": fmt.Sprint(fitness), "xlarun": version()}
	if err := safetensors.Write(&data, params, metadata); err != nil {
		return err
	}
	if err := s.folder.Write("best.safetensors", data.Bytes()); err != nil || !picture {
		return err
	}
	gif, err := portrait(c, params)
	if err != nil || gif == nil {
		return err
	}
	return s.folder.Write("best.gif", gif)
}

// stepsPerSecond is the steady speed: of all generations but the first, where there are others.
func (s *session) stepsPerSecond() float64 {
	m := s.last
	perGeneration := float64(m.EnvSteps) / float64(m.Generation)
	if m.Generation == 1 || s.steady == 0 {
		return perGeneration / m.Seconds
	}
	return perGeneration * float64(m.Generation-1) / s.steady
}

func (s *session) summary(cause error) []string {
	m := s.last
	text := fmt.Sprintf("stopped at the last of %d generations: mean %s", m.Generation, display.Fitness(m.MeanFitness))
	if !math.IsNaN(s.flags.target) {
		text += fmt.Sprintf(", the target is %s", display.Fitness(s.flags.target))
	}
	switch {
	case s.solved:
		text = fmt.Sprintf("solved in generation %d after %.1f s: mean %s of the %s wanted", m.Generation, s.after.Seconds(),
			display.Fitness(m.MeanFitness), display.Fitness(s.flags.target))
	case cause != nil:
		text = fmt.Sprintf("stopped after generation %d: mean %s", m.Generation, display.Fitness(m.MeanFitness))
	}
	lines := []string{text}
	if s.folder != nil {
		lines = append(lines, "the run is in "+s.folder.Dir())
	}
	return lines
}

func (s *session) result() evolveResult {
	c, m := s.flags.config, s.last
	return evolveResult{
		Env: c.Env, Strategy: c.Strategy, Population: c.Population, Generations: m.Generation,
		BestFitness: number(m.BestEver), MeanFitness: number(m.MeanFitness), EnvSteps: m.EnvSteps,
		StepsPerSecond: number(s.stepsPerSecond()), TraceSeconds: s.profile.TraceSeconds, CompileSeconds: s.profile.CompileSeconds,
		Cache: s.profile.Cache, TimeToFirst: s.first.Seconds(), WallSeconds: time.Since(s.start).Seconds(),
		PeakMemoryBytes: s.peak, Devices: s.profile.Devices,
	}
}

// number is a float64 that is null in JSON where it is not finite.
type number float64

// MarshalJSON writes the number, or null.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}
