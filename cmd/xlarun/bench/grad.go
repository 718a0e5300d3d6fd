package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/bench/gradbench"
	"xlarun/cmd/xlarun/console"
	"xlarun/xlabridge"
)

type gradFlags struct {
	commonFlags
	first string
}

// gradLine is one row of the result: seconds of ours and of JAX's.
type gradLine struct {
	row
	// Wanted is the least ratio that the project asks of itself.
	Wanted float64 `json:"wanted"`
	// Measures says what was timed: run, trace and compile, or warm start.
	Measures string `json:"measures"`
}

// What gradLine.Measures says, and the ratio that is wanted. A gradient inside a loop, where XLA's CPU backend is at its
// worst, should run much faster than the peer's.
const (
	gradRun   = "one call"
	gradCold  = "trace and compile, nothing cached"
	gradStart = "process start to first result, warm cache"

	wantedRun, wantedLoop, wantedCold, wantedStart = 1 / 1.05, 5, 2, 10
)

func gradNames() []string {
	var names []string
	for _, w := range gradbench.All() {
		names = append(names, w.Name)
	}
	return names
}

func gradCommand(h *host) *cobra.Command {
	var o gradFlags
	var long strings.Builder
	long.WriteString("Bench grad times the value and gradient of small networks in float32, beside the same in JAX: one call, tracing and compiling\n" +
		"with nothing cached, and the time from the start of a process to the first result when the program is cached (JAX: in its\n" +
		"persistent compilation cache). Both sides start from the same numbers, their results are compared first, and they run in\n" +
		"turn; the ratio is the median over repeats, above 1 is ours ahead. Workloads:\n\n")
	for _, w := range gradbench.All() {
		fmt.Fprintf(&long, "  %-9s %s\n", w.Name, w.What)
	}
	long.WriteString("\nEach runs on one device. On cpu that device has all cores, as in JAX.")
	cmd := &cobra.Command{
		Use:     "grad [NAME...]",
		Short:   "Time gradients of networks beside JAX",
		Long:    long.String(),
		Example: "  xlarun bench grad\n  xlarun bench grad cnn-scan --repeats 1",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			var chosen []gradbench.Workload
			for _, name := range append(slices.Clone(args), o.first) {
				w, ok := gradbench.Named(name)
				if !ok && name != "" {
					return noWorkload(name, gradNames())
				}
				if ok {
					chosen = append(chosen, w)
				}
			}
			if o.first != "" {
				return gradFirst(cmd.Context(), h, o.BackendFlags, chosen[len(chosen)-1])
			}
			if len(chosen) == 0 {
				chosen = gradbench.All()
			}
			return (&gradBench{host: h, flags: o}).run(cmd.Context(), chosen)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.AddBackend(f)
	f.IntVar(&o.repeats, "repeats", 5, "repeats, of which the median counts; what takes the peer over 5 s runs once")
	f.BoolVar(&o.peers, "peers", true, "run JAX too")
	o.addPython(f)
	o.addJSON(f)
	f.StringVar(&o.first, "first", "", "run one workload once and print its loss")
	_ = f.MarkHidden("first")
	return cmd
}

// gradFirst is what the time to the first result is measured of: this process. The program is traced while the backend
// opens.
func gradFirst(ctx context.Context, h *host, o console.BackendFlags, w gradbench.Workload) error {
	type opened struct {
		b   xlabridge.Backend
		err error
	}
	backend := make(chan opened, 1)
	go func() {
		b, err := openGradBackend(ctx, h, o)
		backend <- opened{b, err}
	}()
	t, traceErr := w.Trace()
	open := <-backend
	if open.err != nil {
		return open.err
	}
	defer func() { _ = open.b.Close() }()
	if traceErr != nil {
		return traceErr
	}
	l, _, err := t.Load(open.b, gradOptions)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	loss, err := l.Loss()
	if err != nil {
		return err
	}
	return h.PrintJSON(gradbench.Numbers{Loss: loss})
}

// gradOptions compile for a device that has the machine to itself.
var gradOptions = xlabridge.CompileOptions{AllCores: true}

// openGradBackend opens one device.
func openGradBackend(ctx context.Context, h *host, o console.BackendFlags) (xlabridge.Backend, error) {
	o.Devices = 1
	return h.open(ctx, o)
}

type gradBench struct {
	*host
	flags gradFlags
	peer  *jaxPeer
}

func (b *gradBench) run(ctx context.Context, workloads []gradbench.Workload) error {
	backend, err := openGradBackend(ctx, b.host, b.flags.BackendFlags)
	if err != nil {
		return err
	}
	defer func() { _ = backend.Close() }()
	if b.flags.peers {
		if b.peer, err = startJAX(ctx, b.host, b.flags.python); err != nil {
			return err
		}
		defer b.peer.close()
	}
	var lines []gradLine
	for _, w := range workloads {
		got, err := b.workload(ctx, backend, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
		lines = append(lines, got...)
	}
	t := tabwriter.NewWriter(b.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "WORKLOAD\tMEASURES\tOURS\tPEER\t\tRATIO\tWANTED")
	for _, l := range lines {
		fmt.Fprintf(t, "%s\t%s\t%s", l.Name, l.Measures, console.ShortTime(l.Ours))
		if l.Peer != nil {
			fmt.Fprintf(t, "\t%s\t%s\t%.2f\t%.2f", console.ShortTime(*l.PeerSeconds), *l.Peer, *l.Ratio, l.Wanted)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if b.flags.json {
		return b.PrintJSON(map[string]any{"workloads": lines})
	}
	return nil
}
