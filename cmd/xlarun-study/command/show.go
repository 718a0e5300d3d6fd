package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/cli"
	"xlarun/internal/quantity"
	"xlarun/studies"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

func studyShowCommand(a *cli.App) *cobra.Command {
	return readOnlyCommand(a, "show", "List the trials of a study, which may be under way",
		func(st *study.Study, trials []*study.FrozenTrial) error {
			attended := true
			if d, ok := st.Storage().(*rdb.DB); ok {
				var err error
				if attended, err = studies.IsRunning(d, st, trials); err != nil {
					return err
				}
			}
			count, foreign, abandoned := map[study.State]int{}, 0, 0
			for _, t := range trials {
				count[t.State]++
				if isForeign(t) {
					foreign++
				} else if t.State == study.Running && !attended {
					abandoned++
				}
				fmt.Fprintln(a.Out, trialLine(t, attended))
			}
			printImportances(a, st, trials)
			others := ""
			if abandoned > 0 {
				others = fmt.Sprintf(", of which nobody runs %d: the command that began the study goes on with them",
					abandoned)
			}
			if foreign > 0 {
				others += "; " + quantity.Count(foreign, "was added by another program", "were added by other programs")
			}
			fmt.Fprintf(a.Out, "%s: %s, %d complete, %d pruned, %d failed, %d waiting, %d under way%s\n", st.Name,
				trialCount(len(trials)), count[study.Complete], count[study.Pruned],
				count[study.Fail], count[study.Waiting], count[study.Running], others)
			return nil
		})
}

// isForeign reports whether another program added a trial.
func isForeign(t *study.FrozenTrial) bool {
	return t.SystemAttrs[study.SeesAttr] == nil && t.State != study.Waiting
}

// trialLine describes a trial. attended means that somebody runs the study.
func trialLine(t *study.FrozenTrial, attended bool) string {
	line := fmt.Sprintf("trial %d  %s  %s", t.Number, outcomeOf(t), paramsText(t))
	if isForeign(t) {
		line += "  (another program's)"
	} else if t.State == study.Running && !attended {
		line += "  (nobody runs it)"
	}
	if !t.Feasible() {
		line += "  (breaks its constraints)"
	}
	if ignored, ok := study.System[[]string](t, study.IgnoredAttr); ok {
		line += "  (" + strings.Join(ignored, "; ") + ")"
	}
	if c, ok := study.System[study.Conflict](t, study.ConflictAttr); ok {
		line += fmt.Sprintf("  NOT DETERMINISTIC: digests %s and %s", c.First, c.Second)
	}
	return line
}

// printImportances prints the importances of the parameters for each objective.
func printImportances(a *cli.App, st *study.Study, trials []*study.FrozenTrial) {
	explained := false
	for i, d := range st.Directions() {
		var shares []string
		for _, x := range study.Importances(trials, i) {
			shares = append(shares, fmt.Sprintf("%s %.0f ± %.0f %%", x.Name, 100*x.Share, 100*x.Error))
		}
		if len(shares) > 0 {
			fmt.Fprintf(a.Out, "importances for objective %d (%s): %s\n", i, strings.ToLower(string(d)),
				strings.Join(shares, ", "))
			explained = true
		}
	}
	if explained {
		fmt.Fprintln(a.Out, "an importance is the share of the variance of the values' ranks that one "+
			"parameter alone explains (first-order sensitivity index), ± its standard error by the jackknife; "+
			"Optuna's also count joint effects, and sum to 100 %")
	}
}
