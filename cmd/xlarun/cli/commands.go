package cli

import (
	"maps"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/credentials"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// registered makes the commands of other packages.
var registered []func(*App) []*cobra.Command

// Register adds commands to those that Main and Run know. A package calls it from its init function, so that a program
// gets the commands by importing the package.
func Register(commands func(*App) []*cobra.Command) { registered = append(registered, commands) }

// Root returns the command xlarun with all its commands, as the reference of the commands describes them.
func Root() *cobra.Command {
	root := newRoot(&App{OpenBackend: openBackend})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

// ProgramOf returns the program that has a command of xlarun.
func ProgramOf(command string) string {
	for _, o := range others {
		if o.name == command {
			return o.program
		}
	}
	return "xlarun"
}

// Resolve returns the experiment that settings of a kind of run describe, and the backend that they name. path is the
// file that errors name.
func (a *App) Resolve(kind, path string, values map[string]any) (run.Experiment, console.BackendFlags, error) {
	t, err := a.task(kind, path, values)
	if err != nil {
		return nil, console.BackendFlags{}, err
	}
	return t.Experiment, t.on(), nil
}

// ConfigOf returns the config file of what Resolve returns, with all settings.
func (a *App) ConfigOf(kind, path string, values map[string]any) (string, error) {
	t, err := a.task(kind, path, values)
	if err != nil {
		return "", err
	}
	return t.text, nil
}

func (a *App) task(kind, path string, values map[string]any) (*task, error) {
	k, ok := run.Lookup(kind)
	if !ok {
		var names []string
		for _, k := range run.Kinds() {
			names = append(names, k.Name)
		}
		return nil, console.BadInput("%s: key %q got %q, wants one of %s%s", path, kindKey,
			shortKey(kind), strings.Join(names, ", "), console.DidYouMean(kind, names))
	}
	values = maps.Clone(values)
	if values == nil {
		values = map[string]any{}
	}
	if _, hasTune := settings.Lookup(k.New(), "tune"); hasTune && values["tune"] == nil {
		values["tune"] = "off"
	}
	return (&flagValues{}).resolve(k, "", &configFile{path: path, values: values, head: map[string]any{}})
}

// AddTexts adds a flag for each setting of s. The texts that flags get are put into values, by the setting's name.
func AddTexts(f *pflag.FlagSet, values map[string]string, s any) {
	g := &flagValues{values: values}
	for _, x := range settings.Fields(s) {
		setting{g, x.Name, x.Type}.add(f, "", x.Help, x.Default, false)
	}
}

// AddFiles adds the flags of files that say who this process is.
func AddFiles(f *pflag.FlagSet, files *credentials.Files) {
	for _, x := range settings.Fields(files) {
		f.Var(fileFlag{x}, x.Name, x.Help)
	}
}

type fileFlag struct{ settings.Field }

func (f fileFlag) String() string        { return f.Text() }
func (f fileFlag) Set(text string) error { return f.Field.Set(text) }
func (fileFlag) Type() string            { return "string" }

// Group returns a command that only holds others.
func Group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name + " COMMAND", DisableFlagsInUseLine: true, Short: short, Args: cobra.ArbitraryArgs,
		RunE: groupCommand}
	cmd.AddCommand(commands...)
	return cmd
}

// groupCommand is the body of a command that only holds others.
func groupCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return noCommand(cmd, args[0])
}

// noCommand says that there is no command of the name below cmd. The help has topics
// too.
func noCommand(cmd *cobra.Command, name string, topics ...string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	names = append(names, topics...)
	if len(names) == 0 {
		return console.BadInput("there is no command %q: %s has none below it", name, cmd.CommandPath())
	}
	return noName("command", name, names)
}

// noName says that nothing of a kind has the name, and suggests the nearest name that is known.
func noName(what, name string, known []string) error {
	list := strings.Join(known, ", ")
	if near := console.DidYouMean(name, known); near != "" {
		return console.BadInput("there is no %s %q%s (there are %s)", what, name, near, list)
	}
	return console.BadInput("there is no %s %q; there are %s", what, name, list)
}
