package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"xlarun/cmd/internal/peers"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/internal/quantity"
	"xlarun/rollout/plan"
	"xlarun/xlabridge"
	"xlarun/xlabridge/hlo"
)

const phaseOptimized = "optimized"

// inspectOptions are the flags of xlarun inspect.
type inspectOptions struct {
	app                 *App
	values              *flagValues
	phase, dump, python string
	peer, codegen       bool
}

func inspectCommand(a *App) *cobra.Command {
	o := &inspectOptions{app: a, values: &flagValues{}}
	cmd := &cobra.Command{
		Use:   "inspect [KIND] [CONFIG|ENV]",
		Short: "Look into the compiled program of an experiment",
		Long: "Inspect compiles one round of an experiment, of evolve if no kind is named, and shows its ops, work " +
			"and memory. With --phase it prints the program. With --topology it compiles for absent devices, and " +
			"lists the kernels of each loop.",
		Example: "  xlarun inspect CartPole-v1 --topology h100 --peers\n" +
			"  xlarun inspect ppo CartPole-v1 --phase traced | less",
		Args: oneExperiment,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := o.task(args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), t)
		},
	}
	if !a.addRunFlags(cmd, o.values, allKinds()...) {
		return cmd
	}
	o.values.addCall(cmd.Flags(), "")
	o.values.addTopology(cmd.Flags())
	cmd.Flags().StringVar(&o.dump, "dump", "", "write StableHLO, the compiler's own texts and PTX into this new or "+
		"empty folder")
	cmd.Flags().BoolVar(&o.codegen, "codegen", false, "show what decides how XLA writes the program for a CPU")
	cmd.Flags().BoolVar(&o.peer, "peers", false, "with --topology: JAX's program for the same work, too")
	cmd.Flags().StringVar(&o.python, "peers-python", "", "Python with the peers' packages (default "+peers.EnvPython+
		", or one made for it)")
	cmd.Flags().StringVar(&o.phase, "phase", "", "print the program after a phase: "+
		strings.Join(inspectPhases(), ", "))
	return cmd
}

// renamedPhases are the names now of phases that had other ones.
var renamedPhases = map[string]string{"lowered": "ops", "hashes": "once"}

// inspectPhases returns the names of the phases that --phase prints.
func inspectPhases() (names []string) {
	for _, p := range lower.Phases {
		names = append(names, string(p))
	}
	return append(names, phaseOptimized)
}

// task returns the experiment. It checks the flags.
func (o *inspectOptions) task(args []string) (*task, error) {
	if phases := inspectPhases(); o.phase != "" && !slices.Contains(phases, o.phase) {
		hint := console.DidYouMean(o.phase, phases)
		if now, old := renamedPhases[o.phase]; old {
			hint = ", did you mean " + now + "?"
		}
		return nil, console.BadInput("--phase got %q, wants one of %s%s", o.phase, strings.Join(phases, ", "), hint)
	}
	if old, err := os.ReadDir(o.dump); o.dump != "" && err == nil && len(old) > 0 {
		return nil, console.BadInput("--dump got %q, which has files already, wants a new or empty folder", o.dump)
	}
	if o.phase != "" && o.codegen {
		return nil, console.BadInput("--phase prints the text of a program, and --codegen what decides about it: " +
			"leave one of them out")
	}
	if o.phase != "" && o.values.own.json {
		return nil, console.BadInput("--phase prints the text of a program, which --json does not take: leave one of " +
			"them out")
	}
	if err := o.values.chooseTopology(); err != nil {
		return nil, err
	}
	if err := refuseTopology(args); err != nil {
		return nil, err
	}
	t, err := o.values.readTask(args...)
	if err != nil {
		return nil, err
	}
	if _, ok := peerOf(t); o.peer && !ok {
		return nil, needsPeer(t)
	}
	if on := t.on(); o.codegen && (on.Topology != "" || on.Backend != "cpu") {
		return nil, errCodegen
	}
	if o.peer && t.on().Topology == "" {
		return nil, console.BadInput("--peers shows JAX's program for devices that need not be there: add " +
			"--topology h100, or another topology")
	}
	return t, nil
}

