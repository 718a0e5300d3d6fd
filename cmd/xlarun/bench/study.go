package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
)

// studyWorkload is something that studies of hyper-parameters do.
type studyWorkload struct {
	name, what string
	needed     float64 // of the ratio; 0: any
	run        func(ctx context.Context, b *studyBench, w studyWorkload) (studyLine, error)
}

// studyLine is one row of the result.
type studyLine struct {
	row
	// Processor is our processor time in seconds, and ProcessorRatio the peer's over it, which other work on the machine disturbs less than the clock; 0: not known.
	Processor      float64 `json:"ours_processor_seconds,omitempty"`
	ProcessorRatio float64 `json:"processor_ratio,omitempty"`
}

// inWords is the line that is printed as soon as it is known: all of them take long.
func (l studyLine) inWords() string {
	text := console.ShortTime(l.Ours)
	if l.Ratio != nil {
		text += fmt.Sprintf(", %s %s, ratio %.3g", *l.Peer, console.ShortTime(*l.PeerSeconds), *l.Ratio)
	}
	if l.Processor > 0 {
		text += fmt.Sprintf("; of processor time %s", console.ShortTime(l.Processor))
		if l.ProcessorRatio > 0 {
			text += fmt.Sprintf(", ratio %.3g", l.ProcessorRatio)
		}
	}
	return text
}

// spent is what something took, in seconds: of the clock, and of processors, 0 where that is not known.
type spent struct{ clock, processor float64 }

// mediansOf are the medians.
func mediansOf(all []spent) spent {
	return spent{machine.Median(each(all, func(s spent) float64 { return s.clock })), machine.Median(each(all, func(s spent) float64 { return s.processor }))}
}

// lanesWanted is the rate that trivial trials are to reach as lanes, in trials a second.
const lanesWanted = 10000

func studyWorkloads() []studyWorkload {
	all := []studyWorkload{
		{"trials", "a trial of two parameters that computes nothing, 16 at a time, kept in an SQLite file; Optuna's one after the other", 20, trivialTrials},
		{"trials-one", "the same, ours one after the other too", 0, trivialTrials},
		{"lanes", "a search of 4 members that make one step for 2 generations, as a lane, kept in an SQLite file: each of 10,000 after the first 1,000", 0, trivialLanes},
		{"workers", "a study of 48 searches on CartPole-v1, 256 members for 100 generations, by two worker processes of a core each, and by one", 1.9, twoWorkers},
		{"cartpole", fmt.Sprintf("a study of %d searches on CartPole-v1, 256 members of mlp:16,16 for %d generations of 500 steps, from the start of a process without compiled programs; the fastest of Optuna, its threads, joblib and Ray, running evosax",
			cartpoleTrials, cartpoleGenerations), 4, cartpoleStudy},
	}
	for _, sampler := range costSamplers {
		for _, n := range []int{100, 1000, 10000} {
			name := fmt.Sprintf("cost-%s-%d", sampler, n)
			if sampler == "random" {
				name = fmt.Sprintf("cost-%d", n)
			}
			all = append(all, studyWorkload{name, fmt.Sprintf("a trial that computes nothing, by the sampler %s, in a study that has %d already, one after the other", sampler, n), 0,
				func(ctx context.Context, b *studyBench, w studyWorkload) (studyLine, error) {
					return costOfTrial(ctx, b, w, sampler, n)
				}})
		}
	}
	return all
}

