package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/bench/parallelbench"
	"xlarun/cmd/xlarun/console"
)

// parallelExperiment answers one question about trials side by side.
type parallelExperiment struct {
	name, question string
	run            func(b *parallelBench, ctx context.Context) error
}

var parallelExperiments = []parallelExperiment{
	{"library", "is the study library the problem? The same trials in a loop, by Optuna, its threads, a process pool, joblib, Ray, and ours", (*parallelBench).library},
	{"nested", "is nested parallelism? Two processes with 1, 2, 8 and unlimited threads each, and the threads that they have then", (*parallelBench).nested},
	{"scheduling", "is central scheduling? Sleeping trials of uneven length: one queue, batches, shares dealt out beforehand, windows", (*parallelBench).scheduling},
	{"coordination", "is coordination? What a trial costs beside its own time with 1 to 64 workers, whose trials sleep", (*parallelBench).coordination},
	{"ceiling", "where is the ceiling? Trials that compute with 1 and 2 workers, and a model of many more workers (runs coordination first)", (*parallelBench).ceiling},
	{"sizes", "which population x generations x workers? Workers beside threads, and whether small trials rank settings as large ones do", (*parallelBench).sizes},
	{"islands", "what do islands cost? Ours beside DEAP's and pygmo's", (*parallelBench).islands},
	{"machines", "is it the same on several machines? A coordinator and workers in network namespaces of their own", (*parallelBench).machines},
}

type parallelFlags struct {
	commonFlags
	scale float64
	quick bool
	tiers []string
	part  string
}

func parallelCommand(h *host) *cobra.Command {
	var o parallelFlags
	var long strings.Builder
	long.WriteString("Bench parallel measures how trials of a study run side by side: docs/PARALLEL_EXPERIMENTS.md says how, docs/PARALLEL_RESULTS.md what came of it.\n\n")
	names := each(parallelExperiments, func(e parallelExperiment) string { return e.name })
	for _, e := range parallelExperiments {
		fmt.Fprintf(&long, "  %-13s %s\n", e.name, e.question)
	}
	long.WriteString("\nSizes of trials (members x generations x seeds) are " + strings.Join(each(parallelbench.Tiers(), parallelbench.Tier.String), "; ") + ".\n" +
		"Both sides run in turn; processor time, memory and threads are read from the system while they do. A run in which everything was stopped by others for a\n" +
		"while is repeated. With --quick all of it ends in some ten minutes on two idle cores.")
	cmd := &cobra.Command{
		Use: "parallel [NAME...]", Short: "Measure trials side by side, with peers, and model many workers", Long: long.String(),
		Example: "  xlarun bench parallel --quick\n  xlarun bench parallel ceiling --scale 0.5 --tier large\n  xlarun bench parallel --peers --repeats 5 --json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.part != "" {
				return parallelPart(cmd.Context(), h, o.part)
			}
			chosen, err := picked(args, parallelExperiments, func(e parallelExperiment) string { return e.name })
			if err != nil {
				return err
			}
			if len(args) == 0 {
				chosen = parallelExperiments
			}
			if o.quick {
				if !cmd.Flags().Changed("scale") {
					o.scale = .2
				}
				if !cmd.Flags().Changed("repeats") {
					o.repeats = 2
				}
			}
			return runParallel(cmd.Context(), h, o, chosen)
		},
	}
	cmd.ValidArgs = names
	f := cmd.Flags()
	f.SortFlags = false
	o.AddBackend(f)
	f.BoolVar(&o.peers, "peers", false, "run the peers too")
	f.StringVar(&o.python, "peers-python", "", "Python that has the packages of third_party/peers/requirements-parallel.txt (default "+envParallelPython+", else an environment made for it)")
	f.Float64Var(&o.scale, "scale", 1, "part of each tier's generations that a trial has, 20 at least; populations and seeds stay")
	f.BoolVar(&o.quick, "quick", false, "a fifth of the generations (20 at least), two repeats, fewer trials and numbers of workers")
	f.StringSliceVar(&o.tiers, "tier", []string{"small", "medium", "large"}, "sizes of trials")
	f.IntVar(&o.repeats, "repeats", 3, "repeats, of which the median counts")
	o.addJSON(f)
	f.StringVar(&o.part, "part", "", "be a process of an experiment")
	_ = f.MarkHidden("part")
	return cmd
}

// envParallelPython names a Python that has the packages of these peers.
const envParallelPython = "XLARUN_PARALLEL_PYTHON"

