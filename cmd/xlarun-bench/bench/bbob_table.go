package bench

import (
	"fmt"
	"slices"
	"strings"

	"xlarun/cmd/xlarun-bench/bench/bbob"
)

// markdown is docs/reference/bbob.md.
func (b *bbobBench) markdown(r bbobResult) string {
	var s strings.Builder
	o := b.flags
	var sizes []string
	for i, d := range o.dims {
		sizes = append(sizes, fmt.Sprintf("%d dimensions have %d members", d, o.populations[i]))
	}
	fmt.Fprintf(&s, bbobHead, b.command(), o.seeds, strings.Join(sizes, ", "), o.generations, bbobResolution)
	fmt.Fprint(&s, "| strategy | settings | better | equal | worse |\n| --- | --- | --- | --- | --- |\n")
	for _, c := range r.Comparisons {
		start := bbobStarts[c.Strategy]
		text := fmt.Sprintf("sigma %g", start.sigma)
		if start.rate > 0 {
			text += fmt.Sprintf(", learning rate %g", start.rate)
		}
		for name, value := range start.more {
			text += fmt.Sprintf(", %s %v", name, value)
		}
		fmt.Fprintf(&s, "| `%s` | %s | %d | %d | %d |\n", c.Strategy, text, c.Better, c.Equal, c.Worse)
	}
	fmt.Fprint(&s, "\n## Functions\n\nMedian distances to the optimum, ours / evosax's. **Bold**: ours is "+
		"significantly better. *Italic*: it is worse.\n")
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
				fmt.Fprintf(&s, " %s%.2g / %.2g%s |", mark, max(l.Ours, bbobResolution), max(l.Peer, bbobResolution),
					mark)
			}
			fmt.Fprintln(&s)
		}
	}
	fmt.Fprint(&s, bbobFoot)
	return s.String()
}

// command is the one that makes the page, with the flags that are not as they are by default.
func (b *bbobBench) command() string {
	o, d := b.flags, bbobDefaults()
	c := "xlarun bench bbob --peers"
	list := func(n []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(n), " ", ","), "[]") }
	if !slices.Equal(o.dims, d.dims) || !slices.Equal(o.populations, d.populations) {
		c += " --dims " + list(o.dims) + " --populations " + list(o.populations)
	}
	for _, f := range []struct {
		name         string
		value, usual int64
	}{{"generations", int64(o.generations), int64(d.generations)}, {"seeds", int64(o.seeds), int64(d.seeds)},
		{"seed", o.seed, d.seed}} {
		if f.value != f.usual {
			c += fmt.Sprintf(" --%s %d", f.name, f.value)
		}
	}
	return c + " --out docs/reference/bbob.md"
}

const bbobHead = `# Strategies on BBOB, beside evosax's

` + "`%s`" + ` writes such a page. It runs the 24 noiseless functions of black-box
optimization benchmarking (Hansen et al., 2009) with evosax 0.3.2's formulas. Each strategy that both have runs beside
evosax's:

- Both get the same functions, %d instances (shift and rotation, drawn from keys), starts, settings, members and
  generations.
- %s. A run has %d generations.
- The result of a run is the best value of all its members. Up to %g, float32's rounding, the optimum counts as
  found.

The runs on a function are compared by Wilcoxon's rank-sum test, exact and two-sided, with Holm's correction over all
comparisons of a strategy. "Better" and "worse" count the functions with a significant difference at 5 %%, "equal" the
others. Settings that are not named are the defaults of both.

`

const bbobFoot = `
## What differs by design

- ` + "`xnes`" + ` has a full matrix and evosax's stays diagonal. So ours is better on rotated functions.
- ` + "`cmaes`" + ` renews its eigenvectors less often than evosax's, which renews them in every generation.
- ` + "`de`, `pso`" + ` and ` + "`diffusion`" + ` begin on both sides with members around the start, which count as a
  generation.
- ` + "`maes`" + ` and ` + "`lmmaes`" + `: evosax weighs members for its matrix in their own order, not by fitness. In
  ` + "`lmmaes`" + ` rates are 1.9 at most. In evosax they exceed 2 with 32 members and 10 dimensions, and all is NaN.
- ` + "`rmes`" + `: the step size follows the ranks of fitness. evosax ranks weights, so its step size always falls.
  Each member has its own numbers along the paths.
- ` + "`iamalgam`" + ` and ` + "`iamalgamu`" + ` draw members with the covariance times the multiplier, as in the paper.
  evosax adds sigma to the covariance in each generation and draws without the multiplier.
- ` + "`asebo`, `guidedes`, `nres`" + ` and ` + "`pes`" + ` use centered ranks and Adam on both sides. The surrogate
  gradients of ` + "`guidedes`" + ` are the last estimates on both sides.

## What is not compared

` + "`eggroll` and `neat` are not in evosax. Of evosax 0.3.2's 37 strategies 8 are not here:\n\n" +
	`- Learned ES, Learned GA, CMA-anchored LES and EvoTF-ES are networks whose parameters come as Python pickles.
- Discovered ES, ESMC, Simple ES and SV-Open-ES are variants of strategies that are here.
`
