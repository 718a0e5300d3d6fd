package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/xlabridge/plugin"
)

func pluginCommand(a *App) *cobra.Command {
	return Group("plugin", "List, install and find the plugins that backends run on",
		pluginListCommand(a), pluginInstallCommand(a), pluginPathCommand(a))
}

func pluginListCommand(a *App) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "list", Short: "List the pinned plugins of this platform", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			entries, err := plugin.List()
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(map[string]any{"plugins": append([]plugin.Entry{}, entries...)})
			}
			w := tabwriter.NewWriter(a.Out, 0, 8, 2, ' ', 0)
			fmt.Fprintln(w, "BACKEND\tPLUGIN\tSTATE\tDOWNLOAD\tLICENSE")
			for _, e := range entries {
				fmt.Fprintf(w, "%s\t%s %s\t%s\t%s\t%s\n", e.Backend, e.Name, e.Version, pluginState(e), downloadSize(e),
					licenses(e))
			}
			if len(entries) == 0 {
				fmt.Fprintln(w, "no plugin is pinned for this platform; give one with --plugin PATH, or use "+
					"--backend reference")
			}
			if err := w.Flush(); err != nil {
				return err
			}
			for _, e := range entries {
				if e.Installed && e.Folder != "" {
					fmt.Fprintf(a.Out, "to remove %s, remove the folder %s\n", e.Name, e.Folder)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON")
	return cmd
}

func pluginState(e plugin.Entry) string {
	switch {
	case e.Installed && e.Folder == "":
		return "installed by pip"
	case e.Installed && !e.SupportInstalled:
		return "installed, without the vendor's libraries"
	case e.Installed:
		return "installed"
	case e.Damage != "":
		return "damaged"
	}
	return "not installed"
}

func downloadSize(e plugin.Entry) string {
	if e.SupportSize == 0 {
		return display.Bytes(e.DownloadSize)
	}
	return fmt.Sprintf("%s (and %s of the vendor's where there is a device)", display.Bytes(e.DownloadSize),
		display.Bytes(e.SupportSize))
}

func licenses(e plugin.Entry) string {
	if e.SupportLicense == "" {
		return e.License
	}
	return e.License + ", " + e.SupportLicense
}

// pluginBackend returns the backend that a plugin command is about: its argument or its flag.
func pluginBackend(cmd *cobra.Command, flag string, args []string) (string, error) {
	name := flag
	if len(args) > 0 {
		if len(args) > 1 || cmd.Flags().Changed("backend") && args[0] != flag {
			return "", console.BadInput("wants one backend, as the argument or as --backend")
		}
		name = args[0]
	}
	if !slices.Contains(plugin.Backends, name) {
		return "", console.BadInput("the backend %q has no plugin, wants one of %s%s", name,
			strings.Join(plugin.Backends, ", "), console.LikeBackend(name, plugin.Backends))
	}
	return name, nil
}

// aboutBackend returns a command about the plugin of one backend, which the argument or --backend names.
func aboutBackend(use, short string, run func(ctx context.Context, backend string) error) *cobra.Command {
	var backend string
	cmd := &cobra.Command{
		Use: use + " [BACKEND]", Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := pluginBackend(cmd, backend, args)
			if err != nil {
				return err
			}
			return run(cmd.Context(), name)
		},
	}
	cmd.Flags().StringVar(&backend, "backend", "cpu", "backend: "+strings.Join(plugin.Backends, ", "))
	return cmd
}

func pluginInstallCommand(a *App) *cobra.Command {
	libraries := false
	cmd := aboutBackend("install", "Download, check and unpack a backend's pinned plugin",
		func(ctx context.Context, backend string) error {
			found, err := plugin.Install(ctx, backend, libraries, display.NewDownloadBar(a.Out, a.Getenv).Download)
			if err != nil {
				return err
			}
			state := "is installed already"
			if found.Source == plugin.SourceInstalled {
				state = "was installed"
			}
			fmt.Fprintf(a.Out, "%s: %s %s %s: %s\n", backend, found.Name, found.Version, state, found.Path)
			return nil
		})
	cmd.Flags().BoolVar(&libraries, "libraries", false, "with the vendor's libraries, though this machine has no such "+
		"device: for one that has no network")
	return cmd
}

func pluginPathCommand(a *App) *cobra.Command {
	return aboutBackend("path", "Print the file of the plugin that a backend would run on",
		func(ctx context.Context, backend string) error {
			found, err := plugin.Find(ctx, plugin.Request{Backend: backend, Offline: true})
			if err != nil {
				return err
			}
			fmt.Fprintln(a.Out, found.Path)
			return nil
		})
}

// noArgs refuses arguments.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return console.BadInput("got the argument %q, wants none", args[0])
	}
	return nil
}
