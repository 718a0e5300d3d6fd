package command

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

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
		return nil, nil, console.BadInput("%w", damagedAsBadInput(path, err))
	}
	names, directions, err := d.Studies()
	err = damagedAsBadInput(path, err)
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
	if err != nil {
		return nil, nil, errors.Join(damagedAsBadInput(path, err), d.Close())
	}
	return d, st, nil
}

// damagedAsBadInput names the file in an error that means that it is damaged.
func damagedAsBadInput(path string, err error) error {
	if rdb.IsDamaged(err) {
		return console.BadInput("%s is a damaged or cut database (%w): take it from a copy", path, err)
	}
	return err
}

// readOnlyCommand is a command that looks at a study.
func readOnlyCommand(a *cli.App, use, short string,
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
			return errors.Join(damagedAsBadInput(args[0], err), d.Close())
		}}
	cmd.Flags().StringVar(&name, "study", "", "name of the study, where the database has several")
	return cmd
}
