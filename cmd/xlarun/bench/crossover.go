package bench

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/machine"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// crossover is the grid of bench crossover: members whose hidden layers are dense, and block-sparse of several densities.
type crossover struct {
	widths         []int
	densities      []float64
	block          int
	members, steps int
}

var crossoverGrid = crossover{widths: []int{64, 128, 256, 512, 1024}, densities: []float64{1. / 16, 1. / 8, 1. / 4, 1. / 2, 3. / 4}, block: 32, members: 16, steps: 20}

// crossoverCell is one row of the result: a width and a density.
type crossoverCell struct {
	Name    string  `json:"name"`
	Width   int     `json:"width"`
	Density float64 `json:"density"` // of the blocks between the hidden layers, as far as whole blocks allow it
	Masks   string  `json:"masks"`
	Sparse  float64 `json:"ours_seconds"`  // of processor time, a step of all members
	Dense   float64 `json:"dense_seconds"` // the same of dense members
	Ratio   float64 `json:"ratio"`         // of dense to sparse, the median of the pairs'
}

func crossoverCommand(h *host) *cobra.Command {
	var o commonFlags
	grid := crossoverGrid
	cmd := &cobra.Command{
		Use:   "crossover",
		Short: "Measure where block-sparse layers are faster than dense ones",
		Long: fmt.Sprintf("Bench crossover times a step of %d members with weights of their own, blockmlp:WIDTH,WIDTH with blocks of --block, beside the same of\n"+
			"mlp:WIDTH,WIDTH, on one device and in turn: processor time, the median over repeats. A ratio above 1 is block-sparse ahead.\n"+
			"Densities are those of the blocks between the two hidden layers.", grid.members),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			b := newBench(h, flags{commonFlags: o})
			cells, err := b.crossover(cmd.Context(), grid)
			if err != nil {
				return err
			}
			if err := grid.print(b, cells); err != nil {
				return err
			}
			if o.json {
				return b.PrintJSON(map[string]any{"workloads": cells})
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.AddBackend(f)
	f.IntVar(&grid.block, "block", grid.block, "units of a block")
	f.IntSliceVar(&grid.widths, "widths", grid.widths, "units of a hidden layer")
	f.IntVar(&o.repeats, "repeats", 5, "repeats, of which the median counts")
	o.addJSON(f)
	return cmd
}

// masks are the two kinds: the same blocks in all members, and each member's own.
var crossoverMasks = []string{"shared", "own"}

func (b *bench) crossover(ctx context.Context, grid crossover) (cells []crossoverCell, err error) {
	o := b.flags.BackendFlags
	o.Devices = 1
	backend, err := b.open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = backend.Close() }()
	for _, width := range grid.widths {
		dense, err := grid.program(backend, fmt.Sprintf("mlp:%d,%d", width, width), nil)
		if err != nil {
			return nil, err
		}
		err = func() error {
			defer dense.Close()
			for _, masks := range crossoverMasks {
				for _, density := range grid.densities {
					fmt.Fprintf(b.Out, "crossover: width %d, density %g, masks %s\n", width, density, masks)
					cell, err := b.crossoverCell(ctx, backend, grid, dense, width, density, masks)
					if err != nil {
						return err
					}
					cells = append(cells, cell)
				}
			}
			return nil
		}()
		if err != nil {
			return nil, err
		}
	}
	return cells, nil
}

// crossoverCell times one density in turn with the dense members.
func (b *bench) crossoverCell(ctx context.Context, backend xlabridge.Backend, grid crossover, dense *inference, width int, density float64, masks string) (crossoverCell, error) {
	sparse, err := grid.program(backend, fmt.Sprintf("blockmlp:%d,%d", width, width),
		settings.Values{"block": fmt.Sprint(grid.block), "density": fmt.Sprint(density), "masks": masks})
	if err != nil {
		return crossoverCell{}, err
	}
	defer sparse.Close()
	var times [2][]float64
	var ratios []float64
	for i := range b.flags.repeats + 1 {
		var s [2]float64
		for k, p := range []*inference{sparse, dense} {
			before := b.processorTime(backend)
			if err := p.Run(); err != nil {
				return crossoverCell{}, err
			}
			s[k] = (b.processorTime(backend) - before).Seconds() / float64(grid.steps)
		}
		if ctx.Err() != nil {
			return crossoverCell{}, ctx.Err()
		}
		if i > 0 { // the first one warms up
			times[0], times[1], ratios = append(times[0], s[0]), append(times[1], s[1]), append(ratios, s[1]/s[0])
		}
	}
	return crossoverCell{Name: fmt.Sprintf("crossover-%d-%g-%s", width, density, masks), Width: width, Density: density, Masks: masks,
		Sparse: machine.Median(times[0]), Dense: machine.Median(times[1]), Ratio: machine.Median(ratios)}, nil
}

// program is one that takes all members of a policy through the grid's steps, each with weights of its own.
func (g crossover) program(b xlabridge.Backend, spec string, own settings.Values) (*inference, error) {
	c := cartPole(g.members, 1)
	c.Policy = spec
	for name, value := range own {
		c = c.With("policy."+name, value)
	}
	r, err := c.Rollout()
	if err != nil {
		return nil, err
	}
	net := r.Policy
	layout := plan.Plan{}
	if b.Backend() == "cpu" {
		layout.VectorWidth = plan.VectorWidth
	}
	members, err := xlabridge.Jit1(b, func(keys random.Key) any { return graph.VMap(func(key random.Key) any { return net.Init(key) })(keys) })(random.Split(random.New(1), g.members))
	if err != nil {
		return nil, err
	}
	defer xlabridge.Free(members)
	p, err := graph.TraceArgs("crossover "+spec, []any{members}, graph.TraceOptions{Replicas: 1}, func(args []any) any {
		return graph.Sum(graph.VMap(func(params any) *graph.Array {
			ready := net.(policy.Preparer).Prepare(params)
			end, _ := graph.Scan(func(x, _ *graph.Array) (*graph.Array, graph.None) {
				_, out := net.Act(ready, graph.None{}, x, random.New(0))
				return graph.Mul(graph.Add(x, graph.Index(out.Action, 0)), .99), graph.None{}
			}, graph.Full(r.Env.Spec().Observation.Shape(), .01), graph.Iota(g.steps))
			return graph.Sum(end)
		})(args[0]))
	})
	if err != nil {
		return nil, err
	}
	i := &inference{}
	if i.program, err = b.Compile(p, layout.Compile()); err != nil {
		return nil, err
	}
	put, err := xlabridge.Put(b, 1, members)
	if err != nil {
		_ = i.program.Close()
		return nil, err
	}
	i.args = graph.Leaves(put)
	return i, nil
}

func (g crossover) print(b *bench, cells []crossoverCell) error {
	for _, masks := range crossoverMasks {
		fmt.Fprintf(b.Out, "blocks of %d, masks %s: times faster than dense\n", g.block, masks)
		t := tabwriter.NewWriter(b.Out, 0, 8, 2, ' ', 0)
		fmt.Fprint(t, "WIDTH\tDENSE, A STEP")
		for _, d := range g.densities {
			fmt.Fprintf(t, "\t%g", d)
		}
		fmt.Fprintln(t)
		for _, width := range g.widths {
			first := true
			for _, c := range cells {
				if c.Width != width || c.Masks != masks {
					continue
				}
				if first {
					fmt.Fprintf(t, "%d\t%.0f us", width, 1e6*c.Dense)
					first = false
				}
				fmt.Fprintf(t, "\t%.2f", c.Ratio)
			}
			fmt.Fprintln(t)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
