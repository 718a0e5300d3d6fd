package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/play"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/settings"
)

// kindCommand returns the command of a kind of run.
func kindCommand(a *App, k run.Kind) *cobra.Command {
	g := &flagValues{opening: a.preload}
	use, title := k.Name, k.Name
	if k.Argument != "" {
		use, title = fmt.Sprintf("%s [%s|CONFIG]", k.Name, strings.ToUpper(k.Argument)), strings.ToUpper(k.Argument)
	}
	cmd := &cobra.Command{
		Use: use, Short: k.Short, Long: k.Long, Example: k.Example,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 0 && k.Argument == "":
				if _, ok := configOf(args[0]); !ok || len(args) > 1 {
					return console.BadInput("got the argument %q, wants none, or a config file", args[0])
				}
			case len(args) > 1:
				return console.BadInput("got %d arguments (%s), wants one %s or config file", len(args),
					strings.Join(args, ", "), argumentName(k))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.fromStudy(cmd.Context(), k, g); err != nil {
				return err
			}
			if err := console.CheckGrace(g.own.grace); err != nil {
				return err
			}
			s, err := a.newScreen(&g.own.log)
			if err != nil {
				return err
			}
			arg := strings.Join(args, "")
			m, notices, err := a.openMirror(cmd.Context(), g.own, func(has bool) error {
				if !has && arg == "" && g.own.file == "" && k.Argument != "" {
					return nil // the settings are those of the run in the mirror
				}
				before := *g
				before.opening = nil
				_, err := before.readRun(k, arg)
				return err
			})
			if err != nil {
				return err
			}
			t, err := g.readRun(k, arg)
			if err != nil {
				return err
			}
			t.notices = append(t.notices, notices...)
			return a.runTask(cmd.Context(), t, g.own, m, s)
		},
	}
	if !a.addRunFlags(cmd, g, k) {
		return cmd
	}
	g.addCall(cmd.Flags(), title)
	return cmd
}

func argumentName(k run.Kind) string {
	if k.Argument == "env" {
		return "environment"
	}
	return k.Argument
}

// readRun resolves the command line of a run.
func (g *flagValues) readRun(k run.Kind, arg string) (*task, error) {
	file, arg, err := g.splitArgument(arg)
	if err != nil {
		return nil, err
	}
	if g.trial != nil && g.own.resume != "" {
		return nil, console.BadInput("--resume %s goes on with the settings of that run: leave --from-study out",
			g.own.resume)
	}
	if g.own.drop && g.own.resume == "" {
		return nil, console.BadInput("--drop-rows got true, but it goes with --resume: a new run has no rows; " +
			"leave it out")
	}
	if g.own.resume == resumeAuto {
		return g.readAuto(k, arg, file)
	}
	if g.own.resume != "" {
		if file != "" || arg != "" || g.own.out != "" {
			return nil, console.BadInput("--resume %s goes on with the settings and in the folder of that run: leave "+
				"the argument, --config and --out out", g.own.resume)
		}
		return g.readResume(k, "", nil)
	}
	return g.readNew(k, arg, file)
}

// readNew resolves the settings of a new run.
func (g *flagValues) readNew(k run.Kind, arg, file string) (*task, error) {
	c := g.trial
	if c != nil && file != "" {
		return nil, console.BadInput("got the config file %s and --from-study %s: give one of them", file, g.own.study)
	}
	if file != "" {
		var err error
		if c, err = readConfig(file); err != nil {
			return nil, err
		}
	}
	t, err := g.resolve(k, arg, c)
	if err == nil {
		err = errors.Join(g.checkTune(t), g.checkNoFolder())
	}
	return t, err
}

// checkTune refuses to measure plans if the plan is given by flags or a file. The config of a run has both the wanted
// tuning and the plan that was chosen, so only the flag --tune counts.
func (g *flagValues) checkTune(t *task) error {
	wanted := g.values["tune"]
	if wanted != plan.TuneQuick && wanted != plan.TuneFull {
		return nil
	}
	if p := t.job.Plan; p != nil && len(p.Given) > 0 {
		return console.BadInput("--tune got %s, but the plan is given (%s), so that there is nothing to measure: "+
			"leave one of them out", wanted, strings.Join(p.Given, ", "))
	}
	return nil
}

// checkNoFolder refuses flags about the run's files beside --out none.
func (g *flagValues) checkNoFolder() error {
	if g.own.out != "none" {
		return nil
	}
	for _, name := range []string{"sample", "checkpoint-every", "keep", "tensorboard-axis"} {
		if text, given := g.values[name]; given {
			return console.BadInput("--%s got %s, wants a folder of the run beside it: --out none writes no files",
				name, text)
		}
	}
	return nil
}

// resumeAuto is the value of --resume that goes on with the run in --out, or starts it.
const resumeAuto = "auto"

// readAuto resolves the settings of a run that goes on if its folder has a checkpoint, and starts otherwise.
func (g *flagValues) readAuto(k run.Kind, arg, file string) (*task, error) {
	out := g.own.out
	if out == "" || out == "none" {
		return nil, console.BadInput("--resume auto wants --out FOLDER too: the folder of the run that starts or " +
			"goes on")
	}
	checkpoint, holds := holdsCheckpoint(out, runfolder.Options{})
	if !checkpoint {
		g.own.resume, g.own.fresh = "", holds
		return g.readNew(k, arg, file)
	}
	g.own.resume, g.own.out = out, ""
	var values map[string]any
	if file != "" {
		c, err := readConfig(file)
		if err != nil {
			return nil, err
		}
		if err := c.checkKind(k); err != nil {
			return nil, err
		}
		values = c.values
	}
	return g.readResume(k, arg, values)
}

