package cli

import (
	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/boardgame"
	"xlarun/cmd/xlarun/play"
)

func playCommand(a *App) *cobra.Command {
	return boardgame.MatchCommand(play.Command(a.Streams, a.OpenBackend), a.Streams, a.OpenBackend, false)
}

func renderCommand(a *App) *cobra.Command {
	return boardgame.MatchCommand(play.RenderCommand(a.Streams, a.OpenBackend), a.Streams, a.OpenBackend, true)
}
