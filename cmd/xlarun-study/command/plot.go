package command

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/plots"
	"xlarun/studies"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

func studyPlotCommand(a *cli.App) *cobra.Command {
	out, objective := "", 0
	cmd := readOnlyCommand(a, "plot", "Draw the values of a study's complete trials that keep their constraints, and "+
		"the best so far, as PNG, SVG or PDF", func(st *study.Study, trials []*study.FrozenTrial) error {
		directions := st.Directions()
		if objective < 0 || objective >= len(directions) {
			return console.BadInput("--objective got %d, wants 0 to %d", objective, len(directions)-1)
		}
		name := fmt.Sprint("objective ", objective)
		if d, ok := st.Storage().(*rdb.DB); ok {
			name = studies.MetricNames(d, st)[objective]
		}
		drawn := drawable(trials, objective)
		if err := plots.History(out, st.Name, name, drawn, directions[objective] == study.Maximize); err != nil {
			return err
		}
		left := ""
		if drawn.LeftOut > 0 {
			left = ", without " + drawn.Missing()
		}
		fmt.Fprintf(a.Out, "the study is drawn in %s%s\n", out, left)
		return nil
	})
	cmd.Flags().StringVar(&out, "out", "study.png", "file to write")
	cmd.Flags().IntVar(&objective, "objective", 0, "number of the objective, from 0")
	return cmd
}

// drawable returns the complete trials that keep their constraints, with their values of an objective.
func drawable(trials []*study.FrozenTrial, objective int) plots.Trials {
	drawn := plots.Trials{Count: len(trials)}
	for _, t := range trials {
		if t.State != study.Complete || !t.Feasible() || objective >= len(t.Values) {
			continue
		}
		if x := t.Values[objective]; math.IsInf(x, 0) || math.IsNaN(x) {
			drawn.LeftOut++
		} else {
			drawn.Numbers, drawn.Values = append(drawn.Numbers, float64(t.Number)), append(drawn.Values, x)
		}
	}
	return drawn
}
