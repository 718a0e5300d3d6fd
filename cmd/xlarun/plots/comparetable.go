package plots

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"xlarun/rollout/aggregate"
	"xlarun/rollout/run"
)

// tables returns the table of algorithms and, of several, that of improvements. The first row of each is its head.
func (c *comparison) tables() [][][]string {
	algorithms := [][]string{{"algorithm", "runs", "interquartile mean", "95 % interval", "mean", "least", "greatest"}}
	for _, a := range c.algorithms {
		algorithms = append(algorithms, []string{a.name, fmt.Sprint(len(a.scores)), short(a.iqm.Point),
			interval(a.iqm), short(a.mean), short(a.low), short(a.high)})
	}
	if c.failing() {
		algorithms[0] = append(algorithms[0], "with failures")
		for i, a := range c.algorithms {
			algorithms[i+1] = append(algorithms[i+1], fmt.Sprint(a.failing))
		}
	}
	improvements := [][]string{{"probability of improvement", "over", "probability", "95 % interval"}}
	for _, i := range c.improvements {
		improvements = append(improvements, []string{i.of, i.over, short(i.probability.Point), interval(i.probability)})
	}
	var all [][][]string
	if !c.onlyRanks {
		all = append(all, algorithms)
	}
	if len(c.improvements) > 0 {
		all = append(all, improvements)
	}
	return all
}

// interval returns the bounds of an interval, or that there are too few runs for one.
func interval(x aggregate.Interval) string {
	if math.IsNaN(x.Low) {
		return "too few runs"
	}
	return short(x.Low) + " to " + short(x.High)
}

// short returns a number with four digits.
func short(x float64) string {
	return strconv.FormatFloat(x, 'g', max(4, len(fmt.Sprintf("%.0f", math.Abs(x)))), 64)
}

// failing reports whether a run failed episodes.
func (c *comparison) failing() bool {
	return slices.ContainsFunc(c.algorithms, func(a algorithm) bool { return a.failing > 0 })
}

// caption says what the tables show.
func (c *comparison) caption() string {
	text := fmt.Sprintf("%s: %s", c.environment, c.score)
	if c.failing() {
		text += "; runs that failed episodes are below all others"
	}
	return text
}

// text returns the tables in columns.
func text(all []*comparison) string {
	return writeTables(all, "", func(b *strings.Builder, table [][]string) {
		w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
		for i, row := range table {
			line := strings.Join(row, "\t")
			if i == 0 {
				line = strings.ToUpper(line)
			}
			fmt.Fprintln(w, line)
		}
		_ = w.Flush() // a strings.Builder does not fail
	})
}

// markdown returns the tables in Markdown.
func markdown(all []*comparison) string {
	return writeTables(all, "\n", func(b *strings.Builder, table [][]string) {
		for i, row := range table {
			for k, cell := range row {
				row[k] = strings.ReplaceAll(cell, "|", `\|`)
			}
			fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				fmt.Fprintln(b, "|"+strings.Repeat(" --- |", len(row)))
			}
		}
	})
}

// writeTables returns the tables of comparisons, those of each under its caption. write writes one table.
func writeTables(all []*comparison, caption string, write func(b *strings.Builder, table [][]string)) string {
	var b strings.Builder
	for i, c := range all {
		if i > 0 {
			fmt.Fprintln(&b)
		}
		fmt.Fprint(&b, c.caption(), "\n", caption)
		for i, table := range c.tables() {
			if i > 0 {
				fmt.Fprintln(&b)
			}
			write(&b, table)
		}
	}
	return b.String()
}

// csvOf returns a row for each number: of an algorithm, of an improvement over another, or of a profile at a threshold.
func csvOf(all []*comparison) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"environment", "statistic", "algorithm", "over", "threshold", "value", "low", "high"})
	for _, c := range all {
		c.csv(w)
	}
	w.Flush() // a strings.Builder does not fail
	return b.String()
}

func (c *comparison) csv(w *csv.Writer) {
	number := func(x float64) string {
		if math.IsNaN(x) {
			return ""
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	row := func(statistic, of, over, threshold string, x aggregate.Interval) {
		_ = w.Write([]string{c.environment, statistic, of, over, threshold, number(x.Point), number(x.Low),
			number(x.High)})
	}
	only := func(x float64) aggregate.Interval {
		return aggregate.Interval{Point: x, Low: math.NaN(), High: math.NaN()}
	}
	for _, a := range c.algorithms {
		if c.onlyRanks {
			break
		}
		row("runs", a.name, "", "", only(float64(len(a.scores))))
		row("runs_with_failures", a.name, "", "", only(float64(a.failing)))
		row("interquartile_mean", a.name, "", "", a.iqm)
		row("mean", a.name, "", "", only(a.mean))
		row("least", a.name, "", "", only(a.low))
		row("greatest", a.name, "", "", only(a.high))
	}
	for _, i := range c.improvements {
		row("probability_of_improvement", i.of, i.over, "", i.probability)
	}
	for _, a := range c.algorithms {
		for k, p := range a.profile {
			row("performance_profile", a.name, "", number(c.thresholds[k]), p)
		}
	}
}

// json returns the comparison for a line of JSON. What is not finite is null.
func (c *comparison) json() map[string]any {
	bounds := func(x aggregate.Interval) any {
		if run.Finite(x.Low) == nil || run.Finite(x.High) == nil {
			return nil
		}
		return []float64{x.Low, x.High}
	}
	algorithms, improvements := []any{}, []any{}
	for _, a := range c.algorithms {
		if c.onlyRanks {
			break
		}
		scores, shares, intervals := []any{}, []any{}, []any{}
		for _, x := range slices.Concat(a.scores...) {
			scores = append(scores, run.Finite(x))
		}
		for _, p := range a.profile {
			shares, intervals = append(shares, p.Point), append(intervals, bounds(p))
		}
		algorithms = append(algorithms, map[string]any{"name": a.name, "runs": a.runs, "scores": scores,
			"failed_episodes":    a.failed,
			"interquartile_mean": run.Finite(a.iqm.Point), "interval_95": bounds(a.iqm), "mean": run.Finite(a.mean),
			"least": run.Finite(a.low), "greatest": run.Finite(a.high), "performance_profile": shares,
			"performance_profile_95": intervals})
	}
	for _, i := range c.improvements {
		improvements = append(improvements, map[string]any{"of": i.of, "over": i.over,
			"probability": run.Finite(i.probability.Point), "interval_95": bounds(i.probability)})
	}
	return map[string]any{"environment": c.environment, "score": c.score, "algorithms": algorithms,
		"probabilities_of_improvement": improvements, "thresholds": c.thresholds,
		"left_out": append([]string{}, c.leftOut...)}
}
