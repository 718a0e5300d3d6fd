package cli

import (
	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/play"
)

func playCommand(a *app) *cobra.Command { return play.Command(a.Streams, a.openBackend) }

func renderCommand(a *app) *cobra.Command { return play.RenderCommand(a.Streams, a.openBackend) }
