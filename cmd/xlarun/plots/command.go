// Package plots draws the learning curves of runs.
package plots

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/chart"
	"xlarun/rollout/run"
)

// options holds the flags.
type options struct {
	metrics []string
	x       string
	by      []string
	out     string
}

// Command is `xlarun plot`.
func Command(streams console.Streams) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "plot RUN...",
		Short: "Draw the learning curves of runs",
		Long: "Plot draws a metric of one run or of several, of any kinds. A run may be in progress. The default is " +
			"eval_return, and paler what the run says about training, such as the population's mean; runs that have " +
			"no evaluations have only that. Runs that differ only in their seeds (and in where they were computed " +
			"and how long) are one curve: their interquartile mean and, from 8 runs on, its 95 % stratified " +
			"bootstrap interval (rliable). Fewer runs are drawn one by one. A " +
			"run that ended earlier than others of its curve keeps its " +
			"last value. Of one run of qd, without --metric, it draws the cells of the archive, colored by fitness, " +
			"and the elites' objectives, by their means over new episodes once the run has played these.",
		Example: "  xlarun plot runs/20260102-150405-CartPole-v1\n  xlarun plot runs/* --metric best_fitness --x " +
			"env_steps --by strategy --out curves.svg",
		Args: someRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			drew, leftOut, err := o.plot(args)
			if err != nil {
				return err
			}
			for _, line := range leftOut {
				_, _ = fmt.Fprintln(streams.Err, line)
			}
			_, err = fmt.Fprintln(streams.Out, "drew", drew)
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringSliceVar(&o.metrics, "metric", nil, "what to draw, numbers of metrics.jsonl between commas (default "+
		"eval_return, else mean_fitness if there is one, else the first)")
	f.StringVar(&o.x, "x", "", "what to draw it over, another of the numbers (default env_steps of runs that "+
		"have eval_return, else the steps, such as generations)")
	f.StringSliceVar(&o.by, "by", nil, "settings that make a curve of their own, between commas (default all except "+
		"the seed and the length)")
	f.StringVar(&o.out, "out", "", "file of the picture, its ending selects the format: "+
		strings.Join(endings(), ", ")+" (default plot.png, in the run's folder if there is only one)")
	return cmd
}

// someRuns refuses a command without folders of runs.
func someRuns(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return console.BadInput("got no argument, wants the folders of runs")
	}
	return nil
}

// plot draws the runs in the folders. It returns the picture's path and, if the runs have no evaluations, what it
// shows; and the lines about runs that are left out.
func (o options) plot(dirs []string) (drew string, leftOut []string, err error) {
	path := o.out
	if path == "" {
		path = "plot.png"
		if len(dirs) == 1 {
			path = filepath.Join(dirs[0], path)
		}
	}
	if err := checkEnding(path); err != nil {
		return "", nil, err
	}
	runs, err := readRuns(dirs)
	if err != nil {
		return "", nil, err
	}
	for _, r := range runs {
		if first := runs[0]; r.kind != first.kind && r.environment() != first.environment() {
			return "", nil, console.BadInput("%s is a run of %s in %s, %s one of %s in %s: kinds are drawn together "+
				"in one environment", r.dir, r.kind, r.environment(), first.dir, first.kind, first.environment())
		}
	}
	if runs[0].kind == "qd" && len(runs) == 1 && len(o.metrics) == 0 && o.x == "" && len(o.by) == 0 {
		charts, err := archiveCharts(dirs[0])
		if err != nil {
			return "", nil, err
		}
		return path, nil, save(path, charts, float64(len(charts))*6*inch, 6*inch)
	}
	all, leftOut, err := groups(runs, o.by)
	if err != nil {
		return "", nil, err
	}
	runs = kept(all)
	measures := defaultMeasures(runs)
	if len(o.metrics) > 0 {
		measures = nil
		for _, name := range o.metrics {
			measures = append(measures, measure{metric: name, axis: runs[0].named(name)})
			if err := check(runs, "metric", name); err != nil {
				return "", nil, err
			}
		}
	}
	x := o.x
	if x == "" {
		if x, err = defaultX(runs); err != nil {
			return "", nil, err
		}
	} else if err := check(runs, "x", x); err != nil {
		return "", nil, err
	}
	c, err := curvesChart(environments(runs), x, measures, all)
	if err != nil {
		return "", nil, console.BadInput("%w: the runs have had no finite one", err)
	}
	drew = path
	if i := slices.IndexFunc(runs, func(r *savedRun) bool { return !r.measures(run.EvalReturn) }); i >= 0 &&
		len(o.metrics) == 0 {
		has := "has no"
		if runs[i].has(run.EvalReturn) {
			has = "has no finite"
		}
		drew = fmt.Sprintf("%s: %s (%s %s %s)", path, measures[0].axis, runs[i].dir, has, run.EvalReturn)
	}
	return drew, leftOut, save(path, []*chart.Chart{c}, width, height)
}

// readRuns reads the folders of runs.
func readRuns(dirs []string) (runs []*savedRun, err error) {
	for _, dir := range dirs {
		r, err := readRun(dir)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// environment names what a run learns: an environment, a game, a data set; else its kind.
func (r *savedRun) environment() string {
	game := r.settings["game"]
	if game == "clique" {
		game += ", " + words(r, []string{"vertices", "k", "variant"})
	}
	name := r.settings["env"]
	if r.kind == "sparse" {
		name = "MNIST"
		if data := r.settings["data"]; data != "" {
			name = filepath.Base(data)
		}
	}
	return cmp.Or(name, game, r.kind)
}

// environments names what runs learn.
func environments(runs []*savedRun) string {
	var names []string
	for _, r := range runs {
		if !slices.Contains(names, r.environment()) {
			names = append(names, r.environment())
		}
	}
	return strings.Join(names, ", ")
}

// check refuses a flag whose metric some run lacks.
func check(runs []*savedRun, flag, metric string) error {
	for _, r := range runs {
		if _, ok := r.column(metric); !ok {
			known := append([]string{r.unit}, r.metrics...)
			return console.BadInput("--%s got %q, wants a number that %s has%s: %s", flag, metric, r.dir,
				console.DidYouMean(metric, known), strings.Join(known, ", "))
		}
	}
	return nil
}

// write replaces a file. A failure leaves the old file.
func write(path string, data []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return errors.New("it is no file")
	} else if err == nil && info.Mode().Perm()&0o200 == 0 {
		return errors.New("it may not be written to")
	}
	return console.WriteFile(path, data)
}
