// Command xlarun-bench has the command bench. xlarun hands it over to this program.
package main

import (
	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun-bench/bench"
	_ "xlarun/cmd/xlarun-study/command" // bench runs studies
	"xlarun/cmd/xlarun/cli"
)

func main() {
	cli.Register(func(a *cli.App) []*cobra.Command {
		return []*cobra.Command{bench.Command(a.Streams, a.OpenBackend)}
	})
	cli.Main()
}
