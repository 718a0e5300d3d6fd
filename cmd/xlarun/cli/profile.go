package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/machine"
	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

func profileCommand(a *App) *cobra.Command {
	g := &flagValues{}
	repeats := 20
	cmd := &cobra.Command{
		Use:   "profile [KIND] [CONFIG|ENV]",
		Short: "Show where the time and memory of an experiment go",
		Long: "Profile traces, compiles and runs an experiment (a config file, or an environment and flags; without " +
			"the name of a kind of run, evolve) for a few rounds, and shows the time of each part, the steady speed, " +
			"the memory that the compiler predicts and that was measured, and what part of this machine's arithmetic " +
			"and memory speed, measured in the same run, the program reaches.\n" +
			"Parts (ask, play and tell of a generation; collect, advantage, epochs and optimizer of an update) are " +
			"timed as programs of their own; in the whole program they share work.",
		Example: "  xlarun profile CartPole-v1\n  xlarun profile experiment.toml --devices 1 --json\n" +
			"  xlarun profile sparse --pop 50\n  xlarun profile ppo Acrobot-v1",
		Args: oneExperiment,
		RunE: func(cmd *cobra.Command, args []string) error {
			if repeats < 1 {
				return console.BadInput("--repeats got %d, wants 1 or more", repeats)
			}
			t, err := g.readTask(args...)
			if err != nil {
				return err
			}
			p := &profiler{App: a, task: t, repeats: repeats}
			if err := p.measure(cmd.Context()); err != nil {
				return err
			}
			return p.print(g.own.json)
		},
	}
	if !a.addRunFlags(cmd, g, allKinds()...) {
		return cmd
	}
	g.addCall(cmd.Flags(), "")
	cmd.Flags().IntVar(&repeats, "repeats", repeats, "rounds that are timed, of which the median counts")
	return cmd
}

// oneExperiment refuses more than one experiment.
func oneExperiment(_ *cobra.Command, args []string) error {
	if n := len(experiments(args)); n > 1 {
		return console.BadInput("got %d experiments (%s), wants one config file, environment or kind of run, or a "+
			"kind and one of the others", n, strings.Join(args, ", "))
	}
	return nil
}

// profiler measures one experiment.
type profiler struct {
	*App
	*task
	repeats int
	profile experimentProfile
	devices int
}

// experimentProfile is the line that --json ends with.
type experimentProfile struct {
	Experiment      string        `json:"experiment"`
	Kind            string        `json:"kind"`
	Backend         string        `json:"backend"`
	BF16Method      string        `json:"bf16_method,omitempty"` // on CPU: amx, avx512_bf16 or none
	Int8Method      string        `json:"int8_method,omitempty"` // on CPU: amx, avx512_vnni or none
	OpenSeconds     float64       `json:"open_seconds"`
	Program         run.Profile   `json:"program"`
	ToDeviceSeconds float64       `json:"state_to_devices_seconds"`
	ToHostSeconds   float64       `json:"state_to_host_seconds"`
	FirstSeconds    float64       `json:"first_round_seconds"`
	RoundSeconds    float64       `json:"round_seconds"`
	UnitSeconds     float64       `json:"unit_seconds"` // of one Kind.Unit: a generation, a step of SGD
	Phases          []phase       `json:"phases"`
	StepsPerSecond  float64       `json:"steady_steps_per_second"`
	PredictedBytes  int64         `json:"predicted_memory_bytes_per_device"`
	PeakBytes       int64         `json:"peak_memory_bytes"`
	Machine         machine.Speed `json:"machine"`
	Roofline        *roofline     `json:"roofline,omitempty"`
}

