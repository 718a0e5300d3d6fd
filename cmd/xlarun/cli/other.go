package cli

import (
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
)

// other is a command of another program.
type other struct {
	name, short string
	program     string
	own         string // what a user's own program imports to have the command
}

const ownStudies = "import xlarun/cmd/xlarun-study/command in its main package"

// others are the commands of the other programs. Those programs show them with the same text.
var others = []other{
	{"study", "Search hyper-parameters: trials in worker processes or vectorized in one program, kept in a database " +
		"that Optuna opens", studyProgram, ownStudies},
	{"serve", "Run a study that workers of other machines join", studyProgram, ownStudies},
	{"work", "Run trials of a study that is served, until it is over", studyProgram, ownStudies},
	{"copy", "Copy a run's folder to its mirror in a bucket, or back", studyProgram, ownStudies},
	{"bench", console.BenchHelp, benchProgram, "run xlarun bench"},
}

// addOthers adds the commands of other programs, unless this program has them itself.
func addOthers(a *App, root *cobra.Command) {
	existing := map[string]*cobra.Command{}
	for _, c := range root.Commands() {
		existing[c.Name()] = c
	}
	for _, o := range others {
		if c := existing[o.name]; c != nil {
			c.Short = o.short
			continue
		}
		root.AddCommand(o.command(a))
	}
}

// handoverKey is the annotation of a command of another program.
const handoverKey = "program"

// command returns a command that hands the command line over unchanged: the other program has the flags, the help and
// the completion.
func (o other) command(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: o.name, Short: o.short, DisableFlagParsing: true,
		Annotations: map[string]string{handoverKey: o.program}}
	if !ownProgram() {
		cmd.RunE = func(*cobra.Command, []string) error { return a.handOver(o.program) }
		cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			_ = a.handOver(o.program)
			return nil, cobra.ShellCompDirectiveError
		}
		return cmd
	}
	cmd.Hidden = true
	cmd.RunE = func(*cobra.Command, []string) error {
		return console.BadInput("this program has no command %s: %s", o.name, o.own)
	}
	return cmd
}

// otherProgram returns the name of a process that was started as one of the other programs, else "". xlarun starts them
// under its own name.
func otherProgram(arg0 string) string {
	name := filepath.Base(arg0)
	if slices.ContainsFunc(others, func(o other) bool { return o.program == name }) {
		return name
	}
	return ""
}

// describeOther makes the help of one of the other programs show its own commands alone. It has all commands, since its
// runs are those of xlarun.
func describeOther(root *cobra.Command, program string) {
	var names, own []string
	for _, o := range others {
		if o.program == program {
			names, own = append(names, o.name), append(own, "xlarun "+o.name)
		}
	}
	root.Use = program + " COMMAND"
	root.Long = program + " is a part of xlarun, which starts it: " + strings.Join(own, ", ") + "."
	root.Example = "  xlarun " + names[0] + " --help"
	for _, c := range root.Commands() {
		c.Hidden = c.Hidden || !slices.Contains(names, c.Name())
	}
}

// ownProgram reports whether the program is a user's own, of another module.
func ownProgram() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && info.Main.Path != "" && info.Main.Path != "xlarun"
}

// handOver replaces this process by another program with the same command line. It returns only if that fails.
func (a *App) handOver(program string) error {
	path, err := a.find(program)
	if err != nil {
		return err
	}
	return a.exec(path, a.args)
}
