package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"xlarun/cmd/xlarun/console"
)

// helpCommand is cobra's, except that a command that there is not is wrong input.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			at := cmd.Root()
			for _, name := range args {
				var next *cobra.Command
				for _, c := range at.Commands() {
					if c.Name() == name || c.HasAlias(name) {
						next = c
					}
				}
				if next == nil {
					return noCommand(at, name)
				}
				at = next
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
}

// manCommand writes the manual's pages, for those who package the program.
func manCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual's pages, a file for each command, into a folder", Hidden: true, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return console.BadInput("got %s, wants the folder to write the pages to", console.Count(len(args), "argument", "arguments"))
			}
			dir := args[0]
			err := os.MkdirAll(dir, 0o755)
			if err == nil {
				root := cmd.Root()
				root.DisableAutoGenTag = true
				err = doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "xlarun " + console.Version(), Manual: "xlarun"}, dir)
			}
			if err != nil {
				return fmt.Errorf("the manual cannot be written to %s: %w", dir, console.Cause(err))
			}
			pages, err := os.ReadDir(dir)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "%s in %s\n", console.Count(len(pages), "page", "pages"), dir)
			return nil
		},
	}
}
