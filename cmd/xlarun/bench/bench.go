// Package bench is the bench command: it times named workloads beside the programs that others have for them, and keeps
// a history of calibrated figures.
package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
	"xlarun/xlabridge"
)

// workload is one named comparison.
type workload struct {
	name  string
	named bool // runs only where it is named
	run   func(ctx context.Context, b *bench, name string) ([]row, error)
	// sliced sets the workload up for a calibrated figure; nil: it has none.
	sliced func(ctx context.Context, b *bench) (*slicedWork, error)
}

var (
	smallGeneration = generations{256, 16, 50, false}
	wideGeneration  = generations{1024, 64, 20, false}
)

var workloads = []workload{
	{name: "rollouts-small", run: rollouts{256, 16, 1}.bench},
	{name: "rollouts-wide", run: rollouts{1024, 64, 1}.bench},
	{name: "generation-small", run: smallGeneration.bench, sliced: smallGeneration.sliced(smallCalibrator)},
	{name: "generation-wide", run: wideGeneration.bench, sliced: wideGeneration.sliced(wideCalibrator)},
	{name: "generation-forage", run: timeForage, sliced: slicedGenerations(forage(), wideCalibrator)},
	{name: "episodes", run: rollouts{256, 64, 16}.bench},
	{name: "odd", run: timeOdd},
	{name: sparseName, run: sparseNets{"auto"}.bench},
	{name: sparseName + "-masked", run: sparseNets{"masked"}.bench},
	{name: "start", run: timeStart},
	{name: updateName, named: true, run: timeUpdate, sliced: slicedUpdates(update())},
	{name: iterationName, named: true, run: timeIteration, sliced: slicedIterations(iteration())},
	{name: openName, named: true, run: timeOpen},
	{name: "evolve-small", named: true, run: generations{256, 16, 50, true}.bench},
	{name: "evolve-wide", named: true, run: generations{1024, 64, 20, true}.bench},
}

// wantedRatios are the ratios of speed that the workloads are to reach.
var wantedRatios = map[string]struct{ needed, aim float64 }{
	"rollouts-small": {5, 10}, "rollouts-wide": {3.3, 9}, "generation-small": {7, 10}, "generation-wide": {3.3, 10},
	"episodes": {2, 4}, sparseName: {3.3, 8}, "start-warm": {30, 100},
}

// flags are those of the bench command.
type flags struct {
	commonFlags
	calibrate, record, check bool
	history                  string
}

func workloadNames() []string {
	var names []string
	for _, w := range workloads {
		names = append(names, w.name)
	}
	return names
}

func command(h *host) *cobra.Command {
	var o flags
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
			"Workloads: " + strings.Join(workloadNames(), ", ") + " (default all but the last five, with --record and --check all that have figures).",
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
			return newBench(h, o).run(cmd.Context(), chosen)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.AddDevices(f)
	f.IntVar(&o.repeats, "repeats", 3, "repeats, of which the median counts")
	f.BoolVar(&o.peers, "peers", false, "run the peers' programs too")
	o.addPython(f)
	f.BoolVar(&o.calibrate, "calibrate", false, "measure this machine's matmul, memory and hand-written C in the same run")
	f.BoolVar(&o.record, "record", false, "append calibrated figures to the history")
	f.BoolVar(&o.check, "check", false, "fail (status 1) where a calibrated figure stays more than 25 % below the history's median in three tries, or compiling takes half as much again, or a fifth more memory")
	f.StringVar(&o.history, "history", defaultHistory, "file of the history, one line of JSON a figure")
	o.addJSON(f)
	cmd.AddCommand(bbobCommand(h), gradCommand(h), jaxCommand(h), largeCommand(h), crossoverCommand(h), neuroCommand(h), ppoCommand(h), ladderCommand(h), loggingCommand(h), parallelCommand(h), selfplayCommand(h), scalingCommand(h), spikingCommand(h), studyCommand(h), peakCommand(h))
	return cmd
}

// figures tells whether calibrated figures are wanted.
func (o *flags) figures() bool { return o.record || o.check }

