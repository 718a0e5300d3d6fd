package console

import (
	"strings"

	"github.com/spf13/cobra"
)

// refuseShells lets the command completion refuse the name of a shell that it has no script for. cobra's shows its help
// then, as if all was well.
func refuseShells(root *cobra.Command, args []string) {
	root.InitDefaultCompletionCmd(args...)
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Use, c.DisableFlagsInUseLine = "completion SHELL", true
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			var shells []string
			for _, shell := range cmd.Commands() {
				shells = append(shells, shell.Name())
			}
			return BadInput("there is no completion for the shell %q: %s have one", args[0], strings.Join(shells, ", "))
		}
	}
}
