package bench

import (
	"fmt"
	"strings"

	"xlarun/cmd/xlarun/bench/bbob"
)

// markdown is docs/bbob.md.
func (b *bbobBench) markdown(r bbobResult) string {
	var s strings.Builder
	o := b.flags
	var sizes []string
	for i, d := range o.dims {
		sizes = append(sizes, fmt.Sprintf("%d dimensions with %d members", d, o.populations[i]))
	}
	fmt.Fprintf(&s, bbobHead, o.seeds, strings.Join(sizes, ", "), o.generations, bbobResolution)
	fmt.Fprint(&s, "| strategy | settings | better | equal | worse |\n| --- | --- | --- | --- | --- |\n")
	for _, c := range r.Comparisons {
		start := bbobStarts[c.Strategy]
		own := fmt.Sprintf("sigma %g", start.sigma)
		if start.rate > 0 {
			own += fmt.Sprintf(", learning rate %g", start.rate)
		}
		fmt.Fprintf(&s, "| `%s` | %s | %d | %d | %d |\n", c.Strategy, own, c.Better, c.Equal, c.Worse)
	}
	fmt.Fprint(&s, "\n## Functions\n\nMedians of what was left to the optimum, ours / evosax's; **bold** where ours is significantly better, *italic* where it is worse.\n")
	for i, d := range o.dims {
		fmt.Fprintf(&s, "\n### %d dimensions\n\n| function |", d)
		for _, c := range r.Comparisons {
			fmt.Fprintf(&s, " %s |", c.Strategy)
		}
		fmt.Fprintf(&s, "\n| --- |%s\n", strings.Repeat(" --- |", len(r.Comparisons)))
		for j, f := range bbob.Functions() {
			fmt.Fprintf(&s, "| %s |", strings.ReplaceAll(f.Name, "_", " "))
			for _, c := range r.Comparisons {
				l := c.Lines[i*len(bbob.Functions())+j]
				mark := map[string]string{"better": "**", "worse": "*"}[l.verdict()]
				fmt.Fprintf(&s, " %s%.2g / %.2g%s |", mark, max(l.Ours, bbobResolution), max(l.Peer, bbobResolution), mark)
			}
			fmt.Fprintln(&s)
		}
	}
	return s.String()
}

const bbobHead = `# Strategies on BBOB, beside evosax's

Made by ` + "`xlarun bench bbob --peers --out docs/bbob.md`" + `, which writes the whole page: the 24 noiseless functions of black-box
optimisation benchmarking (Hansen et al., 2009) with evosax 0.3.2's formulas, each strategy that evosax has too beside evosax's, both with the
same functions, %d instances (shift and rotation, drawn from keys) and starts, settings, members and generations: %s,
%d generations. A run's result is the best value of all its members; up to %g, float32's rounding, the optimum counts as found.

Compared are the runs on a function by Wilcoxon's rank-sum test, exact and two-sided, with Holm's correction over all comparisons of
a strategy: better and worse are what it leaves at 5 %%, equal the rest. Settings that are not named are the defaults of both.

`
