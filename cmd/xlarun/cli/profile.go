package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/machine"
	"xlarun/graph"
	"xlarun/rollout/evolve"
	"xlarun/xlabridge"
)

func profileCommand(a *app) *cobra.Command {
	var o evolveFlags
	repeats := 20
	cmd := &cobra.Command{
		Use:   "profile [CONFIG|ENV|sparse]",
		Short: "Show where the time and memory of an experiment go",
		Long: "Profile traces, compiles and runs an experiment (a config file of evolve or sparse, an environment and flags as for evolve, or the\n" +
			"word sparse) for a few generations, or rounds of SGD, and shows the time of each phase, the steady speed, the memory that the\n" +
			"compiler predicts and that was measured, and what part of this machine's arithmetic and memory speed, measured in the same run,\n" +
			"the program reaches. Times of ask, play and tell are those of programs of their own; in the whole program they share work.",
		Example: "  xlarun profile CartPole-v1\n  xlarun profile experiment.toml --devices 1 --json\n  xlarun profile sparse --pop 50",
		Args:    oneExperiment,
		RunE: func(cmd *cobra.Command, args []string) error {
			if repeats < 1 {
				return console.BadInput("--repeats got %d, wants 1 or more", repeats)
			}
			arg := strings.Join(args, "")
			is, err := isSparse(cmd.Flags(), arg)
			if err != nil {
				return err
			}
			if is {
				e, err := readSparse(cmd.Flags(), arg)
				if err != nil {
					return err
				}
				p := &sparseProfiler{app: a, sparseExperiment: e, repeats: repeats}
				if err := p.measure(cmd.Context()); err != nil {
					return err
				}
				return p.print()
			}
			e, err := readExperiment(cmd.Flags(), arg)
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
	cmd.Flags().IntVar(&repeats, "repeats", repeats, "generations, or rounds of SGD, that are timed, of which the median counts")
	return cmd
}

// oneExperiment checks the arguments of a command on one experiment.
func oneExperiment(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return console.BadInput("got %d arguments (%s), wants one config file or environment", len(args), strings.Join(args, ", "))
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
	measured
	Program           evolve.Profile `json:"program"`
	FirstSeconds      float64        `json:"first_generation_seconds"`
	GenerationSeconds float64        `json:"generation_seconds"`
}

// measure runs everything. The machine's own speed is measured right after the steady generations, so that both saw the
// same neighbours.
func (p *profiler) measure(ctx context.Context) error {
	r := &p.profile
	b, err := r.open(ctx, p.app, p.BackendFlags)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
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
			return console.ErrInterrupted
		}
		if g == 0 {
			r.FirstSeconds = m.Seconds
			continue
		}
		times = append(times, m.Seconds)
		steps = float64(m.EnvSteps) / float64(m.Generation)
	}
	r.GenerationSeconds = machine.Median(times)
	r.StepsPerSecond = steps / r.GenerationSeconds
	r.PeakBytes = peakMemory(b)
	if r.Machine, err = machine.Measure(b, max(1, min(b.NumDevices(), r.Program.Devices))); err != nil {
		return err
	}
	phases, err := e.Phases(min(p.repeats, 5))
	if err != nil {
		return err
	}
	for _, x := range phases {
		r.Phases = append(r.Phases, phaseTime{x.Name, x.Seconds})
	}
	r.Roofline = rooflineOf(costOf(e.Program(), r.Program), r.GenerationSeconds, r.Machine)
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

// costOf counts a generation's work in the traced program, all devices.
func costOf(p *graph.Program, e evolve.Profile) graph.Cost {
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
	return graph.Cost{FLOPs: cost.FLOPs * float64(e.Devices), Bytes: cost.Bytes * float64(e.Devices)}
}

func (p *profiler) print() error {
	r := p.profile
	e := r.Program
	fmt.Fprintf(p.Out, "%s, on %s\n", r.Experiment, console.DevicesText(e.Devices, r.Backend))
	if e.Plan != "" {
		fmt.Fprintf(p.Out, "plan (%s): %s\n", e.PlanSource, e.Plan)
	}
	rows := []profileRow{
		{"open the backend", r.OpenSeconds, ""},
		{"trace", e.TraceSeconds, ""},
		compileRow(e.Cache, e.CompileSeconds),
		{"state to the devices", r.ToDeviceSeconds, ""},
		{"state to the host", r.ToHostSeconds, ""},
		{"first generation", r.FirstSeconds, ""},
		{"generation", r.GenerationSeconds, fmt.Sprintf("%s steps/s, median of %d", display.Count(r.StepsPerSecond), p.repeats)},
	}
	if e.TuneSeconds > 0 {
		rows = slices.Insert(rows, 1, profileRow{"tune", e.TuneSeconds, console.Count(len(e.PlansTried), "plan", "plans") + " measured"})
	}
	if err := r.print(p.Out, rows, "generation"); err != nil {
		return err
	}
	return p.printJSON(p.json, r)
}
