package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/machine"
	"xlarun/internal/quantity"
	"xlarun/rollout/plan"
)

// speed is a line of the history: what a workload took at a commit.
type speed struct {
	Workload  string    `json:"workload"` // SUITE/NAME
	Commit    string    `json:"commit"`
	Committed int64     `json:"committed"` // seconds since 1970
	Date      time.Time `json:"date"`
	Machine   string    `json:"machine"`
	Seconds   float64   `json:"seconds"`
	Processor float64   `json:"processor_seconds,omitempty"`
	Compile   float64   `json:"compile_seconds,omitempty"`
	Rate      float64   `json:"rate,omitempty"`
	Unit      string    `json:"unit,omitempty"`
	PeakBytes int64     `json:"peak_bytes,omitempty"`
	Load      float64   `json:"load"` // average of a minute
}

// historyFile is the file of the history that a flag names, or the user's.
func (h *host) historyFile(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	folder := h.Getenv("XDG_DATA_HOME")
	if folder == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", console.BadInput("--history got no file, and there is no home folder: %w", err)
		}
		folder = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(folder, "xlarun", "speed.jsonl"), nil
}

// appendHistory adds rows of a suite to a history.
func appendHistory(ctx context.Context, path, suite, commit string, all []row) error {
	committed, err := outputOf(exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct", commit))
	if err != nil {
		return err
	}
	at, err := strconv.ParseInt(strings.TrimSpace(committed), 10, 64)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	known := map[string]bool{} // a row for each peer has the same numbers of ours
	for _, r := range all {
		name := r.Name
		if r.Peer != nil {
			name = strings.TrimSuffix(name, "-"+*r.Peer)
		}
		if known[name] {
			continue
		}
		known[name] = true
		if err := keep(path, speed{Workload: suite + "/" + name, Commit: commit, Committed: at,
			Date: time.Now().UTC().Truncate(time.Second), Machine: machine.CPUKind(), Seconds: digits(r.Ours),
			Processor: digits(r.Processor), Compile: digits(r.Compile), Rate: digits(r.Rate), Unit: r.Unit,
			PeakBytes: r.PeakBytes, Load: load()}); err != nil {
			return err
		}
	}
	return nil
}

// readHistory reads a history.
func readHistory(path string) (all []speed, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, console.BadInput("there is no history of speed in %s (%w): make one by xlarun bench --record", path,
			console.Cause(err))
	}
	for i, line := range bytes.Split(text, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var s speed
		if err := json.Unmarshal(line, &s); err != nil || s.Workload == "" || s.Seconds <= 0 {
			return nil, console.BadInput("line %d of %s is no line of a history of speed: remove it", i+1, path)
		}
		all = append(all, s)
	}
	return all, nil
}

// track is a workload on one machine over commits, in their order.
type track struct {
	Workload string  `json:"workload"`
	Machine  string  `json:"machine"`
	Points   []point `json:"points"`
	Falls    []fall  `json:"falls,omitempty"`
	cpu      bool
}

// point is the median time of a workload at a commit, CPU time where all points have it.
type point struct {
	Commit  string  `json:"commit"`
	Seconds float64 `json:"seconds"`
}

// fall is a commit since which a workload takes longer, Ratio times as long as before.
type fall struct {
	Commit  string  `json:"commit"`
	Ratio   float64 `json:"ratio"`
	Subject string  `json:"subject,omitempty"`
}

// tracks returns the tracks of a history, in the order of their first lines.
func tracks(all []speed) (out []track) {
	type key struct{ workload, machine string }
	groups := map[key][]speed{}
	var order []key
	for _, s := range all {
		k := key{s.Workload, s.Machine}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], s)
	}
	for _, k := range order {
		group := groups[k]
		slices.SortStableFunc(group, func(a, b speed) int { return cmp.Compare(a.Committed, b.Committed) })
		t := track{Workload: k.workload, Machine: k.machine,
			cpu: !slices.ContainsFunc(group, func(s speed) bool { return s.Processor <= 0 })}
		times := map[string][]float64{}
		for _, s := range group {
			x := s.Seconds
			if t.cpu {
				x = s.Processor
			}
			if times[s.Commit] == nil {
				t.Points = append(t.Points, point{Commit: s.Commit})
			}
			times[s.Commit] = append(times[s.Commit], x)
		}
		for i := range t.Points {
			t.Points[i].Seconds = machine.Median(times[t.Points[i].Commit])
		}
		t.Falls = falls(t.Points)
		out = append(out, t)
	}
	return out
}

// mostRise is how much longer a workload may take than before.
const mostRise = 1.1

// falls finds the commits at which a workload fell: it takes longer than mostRise times the median of up to five
// commits before, and so it does at the next commit, where there is one. The commits before a fall do not count after
// it.
func falls(points []point) (all []fall) {
	from := 0
	for i := 1; i < len(points); i++ {
		before := machine.Median(each(points[max(from, i-5):i], func(p point) float64 { return p.Seconds }))
		next := points[min(i+1, len(points)-1)]
		if points[i].Seconds > mostRise*before && next.Seconds > mostRise*before {
			all = append(all, fall{Commit: points[i].Commit, Ratio: points[i].Seconds / before})
			from = i
		}
	}
	return all
}

type historyFlags struct {
	file, out, commits string
	repeats            int
	json               bool
}

