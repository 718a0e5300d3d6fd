package cli

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/xlabridge/fetch"
	"xlarun/xlabridge/plugin"
)

// versionText returns the line of xlarun version and xlarun --version.
func versionText() string {
	return fmt.Sprintf("xlarun %s, %s %s/%s\n", console.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// asksVersion reports whether a command line has the flag --version. A flag of Cobra's own would print by a template,
// whose package makes the linker keep every exported method of every type.
func asksVersion(cmd *cobra.Command) bool {
	asks, err := cmd.Flags().GetBool("version")
	return err == nil && asks
}

// versionAlone drops the argument after --version, which names no command then: the flag prints the version before
// words such as "study run". A flag that is the last argument stays.
func versionAlone(args []string) []string {
	if len(args) < 2 || args[0] != "--version" && args[0] != "-v" || len(args) == 2 && strings.HasPrefix(args[1], "-") {
		return args
	}
	return slices.Delete(slices.Clone(args), 1, 2)
}

// hideVersion hides --version on pages of help that another command prints.
func hideVersion(cmd *cobra.Command) {
	if f := cmd.Flags().Lookup("version"); f != nil && !cmd.HasParent() {
		f.Hidden = true
	}
}

// rootCommand is the body of xlarun without a command.
func rootCommand(cmd *cobra.Command, args []string) error {
	if asksVersion(cmd) {
		_, err := fmt.Fprint(cmd.OutOrStdout(), versionText())
		return err
	}
	return groupCommand(cmd, args)
}

func versionCommand(a *App) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !asJSON {
				fmt.Fprint(a.Out, versionText())
				return nil
			}
			v := map[string]any{"version": console.Version(), "commit": console.Commit(), "go": runtime.Version(),
				"platform": runtime.GOOS + "/" + runtime.GOARCH, "plugin": nil}
			found, err := plugin.Find(cmd.Context(), plugin.Request{Offline: true})
			switch {
			case err == nil:
				v["plugin"] = map[string]any{"name": found.Name, "version": found.Version, "sha256": found.SHA256,
					"path": found.Path, "source": found.Source}
			case cmd.Context().Err() != nil:
				return err
			case !errors.Is(err, fetch.ErrNotInstalled):
				v["plugin_error"] = console.OneLine(err)
			}
			return a.PrintJSON(v)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON: version, commit, and the plugin for CPUs")
	return cmd
}
