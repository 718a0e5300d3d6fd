package bench

import (
	"fmt"
	"strings"
)

// markdown returns a table with a row for each problem and a column for each sampler: our median and Optuna's.
func (b *samplerBench) markdown(all []comparison) string {
	var s strings.Builder
	names := each(all, func(c comparison) string { return "`" + c.Sampler + "`" })
	fmt.Fprintf(&s, "| problem, dimensions | trials | %s |\n|%s\n", strings.Join(names, " | "),
		strings.Repeat(" --- |", len(names)+2))
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
	return s.String() + "| " + strings.Join(row, " | ") + " |\n"
}
