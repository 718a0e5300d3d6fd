package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"time"

	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/runfolder"
	"xlarun/rollout/evolve"
	"xlarun/xlabridge"
)

// memoryEvery is how often the display's figure of memory is read.
const memoryEvery = 500 * time.Millisecond

// session is an evolution under way, with the folder, log and display that it feeds.
type session struct {
	*evolveRun
	keeper
	report display.Reporter

	// What follows is written by work and read by finish, with the keeper's mutex.
	engine     engine
	backend    xlabridge.Backend
	last       evolve.Metrics
	profile    evolve.Profile
	deviceName string
	after      time.Duration // from the process's start to the end of the last generation
	steady     float64       // seconds of all generations but the first
	peak       int64
	solved     bool
}

func newSession(r *evolveRun) *session {
	c := r.flags.config
	return &session{evolveRun: r, keeper: keeper{run: &r.commandRun, unit: "generation", round: "generation"}, report: display.NewReporter(r.Out, r.env, display.Run{
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
	var memoryAt time.Time
	var memory int64
	for g := 1; g <= s.flags.config.Generations && ctx.Err() == nil; g++ {
		m, err := e.Step()
		if err != nil {
			return fmt.Errorf("generation %d: %w", g, err)
		}
		now := time.Now()
		if g == 1 {
			if err := s.begin(now); err != nil {
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
		if err := s.keep(s.state); err != nil {
			return err
		}
		if s.solved {
			break
		}
	}
	if err := s.hold(s.state); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return nil
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

// state copies the state to the host.
func (s *session) state() (c runfolder.Checkpoint, err error) {
	snapshot, err := s.engine.Snapshot()
	if err != nil {
		return c, err
	}
	return runfolder.Checkpoint{Step: int64(snapshot.Generation), Kind: "evolve", Format: 1, Arrays: snapshot.Arrays, Info: map[string]string{
		"command":   "evolve",
		"env_steps": strconv.FormatInt(s.last.EnvSteps/int64(max(1, s.last.Generation))*int64(snapshot.Generation), 10),
		"xlarun":    version(),
	}}, nil
}

// finish ends the run: see supervise.
func (s *session) finish(cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, err := xlabridge.ProcessMemory(); err == nil {
		s.peak = m.Peak
	}
	if c, ok := s.backend.(*xlabridge.Client); ok && c.Platform() != "cpu" {
		if m, err := c.Memory(0); err == nil {
			s.peak = m.Peak
		}
	}
	return s.keeper.finish(cause, ending{last: s.last.Generation, close: s.report.Close, json: s.flags.json,
		files:   func() error { return s.writeFiles(cause) },
		summary: func() []string { return s.summary(cause) },
		result:  func() any { return s.result() },
	})
}

// writeFiles writes the folder's last files but for the state. It needs the mutex.
func (s *session) writeFiles(cause error) error {
	err := s.writeProfile()
	if cause == nil || s.held != nil && errors.As(cause, new(interruptedError)) && s.held.Step == int64(s.last.Generation) {
		err = errors.Join(err, s.writeBest(cause == nil))
	}
	return err
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
	return s.writeJSON("profile.json", p)
}

// writeBest writes the best member, and its picture where there is time for it.
func (s *session) writeBest(picture bool) error {
	params, fitness, err := s.engine.Best()
	if err != nil {
		return err
	}
	c := s.flags.config
	metadata := map[string]string{"env": c.Env, "policy": c.Policy, "fitness": fmt.Sprint(fitness), "xlarun": version()}
	if err := s.folder.WriteArrays("best.safetensors", params, metadata); err != nil || !picture {
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