func calibratedNames() []string {
	var names []string
	for _, w := range workloads {
		if w.sliced != nil {
			names = append(names, w.name)
		}
	}
	return names
}

// chooseWorkloads finds the workloads; with figures only those that have calibrated ones will do.
func chooseWorkloads(names []string, figures bool) (chosen []workload, err error) {
	for _, name := range names {
		i := slices.Index(workloadNames(), name)
		if i < 0 {
			return nil, noWorkload(name, workloadNames())
		}
		if figures && workloads[i].sliced == nil {
			return nil, console.BadInput("the workload %s has no calibrated figure to record or check; %s have", name, strings.Join(calibratedNames(), ", "))
		}
		chosen = append(chosen, workloads[i])
	}
	if len(names) == 0 {
		chosen = slices.DeleteFunc(slices.Clone(workloads), func(w workload) bool { return w.named && !figures || figures && w.sliced == nil })
	}
	return chosen, nil
}

// checkAll checks the flags; a history that is to be compared with must be there.
func (o *flags) checkAll(historyGiven bool) error {
	if err := o.commonFlags.check(); err != nil {
		return err
	}
	if o.figures() && o.peers {
		return console.BadInput("--peers got true with --%s, which measures no peers: give one of them", map[bool]string{true: "check", false: "record"}[o.check])
	}
	if historyGiven && !o.record && !o.check {
		return console.BadInput("--history got %q, but nothing is recorded or checked: add --record or --check", o.history)
	}
	if o.check || o.record && console.Exists(o.history) && !isFolder(o.history) {
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
	*host
	flags    flags
	peers    *peerRunner
	peerPeak int64 // of the peer's runs of one workload
	withoutC bool  // it was said that there is no hand-written C here

	pairing         pairing
	processorTime   func(xlabridge.Backend) time.Duration
	startCalibrator func(ctx context.Context, size calibratorSize, threads int) (work slicer, stop func() error, err error)
	startCost       func(ctx context.Context, args []string) (startCost, error) // nil: startAnew, where something is compiled
}

func newBench(h *host, o flags) *bench {
	return &bench{host: h, flags: o, pairing: pairing{regressionPairs, regressionSlice, time.Now}, processorTime: processorTime, startCalibrator: startCalibrator}
}

func (b *bench) run(ctx context.Context, workloads []workload) error {
	var result summary
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
		if err := b.PrintJSON(result); err != nil {
			return err
		}
	}
	return failed
}

// summary is the line that --json ends with.
type summary struct {
	Workloads   []row           `json:"workloads"`
	Calibration calibration     `json:"calibration,omitempty"`
	Figures     []figure        `json:"figures,omitempty"`
	Check       []checkedFigure `json:"check,omitempty"`
}

// compare runs workloads, beside their peers where they are wanted. Where a calibration is wanted the machine is measured
// before each and after the last of them, since its other tenants come and go; the medians count.
func (b *bench) compare(ctx context.Context, workloads []workload) (r summary, err error) {
	if b.flags.peers && slices.ContainsFunc(workloads, func(w workload) bool { return !strings.HasPrefix(w.name, sparseName) }) {
		if b.peers, err = newPeerRunner(ctx, b.host, b.flags.python); err != nil {
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

// inTurn times ours and the peer's (nil: none) in turn, so that both see the same machine, and takes the medians.
func (b *bench) inTurn(name, peer string, ours, theirs func() (float64, error)) (row, error) {
	var a, z []float64
	b.peerPeak = 0
	for i := range b.flags.repeats {
		fmt.Fprintf(b.Out, "%s: repeat %d of %d\n", name, i+1, b.flags.repeats)
		s, err := ours()
		if err != nil {
			return row{}, err
		}
		a = append(a, s)
		if !b.flags.peers || theirs == nil {
			continue
		}
		if s, err = theirs(); err != nil {
			return row{}, err
		}
		z = append(z, s)
	}
	line := row{Name: name, Ours: machine.Median(a)}
	if len(z) > 0 {
		line = line.against(peer, machine.Median(z))
	}
	if peak := b.peerPeak; peak > 0 {
		line.PeerPeakBytes = &peak
	}
	return line, nil
}
