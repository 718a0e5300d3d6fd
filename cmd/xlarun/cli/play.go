package cli

import (
	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/boardgame"
	"xlarun/cmd/xlarun/play"
)

func playCommand(a *app) *cobra.Command {
	return boardgame.MatchCommand(play.Command(a.Streams, a.openBackend), a.Streams, a.openBackend, false)
}

func renderCommand(a *app) *cobra.Command {
	return boardgame.MatchCommand(play.RenderCommand(a.Streams, a.openBackend), a.Streams, a.openBackend, true)
}
