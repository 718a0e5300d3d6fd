package bench

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/bench/neurobench"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
	"xlarun/rollout/plan"
)

type neuroFlags struct {
	commonFlags
	tune, date, size string
	worker           bool
}

// neuroLine is one row of the result.
type neuroLine struct {
	row
	What string  `json:"what"`
	Plan string  `json:"plan"`
	Rate float64 `json:"rate"` // environment steps of all members in a second; of functions, members
	// Processor is the ratio of processor times, the peer's over ours, which other work on the machine disturbs less; 0 without peers.
	Processor float64 `json:"processor_ratio,omitempty"`
	// Mean returns of both sides' random members, which play other episodes; of functions the members' mean at the end.
	Result     float64 `json:"result"`
	PeerResult float64 `json:"peer_result,omitempty"`
}

// neuroTurn is about how long a side runs before it is the other side's turn, and neuroTurns how many turns make a repeat.
const (
	neuroTurn  = 300 * time.Millisecond
	neuroTurns = 3
)

func neuroCommand(h *host) *cobra.Command {
	var o neuroFlags
	day := h.now()
	today := neurobench.SizeOn(day)
	var long strings.Builder
	long.WriteString("Bench neuro times populations that play their episodes, and whole generations on a function, with --peers beside JAX as a careful\n" +
		"user writes it: raw steps, no automatic reset, the map over members outside the loop over steps. Of Breakout it is gymnax and flax as\n" +
		"their users write them, of generations evosax. Both sides are processes of their own that run in turn; what counts is the median of\n" +
		"the turns' ratios, above 1 is ours ahead. Peak memory is that of these processes, compiling and tuning included. Workloads:\n\n")
	all := neurobench.All(today)
	for _, w := range all {
		fmt.Fprintf(&long, "  %-12s %s\n", w.Name, w.What)
	}
	long.WriteString("\nThe first four have other sizes each day, that divide by nothing.")
	cmd := &cobra.Command{
		Use: "neuro [NAME...]", Short: "Time populations in environments, beside JAX, gymnax and evosax with --peers", Long: long.String(),
		Example: "  xlarun bench neuro --peers\n  xlarun bench neuro acrobot pendulum --peers --size 614x40,40x271\n  xlarun bench neuro cartpole --peers --date 2026-12-24",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			b := &neuroBench{host: h, flags: o, size: today}
			if err := b.readSize(); err != nil {
				return err
			}
			if err := o.check(); err != nil {
				return err
			}
			all := neurobench.All(b.size)
			chosen := all
			if len(args) > 0 {
				chosen = nil
			}
			for _, name := range args {
				w, ok := neurobench.Named(all, name)
				if !ok {
					var names []string
					for _, w := range all {
						names = append(names, w.Name)
					}
					return noWorkload(name, names)
				}
				chosen = append(chosen, w)
			}
			if o.worker {
				return neuroWorker(cmd.Context(), h, o.BackendFlags, chosen[0], o.tune)
			}
			return b.run(cmd.Context(), chosen)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.AddDevices(f)
	f.IntVar(&o.repeats, "repeats", 3, fmt.Sprintf("repeats of %d turns", neuroTurns))
	f.BoolVar(&o.peers, "peers", false, "run the peers too")
	o.addPython(f)
	f.StringVar(&o.date, "date", "", "the day whose sizes to take, as 2026-11-22 (default today)")
	f.StringVar(&o.size, "size", "", "members, hidden layers and steps of the first four instead, as 614x40,40x271")
	f.StringVar(&o.tune, "tune", plan.TuneQuick, "how our plan is chosen: "+strings.Join(plan.Tunes(), ", "))
	o.addJSON(f)
	f.BoolVar(&o.worker, "worker", false, "run one workload as often as stdin says")
	_ = f.MarkHidden("worker")
	return cmd
}

type neuroBench struct {
	*host
	flags neuroFlags
	size  neurobench.Size
	peer  *peerRunner
}

// readSize reads --date, --size and --tune.
func (b *neuroBench) readSize() (err error) {
	o := b.flags
	if o.date != "" && o.size != "" {
		return console.BadInput("--date got %q with --size, which says the size by itself: give one of them", o.date)
	}
	if o.date != "" {
		day, err := time.Parse(time.DateOnly, o.date)
		if err != nil {
			return console.BadInput("--date got %q, wants a day as 2026-11-22", o.date)
		}
		b.size = neurobench.SizeOn(day)
	}
	if o.size != "" {
		if b.size, err = neurobench.ReadSize(o.size); err != nil {
			return console.BadInput("--size %w", err)
		}
	}
	return checkTune(o.tune)
}

func checkTune(tune string) error {
	for _, t := range plan.Tunes() {
		if t == tune {
			return nil
		}
	}
	return console.BadInput("--tune got %q, wants one of %s", tune, strings.Join(plan.Tunes(), ", "))
}

func (b *neuroBench) run(ctx context.Context, workloads []neurobench.Workload) (err error) {
	if b.flags.Backend == console.Reference {
		return console.BadInput("bench neuro got the backend %s, which compiles nothing: use another backend", console.Reference)
	}
	if b.flags.peers {
		if b.peer, err = newPeerRunner(ctx, b.host, b.flags.python); err != nil {
			return err
		}
		defer b.peer.close()
	}
	fmt.Fprintf(b.Out, "sizes of the day: %d members, hidden layers of %v, %d steps (--size %s)\n", b.size.Population, b.size.Hidden, b.size.Steps, b.size)
	var lines []neuroLine
	for _, w := range workloads {
		fmt.Fprintf(b.Out, "%s: %s\n", w.Name, w.What)
		l, err := b.workload(ctx, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
		lines = append(lines, l)
	}
	t := tabwriter.NewWriter(b.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "WORKLOAD\tOURS\tA SECOND\tPEAK MEMORY\tPEER\t\tPEAK MEMORY\tRATIO\tOF PROCESSOR TIME\tNEEDED\tAIM\tOF MEMORY\tPLAN")
	for _, l := range lines {
		peer, theirs, ratio := "-", "", 0.
		if l.Peer != nil {
			peer, theirs, ratio = console.ShortTime(*l.PeerSeconds), *l.Peer, *l.Ratio
		}
		fmt.Fprintf(t, "%s\t%s\t%.3g\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Name, console.ShortTime(l.Ours), l.Rate, bytesText(l.PeakBytes), peer, theirs, bytesText(l.PeerPeakBytes),
			ratioText(ratio), ratioText(l.Processor), ratioText(l.Needed), ratioText(l.Aim), ratioText(l.peakRatio()), l.Plan)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if b.flags.json {
		return b.PrintJSON(map[string]any{"workloads": lines, "size": b.size.String()})
	}
	return nil
}

// turn is what one run took in a turn.
func turn(w neurobench.Workload, seconds []float64) float64 {
	if !w.Mean {
		return machine.Median(seconds)
	}
	sum := 0.
	for _, s := range seconds {
		sum += s
	}
	return sum / float64(len(seconds))
}

// workload measures one workload, both sides in turn.
func (b *neuroBench) workload(ctx context.Context, w neurobench.Workload) (l neuroLine, err error) {
	ours, end, err := b.ownWorker(ctx, w.Name)
	if err != nil {
		return l, err
	}
	defer end()
	sides := []*worker{ours}
	if b.peer != nil {
		theirs, err := b.peerWorker(ctx, w)
		if err != nil {
			return l, err
		}
		defer theirs.close()
		sides = append(sides, theirs)
	}
	var p pairs
	figures := []*[]float64{&p.ours, &p.theirs}
	last := make([]workerRuns, len(sides))
	processor := make([][]float64, len(sides))
	runs := make([]int, len(sides))
	for i, side := range sides { // how many fill a turn
		r, err := side.run(1)
		if err != nil {
			return l, err
		}
		runs[i] = min(max(int(neuroTurn.Seconds()/r.Seconds[0]), 1), 1000)
	}
	for range b.flags.repeats * neuroTurns {
		for i, side := range sides {
			r, err := side.run(runs[i])
			if err != nil {
				return l, err
			}
			*figures[i] = append(*figures[i], turn(w, r.Seconds))
			processor[i] = append(processor[i], r.Processor)
			last[i] = r
		}
	}
	l = neuroLine{row: p.line(w.Name, "", w.Peer, 0).row, What: w.What, Plan: ours.ready.Plan}
	l.Needed, l.Aim, l.Rate, l.PeakBytes = w.Needed, w.Aim, w.Work/l.Ours, &last[0].Peak
	l.Result = last[0].Result
	if b.peer != nil {
		l.PeerPeakBytes, l.PeerResult = &last[1].Peak, last[1].Result
		l.Processor = *pairs{processor[0], processor[1]}.line("", "", "", 0).Ratio
	}
	return l, nil
}
