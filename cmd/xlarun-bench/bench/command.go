package bench

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/internal/peers"
	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/plan"
)

// flags are the flags of all suites.
type flags struct {
	console.BackendFlags
	peers   bool
	python  string
	repeats int
	limit   time.Duration
	budget  time.Duration
	tune    string
	json    bool
	figures string
	record  bool
	history string
	worker  bool
	// date and size belong to the suite neuro.
	date, size string
}

func (o *flags) add(f *pflag.FlagSet, suite Suite) {
	f.SortFlags = false
	o.AddDevices(f)
	f.IntVar(&o.repeats, "repeats", 3, fmt.Sprintf("repeats; each side has %d turns in a repeat", turnsOfRepeat))
	addPeers(f, &o.peers, &o.python, &o.limit)
	f.DurationVar(&o.budget, "budget", 0, fmt.Sprintf("time in all: turns get shorter and fewer (then unrecorded), "+
		"peers answer in half of their row's time, and what does not fit is named; 0s: %.0f minutes for all suites, "+
		"%.0f for one, no end for named workloads", budgetOfAll.Minutes(), budgetOfSuite.Minutes()))
	f.StringVar(&o.tune, "tune", plan.TuneQuick, "how our plans are chosen: "+strings.Join(plan.Tunes(), ", "))
	if suite.Name == "neuro" {
		f.StringVar(&o.date, "date", "", "day whose sizes are used, as 2026-11-22 (default today)")
		f.StringVar(&o.size, "size", "", "members, hidden layers and steps of classic control, as 614x40,40x271")
	}
	f.BoolVar(&o.json, "json", false, "end stdout with one line of JSON")
	f.StringVar(&o.figures, "figures", "", "write the rows into this file of figures, such as docs/figures.toml")
	f.BoolVar(&o.record, "record", false, "add the rows to the history of speed, which bench history draws")
	addHistory(f, &o.history)
	f.BoolVar(&o.worker, "worker", false, "run one workload as often as stdin says")
	_ = f.MarkHidden("worker")
}

func addHistory(f *pflag.FlagSet, file *string) {
	f.StringVar(file, "history", "", "file of the history of speed (default xlarun/speed.jsonl in the user's data "+
		"folder)")
}

// addPeers adds the flags that say whether and how peers run.
func addPeers(f *pflag.FlagSet, with *bool, python *string, limit *time.Duration) {
	f.BoolVar(with, "peers", false, "run the peers, too")
	f.StringVar(python, "peers-python", "", "Python that has the peers' packages (default "+peers.EnvPython+
		", else an environment made for it)")
	f.DurationVar(limit, "limit", 10*time.Minute, "time that a process may take for one answer; a peer that takes "+
		"longer costs its row")
}

// check checks the flags and returns the options.
func (o *flags) check() (options Options, err error) {
	if err := o.BackendFlags.Check(); err != nil {
		return options, err
	}
	if o.repeats < 1 {
		return options, console.BadInput("--repeats got %d, wants 1 or more", o.repeats)
	}
	if o.limit <= 0 {
		return options, console.BadInput("--limit got %v, wants a time above 0, as 10m", o.limit)
	}
	if o.budget != 0 && o.budget < leastTurns {
		return options, console.BadInput("--budget got %v, wants %v or more, as 20m, or 0s", o.budget, leastTurns)
	}
	if !slices.Contains(plan.Tunes(), o.tune) {
		return options, console.BadInput("--tune got %q, wants one of %s", o.tune, strings.Join(plan.Tunes(), ", "))
	}
	options = Options{Devices: o.Devices, Tune: o.tune, Size: neurobench.SizeOn(time.Now())}
	if o.date != "" && o.size != "" {
		return options, console.BadInput("--date got %q with --size: give one of them", o.date)
	}
	if o.date != "" {
		day, err := time.Parse(time.DateOnly, o.date)
		if err != nil {
			return options, console.BadInput("--date got %q, wants a day as 2026-11-22", o.date)
		}
		options.Size = neurobench.SizeOn(day)
	}
	if o.size != "" {
		if options.Size, err = neurobench.ReadSize(o.size); err != nil {
			return options, console.BadInput("--size %w", err)
		}
	}
	return options, nil
}

// bench is one run of the command.
type bench struct {
	*host
	flags   flags
	options Options
	budget  budget
	peak    float64 // float32 operations a second of all cores; 0: not known

	python    *peers.Python // once it is needed
	pythonErr error
	cleanup   []func()
}

// command returns a process of ours.
func (b *bench) command(ctx context.Context, cache string, args ...string) (*exec.Cmd, error) {
	return b.process(ctx, b.flags.BackendFlags, cache, args...)
}

// workerArgs are the arguments of a process of ours for a workload of a suite.
func (b *bench) workerArgs(s Suite, name string) []string {
	args := []string{"bench", s.Name, name, "--worker", "--tune", b.flags.tune, "--devices",
		strconv.Itoa(cmp.Or(s.Devices, b.flags.Devices))}
	if s.Name == "neuro" {
		args = append(args, "--size", b.options.Size.String())
	}
	return args
}

