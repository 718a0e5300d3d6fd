package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/display"
	"xlarun/graph"
	"xlarun/rollout/evolve"
	"xlarun/xlabridge"
)

func profileCommand(a *app) *cobra.Command {
	var o evolveFlags
	repeats := 20
	cmd := &cobra.Command{
		Use:   "profile [CONFIG|ENV]",
		Short: "Show where the time and memory of an experiment go",
		Long: "Profile traces, compiles and runs an experiment (a config file, or an environment and flags as for evolve) for a few\n" +
			"generations and shows the time of each phase, the steady speed, the memory that the compiler predicts and that was measured,\n" +
			"and what part of this machine's arithmetic and memory speed, measured in the same run, the program reaches. Times of ask,\n" +
			"play and tell are those of programs of their own; in the whole program they share work.",
		Example: "  xlarun profile CartPole-v1\n  xlarun profile experiment.toml --devices 1 --json",
		Args:    oneExperiment,
		RunE: func(cmd *cobra.Command, args []string) error {
			if repeats < 1 {
				return badInput("--repeats got %d, wants 1 or more", repeats)
			}
			e, err := readExperiment(cmd.Flags(), strings.Join(args, ""))
			if err != nil {
				return err
			}
			p := &profiler{app: a, experiment: e, repeats: repeats}
			if err := p.measure(cmd.Context()); err != nil {
				return err
			}
			return p.print()
		},
	}
	addExperimentFlags(cmd.Flags(), &o)
	cmd.Flags().IntVar(&repeats, "repeats", repeats, "generations that are timed, of which the median counts")
	return cmd
}

// oneExperiment checks the arguments of a command on one experiment.
func oneExperiment(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return badInput("got %d arguments (%s), wants one config file or environment", len(args), strings.Join(args, ", "))
	}
	return nil
}

// profiler measures one experiment.
type profiler struct {
	*app
	*experiment
	repeats int
	profile experimentProfile
}

// experimentProfile is the line that --json ends with.
type experimentProfile struct {
	Experiment        string         `json:"experiment"`
	Backend           string         `json:"backend"`
	Program           evolve.Profile `json:"program"`
	OpenSeconds       float64        `json:"open_seconds"`
	ToDeviceSeconds   float64        `json:"state_to_devices_seconds"`
	ToHostSeconds     float64        `json:"state_to_host_seconds"`
	FirstSeconds      float64        `json:"first_generation_seconds"`
	GenerationSeconds float64        `json:"generation_seconds"`
	Phases            []phaseTime    `json:"phases"`
	StepsPerSecond    float64        `json:"steady_steps_per_second"`
	PredictedBytes    int64          `json:"predicted_memory_bytes_per_device"`
	PeakBytes         int64          `json:"peak_memory_bytes"`
	Machine           machineSpeed   `json:"machine"`
	Roofline          roofline       `json:"roofline"`
}

type phaseTime struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// measure runs everything. The machine's own speed is measured right after the steady generations, so that both saw the
// same neighbours.
func (p *profiler) measure(ctx context.Context) error {
	r := &p.profile
	start := time.Now()
	b, err := p.openBackend(ctx, p.backendOptions, display.NewDownloadBar(p.Out, p.env))
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	r.Backend, r.OpenSeconds = b.Backend(), time.Since(start).Seconds()
	e, err := p.newEngine(b, p.config)
	if err != nil {
		return experimentError(err)
	}
	defer func() { _ = e.Close() }()
	r.Experiment, r.Program, r.PredictedBytes = p.config.Purpose(), e.Profile(), e.Profile().PeakMemoryBytes
	if err := p.transfer(b, e); err != nil {
		return err
	}
	times := make([]float64, 0, p.repeats)
	var steps float64
	for g := range 1 + p.repeats {
		m, err := e.Step()
		if err != nil {
			return fmt.Errorf("generation %d: %w", g+1, err)
		}
		if ctx.Err() != nil {
			return errInterrupted
		}
		if g == 0 {
			r.FirstSeconds = m.Seconds
			continue
		}
		times = append(times, m.Seconds)
		steps = float64(m.EnvSteps) / float64(m.Generation)
	}
	r.GenerationSeconds = median(times)
	r.StepsPerSecond = steps / r.GenerationSeconds
	r.PeakBytes = peakMemory(b)
	if r.Machine, err = measureMachine(b, max(1, min(b.NumDevices(), r.Program.Devices))); err != nil {
		return err
	}
	phases, err := e.Phases(min(p.repeats, 5))
	if err != nil {
		return err
	}
	for _, x := range phases {
		r.Phases = append(r.Phases, phaseTime{x.Name, x.Seconds})
	}
	r.Roofline = rooflineOf(e.Program(), r.Program, r.GenerationSeconds, r.Machine)
	return nil
}