// run compiles the program and shows it.
func (o *inspectOptions) run(ctx context.Context, t *task) error {
	if err := t.fetch(ctx, o.app); err != nil {
		return err
	}
	on := t.on()
	on.PlansOnly = on.Topology != "" // the compiler's own form of the program is not in the cache
	b, err := o.app.OpenBackend(ctx, on, display.NewDownloadBar(o.app.Out, o.app.Getenv))
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	if on.Topology != "" && o.phase == "" {
		fmt.Fprintf(o.app.Out, "compiling for %s; a large program takes minutes\n", on.Topology)
	}
	r, err := t.startAlone(ctx, b)
	if err != nil {
		return settingError(err)
	}
	defer func() { _ = r.Close() }()
	var program *xlabridge.Compiled
	if show := r.Describe().Program; show != nil {
		program = show()
	}
	if program == nil {
		return fmt.Errorf("runs of %s show no program", t.Name)
	}
	if o.dump != "" {
		if err := dumpProgram(o.app, program, o.dump); err != nil {
			return err
		}
	}
	if o.phase != "" {
		return o.printPhase(program)
	}
	i, err := inspect(t.job.Purpose, b, program)
	i.Choice = r.Profile().Choice
	if o.codegen && err == nil {
		i.Codegen, err = codegenOf(program)
	}
	if c, ok := b.(*xlabridge.Client); ok && o.peer && err == nil {
		i.Peer, err = inspectPeer(ctx, o.app, t, *c.Topology(), o.python)
	}
	if err != nil {
		return err
	}
	return printInspection(o.app, i, o.values.own.json)
}

// printPhase prints the program after a phase.
func (o *inspectOptions) printPhase(c *xlabridge.Compiled) error {
	if o.phase == phaseOptimized {
		text, err := c.Optimized()
		if err == nil {
			_, err = fmt.Fprintln(o.app.Out, text)
		}
		return err
	}
	target := graph.TargetCPU // the interpreter does not lower programs
	if c.Lowered != nil {
		target = c.Lowered.Target
	}
	return lower.Dump(o.app.Out, c.Program, o.phase, target)
}

// inspection is the line that --json ends with.
type inspection struct {
	Experiment  string          `json:"experiment"`
	plan.Choice                 // by which a run lays out the population; zero for kinds without plans
	Backend     string          `json:"backend"`
	Devices     int             `json:"devices"`
	Target      graph.Target    `json:"target,omitzero"`       // that it was lowered for
	Fingerprint string          `json:"fingerprint,omitempty"` // of the text that the compiler got
	Ops         []lower.OpCount `json:"ops"`
	Total       int             `json:"total_ops"`
	// Counted is the work in the traced program. A loop of unknown length counts as one iteration.
	Counted  graph.Cost               `json:"counted"`
	Compiler map[string]float64       `json:"compiler"` // the compiler's own numbers; absent if it gives none
	Memory   *xlabridge.ProgramMemory `json:"memory"`
	Codegen  *codegenDecision         `json:"codegen,omitempty"` // nil: it was not asked for
	// On is the target that it was compiled for without its device. Loops and Launches count a round.
	On       string     `json:"compiled_for,omitempty"`
	Kind     string     `json:"device_kind,omitempty"`
	Present  int        `json:"target_devices,omitempty"` // devices of the target
	Loops    []hlo.Loop `json:"loops,omitempty"`
	Launches int64      `json:"launches,omitempty"`
	AtLeast  bool       `json:"launches_at_least,omitempty"` // a loop of unknown length counts as one iteration
	Seconds  float64    `json:"estimated_seconds,omitempty"` // the compiler's estimate of a round
	// PlanSeconds is an estimate of a round from memory traffic and launches. Plans are compared by it.
	PlanSeconds float64 `json:"plan_estimated_seconds,omitempty"`
	// Peer is the JAX program for the same work; nil: it was not asked for.
	Peer *peerInspection `json:"peer,omitempty"`
}

