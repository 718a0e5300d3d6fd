package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"xlarun/xlabridge"
)

// benchWorkload is one named comparison.
type benchWorkload struct {
	name  string
	named bool // runs only where it is named
	run   func(ctx context.Context, b *bench, name string) ([]benchLine, error)
	// sliced sets the workload up for a calibrated figure; nil: it has none.
	sliced func(ctx context.Context, b *bench) (*slicedWork, error)
}

var (
	smallGeneration = generations{256, 16, 50, false}
	wideGeneration  = generations{1024, 64, 20, false}
)

var benchWorkloads = []benchWorkload{
	{name: "rollouts-small", run: rollouts{256, 16, 1}.bench},
	{name: "rollouts-wide", run: rollouts{1024, 64, 1}.bench},
	{name: "generation-small", run: smallGeneration.bench, sliced: smallGeneration.sliced(smallCalibrator)},
	{name: "generation-wide", run: wideGeneration.bench, sliced: wideGeneration.sliced(wideCalibrator)},
	{name: "episodes", run: rollouts{256, 64, 16}.bench},
	{name: "odd", run: benchOdd},
	{name: benchSparse, run: sparseNets{"auto"}.bench},
	{name: benchSparse + "-masked", run: sparseNets{"masked"}.bench},
	{name: "start", run: benchStart},
	{name: benchNothing, named: true, run: benchOpen},
	{name: "evolve-small", named: true, run: generations{256, 16, 50, true}.bench},
	{name: "evolve-wide", named: true, run: generations{1024, 64, 20, true}.bench},
}

// benchWants are the ratios of speed that the workloads are to reach.
var benchWants = map[string]struct{ needed, aim float64 }{
	"rollouts-small": {5, 10}, "rollouts-wide": {3.3, 9}, "generation-small": {7, 10}, "generation-wide": {3.3, 10},
	"episodes": {2, 4}, benchSparse: {3.3, 8}, "start-warm": {30, 100},
}

// benchLine is one row of the result. Without a peer its fields are null.
type benchLine struct {
	Name        string   `json:"name"`
	Ours        float64  `json:"ours_seconds"`
	Peer        *string  `json:"peer"`
	PeerSeconds *float64 `json:"peer_seconds"`
	Ratio       *float64 `json:"ratio"`
	Needed      float64  `json:"needed,omitempty"`
	Aim         float64  `json:"aim,omitempty"`

	// The most resident memory of a process of ours that compiles the programs, of one that finds them in the cache, of the
	// peer's, and of one of ours that opens the plugin alone.
	PeakBytes       *int64 `json:"ours_peak_bytes,omitempty"`
	CachedPeakBytes *int64 `json:"ours_cached_peak_bytes,omitempty"`
	PeerPeakBytes   *int64 `json:"peer_peak_bytes,omitempty"`
	PluginPeakBytes *int64 `json:"plugin_peak_bytes,omitempty"`

	MemberStep float64      `json:"member_step_seconds,omitempty"`
	Beside     []besideSize `json:"beside,omitempty"`

	note string // lines below the table
}

// besideSize is a size's time per member and step as a multiple of another's.
type besideSize struct {
	Size  string  `json:"size"`
	Times float64 `json:"times"`
}

// against puts a peer's time beside ours.
func (l benchLine) against(peer string, seconds float64) benchLine {
	ratio := seconds / l.Ours
	l.Peer, l.PeerSeconds, l.Ratio = &peer, &seconds, &ratio
	l.Needed, l.Aim = benchWants[l.Name].needed, benchWants[l.Name].aim
	return l
}

type benchFlags struct {
	backendOptions
	peers, calibrate, record, check bool
	python, history                 string
	repeats                         int
	json                            bool
}

func benchNames() []string {
	var names []string
	for _, w := range benchWorkloads {
		names = append(names, w.name)
	}
	return names
}