// transfer times the way of the state to the host and back.
func (p *profiler) transfer(b xlabridge.Backend, e engine) error {
	start := time.Now()
	s, err := e.Snapshot()
	if err != nil {
		return err
	}
	p.profile.ToHostSeconds = time.Since(start).Seconds()
	start = time.Now()
	there, err := xlabridge.Put(b, max(1, min(b.NumDevices(), e.Profile().Devices)), s.Arrays)
	if err != nil {
		return err
	}
	p.profile.ToDeviceSeconds = time.Since(start).Seconds()
	xlabridge.Free(there)
	return nil
}

// peakMemory is the most memory that was in use: of the device where it keeps a count, else of the process.
func peakMemory(b xlabridge.Backend) int64 {
	if c, ok := b.(*xlabridge.Client); ok {
		if m, err := c.Memory(0); err == nil {
			return m.Peak
		}
	}
	m, err := xlabridge.ProcessMemory()
	if err != nil {
		return 0
	}
	return m.Peak
}

// roofline puts a generation's work, counted in the traced program, beside what the machine can do.
type roofline struct {
	FLOPs          float64 `json:"flops"` // of a generation, all devices
	Bytes          float64 `json:"bytes"` // that its operations read and write, as if none were fused
	GFLOPs         float64 `json:"gflops_per_second"`
	GBs            float64 `json:"gb_per_second"`
	ArithmeticPart float64 `json:"part_of_matmul"`
	MemoryPart     float64 `json:"part_of_memory"` // above 1: most of the data never leaves the caches and registers
}

func rooflineOf(p *graph.Program, e evolve.Profile, seconds float64, m machineSpeed) roofline {
	tiles := (e.Tiles + e.Devices - 1) / max(1, e.Devices)
	outermost := map[*graph.Node]bool{} // the loops over tiles
	for _, n := range p.Graph.Nodes {
		outermost[n] = true
	}
	cost := p.Graph.Cost(func(loop *graph.Node) int {
		if outermost[loop] {
			return tiles
		}
		return 1
	})
	r := roofline{FLOPs: cost.FLOPs * float64(e.Devices), Bytes: cost.Bytes * float64(e.Devices)}
	r.GFLOPs, r.GBs = r.FLOPs/seconds/1e9, r.Bytes/seconds/1e9
	r.ArithmeticPart, r.MemoryPart = r.GFLOPs/m.MatmulGFLOPs, r.GBs/m.MemoryGBs
	return r
}

func (p *profiler) print() error {
	r := p.profile
	e := r.Program
	fmt.Fprintf(p.Out, "%s, on %s\n", r.Experiment, devicesText(e.Devices, r.Backend))
	if e.Plan != "" {
		fmt.Fprintf(p.Out, "plan (%s): %s\n", e.PlanSource, e.Plan)
	}
	w := tabwriter.NewWriter(p.Out, 0, 8, 2, ' ', 0)
	program := "compile"
	if e.Cache == xlabridge.CacheHit {
		program = "load from the cache"
	}
	type row struct {
		name    string
		seconds float64
		note    string
	}
	rows := []row{
		{"open the backend", r.OpenSeconds, ""},
		{"trace", e.TraceSeconds, ""},
		{program, e.CompileSeconds, "cache " + e.Cache},
		{"state to the devices", r.ToDeviceSeconds, ""},
		{"state to the host", r.ToHostSeconds, ""},
		{"first generation", r.FirstSeconds, ""},
		{"generation", r.GenerationSeconds, fmt.Sprintf("%s steps/s, median of %d", display.Count(r.StepsPerSecond), p.repeats)},
	}
	if e.TuneSeconds > 0 {
		rows = slices.Insert(rows, 1, row{"tune", e.TuneSeconds, count(len(e.PlansTried), "plan", "plans") + " measured"})
	}
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.name, shortTime(r.seconds), r.note)
	}
	for _, x := range r.Phases {
		fmt.Fprintf(w, "  %s\t%s\tby itself\n", x.Name, shortTime(x.Seconds))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	predicted := "not predicted by this backend"
	if r.PredictedBytes > 0 {
		predicted = display.Bytes(r.PredictedBytes) + " a device predicted by the compiler"
	}
	fmt.Fprintf(p.Out, "memory: %s; peak measured %s\n", predicted, display.Bytes(r.PeakBytes))
	f := r.Roofline
	fmt.Fprintf(p.Out, "roofline: %s flop and %s a generation: %s, %.1f %% of the %s of a matmul; %.3g GB/s unfused, %.2g times the %.3g GB/s of memory\n",
		display.Count(f.FLOPs), display.Bytes(int64(f.Bytes)), gflops(f.GFLOPs), 100*f.ArithmeticPart, gflops(r.Machine.MatmulGFLOPs),
		f.GBs, f.MemoryPart, r.Machine.MemoryGBs)
	if !p.json {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Out, "%s\n", line)
	return nil
}

func gflops(x float64) string { return fmt.Sprintf("%.3g GFLOP/s", x) }