// compilerNumbers are the numbers of the compiler that are shown.
var compilerNumbers = []string{"flops", "transcendentals", bytesAccessed}

const bytesAccessed = "bytes accessed"

// sourceText says in words where a plan comes from.
func sourceText(source string) string {
	if source == plan.Static {
		return "by the rule"
	}
	return source
}

func inspect(name string, b xlabridge.Backend, x *xlabridge.Compiled) (inspection, error) {
	p := x.Program
	i := inspection{Experiment: name, Backend: b.Backend(), Devices: p.Replicas,
		Ops: lower.Ops(p.Graph), Total: p.Graph.Count(), Counted: p.Graph.Cost(nil)}
	if x.Executable != nil {
		i.Fingerprint, i.Target = x.Lowered.Fingerprint(), x.Lowered.Target
		if cost, err := x.Executable.Cost(); err == nil {
			i.Compiler = map[string]float64{}
			for _, k := range compilerNumbers {
				if v, ok := cost[k]; ok {
					i.Compiler[k] = v
				}
			}
		}
		if m, err := x.Executable.Memory(); err == nil {
			i.Memory = &m
		}
	}
	c, ok := b.(*xlabridge.Client)
	if !ok || c.Topology() == nil {
		return i, nil
	}
	i.On, i.Kind, i.Present = c.Topology().Name, c.Topology().Kind, c.Topology().Devices
	loops, err := x.Executable.Loops()
	i.Loops, i.AtLeast = loops, hlo.AtLeast(loops)
	if s, estimateErr := x.Executable.Estimate(); estimateErr == nil {
		i.PlanSeconds = s
	}
	for _, l := range loops {
		i.Launches += l.Launches
		i.Seconds += l.Seconds
	}
	return i, err
}

// shownOps is the number of kinds of ops that the table lists.
const shownOps = 12

