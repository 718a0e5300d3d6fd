package command

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/studies"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// outcomeOf says how a trial ended.
func outcomeOf(t *study.FrozenTrial) string {
	switch {
	case t.State == study.Fail:
		return "failed: " + console.ShortText(studies.Reason(t))
	case len(t.Values) == 0:
		return strings.ToLower(string(t.State))
	}
	var values []string
	for _, x := range t.Values {
		values = append(values, fmt.Sprintf("%.6g", x))
	}
	return strings.ToLower(string(t.State)) + "  " + strings.Join(values, ", ")
}

// paramsText is "pop=64 strategy.sigma=0.1".
func paramsText(t *study.FrozenTrial) string {
	external := t.External()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(external)) {
		if x, ok := external[name].(float64); ok {
			all = append(all, fmt.Sprintf("%s=%.4g", name, x))
			continue
		}
		all = append(all, fmt.Sprintf("%s=%v", name, external[name]))
	}
	return strings.Join(all, " ")
}

// openStudy opens a study to be looked at: by its spec's file, or by its database.
func openStudy(a *cli.App, at, name string) (*rdb.DB, *study.Study, error) {
	if strings.HasSuffix(at, ".toml") {
		s, err := readSpec(a, at, nil)
		if err != nil {
			return nil, nil, err
		}
		if at = s.Storage; name == "" {
			name = s.Name
		}
	}
	path, err := rdb.Path(at)
	if err != nil {
		return nil, nil, console.UsageError{Err: err}
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, nil, console.BadInput("%s is a folder: give the file of a study that was run, or its database",
			path)
	}
	if path != "" && !console.Exists(path) {
		return nil, nil, console.BadInput("there is no study in %s: give the file of a study that was run, or its "+
			"database", path)
	}
	if path == "" {
		path = rdb.Shown(at)
	}
	d, err := rdb.OpenReadOnly(at)
	if errors.Is(err, rdb.ErrNoStudies) {
		return nil, nil, console.BadInput("%s is no database of studies: give the file of a study that was run, or "+
			"its database", path)
	}
	if err != nil {
		return nil, nil, console.BadInput("%w", readable(path, err))
	}
	names, directions, err := d.Studies()
	err = readable(path, err)
	if err == nil && name == "" && len(names) == 1 {
		name = names[0]
	}
	if err == nil && directions[name] == nil {
		reason := fmt.Sprintf("%s has the studies %s", path, strings.Join(names, ", "))
		err = console.UsageError{Err: console.ChoiceError{Reason: reason, Choose: "study"}}
	}
	if err != nil {
		return nil, nil, errors.Join(err, d.Close())
	}
	st, err := study.New(name, study.Options{Storage: d, Directions: directions[name], Sampler: study.Random{}})
	return d, st, readable(path, err)
}

// readable names the file in an error that means that it is damaged.
func readable(path string, err error) error {
	if rdb.IsDamaged(err) {
		return console.BadInput("%s is a damaged or cut database (%w): take it from a copy", path, err)
	}
	return err
}

// lookCommand is a command that looks at a study.
func lookCommand(a *cli.App, use, short string,
	look func(st *study.Study, trials []*study.FrozenTrial) error) *cobra.Command {
	name := ""
	cmd := &cobra.Command{Use: use + " SPEC.toml|DATABASE", Short: short, Args: oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			d, st, err := openStudy(a, args[0], name)
			if err != nil {
				return err
			}
			trials, err := st.Trials()
			if err == nil {
				err = look(st, trials)
			}
			return errors.Join(readable(args[0], err), d.Close())
		}}
	cmd.Flags().StringVar(&name, "study", "", "name of the study, where the database has several")
	return cmd
}

func studyShowCommand(a *cli.App) *cobra.Command {
	return lookCommand(a, "show", "List the trials of a study, which may be under way",
		func(st *study.Study, trials []*study.FrozenTrial) error {
			count, foreign := map[study.State]int{}, 0
			attended := true
			if d, ok := st.Storage().(*rdb.DB); ok {
				var err error
				if attended, err = studies.IsRunning(d, st, trials); err != nil {
					return err
				}
			}
			abandoned := 0
			for _, t := range trials {
				count[t.State]++
				line := fmt.Sprintf("trial %d  %s  %s", t.Number, outcomeOf(t), paramsText(t))
				if t.SystemAttrs[study.SeesAttr] == nil && t.State != study.Waiting {
					foreign++
					line += "  (another program's)"
				} else if t.State == study.Running && !attended {
					abandoned++
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
				fmt.Fprintln(a.Out, line)
			}
			others := ""
			if abandoned > 0 {
				others = fmt.Sprintf(", of which nobody runs %d: the command that began the study goes on with them",
					abandoned)
			}
			if foreign > 0 {
				others += fmt.Sprintf("; %d were added by other programs", foreign)
			}
			explained := false
			for i, d := range st.Directions() {
				var shares []string
				for _, x := range study.Importances(trials, i) {
					shares = append(shares, fmt.Sprintf("%s %.0f %%", x.Name, 100*x.Share))
				}
				if len(shares) > 0 {
					fmt.Fprintf(a.Out, "importances for objective %d (%s): %s\n", i, strings.ToLower(string(d)),
						strings.Join(shares, ", "))
					explained = true
				}
			}
			if explained {
				fmt.Fprintln(a.Out, "an importance is the share of the variance of the values' ranks that one "+
					"parameter alone explains (first-order sensitivity index)")
			}
			fmt.Fprintf(a.Out, "%s: %d trials, %d complete, %d pruned, %d failed, %d waiting, %d under way%s\n",
				st.Name,
				len(trials),
				count[study.Complete], count[study.Pruned], count[study.Fail], count[study.Waiting],
				count[study.Running],
				others)
			return nil
		})
}
