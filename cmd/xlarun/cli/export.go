package cli

import (
	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/play"
)

func exportCommand(a *App) *cobra.Command { return play.ExportCommand(a.Streams) }
