package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/runfolder"
	"xlarun/rollout/ppo"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

const (
	loggingPairs = 401
	loggingSlice = 40 * time.Millisecond
	// mostLogging is the most that logging may cost of an update.
	mostLogging = .02
)

// loggingCost is what logging takes beside updates without.
type loggingCost struct {
	// Cost is the processor time of an update that is logged over that of one that is not, less 1: the median of the pairs.
	Cost   float64 `json:"cost"`
	Spread float64 `json:"spread"` // between the quartiles of the pairs
	Pairs  int     `json:"pairs"`
	Update float64 `json:"update_seconds"` // of a logged update by the clock
}

func loggingCommand(h *host) *cobra.Command {
	var o commonFlags
	pairs, check := loggingPairs, false
	cmd := &cobra.Command{
		Use: "ppo-logging", Short: "Measure what the logs and the display of ppo cost",
		Long: "Bench ppo-logging runs updates of CartPole-v1 by xlarun ppo's defaults: slices whose metrics go into metrics.jsonl, timings.jsonl, the events for TensorBoard and a\n" +
			"display, as a run's do, take turns with slices whose metrics are dropped. What counts is the processor time of all threads, the logger's included: the median\n" +
			"over the pairs. Every update is logged, as those of a run's first 4,096 are.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if pairs < 1 || pairs > 10000 {
				return console.BadInput("--pairs got %d, wants 1 to 10000", pairs)
			}
			return (&loggingBench{host: h, flags: o, pairing: pairing{pairs, loggingSlice, h.now}, check: check}).run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.AddBackend(f)
	f.IntVar(&pairs, "pairs", loggingPairs, "pairs of slices, of which the median counts")
	f.BoolVar(&check, "check", false, fmt.Sprintf("fail (status 1) where logging costs more than %.0f %%", 100*mostLogging))
	o.addJSON(f)
	return cmd
}

type loggingBench struct {
	*host
	flags   commonFlags
	pairing pairing
	check   bool
}

func (b *loggingBench) run(ctx context.Context) (err error) {
	backend, err := b.open(ctx, b.flags.BackendFlags)
	if err != nil {
		return err
	}
	defer func() { _ = backend.Close() }()
	c := update()
	training, err := b.training(backend, c)
	if err != nil {
		return err
	}
	defer func() { _ = training.Close() }()
	dir, err := os.MkdirTemp("", "logging")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()

	silent := func(n int) (time.Duration, error) {
		start := processorTime(backend)
		for range n {
			if _, err := training.Step(); err != nil {
				return 0, err
			}
		}
		return processorTime(backend) - start, ctx.Err()
	}
	log, err := newUpdateLog(filepath.Join(dir, "0"), c)
	if err != nil {
		return err
	}
	defer func() {
		if log != nil {
			err = errors.Join(err, log.close())
		}
	}()
	runs := 0
	with := func(n int) (time.Duration, error) {
		if log.rounds+n > mostUnits { // from there on a run would leave rows out
			if err := log.close(); err != nil {
				return 0, err
			}
			runs++
			if log, err = newUpdateLog(filepath.Join(dir, strconv.Itoa(runs)), c); err != nil {
				return 0, err
			}
		}
		start := processorTime(backend)
		for range n {
			began := time.Now()
			m, err := training.Step()
			if err != nil {
				return 0, err
			}
			log.note(training, m, time.Since(began).Seconds())
		}
		return processorTime(backend) - start, ctx.Err()
	}
	p, err := b.pairing.measure(ctx, with, silent, 1)
	if err != nil {
		return err
	}
	cost := loggingCost{Cost: 1/p.Calibrated - 1, Spread: p.Spread, Pairs: p.Pairs, Update: p.Seconds}
	fmt.Fprintf(b.Out, "logging costs %.2f %% of the processor time of an update (%s; %d pairs, whose middle half is within %.2f %%); at most %.0f %% is well\n", 100*cost.Cost, console.ShortTime(cost.Update),
		cost.Pairs, 100*cost.Spread, 100*mostLogging)
	if b.flags.json {
		if err := b.PrintJSON(cost); err != nil {
			return err
		}
	}
	if b.check && cost.Cost > mostLogging {
		return fmt.Errorf("logging costs %.2f %% of an update, more than %.0f %%", 100*cost.Cost, 100*mostLogging)
	}
	return nil
}

func (b *loggingBench) training(backend xlabridge.Backend, c ppo.Config) (stepper, error) {
	if b.newUpdates != nil {
		return b.newUpdates(backend, c)
	}
	return ppo.New(backend, c)
}

// updateLog is where a run's metrics go.
type updateLog struct {
	folder *runfolder.Folder
	logger *runfolder.Logger
	report display.Reporter
	rounds int
}

func newUpdateLog(dir string, c ppo.Config) (*updateLog, error) {
	folder, err := runfolder.Create(dir, runfolder.Options{})
	if err != nil {
		return nil, err
	}
	logger, err := folder.NewLogger("update", 0)
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	board := display.Board{Command: "ppo " + c.Env, Setup: c.Setup(), Unit: "update", Last: c.Last(), Rows: c.Board(), Start: time.Now()}
	return &updateLog{folder: folder, logger: logger, report: display.NewReporter(io.Discard, func(string) string { return "" }, board)}, nil
}

// note takes an update's metrics down, as a run does.
func (l *updateLog) note(r stepper, m run.Metrics, seconds float64) {
	l.rounds++
	if e, ok := r.(run.Ending); ok {
		_ = e.Ending(m)
	}
	row := runfolder.Row{Step: int64(l.rounds), Time: time.Now(), Timings: []runfolder.Value{{Name: "seconds", Number: seconds}, {Name: "steps_per_second", Number: m.Work / seconds},
		{Name: "update_seconds_p50", Number: seconds}, {Name: "update_seconds_p99", Number: seconds}, {Name: "idle_share", Number: seconds}}}
	for _, v := range m.Values {
		row.Metrics = append(row.Metrics, runfolder.Value{Name: v.Name, Number: v.Number})
	}
	l.report.News(display.News{Metrics: m, StepsPerSecond: m.Work / seconds, RoundsPerSecond: 1 / seconds})
	l.logger.Log(row)
}

func (l *updateLog) close() error {
	err := l.logger.Close()
	l.report.Close()
	return errors.Join(err, l.folder.Close())
}
