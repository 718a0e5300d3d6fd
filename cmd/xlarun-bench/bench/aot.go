package bench

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun-bench/bench/aotbench"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/xlabridge/target"
)

type aotFlags struct {
	topologies []string
	json       bool
}

// aotRow is a program and what it became on each target.
type aotRow struct {
	Name    string            `json:"name"`
	What    string            `json:"what"`
	Results []aotbench.Result `json:"results"`
	Failed  []string          `json:"failed,omitempty"`
}

func aotCommand(h *host) *cobra.Command {
	o := aotFlags{topologies: []string{"h100", "v5e:2x2"}}
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
	cmd.Flags().StringSliceVar(&o.topologies, "topologies", o.topologies, "devices to compile for; a program for eight "+
		"devices takes a box or slice of eight")
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
				result, err = aotbench.Measure(ctx, r, on, aotbench.Options{Notice: bar.Notice})
			}
			if ctx.Err() != nil {
				return console.ErrInterrupted
			}
			if err != nil {
				row.Failed = append(row.Failed, fmt.Sprintf("%s: %v", name, err))
				continue
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

// printAOT prints the lines of a program.
func printAOT(out io.Writer, r aotRow) error {
	fmt.Fprintf(out, "%s: %s\n", r.Name, r.What)
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, x := range r.Results {
		var collectives []string
		for _, kind := range slices.Sorted(maps.Keys(x.Collectives)) {
			collectives = append(collectives, fmt.Sprintf("%d %s", x.Collectives[kind], kind))
		}
		fmt.Fprintf(w, "  %s\t%d kernels\t%s\t%s temporary\t%s arguments\tcompiled in %s\t%s\t%s\n", x.Target, x.Kernels,
			x.Parts, display.Bytes(x.Temporaries), display.Bytes(x.Arguments), console.ShortTime(x.Seconds),
			strings.Join(collectives, ", "), x.Plan)
	}
	for _, text := range r.Failed {
		fmt.Fprintf(w, "  failed on %s\n", text)
	}
	return w.Flush()
}
