package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/xlabridge"
)

// devicesName is the command that `xlarun --backend cuda` means: a command line of flags of the backend alone.
const devicesName = "devices"

// firstFlags are flags of the backend that may stand before the command.
var firstFlags = []string{"backend", "devices", "memory-fraction", "plugin"}

// backendFirst moves flags of the backend that stand before the command to the end: xlarun --backend cuda evolve
// CartPole-v1. Flags that follow the command win. If there is no command, it is devices.
func backendFirst(args []string) []string {
	n := 0
	for n < len(args) {
		name, _, joined := strings.Cut(strings.TrimPrefix(args[n], "--"), "=")
		if !strings.HasPrefix(args[n], "--") || !slices.Contains(firstFlags, name) {
			break
		}
		n++
		if !joined && n < len(args) {
			n++
		}
	}
	if n == 0 {
		return args
	}
	flags, rest := args[:n], args[n:]
	switch {
	case len(rest) == 0:
		rest = []string{devicesName}
	case strings.HasPrefix(rest[0], "-"): // xlarun --backend cuda --help
		return rest
	}
	words := slices.IndexFunc(rest, func(arg string) bool { return strings.HasPrefix(arg, "-") })
	if words < 0 {
		words = len(rest)
	}
	return slices.Concat(rest[:words], flags, rest[words:])
}

// devicesCommand is `xlarun devices`.
func devicesCommand(a *App) *cobra.Command {
	var o console.BackendFlags
	cmd := &cobra.Command{
		Use: devicesName, Short: "Open a backend and list its devices", Args: noArgs,
		Long: "Devices opens a backend and lists its devices. `xlarun --backend cuda`, without a command, is the same.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Check(); err != nil {
				return err
			}
			b, err := a.OpenBackend(cmd.Context(), o, display.NewDownloadBar(a.Out, a.Getenv))
			if err != nil {
				return err
			}
			defer func() { _ = b.Close() }()
			names := []string{"the interpreter"}
			if c, ok := b.(*xlabridge.Client); ok {
				if names, err = c.DeviceDescriptions(); err != nil {
					return err
				}
			}
			fmt.Fprintf(a.Out, "%s: %s\n", console.DevicesText(len(names), b.Backend()), strings.Join(names, ", "))
			_, err = fmt.Fprintf(a.Out, "\n%s\nxlarun --help lists the commands, such as xlarun evolve CartPole-v1 "+
				"--backend %s.\n", cmd.Root().Long, o.Backend)
			return err
		},
	}
	o.AddDevices(cmd.Flags())
	return cmd
}
