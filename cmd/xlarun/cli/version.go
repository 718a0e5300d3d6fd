package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
)

// versionText returns the line of xlarun version and xlarun --version.
func versionText() string {
	return fmt.Sprintf("xlarun %s, %s %s/%s\n", console.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func versionCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprint(a.Out, versionText())
			return nil
		},
	}
}
