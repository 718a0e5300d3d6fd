package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/machine"
	"xlarun/rollout/sparse"
)

// sparseProfiler measures one experiment of the sparse command.
type sparseProfiler struct {
	*app
	*sparseExperiment
	repeats int
	profile sparseExperimentProfile
}

// sparseExperimentProfile is the line that --json ends with.
type sparseExperimentProfile struct {
	measured
	Program      sparse.Profile   `json:"program"`  // all of them together
	Programs     []sparse.Program `json:"programs"` // one by one
	FirstSeconds float64          `json:"first_round_seconds"`
	StepSeconds  float64          `json:"step_seconds"` // of all members, the batches' way to the devices included
}

// measure runs everything. The machine's own speed is measured right after the steady rounds, so that both saw the same
// neighbours.
func (p *sparseProfiler) measure(ctx context.Context) error {
	r := &p.profile
	if err := p.load(ctx, display.NewDownloadBar(p.Out, p.Getenv), map[string]sparse.Data{}); err != nil {
		return err
	}
	b, err := r.open(ctx, p.app, p.BackendFlags)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	s, err := sparse.New(b, p.config, p.pictures)
	if err != nil {
		return sparseError(err)
	}
	defer func() { _ = s.Close() }()
	r.Experiment, r.Program, r.Programs, r.PredictedBytes = p.purpose(), s.Profile(), s.Programs(), s.Profile().PeakMemoryBytes
	begin, err := p.transfer(s)
	if err != nil {
		return err
	}
	times := make([]float64, 0, p.repeats) // of one step
	for i := range 1 + p.repeats {
		if s.Steps() == p.config.Steps { // a run ends here
			if err := s.Restore(begin); err != nil {
				return err
			}
		}
		start := time.Now()
		n, _, err := s.Train(p.config.Steps - s.Steps())
		if err != nil {
			return fmt.Errorf("round %d: %w", i+1, err)
		}
		if ctx.Err() != nil {
			return console.ErrInterrupted
		}
		took := time.Since(start).Seconds()
		if i == 0 {
			r.FirstSeconds = took
			continue
		}
		times = append(times, took/float64(n))
	}
	r.StepSeconds = machine.Median(times)
	r.StepsPerSecond = float64(p.config.Batch) / r.StepSeconds
	r.PeakBytes = peakMemory(b)
	if r.Machine, err = machine.Measure(b, max(1, min(b.NumDevices(), r.Program.Devices))); err != nil {
		return err
	}
	phases, err := s.Phases(min(p.repeats, 5))
	if err != nil {
		return err
	}
	for _, x := range phases {
		r.Phases = append(r.Phases, phaseTime{x.Name, x.Seconds})
	}
	r.Roofline = rooflineOf(s.Cost(), r.StepSeconds, r.Machine)
	return nil
}

// transfer times the way of the state to the host and back.
func (p *sparseProfiler) transfer(s *sparse.Population) (state sparse.Snapshot, err error) {
	start := time.Now()
	if state, err = s.Snapshot(); err != nil {
		return state, err
	}
	p.profile.ToHostSeconds = time.Since(start).Seconds()
	start = time.Now()
	err = s.Restore(state)
	p.profile.ToDeviceSeconds = time.Since(start).Seconds()
	return state, err
}

func (p *sparseProfiler) print() error {
	r := p.profile
	e := r.Program
	fmt.Fprintf(p.Out, "%s, on %s\n", r.Experiment, console.DevicesText(e.Devices, r.Backend))
	fmt.Fprintf(p.Out, "method (%s): %s\n", e.MethodSource, e.Method)
	rows := []profileRow{{"open the backend", r.OpenSeconds, ""}, {"trace", e.TraceSeconds, ""}, compileRow(e.Cache, e.CompileSeconds)}
	for _, x := range r.Programs {
		rows = append(rows, profileRow{"  " + x.Name, x.CompileSeconds, "cache " + x.Cache})
	}
	rows = append(rows, []profileRow{
		{"state to the devices", r.ToDeviceSeconds, "index included"},
		{"state to the host", r.ToHostSeconds, ""},
		{"first round", r.FirstSeconds, ""},
		{"step", r.StepSeconds, fmt.Sprintf("%s steps/s (of one example), median of %d rounds", display.Count(r.StepsPerSecond), p.repeats)},
	}...)
	if e.TuneSeconds > 0 {
		rows = slices.Insert(rows, 1, profileRow{"tune", e.TuneSeconds, console.Count(len(e.MethodsTried), "method", "methods") + " measured"})
	}
	if err := r.print(p.Out, rows, "step"); err != nil {
		return err
	}
	return p.printJSON(p.json, r)
}
