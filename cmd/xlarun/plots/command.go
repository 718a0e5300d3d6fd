// Package plots draws the learning curves of runs.
package plots

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/chart"
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
		Long: "Plot draws a metric of one run or of several. A run may be in progress. Runs that differ only in " +
			"their seeds (and where they were computed) are one curve: their mean with its 95 % confidence interval " +
			"by Student's t. A run that ended earlier than others of its curve keeps its last value. Of one run of " +
			"qd, without --metric, it draws the cells of the archive, colored by fitness, and the elites' objectives.",
		Example: "  xlarun plot runs/20260102-150405-CartPole-v1\n  xlarun plot runs/* --metric best_fitness --x " +
			"env_steps --by strategy --out curves.svg",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return console.BadInput("got no argument, wants the folders of runs")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := o.plot(args)
			if err == nil {
				_, err = fmt.Fprintln(streams.Out, "drew", path)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringSliceVar(&o.metrics, "metric", nil, "what to draw, numbers of metrics.jsonl between commas (default "+
		"mean_fitness if there is one, else the first)")
	f.StringVar(&o.x, "x", "", "what to draw it over, another of the numbers (default the steps, such as generations)")
	f.StringSliceVar(&o.by, "by", nil, "settings that make a curve of their own, between commas (default all except "+
		"the seed)")
	f.StringVar(&o.out, "out", "", "file of the picture, its ending selects the format: "+
		strings.Join(endings(), ", ")+" (default plot.png, in the run's folder if there is only one)")
	return cmd
}

// plot draws the runs in the folders and returns the picture's path.
func (o options) plot(dirs []string) (path string, err error) {
	path = o.out
	if path == "" {
		path = "plot.png"
		if len(dirs) == 1 {
			path = filepath.Join(dirs[0], path)
		}
	}
	if err := checkEnding(path); err != nil {
		return "", err
	}
	var runs []*savedRun
	for _, dir := range dirs {
		r, err := readRun(dir)
		if err != nil {
			return "", err
		}
		if first := append(runs, r)[0]; r.kind != first.kind || r.unit != first.unit {
			return "", console.BadInput("%s is a run of %s in %ss, %s one of %s in %ss: draw them apart", dir, r.kind,
				r.unit, dirs[0], first.kind, first.unit)
		}
		runs = append(runs, r)
	}
	if runs[0].kind == "qd" && len(runs) == 1 && len(o.metrics) == 0 && o.x == "" && len(o.by) == 0 {
		charts, err := archiveCharts(dirs[0])
		if err != nil {
			return "", err
		}
		return path, save(path, charts, float64(len(charts))*6*inch, 6*inch)
	}
	metrics := o.metrics
	if len(metrics) == 0 {
		metrics = runs[0].metrics[:1]
		if slices.Contains(runs[0].metrics, "mean_fitness") {
			metrics = []string{"mean_fitness"}
		}
	}
	x := o.x
	if x == "" {
		x = runs[0].unit
	}
	for i, r := range runs {
		for _, name := range append(slices.Clone(metrics), x) {
			flag := "metric"
			if name == x {
				flag = "x"
			}
			if _, ok := r.column(name); !ok {
				known := append([]string{r.unit}, r.metrics...)
				return "", console.BadInput("--%s got %q, wants a number that %s has%s: %s", flag, name, dirs[i],
					console.DidYouMean(name, known), strings.Join(known, ", "))
			}
		}
	}
	all, err := groups(runs, o.by)
	if err != nil {
		return "", err
	}
	title := runs[0].settings["env"]
	if slices.ContainsFunc(runs, func(r *savedRun) bool { return r.settings["env"] != title }) || title == "" {
		title = runs[0].kind
	}
	c, err := curvesChart(title, x, metrics, all)
	if err != nil {
		return "", console.BadInput("%w: the runs have had no finite one", err)
	}
	if err := save(path, []*chart.Chart{c}, width, height); err != nil {
		return "", err
	}
	return path, nil
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
