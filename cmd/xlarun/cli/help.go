package cli

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/envs"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// helpCommand returns the command help. Unlike cobra's, it refuses commands that do not exist, and it has topics.
func helpCommand(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "help [COMMAND|TOPIC]", Short: "Help about any command", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			at := cmd.Root()
			if len(args) > 0 {
				if list := topics()[args[0]]; list != nil && !hasCommand(at, args[0]) {
					return list(a.Out, args[1:])
				}
			}
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
				if at.Annotations[handoverKey] != "" {
					return at.RunE(at, nil)
				}
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
	names := slices.Sorted(maps.Keys(topics()))
	cmd.Long = "Help shows the help of a command. The topics " + strings.Join(names, ", ") + "\nlist what there is, " +
		"and with a name its settings."
	cmd.Example = "  xlarun help evolve\n  xlarun help strategies\n  xlarun help strategies cmaes"
	return cmd
}

func hasCommand(root *cobra.Command, name string) bool {
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
}

// topics returns what prints each topic of the help: the environments, and the parts that kinds of run have.
func topics() map[string]func(w io.Writer, args []string) error {
	all := map[string]func(io.Writer, []string) error{"environments": printEnvironments}
	for _, k := range run.Kinds() {
		h, ok := k.New().(settings.HasParts)
		if !ok {
			continue
		}
		for _, p := range h.Parts() {
			all[plural(p.Name)] = func(w io.Writer, args []string) error { return printPart(w, p, args) }
		}
	}
	return all
}

// plural is "strategies" for strategy.
func plural(name string) string {
	if stem, ok := strings.CutSuffix(name, "y"); ok {
		return stem + "ies"
	}
	return name + "s"
}

// printPart lists the choices of a part with their settings, or the settings of the choices that are named.
func printPart(w io.Writer, p settings.Part, names []string) error {
	known := slices.Sorted(maps.Keys(p.Choices))
	for i, name := range names {
		choice, ok := p.Choices[settings.Choice(name)]
		if !ok {
			return console.BadInput("there is no %s %q%s; there are %s", p.Name, name, console.DidYouMean(name, known),
				strings.Join(known, ", "))
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprint(w, choiceHelp(p.Name, settings.Choice(name), choice))
	}
	if len(names) > 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, name := range known {
		var all []string
		for _, f := range settings.Fields(p.Choices[name]) {
			all = append(all, f.Name+" "+f.Default)
		}
		const most = 5
		if len(all) > most {
			all = append(all[:most], fmt.Sprintf("and %d more", len(all)-most))
		}
		fmt.Fprintf(t, "%s\t%s\n", name, strings.Join(all, ", "))
	}
	return t.Flush()
}

// choiceHelp returns the settings of one choice of a part as the help shows flags.
func choiceHelp(part, name string, choice any) string {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SortFlags = false
	g := &flagValues{values: map[string]string{}}
	for _, x := range settings.Fields(choice) {
		setting{g, part + "." + x.Name, x.Type}.add(f, "", x.Help, x.Default, false)
	}
	if !f.HasAvailableFlags() {
		return fmt.Sprintf("The %s %s has no settings.\n", part, name)
	}
	return fmt.Sprintf("Settings of the %s %s:\n%s", part, name, f.FlagUsages())
}

// printEnvironments lists the environments, or those that are named.
func printEnvironments(w io.Writer, names []string) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, id := range envs.IDs() {
		if len(names) > 0 && !slices.Contains(names, id) {
			continue
		}
		e, err := envs.Make(id)
		if err != nil {
			return err
		}
		s := e.Spec()
		solved := ""
		if s.RewardThreshold != 0 && !math.IsNaN(s.RewardThreshold) {
			solved = fmt.Sprintf(", solved at %g", s.RewardThreshold)
		}
		fmt.Fprintf(t, "%s\tobservations %v\tactions %v\t%d steps%s\n", id, s.Observation.Shape(), s.Action, s.MaxSteps,
			solved)
	}
	for _, name := range names {
		if _, err := envs.Make(name); err != nil {
			return console.UsageError{Err: err}
		}
	}
	return t.Flush()
}

// partKey is the annotation of a flag that is a setting of a part.
const partKey = "part"

// addHelp makes the help of a command short. It leaves out the settings of parts, and for a part that is chosen on the
// command line it shows these alone.
func (g *flagValues) addHelp(cmd *cobra.Command, kinds ...run.Kind) {
	cmd.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c != cmd {
			c.Root().HelpFunc()(c, args)
			return
		}
		parts := map[string]settings.Part{}
		for _, k := range kinds {
			if h, ok := k.New().(settings.HasParts); ok {
				for _, p := range h.Parts() {
					parts[p.Name] = p
				}
			}
		}
		shown := false
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			text, chosen := g.values[name]
			if choice, ok := parts[name].Choices[settings.Choice(text)]; chosen && ok {
				fmt.Fprint(c.OutOrStdout(), choiceHelp(name, settings.Choice(text), choice))
				shown = true
			}
		}
		if shown {
			return
		}
		var hidden []*pflag.Flag
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Annotations[partKey] != nil && !f.Hidden {
				f.Hidden = true
				hidden = append(hidden, f)
			}
		})
		c.Root().HelpFunc()(c, args)
		for _, f := range hidden {
			f.Hidden = false
		}
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			fmt.Fprintf(c.OutOrStdout(), "Settings of a %s: %s --help --%s NAME, or xlarun help %s\n", name,
				c.CommandPath(), name, plural(name))
		}
	})
}
