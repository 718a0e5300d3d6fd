package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/evolve"
	"xlarun/rollout/plan"
	"xlarun/rollout/settings"
)

// largeSize is a population of perceptrons with two hidden layers on CartPole.
type largeSize struct{ population, hidden, steps int }

func (s largeSize) String() string {
	return fmt.Sprintf("%d x mlp:%d,%d x %d", s.population, s.hidden, s.hidden, s.steps)
}

// config is a run of a strategy by the rule's plan.
func (s largeSize) config(strategy string) evolve.Config {
	c := cartPole(s.population, s.hidden)
	c.Strategy, c.Steps, c.Tune, c.Target = strategy, s.steps, plan.TuneOff, "0"
	return c
}

// largeRun is a run whose memory is held against what it may take beside the opened plugin.
type largeRun struct {
	name, what string
	config     func() evolve.Config
	most       int64 // bytes
}

var largeRuns = []largeRun{
	{"openes-1m", "OpenES, 256 members of 1 M parameters, noise drawn again by tile", func() evolve.Config {
		c := largeSize{256, 1000, 10}.config("openes")
		c.Memory = settings.Bytes(160 << 20)
		return c
	}, 250e6},
	{"low-rank-100m", "eggroll with sgd, 16 members of 100 M parameters on one device", func() evolve.Config {
		c := largeSize{16, 9990, 5}.config("eggroll").With("strategy.optimizer", "sgd")
		c.Devices = 1 // the mean is on every device
		return c
	}, 1500e6},
}

// largeSpeedName is the workload of speeds; lowRankSize is what it is measured with.
const largeSpeedName = "low-rank"

var lowRankSize = largeSize{1024, 256, 500}

// largeLine is one row of the result.
type largeLine struct {
	row
	// AbovePlugin is what the process took at most beside what one takes that opens the plugin alone, compiling and with the
	// programs in the cache, and AbovePluginMost what it may take.
	AbovePlugin       int64 `json:"above_plugin_bytes,omitempty"`
	AbovePluginCached int64 `json:"above_plugin_cached_bytes,omitempty"`
	AbovePluginMost   int64 `json:"above_plugin_most_bytes,omitempty"`
	// ClockRatio is the ratio by the clock; Ratio is that of processor time.
	ClockRatio float64 `json:"clock_ratio,omitempty"`
}

func largeNames() []string {
	names := []string{largeSpeedName}
	for _, r := range largeRuns {
		names = append(names, r.name)
	}
	return names
}

type largeFlags struct {
	commonFlags
	one string
}

func largeCommand(h *host) *cobra.Command {
	var o largeFlags
	var long strings.Builder
	fmt.Fprintf(&long, "Bench large measures populations of large members on CartPole.\n\n"+
		"  %-14s whole generations of eggroll and of openes, %s, beside plain inference: one shared network of that size for as many\n"+
		"  %-14s steps of as many lanes, with no environment. They run in turn; ratios are of processor time, the medians over repeats.\n", largeSpeedName, lowRankSize, "")
	for _, r := range largeRuns {
		fmt.Fprintf(&long, "  %-14s %s: peak memory of a process of its own\n", r.name, r.what)
	}
	cmd := &cobra.Command{
		Use:     "large [NAME...]",
		Short:   "Measure populations of large members: speed beside plain inference, and memory",
		Long:    long.String(),
		Example: "  xlarun bench large\n  xlarun bench large low-rank --repeats 5",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			for _, name := range append(slices.Clone(args), o.one) {
				if name != "" && !slices.Contains(largeNames(), name) {
					return noWorkload(name, largeNames())
				}
			}
			b := newBench(h, flags{commonFlags: o.commonFlags})
			if o.one != "" {
				return b.largeOne(cmd.Context(), o.one)
			}
			if len(args) == 0 {
				args = largeNames()
			}
			return b.large(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.AddDevices(f)
	f.IntVar(&o.repeats, "repeats", 3, "repeats, of which the median counts")
	o.addJSON(f)
	f.StringVar(&o.one, "one", "", "run two generations of one workload of memory in this process")
	_ = f.MarkHidden("one")
	return cmd
}

func (b *bench) large(ctx context.Context, names []string) error {
	var lines []largeLine
	for _, name := range names {
		var got []largeLine
		var err error
		if name == largeSpeedName {
			got, err = b.lowRank(ctx, lowRankSize)
		} else {
			got, err = b.largeMemory(ctx, largeRuns[slices.IndexFunc(largeRuns, func(r largeRun) bool { return r.name == name })])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		lines = append(lines, got...)
	}
	result := summary{}
	for _, l := range lines {
		result.Workloads = append(result.Workloads, l.row)
	}
	if err := result.print(b.Out); err != nil {
		return err
	}
	if b.flags.json {
		return b.PrintJSON(map[string]any{"workloads": lines})
	}
	return nil
}

// largeOne runs two generations: more need no more memory.
func (b *bench) largeOne(ctx context.Context, name string) error {
	i := slices.IndexFunc(largeRuns, func(r largeRun) bool { return r.name == name })
	if i < 0 {
		return console.BadInput("--one got %s, wants a workload of memory: %s", name, strings.Join(largeNames()[1:], ", "))
	}
	c := largeRuns[i].config()
	devices := b.flags.Devices
	if c.Devices > 0 {
		b.flags.Devices = c.Devices
	}
	defer func() { b.flags.Devices = devices }()
	return b.withEngine(ctx, c, func(e engine) error {
		for range 2 {
			if _, err := e.Step(); err != nil {
				return err
			}
		}
		return nil
	})
}

// largeMemory measures the peak memory of a run in processes of its own, compiling and with its programs in the cache.
func (b *bench) largeMemory(ctx context.Context, r largeRun) ([]largeLine, error) {
	if b.flags.Backend == console.Reference {
		return nil, console.BadInput("the workload %s got the backend %s, whose memory says nothing: use another backend", r.name, console.Reference)
	}
	line := largeLine{row: row{Name: r.name}, AbovePluginMost: r.most}
	plugin, err := b.ownPeak(ctx, false, "bench", openName, "--repeats", "1")
	if err != nil {
		return nil, err
	}
	line.PluginPeakBytes = &plugin
	for _, m := range []struct {
		cold  bool
		to    **int64
		above *int64
	}{{true, &line.PeakBytes, &line.AbovePlugin}, {false, &line.CachedPeakBytes, &line.AbovePluginCached}} {
		fmt.Fprintf(b.Out, "%s: peak memory\n", r.name)
		start := b.now()
		peak, err := b.ownPeak(ctx, m.cold, "bench", "large", "--one", r.name)
		if err != nil {
			return nil, err
		}
		*m.to, *m.above, line.Ours = &peak, peak-plugin, b.now().Sub(start).Seconds()
	}
	line.note = fmt.Sprintf("%s: %s: %s above the plugin's %s while it compiles, %s from the cache (wanted: at most %s)\n", r.name, r.what,
		bytesText(&line.AbovePlugin), bytesText(&plugin), bytesText(&line.AbovePluginCached), bytesText(&r.most))
	return []largeLine{line}, nil
}