const rootLong = "Bench times workloads. With --peers it also times other programs for the same work, in turn with " +
	"ours. A ratio is the peer's time divided by ours: above 1, ours is faster. Each side is a separate process that " +
	"compiles with an empty cache. The table shows the time of a run, the time to trace and compile, and peak " +
	"memory. Ratios are medians over turns. A peer that fails, or does not answer within --limit, costs its row only " +
	"and shows its last lines of output. With --figures the rows are written into a file of figures, which documents " +
	"read. With --record they are added to the history of speed: see bench history.\n\n" +
	"Rows have goals: what is below is marked. The share of a limit is how much of the best possible speed ours " +
	"reaches: of C by hand, of plain inference, or of the float32 operations that the cores do.\n\n" +
	"Without names it runs all suites in 20 minutes, those rows first that have a goal, and prints one table. A " +
	"suite takes at most 6 minutes. SUITE/NAME is one name; names without a suite are of the suite evolve.\n\n" +
	"With --against REV it builds that revision of the repository in a temporary worktree, and this tree, and " +
	"runs commands of xlarun by both in turn: see --against below. The other flags do not apply then.\n\n" +
	"Suites:\n"

// rootCommand returns the command bench with a command for each suite.
func rootCommand(h *host) *cobra.Command {
	var long strings.Builder
	long.WriteString(rootLong)
	for _, s := range h.suites {
		fmt.Fprintf(&long, "  %-9s %s\n", s.Name, s.What)
	}
	fmt.Fprintf(&long, "\n%s", againstLong())
	var o flags
	var a againstFlags
	cmd := &cobra.Command{
		Use: "bench [SUITE] [NAME...]", Short: console.BenchHelp,
		Long: long.String(),
		Example: "  xlarun bench --peers\n  xlarun bench generation-small\n" +
			"  xlarun bench ppo --peers --figures docs/figures.toml\n" +
			"  xlarun bench --against main levels ppo --check",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return h.start(cmd.Context(), h.suites[0], o, a, args, args)
		},
	}
	o.add(cmd.Flags(), h.suites[0])
	a.add(cmd.Flags())
	for _, s := range h.suites {
		cmd.AddCommand(suiteCommand(h, s))
	}
	cmd.AddCommand(bbobCommand(h), samplersCommand(h), sparseCommand(h), aotCommand(h),
		historyCommand(h))
	return cmd
}

// suiteCommand returns the command of one suite.
func suiteCommand(h *host, s Suite) *cobra.Command {
	var o flags
	var a againstFlags
	var long strings.Builder
	var names []string
	fmt.Fprintf(&long, "%s.\nxlarun bench --help says how it is timed. Workloads:\n\n", s.What)
	for _, w := range s.Workloads(Options{Size: neurobench.SizeOn(time.Now())}) {
		names = append(names, w.Name)
		fmt.Fprintf(&long, "  %-18s %s\n", w.Name, w.What)
	}
	cmd := &cobra.Command{
		Use: s.Name + " [NAME...]", Aliases: s.Aliases, Short: s.What, Long: long.String(), Args: cobra.ArbitraryArgs,
		ValidArgs: names, Example: fmt.Sprintf("  xlarun bench %s --peers", s.Name),
		RunE: func(cmd *cobra.Command, args []string) error {
			// In bench --against REV ppo, the name of the suite is the name of a run.
			return h.start(cmd.Context(), s, o, a, append([]string{s.Name}, args...), args)
		},
	}
	o.add(cmd.Flags(), s)
	a.add(cmd.Flags())
	for _, name := range []string{"against", "check", "rounds"} {
		_ = cmd.Flags().MarkHidden(name)
	}
	return cmd
}

// start compares two revisions where --against is given, else it runs workloads of a suite.
func (h *host) start(ctx context.Context, s Suite, o flags, a againstFlags, runs, workloads []string) error {
	if a.revision != "" {
		return a.run(ctx, h, runs, o.json)
	}
	if a.check {
		return console.BadInput("--check got true without --against: name the revision to compare with")
	}
	if len(runs) == 0 {
		return h.runSuites(ctx, h.suites, o, nil)
	}
	name, _, _ := strings.Cut(runs[0], "/")
	if i := slices.Index(each(h.suites, func(s Suite) string { return s.Name }), name); i >= 0 {
		s = h.suites[i]
	}
	return h.runSuites(ctx, []Suite{s}, o, each(workloads, func(name string) string {
		return strings.TrimPrefix(name, s.Name+"/")
	}))
}

// runSuites runs the named workloads of suites, or all that are not Explicit.
func (h *host) runSuites(ctx context.Context, suites []Suite, o flags, names []string) error {
	options, err := o.check()
	if err != nil {
		return err
	}
	var jobs []*job
	for _, s := range suites {
		if s.Devices > 0 && o.Devices > 0 && o.Devices != s.Devices {
			other := ""
			if len(suites) > 1 {
				other = ", or name a suite"
			}
			return console.BadInput("--devices got %d, wants %d for the suite %s, which is timed on one: leave it "+
				"out%s", o.Devices, s.Devices, s.Name, other)
		}
		chosen, err := choose(names, s.Workloads(options))
		if err != nil {
			return err
		}
		prefix := ""
		if len(suites) > 1 {
			prefix = s.Name + "/"
		}
		for _, w := range chosen {
			jobs = append(jobs, &job{suite: s, prefix: prefix, workload: w})
		}
	}
	if o.worker {
		return h.work(ctx, o.BackendFlags, jobs[0].workload, options)
	}
	all, suite := o.budget, o.budget
	switch {
	case len(suites) > 1:
		all = cmp.Or(all, budgetOfAll)
		suite = suiteOfAll(all)
	case len(names) == 0 && all == 0:
		all, suite = budgetOfSuite, budgetOfSuite
	}
	b := bench{host: h, flags: o, options: options, budget: budget{all: all, suite: suite}}
	return b.run(ctx, jobs)
}
