package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/machine"
	"xlarun/internal/quantity"
	"xlarun/rollout/sparse"
	"xlarun/xlabridge"
	"xlarun/xlabridge/kernels"
)

// layoutBatch is the number of examples of an update, as in sparse_layouts.c.
const layoutBatch = 64

// maxGroup bounds the networks of a group.
const maxGroup = 200

// protocolFlags are the flags of bench sparse.
type protocolFlags struct {
	protocol bool
	time     time.Duration
	groups   []int
}

// sparseCommand returns the command bench sparse: the workload of that name, or with --protocol the layouts side by
// side.
func sparseCommand(h *host) *cobra.Command {
	var o flags
	var a againstFlags
	var p protocolFlags
	cmd := &cobra.Command{
		Use: "sparse [NAME...]", Short: "Sparse networks compared with a C program; layouts of their connections",
		Long: "Bench sparse times the workload sparse of the suite evolve, and others that are named.\n\n" +
			"With --protocol it compares layouts of the connections of 200 sparse networks 784-128-64-10, of which " +
			"98 % are shared: an array of structs, groups of networks side by side in vectors, groups that alias one " +
			"table of the shared places, and ours. Each trains on batches of 64 examples for the time of --for, on " +
			"all cores. A step of steps/s is one example through the forward and backward pass of all networks. The " +
			"machine code of each kernel is searched for vector instructions (by objdump), and the bandwidth of " +
			"weights, places and gradients is compared with that of memory and of the caches.",
		Example: "  xlarun bench sparse --peers\n  xlarun bench sparse --protocol\n" +
			"  xlarun bench sparse --protocol --for 10s --groups 4,8,16,32",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if p.protocol {
				return h.compareLayouts(cmd.Context(), o, p, args)
			}
			for _, name := range []string{"for", "groups"} {
				if cmd.Flags().Changed(name) {
					return console.BadInput("--%s got %s without --protocol: give both", name, cmd.Flag(name).Value)
				}
			}
			names := append([]string{"sparse"}, args...)
			return h.start(cmd.Context(), h.suites[0], o, a, names, names)
		},
	}
	f := cmd.Flags()
	o.add(f, h.suites[0])
	a.add(f)
	for _, name := range []string{"against", "check", "rounds"} {
		_ = f.MarkHidden(name)
	}
	f.BoolVar(&p.protocol, "protocol", false, "compare layouts of the connections")
	f.DurationVar(&p.time, "for", 2*time.Minute, "time for each layout")
	f.IntSliceVar(&p.groups, "groups", []int{16}, "networks of a group; each number is a layout of its own")
	return cmd
}

// layoutRow is what was measured of one layout. A step is one example through all networks.
type layoutRow struct {
	Name    string  `json:"name"`
	Steps   int     `json:"steps"`
	Seconds float64 `json:"seconds"`
	Loss    float64 `json:"loss"` // mean over the last batch
	// Set is the size in bytes of what a core works on at a time: weights, places and gradients of a network or group.
	Set float64 `json:"set"`
	// Moved counts the bytes of them that are read and written in a step.
	Moved float64 `json:"moved"`
	// Connections of a network.
	Connections int           `json:"connections"`
	Code        *instructions `json:"code"` // nil: not checked
}

func (r layoutRow) speed() float64 { return float64(r.Steps) / r.Seconds }

// cacheSweep is the bandwidth of reading and writing arrays of a size, one a core.
type cacheSweep struct {
	Bytes int     `json:"bytes"`
	GBs   float64 `json:"gigabytes"`
}

type layoutReport struct {
	Layouts []layoutRow   `json:"layouts"`
	FLOPs   float64       `json:"flops"` // of a step
	Machine machine.Speed `json:"machine"`
	Sweeps  []cacheSweep  `json:"sweeps"`
	Cores   int           `json:"cores"`
}

// compareLayouts runs the layouts one after the other and prints a table.
func (h *host) compareLayouts(ctx context.Context, o flags, p protocolFlags, names []string) error {
	if _, err := o.check(); err != nil {
		return err
	}
	if len(names) > 0 {
		return console.BadInput("--protocol takes no workload, got %q: leave it out", names[0])
	}
	if p.time <= 0 {
		return console.BadInput("--for got %v, wants a time above 0, as 120s", p.time)
	}
	if o.Backend != "cpu" {
		return console.BadInput("--backend got %s, wants cpu: layouts are compared in a processor's caches", o.Backend)
	}
	for _, n := range p.groups {
		if n < 1 || n > maxGroup {
			return console.BadInput("--groups got %d, wants numbers from 1 to %d", n, maxGroup)
		}
	}
	b, err := h.open(ctx, o.BackendFlags)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	cores := o.Devices
	if cores == 0 {
		cores = b.NumDevices()
	}
	r := layoutReport{Cores: cores}
	if r.Machine, err = machine.Measure(b, cores); err != nil {
		return err
	}
	for _, bytes := range []int{16 << 10, 512 << 10, 4 << 20, 256 << 20} {
		s := cacheSweep{Bytes: bytes}
		if err := layoutProgram(ctx, &s, nil, "sweep", .2, bytes, cores); err != nil {
			return err
		}
		r.Sweeps = append(r.Sweeps, s)
	}
	var notes error
	add := func(row layoutRow, program, function string) {
		code, err := disassemble(ctx, program, function)
		if err != nil {
			notes = errors.Join(notes, err)
		} else {
			row.Code = &code
		}
		r.Layouts = append(r.Layouts, row)
		fmt.Fprintf(h.Err, "%s: %d steps in %.1f s, %s steps/s\n", row.Name, row.Steps, row.Seconds,
			display.Count(row.speed()))
	}
	run := func(name, layout string, defines ...string) error {
		row := layoutRow{Name: name}
		if err := layoutProgram(ctx, &row, defines, layout, p.time.Seconds(), 0, cores); err != nil {
			return err
		}
		program, err := compileC(ctx, layoutSource, defines...)
		if err == nil {
			add(row, program, "sparse_"+layout)
		}
		return err
	}
	if err := run("array of structs", "aos"); err != nil {
		return err
	}
	for _, layout := range []string{"groups", "aliased"} {
		for _, n := range p.groups {
			name := map[string]string{"groups": "groups of %d", "aliased": "groups of %d, aliased"}[layout]
			if err := run(fmt.Sprintf(name, n), layout, fmt.Sprintf("-DGROUP=%d", n)); err != nil {
				return err
			}
		}
	}
	row, flops, err := ourLayout(ctx, b, cores, p.time)
	if err != nil {
		return err
	}
	r.FLOPs = flops
	self, err := os.Executable()
	if err != nil {
		return err
	}
	sets := kernels.VectorSets()
	add(row, self, "xs_block_"+sets[len(sets)-1])
	if err := h.printLayouts(r, notes); err != nil || !o.json {
		return err
	}
	return h.PrintJSON(r)
}