func printInspection(a *App, i inspection, asJSON bool) error {
	devices := console.DevicesText(i.Devices, i.Backend)
	if i.On != "" && i.Devices < i.Present {
		devices = fmt.Sprintf("%d of %s; the others have no work", i.Devices, console.DevicesText(i.Present, i.Backend))
	}
	fmt.Fprintf(a.Out, "%s, for %s\n", i.Experiment, devices)
	if i.On != "" {
		fmt.Fprintf(a.Out, "compiled for %s (%s), run on none\n", i.On, i.Kind)
	}
	if i.Fingerprint != "" {
		fmt.Fprintf(a.Out, "lowered for %s, fingerprint %s\n", i.Target, i.Fingerprint)
	}
	if i.Plan != "" {
		fmt.Fprintf(a.Out, "plan: %s (%s)\n", i.Plan, sourceText(i.Source))
		if i.Reason != "" {
			fmt.Fprintf(a.Out, "  %s\n", i.Reason)
		}
	}
	fmt.Fprintln(a.Out)
	w := tabwriter.NewWriter(a.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "ops\t%d\t\n", i.Total)
	rest := i.Total
	for _, o := range i.Ops[:min(shownOps, len(i.Ops))] {
		fmt.Fprintf(w, "  %s\t%d\t\n", o.Op, o.Count)
		rest -= o.Count
	}
	if rest > 0 {
		fmt.Fprintf(w, "  others\t%d\t\n", rest)
	}
	fmt.Fprintf(w, "work, counted from the ops\t\tone tile of each device; an unknown number of iterations is one\n"+
		"  flops\t%s\t\n  transcendentals\t%s\tof these\n  integer ops\t%s\t\n"+
		"  bytes\t%s\tread and written if nothing were fused\n",
		display.Count(i.Counted.FLOPs), display.Count(i.Counted.Transcendentals), display.Count(i.Counted.IntOps),
		display.Bytes(int64(i.Counted.Bytes)))
	if len(i.Compiler) > 0 {
		fmt.Fprintf(w, "work, as the compiler says\t\ta loop may count as one iteration\n")
		for _, k := range compilerNumbers {
			if v, ok := i.Compiler[k]; ok {
				text := display.Count(v)
				if k == bytesAccessed {
					text = display.Bytes(int64(v))
				}
				fmt.Fprintf(w, "  %s\t%s\t\n", k, text)
			}
		}
	} else {
		fmt.Fprintf(w, "work, as the compiler says\tnot given by this backend\t\n")
	}
	if m := i.Memory; m != nil {
		fmt.Fprintf(w, "memory of a device, as the compiler says\t\t\n")
		for _, row := range []struct {
			name  string
			bytes int64
		}{{"arguments", m.Arguments}, {"outputs", m.Outputs}, {"shared by both", m.Aliases},
			{"temporaries", m.Temporaries}, {"code", m.Code}} {
			size := display.Bytes(row.bytes)
			if row.name == "code" && row.bytes == 0 {
				size = "not given"
			}
			fmt.Fprintf(w, "  %s\t%s\t\n", row.name, size)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if i.Codegen != nil {
		if err := i.Codegen.print(a.Out); err != nil {
			return err
		}
	}
	if i.On != "" {
		if err := printLoops(a.Out, i); err != nil {
			return err
		}
	}
	if i.Peer != nil {
		if err := printPeer(a.Out, i); err != nil {
			return err
		}
	}
	if !asJSON {
		return nil
	}
	return a.PrintJSON(i)
}

// shownKernels is the number of kernels of a loop that the table lists.
const shownKernels = 40

// printLoops lists the kernels of each loop.
func printLoops(out io.Writer, i inspection) error {
	least := ""
	if i.AtLeast {
		least = "at least "
	}
	fmt.Fprintf(out, "\n%s%s in a round", least, quantity.Count(int(i.Launches), "launch", "launches"))
	if i.Seconds > 0 {
		fmt.Fprintf(out, ", %s as the compiler estimates", console.ShortTime(i.Seconds))
	}
	if i.PlanSeconds > 0 {
		fmt.Fprintf(out, ", %s%s by memory and launches, as plans are compared", least,
			console.ShortTime(i.PlanSeconds))
	}
	fmt.Fprintln(out)
	return printKernels(out, i.Loops)
}

// printKernels lists loops with the names of their kernels. A kernel without known sizes is its name alone.
func printKernels(out io.Writer, loops []hlo.Loop) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, l := range loops {
		indent := strings.Repeat("  ", l.Depth)
		trips := ""
		switch {
		case l.Depth > 0 && l.Trips > 0:
			trips = quantity.Count(int(l.Trips), "iteration", "iterations")
		case l.Depth > 0:
			trips = "an unknown number of iterations, counted as one"
		}
		all := append(slices.Clone(l.Kernels), l.Collectives...)
		fmt.Fprintf(w, "%s%s\t%s\t%s\n", indent, l.Name, quantity.Count(len(all), "kernel", "kernels"), trips)
		for _, k := range all[:min(shownKernels, len(all))] {
			size := ""
			if k.Bytes > 0 {
				size = display.Bytes(k.Bytes)
			}
			fmt.Fprintf(w, "%s  %s\t%s\t%s\n", indent, k.Name, k.Opcode, size)
		}
		if n := len(all) - shownKernels; n > 0 {
			fmt.Fprintf(w, "%s  %d others\t\t\n", indent, n)
		}
	}
	return w.Flush()
}

// dumpProgram writes the program's texts into a folder.
func dumpProgram(a *App, x *xlabridge.Compiled, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return console.BadInput("--dump got %q, wants a folder that can be made: %w", dir, err)
	}
	files, err := x.Dump(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "%s in %s\n", quantity.Count(len(files), "file", "files"), dir)
	return nil
}