// readResume resolves the settings of a resumed run: those in its folder, except the few that flags may change. values
// are settings of a file that the user gives too, and arg is the argument; they count as flags do.
func (g *flagValues) readResume(k run.Kind, arg string, values map[string]any) (*task, error) {
	path := filepath.Join(g.own.resume, "config.toml")
	if !console.Exists(path) {
		if info, err := os.Stat(g.own.resume); err == nil && info.IsDir() {
			return nil, console.BadInput("--resume %s: a run there was stopped before it had done anything, or there "+
				"was none, as no config.toml is in it: start it anew", g.own.resume)
		}
		return nil, console.BadInput("--resume %s: there is no such folder: give that of a run, or start it anew",
			g.own.resume)
	}
	c, notice, err := resumeConfig(g.own.resume, path)
	if err != nil {
		return nil, err
	}
	if kindName, err := c.kind(); err == nil && kindName != "" && kindName != k.Name {
		return nil, console.BadInput("--resume %s: the run there is one of %s: go on with xlarun %s --resume %s",
			g.own.resume, kindName, kindName, g.own.resume)
	}
	g.resumed = g.own.resume
	play.Allow(g.values["env"])
	before, err := g.unstored(k).resolve(k, "", c)
	if err != nil {
		return nil, err
	}
	was := before.all()
	changed := func(name, now string) error {
		return console.BadInput(
			"--%s got %s, but the run in %s was started with %s: leave it out, or start another run", name, now,
			g.own.resume, was[name].Text())
	}
	parts := choices(before.Experiment)
	for _, name := range settings.Names(before.Experiment) { // the settings in the file belong to its parts
		text, ok := g.values[name]
		if value, found := values[name]; found && !ok {
			text, ok = fmt.Sprint(value), true
		}
		if ok && parts[name] != nil && text != was[name].Text() {
			return nil, changed(name, text)
		}
	}
	stored := maps.Clone(c.values)
	g.replaceEnds(k, c.values, values)
	maps.Copy(c.values, values)
	t, err := g.resolve(k, arg, c)
	if err == nil {
		err = g.checkTune(t)
	}
	if err != nil {
		for _, f := range settings.Fields(k.New()) { // a setting of the run may contradict one that must not change
			text, given := g.values[f.Name]
			if given && f.Set(text) == nil && f.Text() != was[f.Name].Text() && !before.mayChange(f) {
				return nil, changed(f.Name, text)
			}
		}
		return nil, err
	}
	t.stored = stored
	now := t.all()
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if x := now[name]; was[name].Text() != x.Text() && !before.mayChange(x) {
			return nil, changed(name, x.Text())
		}
	}
	if notice != "" {
		t.notices = append(t.notices, notice)
	}
	return t, nil
}

// unstored returns the flags that complete the config of a run that is resumed: those that no config keeps and that may
// change, such as the server of an island.
func (g *flagValues) unstored(k run.Kind) *flagValues {
	flags := &flagValues{resumed: g.resumed, values: map[string]string{}}
	for _, f := range settings.Fields(k.New()) {
		if text, given := g.values[f.Name]; given && f.FlagOnly() != "" && f.MayChange() {
			flags.values[f.Name] = text
		}
	}
	return flags
}

// replaceEnds removes the ends of the stored settings if the user gives an end, or a length. A run that went on for an
// hour and is resumed with another end does not stop after the hour too.
func (g *flagValues) replaceEnds(k run.Kind, stored, values map[string]any) {
	replaced := false
	for _, name := range slices.Concat(endNames, []string{k.Length}) {
		given, ok := values[name]
		if text, flag := g.values[name]; flag {
			given, ok = text, true
		}
		replaced = replaced || ok && fmt.Sprint(given) != "0" && fmt.Sprint(given) != ""
	}
	if replaced {
		for _, name := range endNames {
			delete(stored, name)
		}
	}
}

// resumeConfig reads the config of a run that is resumed. If the file is empty, it takes the config in the newest
// checkpoint, and returns a notice about that.
func resumeConfig(dir, path string) (c *configFile, notice string, err error) {
	c, err = readConfig(path)
	if err != nil || len(c.head)+len(c.values) > 0 {
		return c, "", err
	}
	folder, bad := runfolder.Read(dir, runfolder.Options{})
	if bad != nil {
		return c, "", nil
	}
	defer func() { _ = folder.Close() }()
	newest, _, bad := folder.Newest()
	if bad != nil {
		return c, "", nil
	}
	saved, err := parseConfig(path, []byte(newest.Config))
	return saved, fmt.Sprintf("%s is empty: the settings are those of the checkpoint of step %d, and it is "+
		"written again", path, newest.Step), err
}

// mayChange reports whether a resumed run of the task may have another value of a setting.
func (t *task) mayChange(f settings.Field) bool {
	return f.MayChange() && !slices.Contains(t.job.Bound, f.Name)
}

// all returns the settings of a task by name, without those of the session, which may always change.
func (t *task) all() map[string]settings.Field {
	fields := map[string]settings.Field{}
	for _, f := range settings.Fields(t.Experiment) {
		fields[f.Name] = f
	}
	for _, c := range settings.ChosenParts(t.Experiment) {
		for _, f := range settings.Fields(c.Settings) {
			fields[c.Name+"."+f.Name] = f
		}
	}
	return fields
}