const layoutSource = "sparse_layouts.c"

// layoutProgram runs the C program of layouts and reads its line of JSON.
func layoutProgram(ctx context.Context, answer any, defines []string, layout string, seconds float64, most,
	cores int) error {
	program, err := compileC(ctx, layoutSource, defines...)
	if err != nil {
		return err
	}
	text, err := outputOf(exec.CommandContext(ctx, program, layout, fmt.Sprint(seconds), strconv.Itoa(most),
		strconv.Itoa(cores)))
	if err != nil {
		return fmt.Errorf("%s %s failed: %w", layoutSource, layout, err)
	}
	return json.Unmarshal([]byte(text), answer)
}

// ourLayout trains with the default method for some time. It returns the arithmetic of a step, too.
func ourLayout(ctx context.Context, b xlabridge.Backend, cores int, d time.Duration) (row layoutRow, flops float64,
	err error) {
	c := sparse.DefaultConfig()
	c.Batch, c.Updates, c.MutateEvery, c.Shared, c.Devices = layoutBatch, 1<<30-1, 0, .98, cores
	p, err := sparse.New(ctx, b, c, randomPictures(512))
	if err != nil {
		return row, 0, err
	}
	defer func() { _ = p.Close() }()
	row = layoutRow{Name: "ours", Connections: p.Shape().Connections()}
	if _, _, err := p.Train(1); err != nil { // the first update takes longer
		return row, 0, err
	}
	start := time.Now()
	for time.Since(start) < d {
		n, stats, err := p.Train(c.Updates)
		if err != nil {
			return row, 0, err
		}
		row.Steps += n * layoutBatch
		row.Loss = 0
		for _, x := range stats.Loss {
			row.Loss += x / float64(len(stats.Loss))
		}
	}
	row.Seconds = time.Since(start).Seconds()
	cost := p.Cost()
	row.Moved = cost.Bytes / layoutBatch
	for l, layer := range p.Shape() {
		// Weight, gradient, and the units of the place. Further layers list the places by input, too.
		row.Set += float64(16 * layer.Connections)
		if l > 0 {
			row.Set += float64(8 * layer.Connections)
		}
	}
	return row, cost.FLOPs / layoutBatch, nil
}

// printLayouts prints the report.
func (h *host) printLayouts(r layoutReport, notes error) error {
	fmt.Fprintf(h.Out, "200 sparse networks of %d connections, batches of %d examples, %s\n",
		r.Layouts[0].Connections, layoutBatch, quantity.Count(r.Cores, "core", "cores"))
	w := tabwriter.NewWriter(h.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "layout\tsteps\tsteps/s\tset\tbytes/step\tGB/s\tof memory\tof matmul\tmachine code")
	for _, x := range r.Layouts {
		code := "not checked"
		if x.Code != nil {
			code = x.Code.String()
		}
		gbs := x.Moved * x.speed() / 1e9
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%.1f\t%.2f\t%.1f %%\t%s\n", x.Name, x.Steps, display.Count(x.speed()),
			display.Bytes(int64(x.Set)), display.Bytes(int64(x.Moved)), gbs, gbs/r.Machine.MemoryGBs,
			100*r.FLOPs*x.speed()/1e9/r.Machine.MatmulGFLOPs, code)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(h.Out, "roofline: %.4g GB/s of memory, %.4g GFLOP/s of a matmul, %s flop a step; in turn over arrays "+
		"of", r.Machine.MemoryGBs, r.Machine.MatmulGFLOPs, display.Count(r.FLOPs))
	for i, s := range r.Sweeps {
		if i > 0 {
			fmt.Fprint(h.Out, ",")
		}
		fmt.Fprintf(h.Out, " %s a core %.4g GB/s", display.Bytes(int64(s.Bytes)), s.GBs)
	}
	fmt.Fprintln(h.Out)
	if notes != nil {
		fmt.Fprintln(h.Out, notes)
	}
	return nil
}