func historyCommand(h *host) *cobra.Command {
	o := historyFlags{repeats: 1}
	cmd := &cobra.Command{
		Use: "history [SUITE/NAME...]", Args: cobra.ArbitraryArgs,
		Short: "Draw how fast workloads were, and name the commits at which they fell",
		Long: fmt.Sprintf("History draws what bench --record noted: the time of each workload over commits, CPU time "+
			"where it is known, on each kind of machine. A workload fell at a commit if it takes more than %.0f %% "+
			"longer than the median of up to five commits before, there and at the next commit.\n\n"+
			"With --commits it measures the named workloads at those commits first. It builds each commit in a "+
			"temporary worktree, once: the executables of the last %d commits are kept in the cache folder, also for "+
			"bench --against.", 100*(mostRise-1), mostKept),
		Example: "  xlarun bench history\n  xlarun bench history evolve/generation-small --commits HEAD~3..HEAD\n" +
			"  xlarun bench history --out speed.svg",
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), h, args) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	addHistory(f, &o.file)
	f.StringVar(&o.out, "out", "", "draw a chart of each workload into this file; its ending is the format")
	f.StringVar(&o.commits, "commits", "", "measure at these commits first, as git log names them: HEAD~3..HEAD")
	f.IntVar(&o.repeats, "repeats", o.repeats, "with --commits: repeats of each measurement")
	f.BoolVar(&o.json, "json", false, "end stdout with one line of JSON")
	return cmd
}

func (o historyFlags) run(ctx context.Context, h *host, names []string) error {
	path, err := h.historyFile(o.file)
	if err != nil {
		return err
	}
	if o.commits != "" {
		if err := o.measure(ctx, h, path, names); err != nil {
			return err
		}
	}
	all, err := readHistory(path)
	if err != nil {
		return err
	}
	found := tracks(all)
	known := each(found, func(t track) string { return t.Workload })
	for _, name := range names {
		if !slices.Contains(known, name) {
			return noWorkload(name, slices.Compact(slices.Sorted(slices.Values(known))))
		}
	}
	if len(names) > 0 {
		found = slices.DeleteFunc(found, func(t track) bool { return !slices.Contains(names, t.Workload) })
	}
	for _, t := range found {
		for i, f := range t.Falls {
			subject, _ := outputOf(exec.CommandContext(ctx, "git", "log", "-1", "--format=%s", f.Commit))
			t.Falls[i].Subject = strings.TrimSpace(subject) // "" outside of a checkout
		}
	}
	if err := printTracks(h, found); err != nil {
		return err
	}
	if o.out != "" {
		if err := drawTracks(o.out, found); err != nil {
			return err
		}
	}
	if o.json {
		return h.EndJSON(map[string]any{"rows": found}, nil)
	}
	return nil
}

// printTracks prints a line for each track, and for each fall.
func printTracks(h *host, all []track) error {
	t := tabwriter.NewWriter(h.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "WORKLOAD\tMACHINE\tCOMMITS\tFIRST\tLAST\tTIME\t")
	for _, x := range all {
		seconds := each(x.Points, func(p point) float64 { return p.Seconds })
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t\n", x.Workload, x.Machine, len(seconds),
			console.ShortTime(seconds[0]), console.ShortTime(seconds[len(seconds)-1]),
			display.Sparkline(seconds, 40, display.StyleOf(h.Getenv)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, x := range all {
		for _, f := range x.Falls {
			fmt.Fprintf(h.Out, "%s fell at %s, to %.2f times the time before: %s\n", x.Workload, f.Commit, f.Ratio,
				f.Subject)
		}
	}
	return nil
}

// measure adds workloads at commits to the history.
func (o historyFlags) measure(ctx context.Context, h *host, path string, names []string) error {
	if len(names) == 0 {
		return console.BadInput("--commits got %s without workloads: name some, as evolve/generation-small", o.commits)
	}
	if o.repeats < 1 {
		return console.BadInput("--repeats got %d, wants 1 or more", o.repeats)
	}
	options := Options{Tune: plan.TuneOff, Size: neurobench.SizeOn(time.Now())}
	for _, name := range names {
		if _, _, err := h.workloadOf(name, options); err != nil {
			return err
		}
	}
	args := []string{"rev-list", "--reverse", o.commits}
	if !strings.Contains(o.commits, "..") {
		args = []string{"rev-list", "--no-walk", o.commits}
	}
	list, err := outputOf(exec.CommandContext(ctx, "git", args...))
	if err != nil || strings.TrimSpace(list) == "" {
		return console.BadInput("--commits got %q, wants commits of the repository here, as HEAD~3..HEAD", o.commits)
	}
	for _, commit := range strings.Fields(list) {
		programs, err := h.kept(ctx, commit, "./cmd/xlarun-bench")
		if err != nil {
			return err
		}
		for _, name := range names {
			suite, w, err := h.workloadOf(name, options)
			if err != nil {
				return err
			}
			a := &against{host: h, process: processOf}
			b := a.againstBench(options, programs[0])
			b.flags.repeats = o.repeats
			found, err := b.time(ctx, &job{suite: suite, workload: w}, []*side{{start: b.ours(suite, w)}})
			for _, f := range b.cleanup {
				f()
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				fmt.Fprintf(h.Err, "%s is left out at %.8s: %v\n", name, commit, err)
				continue
			}
			if err := appendHistory(ctx, path, suite.Name, commit[:8], found); err != nil {
				return err
			}
		}
	}
	return nil
}

// historyTitle says what a chart shows.
func (t track) historyTitle() string {
	text := fmt.Sprintf("%s, %s", t.Workload, quantity.Count(len(t.Points), "commit", "commits"))
	for _, f := range t.Falls {
		text += fmt.Sprintf("\nfell at %s: %.2f times the time", f.Commit, f.Ratio)
	}
	return text
}