func studyCommand(h *host) *cobra.Command {
	var o commonFlags
	var long strings.Builder
	long.WriteString("Bench study times studies of hyper-parameters, with --peers beside Optuna, joblib and Ray, in turn; the ratio is the peer's time over ours, above 1\n" +
		"is ours ahead. All run on two cores and keep their files in one folder. Workloads:\n\n")
	for _, w := range studyWorkloads() {
		fmt.Fprintf(&long, "  %-23s %s\n", w.name, w.what)
	}
	cmd := &cobra.Command{
		Use: "study [NAME...]", Short: "Time studies of hyper-parameters, beside Optuna, joblib and Ray with --peers", Long: long.String(),
		Example: "  xlarun bench study --peers\n  xlarun bench study trials lanes --repeats 5",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.repeats < 1 {
				return console.BadInput("--repeats got %d, wants 1 or more", o.repeats)
			}
			chosen := studyWorkloads()
			if len(args) > 0 {
				var err error
				if chosen, err = picked(args, chosen, func(w studyWorkload) string { return w.name }); err != nil {
					return err
				}
			}
			return (&studyBench{bench: newBench(h, flags{commonFlags: o})}).run(cmd.Context(), chosen)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&o.repeats, "repeats", 3, "repeats, of which the median counts")
	f.BoolVar(&o.peers, "peers", false, "run the peers too")
	o.addPython(f)
	o.addJSON(f)
	cmd.AddCommand(samplersCommand(h))
	return cmd
}

type studyBench struct {
	*bench
	dir  string // of databases and specs
	made int    // files in it
}

func (b *studyBench) run(ctx context.Context, workloads []studyWorkload) (err error) {
	if b.dir, err = os.MkdirTemp("", "xlarun-study-*"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(b.dir) }()
	if b.flags.peers {
		if b.peers, err = newPeerRunner(ctx, b.host, b.flags.python); err != nil {
			return err
		}
		defer b.peers.close()
	}
	var lines []studyLine
	var s summary
	for _, w := range workloads {
		fmt.Fprintf(b.Out, "%s: %s\n", w.name, w.what)
		l, err := w.run(ctx, b, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		if l.Ratio != nil {
			l.Needed = w.needed
		}
		if l.Processor > 0 {
			l.note += fmt.Sprintf("%s: processor time %s", w.name, console.ShortTime(l.Processor))
			if l.ProcessorRatio > 0 {
				l.note += fmt.Sprintf(", ratio %.3g", l.ProcessorRatio)
			}
			l.note += "\n"
		}
		fmt.Fprintf(b.Out, "%s: %s\n", w.name, l.inWords())
		lines, s.Workloads = append(lines, l), append(s.Workloads, l.row)
	}
	if err := s.print(b.Out); err != nil {
		return err
	}
	if b.flags.json {
		return b.PrintJSON(map[string]any{"workloads": lines})
	}
	return nil
}

// file is a new path in the folder.
func (b *studyBench) file(name string) string {
	b.made++
	return filepath.Join(b.dir, fmt.Sprintf("%d-%s", b.made, name))
}

// beside times ours and several others in turn: the row of the fastest of them, by the medians.
func (b *studyBench) beside(name string, ours func() (spent, error), others []string, other func(name string) (spent, error)) (studyLine, error) {
	var own []spent
	theirs := make([][]spent, len(others))
	for i := range b.flags.repeats {
		fmt.Fprintf(b.Out, "%s: repeat %d of %d\n", name, i+1, b.flags.repeats)
		s, err := ours()
		if err != nil {
			return studyLine{}, err
		}
		own = append(own, s)
		for k, o := range others {
			if s, err = other(o); err != nil {
				return studyLine{}, err
			}
			theirs[k] = append(theirs[k], s)
		}
	}
	mine := mediansOf(own)
	l := studyLine{row: row{Name: name, Ours: mine.clock}, Processor: mine.processor}
	var best spent
	for k, o := range others {
		s := mediansOf(theirs[k])
		if len(others) > 1 {
			l.note += fmt.Sprintf("%s: %s %s\n", name, o, console.ShortTime(s.clock))
		}
		if k == 0 || s.clock < best.clock {
			best = s
			l.row = l.against(o, s.clock)
		}
	}
	if mine.processor > 0 {
		l.ProcessorRatio = best.processor / mine.processor
	}
	return l, nil
}
