package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"xlarun/envs"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// completes reports whether shells call a command to ask for the words that may follow.
func completes(command string) bool {
	return command == cobra.ShellCompRequestCmd || command == cobra.ShellCompNoDescRequestCmd
}

// addValues lets shells complete the values of flags that name a choice, and the environment of a run. cmd has flags
// for the settings of all kinds.
func (a *App) addValues(cmd *cobra.Command, kinds ...run.Kind) {
	if len(a.args) == 0 || !completes(a.args[0]) {
		return
	}
	add := func(name string, values []string) {
		if cmd.Flags().Lookup(name) != nil && len(values) > 0 {
			_ = cmd.RegisterFlagCompletionFunc(name, fixed(values)) // the first kind's values stay
		}
	}
	ids := slices.Sorted(slices.Values(envs.IDs()))
	for _, k := range kinds {
		e := k.New()
		for name, names := range choices(e) {
			add(name, names)
		}
		for _, f := range settings.Fields(e) {
			add(f.Name, f.OneOf())
		}
		if k.Argument == "env" {
			add("env", ids)
			cmd.ValidArgsFunction = fixed(ids)
		}
	}
}

// fixed completes one of some words, or the name of a file such as a config.
func fixed(words []string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveDefault)
}
