package ppo

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"xlarun/rollout/ppo/aggregate"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// configuration is what some of the agents have in common: each setting of which there are several, and what those agents have come to.
type configuration struct {
	values  []float64 // of the settings, in the order of their names
	returns []float64 // recent ones
	agents  []int
}

// several are the names of the settings of which agents have several, and what each agent has.
func (c *Config) several() (names []string, values map[string][]float64) {
	values = c.each()
	for _, f := range settings.Fields(c) {
		if n, ok := f.Several(); ok && n.Each != "" {
			names = append(names, f.Name)
		}
	}
	return names, values
}

// configurations are those of the agents, the one with the highest interquartile mean first; nil where all agents have the same settings.
func (t *Training) configurations() (names []string, all []configuration) {
	names, values := t.config.several()
	if len(names) == 0 {
		return nil, nil
	}
	at := map[string]int{}
	for agent, x := range t.recent {
		var own []float64
		for _, name := range names {
			own = append(own, values[name][agent])
		}
		key := fmt.Sprint(own)
		i, there := at[key]
		if !there {
			i = len(all)
			at[key] = i
			all = append(all, configuration{values: own})
		}
		all[i].returns, all[i].agents = append(all[i].returns, x), append(all[i].agents, agent)
	}
	slices.SortStableFunc(all, func(a, b configuration) int { // one whose return is not known is the last
		x, y := aggregate.IQM(aggregate.Of(a.returns)), aggregate.IQM(aggregate.Of(b.returns))
		switch {
		case x > y || math.IsNaN(y) && !math.IsNaN(x):
			return -1
		case y > x || math.IsNaN(x) && !math.IsNaN(y):
			return 1
		}
		return 0
	})
	return names, all
}

// estimate is the interquartile mean of returns with its interval of 95 %; NaN where one is no number.
func (t *Training) estimate(returns []float64) aggregate.Interval {
	all, err := aggregate.Intervals(aggregate.Of(returns), aggregate.Options{Seed: uint64(t.config.Seed)}, aggregate.IQM)
	if err != nil { // of no agent
		return aggregate.Interval{Point: math.NaN(), Low: math.NaN(), High: math.NaN()}
	}
	return all[0]
}

// jsonNumbers are numbers of which those that are none are null.
func jsonNumbers(numbers []float64) []*float64 {
	out := make([]*float64, len(numbers))
	for i, x := range numbers {
		if finite(x) {
			out[i] = &x
		}
	}
	return out
}

func finite(numbers ...float64) bool {
	return !slices.ContainsFunc(numbers, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

// Files are, of several agents, what each has come to, and each configuration.
func (t *Training) Files(bool) ([]run.File, error) {
	if t.config.Agents == 1 || len(t.recent) == 0 {
		return nil, nil
	}
	file := map[string]any{"recent_return": jsonNumbers(t.recent)} // null where no episode has ended
	sums := func(file map[string]any, returns []float64) {
		if iqm := t.estimate(returns); finite(iqm.Point, iqm.Low, iqm.High) {
			file["interquartile_mean"], file["interval_95"] = iqm.Point, []float64{iqm.Low, iqm.High}
		}
	}
	sums(file, t.recent)
	names, all := t.configurations()
	_, values := t.config.several()
	for _, name := range names {
		file[strings.ReplaceAll(name, "-", "_")] = values[name]
	}
	var shown []map[string]any
	for _, c := range all {
		one := map[string]any{"agents": c.agents}
		for i, name := range names {
			one[strings.ReplaceAll(name, "-", "_")] = c.values[i]
		}
		sums(one, c.returns)
		shown = append(shown, one)
	}
	if shown != nil {
		file["configurations"] = shown
	}
	return []run.File{{Name: "agents.json", JSON: file}}, nil
}

// tableMost is the number of configurations that the table shows.
const tableMost = 20

// Table is, of several agents, what their returns are in the end, and of each configuration: the interquartile mean with its interval of 95 %, the mean, the least and the greatest.
func (t *Training) Table() []string {
	if t.config.Agents == 1 || len(t.recent) == 0 {
		return nil
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	names, all := t.configurations()
	for _, name := range names {
		fmt.Fprintf(w, "%s\t", strings.ToUpper(strings.ReplaceAll(name, "-", " ")))
	}
	fmt.Fprintln(w, "AGENTS\tINTERQUARTILE MEAN\t95 % INTERVAL\tMEAN\tLEAST\tGREATEST")
	row := func(first []string, returns []float64) {
		cells := append(first, fmt.Sprint(len(returns)), "-", "-", "-", "-", "-")
		if iqm := t.estimate(returns); !math.IsNaN(iqm.Point) {
			interval := "-"
			if len(returns) > 1 {
				interval = number(iqm.Low) + " to " + number(iqm.High)
			}
			copy(cells[len(first)+1:], []string{number(iqm.Point), interval, number(aggregate.Mean(aggregate.Of(returns))), number(slices.Min(returns)), number(slices.Max(returns))})
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	for i, c := range all {
		if i == tableMost {
			break
		}
		var first []string
		for _, x := range c.values {
			first = append(first, number(x))
		}
		row(first, c.returns)
	}
	first := make([]string, len(names))
	if len(names) > 0 {
		first[0] = "all"
	}
	row(first, t.recent)
	_ = w.Flush() // of a strings.Builder
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	if len(all) > tableMost {
		lines = append(lines, fmt.Sprintf("%d more configurations are in agents.json", len(all)-tableMost))
	}
	return lines
}
