package plots

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/chart"
	"xlarun/rollout/aggregate"
	"xlarun/rollout/run"
)

// compareOptions holds the flags of compare.
type compareOptions struct {
	scoring
	by         []string
	references []string // ENV=RANDOM..TARGET or ENV=RANDOM
	format     string
	json       bool
	out        string
}

// formats are the formats of the table.
var formats = []string{"text", "markdown", "csv"}

// Compare is `xlarun compare`.
func Compare(streams console.Streams) *cobra.Command {
	var o compareOptions
	cmd := &cobra.Command{
		Use:   "compare RUN...",
		Short: "Compare the results of runs as rliable does",
		Long: "Compare compares runs of any kinds, in each environment. Runs that differ only in their seeds and " +
			"lengths are runs of one algorithm, and so are the agents of ppo. Their scores are the returns of their " +
			"results on new episodes, or a metric. " +
			"It prints the interquartile mean of each algorithm and the probability that a " +
			"run of one has a higher score than a run of another (equal ones count half), with 95 % intervals by " +
			"stratified bootstrap, as rliable defines them (Agarwal et al., 2021). Fewer than 8 runs of an " +
			"algorithm are too few for an interval.\n" +
			"Over several environments an algorithm is what has the same name in each. The probability of " +
			"improvement is the mean over the environments. With --reference scores are normalized, so that random " +
			"actions have 0 and the target 1, and their interquartile mean is over the runs in all environments.",
		Example: "  xlarun compare runs/*\n  xlarun compare runs/* --by strategy --format markdown --out " +
			"profile.svg\n  xlarun compare runs/* --metric eval_return --at 1000000\n" +
			"  xlarun compare runs/* --reference CartPole-v1=22 --reference Acrobot-v1=-499",
		Args: someRuns,
		RunE: func(cmd *cobra.Command, args []string) error { return o.compare(streams, args) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.metric, "metric", "", "the score, a number of metrics.jsonl, of which more is better (default the "+
		"return of the result on new episodes)")
	f.Float64Var(&o.at, "at", 0, "take the metric here, such as after 1000000 environment steps; 0 for the end of "+
		"each run")
	f.StringVar(&o.x, "x", "", "what --at counts, another of the numbers (default as in plot)")
	f.StringSliceVar(&o.by, "by", nil, "settings that make an algorithm of its own, between commas (default all "+
		"except the seed and the length)")
	f.StringArrayVar(&o.references, "reference", nil, "scores of random actions and of the target in an environment, "+
		"CartPole-v1=22..475, or CartPole-v1=22 with the target that it names; of each environment one")
	f.StringVar(&o.format, "format", "text", "format of the table: "+strings.Join(formats, ", "))
	f.StringVar(&o.out, "out", "", "file of a picture of the performance profiles, the share of runs above each "+
		"score; its ending selects the format: "+strings.Join(endings(), ", "))
	f.BoolVar(&o.json, "json", false, "end stdout with one line of JSON, the result")
	return cmd
}

// compare compares the runs in the folders.
func (o compareOptions) compare(streams console.Streams, dirs []string) error {
	if !slices.Contains(formats, o.format) {
		return console.BadInput("--format got %q, wants %s", o.format, strings.Join(formats, ", "))
	}
	if o.x != "" && o.at == 0 {
		return console.BadInput("--x got %q without --at: say where on it", o.x)
	}
	if o.out != "" {
		if err := checkEnding(o.out); err != nil {
			return err
		}
	}
	runs, err := readRuns(dirs)
	if err != nil {
		return err
	}
	all, err := o.inEnvironments(runs)
	if err != nil {
		return err
	}
	over, err := o.overEnvironments(all)
	if err != nil {
		return err
	}
	var leftOut []string
	for _, c := range all {
		leftOut = append(leftOut, c.leftOut...)
	}
	result := all[0].json()
	if over != nil {
		var each []any
		for _, c := range all {
			each = append(each, c.json())
		}
		result = over.json()
		result["environments"] = each
		leftOut = append(leftOut, over.leftOut...)
		if len(over.algorithms) > 0 {
			all = append(all, over)
		}
	}
	for _, line := range leftOut {
		_, _ = fmt.Fprintln(streams.Err, line)
	}
	var pictures []*chart.Chart
	for _, c := range all {
		if !c.onlyRanks {
			pictures = append(pictures, c.profileChart())
		}
	}
	if o.out != "" {
		if err := save(o.out, pictures, width, height*float64(len(pictures))); err != nil {
			return err
		}
	}
	var tables string
	switch o.format {
	case "text":
		tables = text(all)
	case "markdown":
		tables = markdown(all)
	case "csv":
		tables = csvOf(all)
	}
	if _, err := fmt.Fprint(streams.Out, tables); err != nil {
		return err
	}
	if o.out != "" && o.format == "text" {
		if _, err := fmt.Fprintln(streams.Out, "drew", o.out); err != nil {
			return err
		}
	}
	if o.json {
		return streams.PrintJSON(result)
	}
	return nil
}

// comparison is what compare finds in one environment, or over several.
type comparison struct {
	environment  string
	score        string
	onlyRanks    bool        // scores of several environments are on other scales: only improvements count
	algorithms   []algorithm // the highest interquartile mean first
	improvements []improvement
	thresholds   []float64 // of the performance profiles
	leftOut      []string  // lines about runs that do not count
}

// algorithm holds the runs that differ only in their seeds.
type algorithm struct {
	name            string
	over            string           // its name over several environments: with --by all of these settings
	first           *savedRun        // of the runs
	runs            []string         // folders, with the agent
	scores          aggregate.Scores // -Inf of a run that failed episodes
	ranks           aggregate.Scores // the more, the better: by failures first
	failed          []int            // episodes of each run
	failing         int              // scores of runs that failed episodes
	iqm             aggregate.Interval
	mean, low, high float64              // of the scores
	profile         []aggregate.Interval // at each threshold
}

// improvement is the probability that a run of one algorithm has a higher score than a run of another.
type improvement struct {
	of, over    string
	probability aggregate.Interval
}

// profilePoints is the number of thresholds of a performance profile.
const profilePoints = 101

// inEnvironments returns the comparison in each environment of the runs, in the order of the first runs.
func (o compareOptions) inEnvironments(runs []*savedRun) (all []*comparison, err error) {
	name := func(r *savedRun) string {
		if r.kind == "sparse" { // its data may be the same in two folders
			return r.kind
		}
		return r.environment()
	}
	for len(runs) > 0 {
		var here, others []*savedRun
		for _, r := range runs {
			if name(r) == name(runs[0]) {
				here = append(here, r)
			} else {
				others = append(others, r)
			}
		}
		c, err := o.comparison(here)
		if err != nil {
			return nil, err
		}
		all, runs = append(all, c), others
	}
	if len(all) > 1 && len(o.by) == 0 {
		if err := nameAlike(all); err != nil {
			return nil, err
		}
	}
	for _, c := range all {
		if err := c.estimate(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// comparison returns the algorithms that have runs in one environment, for estimate.
func (o compareOptions) comparison(runs []*savedRun) (*comparison, error) {
	var leftOut []string
	if len(o.by) == 0 { // what is left out does not choose the score either
		found, out, err := groups(runs, nil)
		if err != nil {
			return nil, err
		}
		runs, leftOut = kept(found), out
	}
	all, what, err := scores(runs, o.scoring)
	if err != nil {
		return nil, err
	}
	of, rank := map[*savedRun]scored{}, map[*savedRun]float64{}
	var each []*savedRun
	for _, s := range all {
		of[s.savedRun], each = s, append(each, s.savedRun)
		for _, other := range all {
			if other.Compare(s.EvalScore) < 0 {
				rank[s.savedRun]--
			}
		}
	}
	found, out, err := groups(each, o.by)
	if err != nil {
		return nil, err
	}
	what = strings.Replace(what, spaced(run.EvalReturn), runs[0].named(run.EvalReturn), 1)
	c := &comparison{environment: environments(runs), score: what, leftOut: append(leftOut, out...)}
	for _, g := range found {
		a := algorithm{name: cmp.Or(g.label, g.runs[0].kind), first: g.runs[0]}
		if a.over = a.name; len(o.by) > 0 {
			a.over = strings.TrimSuffix(a.first.kind+", "+words(a.first, o.by), ", ")
		}
		for _, r := range g.runs {
			name := filepath.Clean(r.dir)
			if agent, ok := r.settings[agentSetting]; ok {
				name += ", agent " + agent
			}
			a.runs, a.scores = append(a.runs, name), append(a.scores, []float64{of[r].number()})
			a.ranks, a.failed = append(a.ranks, []float64{rank[r]}), append(a.failed, of[r].Failed)
			if of[r].Failed > 0 {
				a.failing++
			}
		}
		c.algorithms = append(c.algorithms, a)
	}
	return c, nil
}

// estimate adds what the scores and ranks of the algorithms say.
func (c *comparison) estimate() error {
	low, high := math.Inf(1), math.Inf(-1)
	for _, a := range c.algorithms {
		for _, x := range slices.Concat(a.scores...) {
			if !math.IsInf(x, 0) {
				low, high = min(low, x), max(high, x)
			}
		}
	}
	var profile []aggregate.Statistic
	if low <= high {
		for i := range profilePoints {
			c.thresholds = append(c.thresholds, low+(high-low)*float64(i)/(profilePoints-1))
			profile = append(profile, aggregate.Above(c.thresholds[i]))
		}
	}
	for i := range c.algorithms {
		a := &c.algorithms[i]
		estimates, err := aggregate.Intervals(a.scores, aggregate.Options{},
			append([]aggregate.Statistic{aggregate.IQM, aggregate.Mean}, profile...)...)
		if err != nil {
			return err
		}
		a.iqm, a.mean, a.profile = estimates[0], estimates[1].Point, estimates[2:]
		all := slices.Concat(a.scores...)
		a.low, a.high = slices.Min(all), slices.Max(all)
	}
	sort.SliceStable(c.algorithms, func(i, j int) bool {
		a, b := c.algorithms[i], c.algorithms[j]
		return cmp.Or(cmp.Compare(b.iqm.Point, a.iqm.Point), // -Inf of both is equal
			cmp.Compare(aggregate.IQM(b.ranks), aggregate.IQM(a.ranks))) < 0
	})
	for i, a := range c.algorithms {
		for _, b := range c.algorithms[i+1:] {
			p, err := aggregate.Improvement(a.ranks, b.ranks, aggregate.Options{})
			if err != nil {
				return err
			}
			c.improvements = append(c.improvements, improvement{a.name, b.name, p})
		}
	}
	return nil
}

// profileChart draws the performance profiles.
func (c *comparison) profileChart() *chart.Chart {
	picture := &chart.Chart{Title: c.environment, XLabel: "score: " + c.score,
		YLabel: "share of runs with a higher score", Y: &chart.Range{Min: 0, Max: 1}}
	for i, a := range c.algorithms {
		line := styled(i)
		band := chart.Band{Color: line.Color}
		add := func(x float64, p aggregate.Interval) {
			line.Points = append(line.Points, chart.Point{X: x, Y: p.Point})
			band.Low = append(band.Low, chart.Point{X: x, Y: p.Low})
			band.High = append(band.High, chart.Point{X: x, Y: p.High})
		}
		for k, p := range a.profile {
			if k > 0 { // the share falls in steps
				add(c.thresholds[k], a.profile[k-1])
			}
			add(c.thresholds[k], p)
		}
		if len(a.scores) >= aggregate.LeastRuns {
			picture.Add(band)
		}
		picture.Add(line)
		picture.Legend(fmt.Sprintf("%s: %d runs", a.name, len(a.scores)), line)
	}
	return picture
}
