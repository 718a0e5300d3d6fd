package bench

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

func (b *samplerBench) print(all []samplerComparison) error {
	t := tabwriter.NewWriter(b.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "SAMPLER\tPROBLEM\tTRIALS\tOURS\tOPTUNA\tP\tCORRECTED\t")
	for _, c := range all {
		for _, l := range c.Lines {
			if b.flags.peers {
				fmt.Fprintf(t, "%s\t%s\t%d\t%.3g\t%.3g\t%.2g\t%.2g\t%s\n", c.Sampler, l.Problem, l.Trials, l.Ours, l.Peer, l.P, l.Holm, l.verdict())
			} else {
				fmt.Fprintf(t, "%s\t%s\t%d\t%.3g\n", c.Sampler, l.Problem, l.Trials, l.Ours)
			}
		}
	}
	if err := t.Flush(); err != nil || !b.flags.peers {
		return err
	}
	fmt.Fprintln(b.Out)
	fmt.Fprintln(t, "SAMPLER\tBETTER\tEQUAL\tWORSE\tCOMPARISONS")
	for _, c := range all {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\n", c.Sampler, c.Better, c.Equal, c.Worse, len(c.Lines))
	}
	return t.Flush()
}

// markdown is a table with a line a problem and a column a sampler: the medians after the last of the trials, ours and Optuna's.
func (b *samplerBench) markdown(all []samplerComparison) string {
	var s strings.Builder
	names := each(all, func(c samplerComparison) string { return "`" + c.Sampler + "`" })
	fmt.Fprintf(&s, "| problem, dimensions | trials | %s |\n|%s\n", strings.Join(names, " | "), strings.Repeat(" --- |", len(names)+2))
	for i, first := range all[0].Lines {
		name := first.Problem
		if first.Dims > 0 {
			name = fmt.Sprintf("%s, %d", name, first.Dims)
		}
		row := []string{name, fmt.Sprint(first.Trials)}
		for _, c := range all {
			l := c.Lines[i]
			mark := map[string]string{"better": " **", "worse": " *"}[l.verdict()]
			row = append(row, fmt.Sprintf("%.2g / %.2g%s", l.Ours, l.Peer, strings.ReplaceAll(mark, "*", "\\*")))
		}
		fmt.Fprintf(&s, "| %s |\n", strings.Join(row, " | "))
	}
	row := []string{"better / equal / worse", ""}
	for _, c := range all {
		row = append(row, fmt.Sprintf("%d / %d / %d", c.Better, c.Equal, c.Worse))
	}
	return s.String() + "| " + strings.Join(slices.Clip(row), " | ") + " |\n"
}
