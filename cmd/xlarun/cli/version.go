package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
)

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintf(a.Out, "xlarun %s, %s %s/%s\n", console.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