// measure runs everything. It measures the machine's own speed right after the steady rounds, so that the load of other
// processes is the same for both.
func (p *profiler) measure(ctx context.Context) error {
	r := &p.profile
	if err := p.fetch(ctx, p.App); err != nil {
		return err
	}
	start := time.Now()
	b, err := p.OpenBackend(ctx, p.on(), display.NewDownloadBar(p.Out, p.Getenv))
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	r.Kind, r.Backend, r.OpenSeconds = p.Name, b.Backend(), time.Since(start).Seconds()
	if c, ok := b.(*xlabridge.Client); ok && c.Platform() == "cpu" {
		r.BF16Method, r.Int8Method = cmp.Or(c.BF16Method(), "none"), cmp.Or(c.Int8Method(), "none")
	}
	x, err := p.startAlone(ctx, b)
	if err != nil {
		return settingError(err)
	}
	defer func() { _ = x.Close() }()
	r.Experiment, r.Program, r.PredictedBytes = p.job.Purpose, x.Profile(), x.Profile().PeakMemoryBytes
	p.devices = max(1, min(b.NumDevices(), r.Program.Devices))
	begin, err := p.transfer(ctx, x)
	if err != nil {
		return err
	}
	times := make([]float64, 0, p.repeats) // of one unit
	rounds := make([]float64, 0, p.repeats)
	var last run.Metrics
	perUnit := 0.
	for i := range 1 + p.repeats {
		if last.Step >= p.job.Last { // a run ends here
			if err := x.Restore(ctx, begin); err != nil {
				return err
			}
			last = run.Metrics{}
		}
		start := time.Now()
		m, err := x.Step(ctx)
		if err != nil {
			return fmt.Errorf("%s %d: %w", p.Round, i+1, err)
		}
		took := time.Since(start).Seconds()
		if ctx.Err() != nil {
			return console.ErrInterrupted
		}
		units := float64(m.Step - last.Step)
		last, perUnit = m, m.Work/units
		if i == 0 {
			r.FirstSeconds = took
			continue
		}
		rounds, times = append(rounds, took), append(times, took/units)
	}
	r.RoundSeconds, r.UnitSeconds = machine.Median(rounds), machine.Median(times)
	r.StepsPerSecond = perUnit / r.UnitSeconds
	r.PeakBytes = peakMemory(b)
	if r.Machine, err = machine.Measure(b, p.devices); err != nil {
		return err
	}
	can := x.Describe()
	if can.Cost != nil {
		r.Roofline = rooflineOf(can.Cost(), r.UnitSeconds, r.Machine)
	}
	if can.Phases == nil {
		return nil
	}
	phases, err := can.Phases(ctx, phaseRepeats(p.repeats, r.RoundSeconds))
	r.Phases = phasesOf(phases, r.Machine)
	return err
}

// phaseRepeats returns how often each part is run after a first time: five times, or as often as rounds of so many
// seconds fit into half a second, but not more often than rounds were timed.
func phaseRepeats(rounds int, seconds float64) int {
	return int(min(float64(rounds), max(5, .5/max(seconds, 1e-9))))
}

// phase is a part of a round that was run alone.
type phase struct {
	run.Phase
	Share    float64   `json:"share"` // of the seconds that all parts take in a unit
	Roofline *roofline `json:"roofline,omitempty"`
}

// phasesOf compares phases with each other and with the machine's speed.
func phasesOf(phases []run.Phase, m machine.Speed) (all []phase) {
	sum := run.PhaseSeconds(phases)
	for _, x := range phases {
		x.Times = x.PerUnit()
		all = append(all, phase{x, x.Seconds * x.Times / sum, rooflineOf(x.Cost, x.Seconds, m)})
	}
	return all
}

// transfer times the copy of the state to the host and back.
func (p *profiler) transfer(ctx context.Context, x run.Run) (run.Snapshot, error) {
	start := time.Now()
	s, err := x.Snapshot(ctx)
	if err != nil {
		return s, err
	}
	p.profile.ToHostSeconds = time.Since(start).Seconds()
	start = time.Now()
	err = x.Restore(ctx, s)
	p.profile.ToDeviceSeconds = time.Since(start).Seconds()
	return s, err
}

// roofline compares the speed of work with the machine's speed.
type roofline struct {
	FLOPs          float64 `json:"flops"` // of a generation, a step or a part of one, on all devices
	Bytes          float64 `json:"bytes"` // that the ops read and write, as if none were fused
	GFLOPs         float64 `json:"gflops_per_second"`
	GBs            float64 `json:"gb_per_second"`
	ArithmeticPart float64 `json:"part_of_matmul"`
	MemoryPart     float64 `json:"part_of_memory"` // above 1: most of the data never leaves the caches and registers
}

// rooflineOf compares work that took so many seconds with the machine's speed; nil if the work is not known.
func rooflineOf(c graph.Cost, seconds float64, m machine.Speed) *roofline {
	if c == (graph.Cost{}) {
		return nil
	}
	r := &roofline{FLOPs: c.FLOPs, Bytes: c.Bytes}
	r.GFLOPs, r.GBs = r.FLOPs/seconds/1e9, r.Bytes/seconds/1e9
	r.ArithmeticPart, r.MemoryPart = r.GFLOPs/m.MatmulGFLOPs, r.GBs/m.MemoryGBs
	return r
}
