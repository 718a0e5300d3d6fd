package ppo

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"

	"xlarun/rollout/aggregate"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// configuration is a group of agents with the same settings.
type configuration struct {
	values  []float64 // of the settings that differ between agents, in the order of their names
	returns []float64 // Training.returns
	agents  []int
}

// agentSettings returns the names of the settings that differ between agents, and the value of each for each agent.
func (c *Config) agentSettings() (names []string, values map[string][]float64) {
	values = c.perAgent()
	for _, f := range settings.Fields(c) {
		if n, ok := f.Several(); ok && n.Each != "" {
			names = append(names, f.Name)
		}
	}
	return names, values
}

// returns returns a mean return for each agent: of its last evaluation, or of its recent episodes where there is none;
// nil before the first update.
func (t *Training) returns() []float64 {
	if each := t.evaluated[run.EvalReturn]; each != nil {
		return each
	}
	return t.recent
}

// configurations returns the configurations of the agents, the highest interquartile mean first; nil if no setting
// differs.
func (t *Training) configurations() (names []string, all []configuration) {
	names, values := t.config.agentSettings()
	if len(names) == 0 {
		return nil, nil
	}
	index := map[string]int{}
	for agent, x := range t.returns() {
		var combination []float64
		for _, name := range names {
			combination = append(combination, values[name][agent])
		}
		key := fmt.Sprint(combination)
		i, ok := index[key]
		if !ok {
			i = len(all)
			index[key] = i
			all = append(all, configuration{values: combination})
		}
		all[i].returns, all[i].agents = append(all[i].returns, x), append(all[i].agents, agent)
	}
	sort.SliceStable(all, func(i, j int) bool { // the highest first; cmp puts NaN last
		return cmp.Less(aggregate.IQM(aggregate.Of(all[j].returns)), aggregate.IQM(aggregate.Of(all[i].returns)))
	})
	return names, all
}

// estimate returns the interquartile mean of returns with its 95 % interval. The interval is NaN for fewer than
// aggregate.LeastRuns returns, and all is NaN if a return is NaN.
func (t *Training) estimate(returns []float64) aggregate.Interval {
	all, err := aggregate.Intervals(aggregate.Of(returns), aggregate.Options{Seed: uint64(t.config.Seed)},
		aggregate.IQM)
	if err != nil { // no agents
		return aggregate.Interval{Point: math.NaN(), Low: math.NaN(), High: math.NaN()}
	}
	return all[0]
}

// jsonNumbers returns numbers for a JSON file. Numbers that are not finite are null.
func jsonNumbers(numbers []float64) []*float64 {
	out := make([]*float64, len(numbers))
	for i, x := range numbers {
		out[i] = run.Finite(x)
	}
	return out
}

func finite(numbers ...float64) bool {
	return !slices.ContainsFunc(numbers, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

// Files returns the critic and, of several agents, each agent's returns and configurations.
func (t *Training) Files(run.Snapshot, bool) (files []run.File, err error) {
	critic, ok, err := t.criticFile()
	if err != nil {
		return nil, err
	}
	if ok {
		files = append(files, critic)
	}
	if agents, ok := t.agentsFile(); ok {
		files = append(files, agents)
	}
	return files, nil
}

// agentsFile returns the file of several agents.
func (t *Training) agentsFile() (f run.File, ok bool) {
	if t.config.Agents == 1 || len(t.recent) == 0 {
		return f, false
	}
	file := map[string]any{"recent_return": jsonNumbers(t.recent)} // null where no episode has ended
	for name, each := range t.evaluated {
		file[name] = jsonNumbers(each)
	}
	addEstimate := func(file map[string]any, returns []float64) {
		iqm := t.estimate(returns)
		if finite(iqm.Point) {
			file["interquartile_mean"] = iqm.Point
		}
		if finite(iqm.Point, iqm.Low, iqm.High) {
			file["interval_95"] = []float64{iqm.Low, iqm.High}
		}
	}
	addEstimate(file, t.returns())
	names, all := t.configurations()
	_, values := t.config.agentSettings()
	for _, name := range names {
		file[strings.ReplaceAll(name, "-", "_")] = values[name]
	}
	var shown []map[string]any
	for _, c := range all {
		one := map[string]any{"agents": c.agents}
		for i, name := range names {
			one[strings.ReplaceAll(name, "-", "_")] = c.values[i]
		}
		addEstimate(one, c.returns)
		shown = append(shown, one)
	}
	if shown != nil {
		file["configurations"] = shown
	}
	return run.File{Name: "agents.json", JSON: file}, true
}

// maxTableRows is the number of configurations that the table shows.
const maxTableRows = 20

// Table returns a table of the returns of several agents, with a row for each configuration: the interquartile mean
// with its 95 % bootstrap interval, the mean, the least and the greatest. Its first line says which returns these are.
func (t *Training) Table() []string {
	if t.config.Agents == 1 || len(t.recent) == 0 {
		return nil
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	names, all := t.configurations()
	what := "recent returns while learning"
	if t.evaluated[run.EvalReturn] != nil {
		what = "mean returns of the last evaluation on new episodes"
	}
	for _, name := range names {
		fmt.Fprintf(w, "%s\t", strings.ToUpper(strings.ReplaceAll(name, "-", " ")))
	}
	fmt.Fprintln(w, "AGENTS\tINTERQUARTILE MEAN\t95 % INTERVAL\tMEAN\tLEAST\tGREATEST")
	row := func(first []string, returns []float64) {
		cells := append(first, fmt.Sprint(len(returns)), "-", "-", "-", "-", "-")
		if iqm := t.estimate(returns); !math.IsNaN(iqm.Point) {
			interval := "too few agents"
			if len(returns) >= aggregate.LeastRuns {
				interval = number(iqm.Low) + " to " + number(iqm.High)
			}
			copy(cells[len(first)+1:], []string{number(iqm.Point), interval,
				number(aggregate.Mean(aggregate.Of(returns))), number(slices.Min(returns)),
				number(slices.Max(returns))})
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	for i, c := range all {
		if i == maxTableRows {
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
	row(first, t.returns())
	_ = w.Flush() // a strings.Builder does not fail
	lines := append([]string{fmt.Sprintf("%s; a bootstrap interval wants %d agents", what, aggregate.LeastRuns)},
		strings.Split(strings.TrimRight(b.String(), "\n"), "\n")...)
	if len(all) > maxTableRows {
		lines = append(lines, fmt.Sprintf("%d more configurations are in agents.json", len(all)-maxTableRows))
	}
	return lines
}
