package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

const phaseOptimized = "optimized"

func inspectCommand(a *App) *cobra.Command {
	g := &flagValues{}
	phase := ""
	var phases []string
	for _, p := range graph.Phases {
		phases = append(phases, string(p))
	}
	phases = append(phases, phaseOptimized)
	cmd := &cobra.Command{
		Use:   "inspect [CONFIG|ENV|KIND]",
		Short: "Look into the compiled program of an experiment",
		Long: "Inspect compiles one round of an experiment (a config file, an environment and flags as for evolve, " +
			"or the name of a kind) and\n" +
			"shows its ops, its work as counted from them, and its memory as the compiler says. With --phase it " +
			"prints the program itself.",
		Example: "  xlarun inspect CartPole-v1\n  xlarun inspect CartPole-v1 --phase traced | less",
		Args:    oneExperiment,
		RunE: func(cmd *cobra.Command, args []string) error {
			if phase != "" && !slices.Contains(phases, phase) {
				return console.BadInput("--phase got %q, wants one of %s%s", phase, strings.Join(phases, ", "),
					console.DidYouMean(phase, phases))
			}
			t, err := g.readTask(strings.Join(args, ""))
			if err != nil {
				return err
			}
			if err := t.fetch(cmd.Context(), a); err != nil {
				return err
			}
			b, err := a.OpenBackend(cmd.Context(), t.on(), display.NewDownloadBar(a.Out, a.Getenv))
			if err != nil {
				return err
			}
			defer func() { _ = b.Close() }()
			r, err := t.startAlone(b)
			if err != nil {
				return settingError(err, "", nil)
			}
			defer func() { _ = r.Close() }()
			x, ok := r.(run.Profiled)
			if !ok || x.Compiled() == nil {
				return fmt.Errorf("runs of %s show no program", t.Name)
			}
			if phase == phaseOptimized {
				text, err := x.Compiled().Optimized()
				if err == nil {
					_, err = fmt.Fprintln(a.Out, text)
				}
				return err
			}
			if phase != "" {
				target := graph.TargetCPU // the interpreter does not lower programs
				if l := x.Compiled().Lowered; l != nil {
					target = l.Target
				}
				return x.Compiled().Program.Dump(a.Out, graph.Phase(phase), target)
			}
			return printInspection(a, inspect(t.Purpose(), b, x.Compiled()), g.own.json)
		},
	}
	g.addSettings(cmd.Flags(), allKinds()...)
	g.addHelp(cmd, allKinds()...)
	g.addCall(cmd.Flags(), "")
	cmd.Flags().StringVar(&phase, "phase", "", "print the program after a phase: "+strings.Join(phases, ", "))
	return cmd
}

// inspection is the line that --json ends with.
type inspection struct {
	Experiment  string          `json:"experiment"`
	Backend     string          `json:"backend"`
	Devices     int             `json:"devices"`
	Target      graph.Target    `json:"target,omitempty"`      // that it was lowered for
	Fingerprint string          `json:"fingerprint,omitempty"` // of the text that the compiler got
	Ops         []graph.OpCount `json:"ops"`
	Total       int             `json:"total_ops"`
	// Counted is the work in the traced program. A loop of unknown length counts as one turn.
	Counted  graph.Cost               `json:"counted"`
	Compiler map[string]float64       `json:"compiler"` // the compiler's own numbers; absent if it gives none
	Memory   *xlabridge.ProgramMemory `json:"memory"`
}

func inspect(name string, b xlabridge.Backend, x *xlabridge.Compiled) inspection {
	p := x.Program
	i := inspection{Experiment: name, Backend: b.Backend(), Devices: p.Replicas,
		Ops: p.Graph.Ops(), Total: p.Graph.Count(), Counted: p.Graph.Cost(nil)}
	if x.Executable != nil {
		i.Fingerprint, i.Target = x.Lowered.Fingerprint, x.Lowered.Target
		if cost, err := x.Executable.Cost(); err == nil {
			i.Compiler = cost
		}
		if m, err := x.Executable.Memory(); err == nil {
			i.Memory = &m
		}
	}
	return i
}

// shownOps is the number of kinds of ops that the table lists.
const shownOps = 12

func printInspection(a *App, i inspection, asJSON bool) error {
	fmt.Fprintf(a.Out, "%s, for %s\n", i.Experiment, console.DevicesText(i.Devices, i.Backend))
	if i.Fingerprint != "" {
		fmt.Fprintf(a.Out, "lowered for %s, fingerprint %s\n", i.Target, i.Fingerprint)
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
	fmt.Fprintf(w, "work, counted from the ops (one tile of each device)\t\t\n  flops\t%s\t\n  "+
		"transcendentals\t%s\tof these\n  integer ops\t%s\t\n  bytes\t%s\tread and written if nothing were fused\n",
		display.Count(i.Counted.FLOPs), display.Count(i.Counted.Transcendentals), display.Count(i.Counted.IntOps),
		display.Bytes(int64(i.Counted.Bytes)))
	if len(i.Compiler) > 0 {
		fmt.Fprintf(w, "work, as the compiler says\t\t\n")
		for _, k := range []string{"flops", "transcendentals", "bytes accessed"} {
			if v, ok := i.Compiler[k]; ok {
				fmt.Fprintf(w, "  %s\t%s\t\n", k, display.Count(v))
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
			fmt.Fprintf(w, "  %s\t%s\t\n", row.name, display.Bytes(row.bytes))
		}
	}
	if err := w.Flush(); err != nil || !asJSON {
		return err
	}
	return a.PrintJSON(i)
}