// parallelBench is what the experiments run in, and what they found.
type parallelBench struct {
	*host
	flags  parallelFlags
	tiers  []parallelbench.Tier
	peers  *peerRunner // nil: without
	self   string
	dir    string // for files
	made   int
	rows   []parallelRow
	found  map[string]any
	asides []string
	cost   *parallelbench.Cost
}

func runParallel(ctx context.Context, h *host, o parallelFlags, chosen []parallelExperiment) (err error) {
	if err := o.commonFlags.check(); err != nil {
		return err
	}
	if o.Backend == console.Reference {
		return console.BadInput("bench parallel got the backend %s, which compiles nothing: use another backend", console.Reference)
	}
	if o.scale <= 0 || o.scale > 1 {
		return console.BadInput("--scale got %g, wants a number above 0, up to 1", o.scale)
	}
	b := &parallelBench{host: h, flags: o, found: map[string]any{}}
	for _, name := range o.tiers {
		i := slices.IndexFunc(parallelbench.Tiers(), func(t parallelbench.Tier) bool { return t.Name == name })
		if i < 0 {
			return console.BadInput("--tier got %q, wants small, medium or large", name)
		}
		b.tiers = append(b.tiers, parallelbench.Tiers()[i].Scaled(o.scale))
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "xlarun-parallel-*"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(b.dir) }()
	if o.peers {
		python := o.python
		if python == "" {
			python = h.Getenv(envParallelPython)
		}
		if b.peers, err = newPeerRunnerOf(ctx, h, python, "requirements-parallel.txt"); err != nil {
			return err
		}
		defer b.peers.close()
	}
	fmt.Fprintf(b.Out, "%d cores; %s; %d repeats\n", runtime.NumCPU(), strings.Join(each(b.tiers, parallelbench.Tier.String), "; "), o.repeats)
	begun := b.now()
	for _, e := range chosen {
		fmt.Fprintf(b.Out, "\n%s: %s\n", e.name, e.question)
		if err := e.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	for _, text := range b.asides {
		fmt.Fprintln(b.Out, text)
	}
	fmt.Fprintf(b.Out, "\nall of it took %s\n", b.now().Sub(begun).Round(time.Second))
	if !o.json {
		return nil
	}
	return b.PrintJSON(map[string]any{"workloads": b.rows, "experiments": b.found, "tiers": b.tiers, "scale": o.scale, "cores": runtime.NumCPU(), "notes": b.asides})
}

// aside is what is to be known of how it was measured.
func (b *parallelBench) aside(format string, args ...any) {
	b.asides = append(b.asides, fmt.Sprintf(format, args...))
}

// file is a new path for files of one run.
func (b *parallelBench) file(name string) string {
	b.made++
	return filepath.Join(b.dir, fmt.Sprintf("%03d-%s", b.made, name))
}

// more is one of two numbers: the second with --quick.
func more[T any](b *parallelBench, whole, quick T) T {
	if b.flags.quick {
		return quick
	}
	return whole
}

// parallelRow is a row of the result.
type parallelRow struct {
	row
	// Processor is the ratio of processor times, the peer's over ours, of all of their processes from start to end; 0 where it was not compared. Other work
	// on the machine disturbs it less.
	Processor float64 `json:"processor_ratio,omitempty"`
}

// against adds a row of the result, ours beside a peer's.
func (b *parallelBench) against(name string, ours float64, peer string, theirs, needed float64) {
	l := parallelRow{row: row{Name: name, Ours: ours}.against(peer, theirs)}
	l.Needed = needed
	b.rows = append(b.rows, l)
}

// beside adds a row of two sides that were measured.
func (b *parallelBench) beside(name string, ours parallelRuns, peer string, theirs parallelRuns, needed float64) {
	b.against(name, ours.work(), peer, theirs.work(), needed)
	b.rows[len(b.rows)-1].Processor = theirs.processor() / ours.processor()
}

// parallelPart is a process of an experiment: the coordinator or the workers of sleeping trials.
func parallelPart(ctx context.Context, h *host, text string) error {
	var p struct {
		Role string
		parallelbench.Naps
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return console.BadInput("--part got %q, which is for bench parallel itself (%w)", text, err)
	}
	switch p.Role {
	case "serve":
		s, err := p.Serve(ctx, func(address string) { _ = h.PrintJSON(map[string]string{"address": address}) })
		if err != nil {
			return err
		}
		return h.PrintJSON(s)
	case "work":
		w, err := p.Work(ctx)
		if err != nil {
			return err
		}
		return h.PrintJSON(w)
	}
	return console.BadInput("--part got the role %q, wants serve or work", p.Role)
}
