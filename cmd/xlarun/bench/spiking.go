package bench

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/bench/spikingbench"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
	"xlarun/rollout/plan"
)

type spikingFlags struct {
	commonFlags
	worker bool
}

// spikingLine is one row of the result: a workload beside one peer.
type spikingLine struct {
	row
	What string `json:"what"`
	// Rate is steps of all members and examples in a second.
	Rate float64 `json:"rate"`
	// Processor is the ratio of processor times, the peer's over ours, which other work on the machine disturbs less; 0 without peers.
	Processor  float64 `json:"processor_ratio,omitempty"`
	Result     float64 `json:"result"`
	PeerResult float64 `json:"peer_result,omitempty"`
}

// spikingTurn is about how long a side runs before it is another's turn, and spikingTurns how many turns make a repeat.
const (
	spikingTurn  = 200 * time.Millisecond
	spikingTurns = 5
)

// spikingAgree is how far results of sides that compute the same may lie apart: a potential beside its threshold spikes on one side alone
// where products are rounded otherwise.
const spikingAgree = 2e-2

func spikingNames() []string {
	var names []string
	for _, w := range spikingbench.All() {
		names = append(names, w.Name)
	}
	return names
}

func spikingCommand(h *host) *cobra.Command {
	var o spikingFlags
	var long strings.Builder
	long.WriteString("Bench spiking times networks of LIF neurons, with --peers beside Spyx and BrainPy as their users write them and plain JAX as a careful\n" +
		"user does. All sides start from the same numbers and are processes of their own that run in turn; what counts is the median of the\n" +
		"turns' ratios, above 1 is ours ahead. A peer whose packages are not there is left out, and said to be. Workloads:\n\n")
	for _, w := range spikingbench.All() {
		fmt.Fprintf(&long, "  %-9s %s\n", w.Name, w.What)
	}
	cmd := &cobra.Command{
		Use: "spiking [NAME...]", Short: "Time spiking networks, beside Spyx, BrainPy and JAX with --peers", Long: long.String(),
		Example: "  xlarun bench spiking --peers\n  xlarun bench spiking members --peers --peers-python ~/spyx/bin/python",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			chosen := spikingbench.All()
			if len(args) > 0 {
				chosen = nil
			}
			for _, name := range args {
				w, ok := spikingbench.Named(name)
				if !ok {
					return noWorkload(name, spikingNames())
				}
				chosen = append(chosen, w)
			}
			if o.worker {
				return spikingWorker(cmd.Context(), h, o.BackendFlags, chosen[0])
			}
			return (&spikingBench{host: h, flags: o}).run(cmd.Context(), chosen)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.AddDevices(f)
	f.IntVar(&o.repeats, "repeats", 3, fmt.Sprintf("repeats of %d turns", spikingTurns))
	f.BoolVar(&o.peers, "peers", false, "run the peers too")
	o.addPython(f)
	o.addJSON(f)
	f.BoolVar(&o.worker, "worker", false, "run one workload as often as stdin says")
	_ = f.MarkHidden("worker")
	return cmd
}

func spikingWorker(ctx context.Context, h *host, o console.BackendFlags, w spikingbench.Workload) error {
	b, err := h.open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	r, err := w.Open(b, spikingbench.Options{Devices: b.NumDevices(), Tune: plan.TuneQuick})
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	return serve(h, b, "", r.Run)
}

type spikingBench struct {
	*host
	flags spikingFlags
	peer  *peerRunner
}

func (b *spikingBench) run(ctx context.Context, workloads []spikingbench.Workload) (err error) {
	if b.flags.Backend == console.Reference {
		return console.BadInput("bench spiking got the backend %s, which compiles nothing: use another backend", console.Reference)
	}
	if b.flags.peers {
		if b.peer, err = newPeerRunner(ctx, b.host, b.flags.python); err != nil {
			return err
		}
		defer b.peer.close()
	}
	var lines []spikingLine
	for _, w := range workloads {
		fmt.Fprintf(b.Out, "%s: %s\n", w.Name, w.What)
		l, err := b.workload(ctx, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
		lines = append(lines, l...)
	}
	t := tabwriter.NewWriter(b.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "WORKLOAD\tOURS\tA SECOND\tPEAK MEMORY\tPEER\t\tPEAK MEMORY\tRATIO\tOF PROCESSOR TIME\tNEEDED\tAIM\tOF MEMORY")
	for _, l := range lines {
		peer, theirs, ratio := "-", "", 0.
		if l.Peer != nil {
			peer, theirs, ratio = console.ShortTime(*l.PeerSeconds), *l.Peer, *l.Ratio
		}
		fmt.Fprintf(t, "%s\t%s\t%.3g\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Name, console.ShortTime(l.Ours), l.Rate, bytesText(l.PeakBytes), peer, theirs,
			bytesText(l.PeerPeakBytes), ratioText(ratio), ratioText(l.Processor), ratioText(l.Needed), ratioText(l.Aim), ratioText(l.peakRatio()))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if b.flags.json {
		return b.PrintJSON(map[string]any{"workloads": lines})
	}
	return nil
}

// spikingSide is ours, or a peer that could be started.
type spikingSide struct {
	*worker
	peer               spikingbench.Peer
	runs               int // that fill a turn
	seconds, processor []float64
	last               workerRuns
}

// workload measures one workload, all sides in turn.
func (b *spikingBench) workload(ctx context.Context, w spikingbench.Workload) (lines []spikingLine, err error) {
	ours, end, err := startOwnWorker(ctx, b.flags.BackendFlags, "bench", "spiking", w.Name, "--worker", "--devices", strconv.Itoa(b.flags.Devices))
	if err != nil {
		return nil, err
	}
	defer end()
	sides := []*spikingSide{{worker: ours}}
	if b.peer != nil {
		for _, p := range w.Peers {
			theirs, err := b.peer.worker(ctx, "spiking_jax.py", append([]string{p.Name}, w.Args...)...)
			if err != nil {
				fmt.Fprintf(b.Out, "%s: without %s: %v\n", w.Name, p.Name, err)
				continue
			}
			defer theirs.close()
			sides = append(sides, &spikingSide{worker: theirs, peer: p})
		}
		if len(sides) == 1 {
			return nil, console.BadInput("--peers found none of the peers' packages: give a Python that has them with --peers-python")
		}
	}
	for _, side := range sides {
		if side.last, err = side.run(1); err != nil {
			return nil, err
		}
		side.runs = min(max(int(spikingTurn.Seconds()/side.last.Seconds[0]), 1), 1000)
		if mine := sides[0].last.Result; side.peer.Same && !(math.Abs(side.last.Result-mine) <= spikingAgree*math.Abs(mine)) {
			return nil, fmt.Errorf("it comes to %v, that of %s to %v: the two do not compute the same", mine, side.peer.Name, side.last.Result)
		}
	}
	for range b.flags.repeats * spikingTurns {
		for _, side := range sides {
			if side.last, err = side.run(side.runs); err != nil {
				return nil, err
			}
			side.seconds = append(side.seconds, machine.Median(side.last.Seconds))
			side.processor = append(side.processor, side.last.Processor)
		}
	}
	if len(sides) == 1 {
		return []spikingLine{b.line(w, sides[0], nil)}, nil
	}
	for _, side := range sides[1:] {
		lines = append(lines, b.line(w, sides[0], side))
	}
	return lines, nil
}

// line is that of ours and one peer, nil for none.
func (b *spikingBench) line(w spikingbench.Workload, ours, theirs *spikingSide) spikingLine {
	p, name := pairs{ours: ours.seconds}, w.Name
	if theirs != nil {
		p.theirs = theirs.seconds
		name += "-" + theirs.peer.Name
	}
	var peer string
	if theirs != nil {
		peer = theirs.peer.Name
	}
	l := spikingLine{row: p.line(name, "", peer, 0).row, What: w.What, Result: ours.last.Result}
	l.Needed, l.Aim, l.Rate, l.PeakBytes = w.Needed, w.Aim, w.Work/l.Ours, &ours.last.Peak
	if theirs != nil {
		l.PeerPeakBytes, l.PeerResult = &theirs.last.Peak, theirs.last.Result
		l.Processor = *pairs{ours.processor, theirs.processor}.line("", "", "", 0).Ratio
	}
	return l
}
