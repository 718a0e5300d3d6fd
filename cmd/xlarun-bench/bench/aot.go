package bench

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/internal/peers"
	"xlarun/cmd/xlarun-bench/bench/aotbench"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/internal/quantity"
	"xlarun/rollout/plan"
	"xlarun/xlabridge/plugin"
	"xlarun/xlabridge/topology"
)

type aotFlags struct {
	backend, write string
	topologies     []string
	tune           string
	peers, json    bool
	python         string
	limit          time.Duration
}

// aotRow is a program and what it became on each target.
type aotRow struct {
	Name    string            `json:"name"`
	What    string            `json:"what"`
	Results []aotbench.Result `json:"results"`
	Failed  []string          `json:"failed,omitempty"`
}

func aotCommand(h *host) *cobra.Command {
	o := aotFlags{topologies: []string{"h100", "v5e:2x2"}, tune: plan.TuneOff}
	var long strings.Builder
	long.WriteString("Bench aot compiles programs for devices that are not there and counts the kernels that they " +
		"launch. Nothing is run or timed.\n\nPrograms:\n")
	for _, r := range aotbench.Rows() {
		fmt.Fprintf(&long, "  %-19s %s\n", r.Name, r.What)
	}
	cmd := &cobra.Command{
		Use: "aot [NAME...]", Short: "Count the kernels and the memory of programs on GPUs and TPUs, without one",
		Long: long.String(), Example: "  xlarun bench aot\n  xlarun bench aot play-1024 --topologies a100,v6e:2x2",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.backend != "" && cmd.Flags().Changed("topologies") {
				return console.BadInput("--topologies got %s and --backend %s, which compiles for the devices of this "+
					"machine: leave one of them out", strings.Join(o.topologies, ","), o.backend)
			}
			return o.run(cmd.Context(), h, args)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringSliceVar(&o.topologies, "topologies", o.topologies, "devices to compile for; a "+
		"program for eight devices takes a box or slice of eight")
	topology := cmd.Flags().VarPF(cmd.Flags().Lookup("topologies").Value, "topology", "", "")
	topology.Hidden = true // the name of the flag in inspect and warmup
	cmd.Flags().StringVar(&o.tune, "tune", o.tune, "how plans of evolve are chosen: off (by the rule), quick (by the "+
		"compiler's numbers)")
	cmd.Flags().StringVar(&o.backend, "backend", "", "compile for the devices of this machine instead of "+
		"--topologies, there or not, and run a round: "+strings.Join(plugin.Backends, ", "))
	cmd.Flags().StringVar(&o.write, "write", "", "with --backend: write the table of what was measured into this "+
		"page, between its lines "+measuredBegin+" and "+measuredEnd)
	addPeers(cmd.Flags(), &o.peers, &o.python, &o.limit)
	cmd.Flags().BoolVar(&o.json, "json", false, "end stdout with one line of JSON")
	return cmd
}

func (o *aotFlags) run(ctx context.Context, h *host, names []string) error {
	chosen := aotbench.Rows()
	if len(names) > 0 {
		var err error
		if chosen, err = named(names, chosen, func(r aotbench.Row) string { return r.Name }); err != nil {
			return err
		}
	}
	for _, name := range o.topologies {
		if _, err := topology.Parse(name); err != nil {
			return console.BadInput("--topologies %w", err)
		}
	}
	if o.tune != plan.TuneOff && o.tune != plan.TuneQuick {
		return console.BadInput("--tune got %q, wants %s or %s", o.tune, plan.TuneOff, plan.TuneQuick)
	}
	here, err := o.here(ctx, h)
	if err != nil {
		return err
	}
	var py *peers.Python
	if o.peers {
		py, err = newPython(ctx, h, o.python, peers.AheadRequirements)
		if err != nil {
			return err
		}
		defer py.Close()
	}
	bar := display.NewDownloadBar(h.Out, h.Getenv)
	var rows []aotRow
	for _, r := range chosen {
		row := aotRow{Name: r.Name, What: r.What}
		for _, name := range o.topologies {
			on, err := topology.Parse(name)
			if err == nil && r.Eight {
				on, err = on.With(8)
			}
			var result aotbench.Result
			if err == nil {
				result, err = aotbench.Measure(ctx, r, on, aotbench.Options{Notice: bar.Notice, Tune: o.tune})
			}
			if ctx.Err() != nil {
				return console.ErrInterrupted
			}
			if err != nil {
				row.Failed = append(row.Failed, fmt.Sprintf("%s: %v", name, err))
				continue
			}
			if here.Backend == on.Backend && (!r.Eight || here.Devices >= 8) {
				device, err := aotbench.Measure(ctx, r, here, aotbench.Options{Notice: bar.Notice, Tune: o.tune,
					Here: true})
				if err != nil {
					row.Failed = append(row.Failed, fmt.Sprintf("on the device: %v", err))
				} else {
					result.Device = device.Device
				}
			}
			if py != nil && r.Script != "" {
				peer, err := ahead(ctx, py, r, on, o.limit)
				if err != nil {
					result.PeerFailed = err.Error()
				} else {
					result.Peer = &peer
				}
			}
			row.Results = append(row.Results, result)
		}
		rows = append(rows, row)
		if err := printAOT(h.Out, row); err != nil {
			return err
		}
	}
	failed := 0
	for _, r := range rows {
		failed += len(r.Failed)
	}
	if o.write != "" {
		if err := writeMeasured(o.write, here, rows); err != nil {
			return err
		}
	}
	if failed > 0 {
		err = fmt.Errorf("%s not compiled or not run", quantity.Count(failed, "program was", "programs were"))
	}
	if o.json {
		return h.EndJSON(map[string]any{"rows": rows}, err)
	}
	return err
}

// ahead compiles a row's JAX program for a target.
func ahead(ctx context.Context, p *peers.Python, r aotbench.Row, on topology.Topology,
	limit time.Duration) (aotbench.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	programs, err := p.Ahead(ctx, on, r.Script, strings.Fields(r.Args)...)
	if err != nil {
		return aotbench.Result{}, err
	}
	return r.Of(on.Name, programs[0].Loops, programs[0].Temporaries, programs[0].Seconds), nil
}

// printAOT prints the lines of a program.
func printAOT(out io.Writer, r aotRow) error {
	fmt.Fprintf(out, "%s: %s\n", r.Name, r.What)
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, x := range r.Results {
		var collectives []string
		for _, kind := range slices.Sorted(maps.Keys(x.Collectives)) {
			collectives = append(collectives, fmt.Sprintf("%d %s", x.Collectives[kind], kind))
		}
		parts := x.Parts
		if x.Mean > 0 {
			parts += fmt.Sprintf("; mean of all generations %.4g", x.Mean)
		}
		fmt.Fprintf(w, "  %s\t%.4g kernels\t%s\t%s temporary\t%s arguments\tcompiled in %s\t%s\t%s\n",
			x.Topology, x.Kernels, parts, display.Bytes(x.Temporaries), display.Bytes(x.Arguments),
			console.ShortTime(x.Seconds), strings.Join(collectives, ", "), x.Plan)
	}
	for _, x := range r.Results {
		if d := x.Device; d != nil {
			peak, round := measuredTexts(d)
			fmt.Fprintf(w, "  %s, on the device\t%.4g kernels\t\t%s temporary\t%s in use at most\ta round in %s\n",
				x.Topology, d.Kernels, display.Bytes(d.Temporaries), peak, round)
		}
		if x.Peer != nil {
			fmt.Fprintf(w, "  %s, JAX\t%.4g kernels\t%s\t%s temporary\t\tcompiled in %s\n", x.Topology, x.Peer.Kernels,
				x.Peer.Parts, display.Bytes(x.Peer.Temporaries), console.ShortTime(x.Peer.Seconds))
		}
		if x.PeerFailed != "" {
			fmt.Fprintf(w, "  %s, JAX\tfailed: %s\n", x.Topology, x.PeerFailed)
		}
	}
	for _, text := range r.Failed {
		fmt.Fprintf(w, "  failed on %s\n", text)
	}
	return w.Flush()
}