func benchCommand(a *app) *cobra.Command {
	var o benchFlags
	cmd := &cobra.Command{
		Use:   "bench [NAME...]",
		Short: "Time named workloads, beside what others need for them",
		Long: "Bench times CartPole episodes of 500 steps: rollouts (the best of five, as the peer times them), whole generations (the\n" +
			"mean of many after a warm-up), many episodes a member, sizes that divide by nothing beside round ones, sparse networks, and\n" +
			"the time from the start of a process to its first generation, with and without a compiled program in the cache; of each the\n" +
			"median of repeats. With --peers it runs the same in the peers' own programs, in turn with ours; a ratio above 1 is ours\n" +
			"ahead. Peak memory is that of a process of its own, ours with an empty cache of programs (it compiles, as the peers do) and\n" +
			"with a full one. evolve-small and evolve-wide are a generation and a start together, open is a start that runs nothing.\n\n" +
			"--record and --check measure calibrated figures instead: slices of the workload take turns with slices of a fixed program in\n" +
			"C on as many threads, and what counts is the median of the ratios. They are made of " + strings.Join(calibratedNames(), ", ") + ".\n\n" +
			"Workloads: " + strings.Join(benchNames(), ", ") + " (default all but the last three).",
		Example: "  xlarun bench --peers\n  xlarun bench --record\n  xlarun bench generation-small --check",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := chooseWorkloads(args, o.figures())
			if err != nil {
				return err
			}
			if err := o.checkAll(cmd.Flags().Changed("history")); err != nil {
				return err
			}
			return newBench(a, o).run(cmd.Context(), chosen)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.addFlags(f)
	f.IntVar(&o.devices, "devices", 0, "devices to run on; 0 for all, on cpu one a core")
	f.IntVar(&o.repeats, "repeats", 3, "repeats, of which the median counts")
	f.BoolVar(&o.peers, "peers", false, "run the peers' programs too")
	f.StringVar(&o.python, "peers-python", "", "Python that has the peers' packages (default XLARUN_PEERS_PYTHON, else an environment made for it)")
	f.BoolVar(&o.calibrate, "calibrate", false, "measure this machine's matmul, memory and hand-written C in the same run")
	f.BoolVar(&o.record, "record", false, "append calibrated figures to the history")
	f.BoolVar(&o.check, "check", false, "fail (status 1) where a calibrated figure stays more than 25 % below the history's median in three tries")
	f.StringVar(&o.history, "history", defaultHistory, "file of the history, one line of JSON a figure")
	f.BoolVar(&o.json, "json", false, "end stdout with one line of JSON")
	cmd.AddCommand(benchGradCommand(a), benchJAXCommand(a), peakCommand(a))
	return cmd
}

// figures tells whether calibrated figures are wanted.
func (o *benchFlags) figures() bool { return o.record || o.check }

func calibratedNames() []string {
	var names []string
	for _, w := range benchWorkloads {
		if w.sliced != nil {
			names = append(names, w.name)
		}
	}
	return names
}

// chooseWorkloads finds the workloads; with figures only those that have calibrated ones will do.
func chooseWorkloads(names []string, figures bool) (chosen []benchWorkload, err error) {
	for _, name := range names {
		i := slices.Index(benchNames(), name)
		if i < 0 {
			return nil, badInput("there is no workload %q%s; there are %s", name, didYouMean(name, benchNames()), strings.Join(benchNames(), ", "))
		}
		if figures && benchWorkloads[i].sliced == nil {
			return nil, badInput("the workload %s has no calibrated figure to record or check; %s have", name, strings.Join(calibratedNames(), " and "))
		}
		chosen = append(chosen, benchWorkloads[i])
	}
	if len(names) == 0 {
		chosen = slices.DeleteFunc(slices.Clone(benchWorkloads), func(w benchWorkload) bool { return w.named || figures && w.sliced == nil })
	}
	return chosen, nil
}

// checkAll checks the flags; a history that is to be compared with must be there.
func (o *benchFlags) checkAll(historyGiven bool) error {
	if err := o.backendOptions.check(); err != nil {
		return err
	}
	if o.figures() && o.peers {
		return badInput("--peers got true with --%s, which measures no peers: give one of them", map[bool]string{true: "check", false: "record"}[o.check])
	}
	if o.repeats < 1 {
		return badInput("--repeats got %d, wants 1 or more", o.repeats)
	}
	if historyGiven && !o.record && !o.check {
		return badInput("--history got %q, but nothing is recorded or checked: add --record or --check", o.history)
	}
	if o.check || o.record && exists(o.history) && !isFolder(o.history) {
		if _, err := readHistory(o.history); err != nil {
			return err
		}
	}
	if o.record {
		return checkHistoryFolder(o.history)
	}
	return nil
}

type bench struct {
	*app
	flags    benchFlags
	peers    *peerRunner
	peerPeak int64 // of the peer's runs of one workload
	withoutC bool  // it was said that there is no hand-written C here

	pairing         pairing
	processorTime   func(xlabridge.Backend) time.Duration
	startCalibrator func(ctx context.Context, size calibratorSize, threads int) (work slicer, stop func() error, err error)
}

func newBench(a *app, o benchFlags) *bench {
	return &bench{app: a, flags: o, pairing: pairing{regressionPairs, regressionSlice, time.Now}, processorTime: processorTime, startCalibrator: startCalibrator}
}

func (b *bench) run(ctx context.Context, workloads []benchWorkload) error {
	var result benchResult
	var err, failed error
	switch {
	case b.flags.check:
		if result.Check, err = b.check(ctx, workloads); err != nil {
			return err
		}
		for _, c := range result.Check {
			result.Figures = append(result.Figures, c.figure)
		}
		failed = printCheck(b.Out, result.Check)
	case b.flags.record:
		for _, w := range workloads {
			f, err := b.calibrated(ctx, w)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			result.Figures = append(result.Figures, f)
		}
		err = printFigures(b.Out, result.Figures)
	default:
		if result, err = b.compare(ctx, workloads); err == nil {
			err = result.print(b.Out)
		}
	}
	if err != nil {
		return err
	}
	if b.flags.record && failed == nil {
		if err := b.record(ctx, result.Figures); err != nil {
			return err
		}
	}
	if b.flags.json {
		text, err := json.Marshal(result)
		if err != nil {
			return err
		}
		fmt.Fprintf(b.Out, "%s\n", text)
	}
	return failed
}

// benchResult is the line that --json ends with.
type benchResult struct {
	Workloads   []benchLine     `json:"workloads"`
	Calibration calibration     `json:"calibration,omitempty"`
	Figures     []figure        `json:"figures,omitempty"`
	Check       []checkedFigure `json:"check,omitempty"`
}

// compare runs workloads, beside their peers where they are wanted. Where a calibration is wanted the machine is measured
// before each and after the last of them, since its other tenants come and go; the medians count.
func (b *bench) compare(ctx context.Context, workloads []benchWorkload) (r benchResult, err error) {
	if b.flags.peers && slices.ContainsFunc(workloads, func(w benchWorkload) bool { return !strings.HasPrefix(w.name, benchSparse) }) {
		if b.peers, err = newPeerRunner(ctx, b.app, b.flags.python); err != nil {
			return r, err
		}
		b.peers.peak = &b.peerPeak
		defer b.peers.close()
	}
	var samples []calibration
	calibrate := func() error {
		if !b.flags.calibrate {
			return nil
		}
		c, err := b.calibrate(ctx)
		samples = append(samples, c)
		return err
	}
	for _, w := range workloads {
		if err := calibrate(); err != nil {
			return r, err
		}
		lines, err := w.run(ctx, b, w.name)
		if err != nil {
			return r, fmt.Errorf("%s: %w", w.name, err)
		}
		r.Workloads = append(r.Workloads, lines...)
	}
	if err := calibrate(); err != nil {
		return r, err
	}
	if r.Calibration = middle(samples); r.Calibration != nil {
		fmt.Fprintf(b.Out, "this machine: %s\n", r.Calibration)
	}
	return r, nil
}

func (r benchResult) print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	memory := slices.ContainsFunc(r.Workloads, func(l benchLine) bool { return l.PeerPeakBytes != nil })
	fmt.Fprint(t, "WORKLOAD\tOURS\tPEER\t\tRATIO\tNEEDED\tAIM")
	if memory {
		fmt.Fprint(t, "\tOUR PEAK MEMORY\tFROM THE CACHE\tPEER'S\tRATIO")
	}
	fmt.Fprintln(t)
	for _, l := range r.Workloads {
		peer, theirs, ratio := "-", "", 0.
		if l.Peer != nil {
			peer, theirs, ratio = shortTime(*l.PeerSeconds), *l.Peer, *l.Ratio
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s", l.Name, shortTime(l.Ours), peer, theirs, ratioText(ratio), ratioText(l.Needed), ratioText(l.Aim))
		if memory {
			fmt.Fprintf(t, "\t%s\t%s\t%s\t%s", bytesText(l.PeakBytes), bytesText(l.CachedPeakBytes), bytesText(l.PeerPeakBytes), ratioText(l.peakRatio()))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, l := range r.Workloads {
		fmt.Fprint(out, l.note)
	}
	return nil
}

func ratioText(x float64) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3g", x)
}

// inTurn times ours and the peer's (nil: none) in turn, so that both see the same machine, and takes the medians.
func (b *bench) inTurn(name, peer string, ours, theirs func() (float64, error)) (benchLine, error) {
	var a, z []float64
	b.peerPeak = 0
	for i := range b.flags.repeats {
		fmt.Fprintf(b.Out, "%s: repeat %d of %d\n", name, i+1, b.flags.repeats)
		s, err := ours()
		if err != nil {
			return benchLine{}, err
		}
		a = append(a, s)
		if !b.flags.peers || theirs == nil {
			continue
		}
		if s, err = theirs(); err != nil {
			return benchLine{}, err
		}
		z = append(z, s)
	}
	line := benchLine{Name: name, Ours: median(a)}
	if len(z) > 0 {
		line = line.against(peer, median(z))
	}
	if peak := b.peerPeak; peak > 0 {
		line.PeerPeakBytes = &peak
	}
	return line, nil
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// shortTime writes seconds with three digits.
func shortTime(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.3g us", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}
