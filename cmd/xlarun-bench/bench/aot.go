package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun-bench/bench/aotbench"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/rollout/plan"
	"xlarun/xlabridge/hlo"
	"xlarun/xlabridge/target"
)

type aotFlags struct {
	topologies  []string
	tune        string
	peers, json bool
	python      string
	limit       time.Duration
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
			return o.run(cmd.Context(), h, args)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringSliceVar(&o.topologies, "topologies", o.topologies, "devices to compile for; a "+
		"program for eight devices takes a box or slice of eight")
	cmd.Flags().StringVar(&o.tune, "tune", o.tune, "how plans of evolve are chosen: off (by the rule), quick (by the "+
		"compiler's numbers)")
	addPeers(cmd.Flags(), &o.peers, &o.python, &o.limit)
	cmd.Flags().BoolVar(&o.json, "json", false, "end stdout with one line of JSON")
	return cmd
}

func (o *aotFlags) run(ctx context.Context, h *host, names []string) error {
	all := aotbench.Rows()
	known := each(all, func(r aotbench.Row) string { return r.Name })
	chosen := all
	if len(names) > 0 {
		chosen = nil
		for _, name := range names {
			i := slices.Index(known, name)
			if i < 0 {
				return noWorkload(name, known)
			}
			chosen = append(chosen, all[i])
		}
	}
	for _, name := range o.topologies {
		if _, err := target.Parse(name); err != nil {
			return console.BadInput("--topologies %w", err)
		}
	}
	if o.tune != plan.TuneOff && o.tune != plan.TuneQuick {
		return console.BadInput("--tune got %q, wants %s or %s", o.tune, plan.TuneOff, plan.TuneQuick)
	}
	var py *python
	if o.peers {
		var err error
		py, err = newPythonOf(ctx, h, cmp.Or(o.python, h.Getenv(envPeersPython)), "requirements-aot.txt")
		if err != nil {
			return err
		}
		defer py.close()
	}
	bar := display.NewDownloadBar(h.Out, h.Getenv)
	var rows []aotRow
	for _, r := range chosen {
		row := aotRow{Name: r.Name, What: r.What}
		for _, name := range o.topologies {
			on, err := target.Parse(name)
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
			if py != nil && r.Script != "" {
				peer, err := py.ahead(ctx, r, on, o.limit)
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
	var err error
	if failed > 0 {
		err = fmt.Errorf("%d programs were not compiled", failed)
	}
	if o.json {
		return h.EndJSON(map[string]any{"rows": rows}, err)
	}
	return err
}

// ahead compiles a row's JAX program for a target.
func (p *python) ahead(ctx context.Context, r aotbench.Row, on target.Target, limit time.Duration) (aotbench.Result,
	error) {
	var out aotbench.Result
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	name := on.Name
	if text := on.Config(); text != "" {
		name = filepath.Join(p.scripts, "target.txtpb")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return out, err
		}
	}
	args := append([]string{filepath.Join(p.scripts, "peers", "aot_jax.py"), on.Backend, name, r.Script},
		strings.Fields(r.Args)...)
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	text, err := outputOf(cmd)
	if err != nil {
		return out, err
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	var said struct {
		Programs []struct {
			Seconds   float64
			Temporary int64
			Loops     []struct {
				Name    string
				Depth   int
				Trips   int64
				Kernels int
			}
		}
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &said); err != nil || len(said.Programs) == 0 {
		return out, fmt.Errorf("it compiled no program")
	}
	program := said.Programs[0]
	var loops []hlo.Loop
	for _, l := range program.Loops {
		loops = append(loops, hlo.Loop{Name: l.Name, Depth: l.Depth, Trips: l.Trips,
			Kernels: make([]hlo.Kernel, l.Kernels)})
	}
	return r.Of(on.Name, loops, program.Temporary, program.Seconds), nil
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
		fmt.Fprintf(w, "  %s\t%.4g kernels\t%s\t%s temporary\t%s arguments\tcompiled in %s\t%s\t%s\n",
			x.Target, x.Kernels, x.Parts, display.Bytes(x.Temporaries), display.Bytes(x.Arguments),
			console.ShortTime(x.Seconds), strings.Join(collectives, ", "), x.Plan)
	}
	for _, x := range r.Results {
		if x.Peer != nil {
			fmt.Fprintf(w, "  %s, JAX\t%.4g kernels\t%s\t%s temporary\t\tcompiled in %s\n", x.Target, x.Peer.Kernels,
				x.Peer.Parts, display.Bytes(x.Peer.Temporaries), console.ShortTime(x.Peer.Seconds))
		}
		if x.PeerFailed != "" {
			fmt.Fprintf(w, "  %s, JAX\tfailed: %s\n", x.Target, x.PeerFailed)
		}
	}
	for _, text := range r.Failed {
		fmt.Fprintf(w, "  failed on %s\n", text)
	}
	return w.Flush()
}
