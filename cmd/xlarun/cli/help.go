package cli

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/envs"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// helpCommand returns the command help. Unlike cobra's, it refuses commands that do not exist, and it has topics.
func helpCommand(a *App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "help [COMMAND|TOPIC]", Short: "Help about any command", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			command := cmd.Root()
			if len(args) > 0 {
				if list := topics()[args[0]]; list != nil && !hasCommand(command, args[0]) {
					return list(a.Out, args[1:], a.columns(helpWidth))
				}
			}
			for _, name := range args {
				var next *cobra.Command
				for _, c := range command.Commands() {
					if c.Name() == name || c.HasAlias(name) {
						next = c
					}
				}
				if next == nil && command == cmd.Root() {
					return noCommand(command, name, slices.Sorted(maps.Keys(topics()))...)
				}
				if next == nil {
					return noCommand(command, name)
				}
				command = next
				if command.Annotations[handoverKey] != "" {
					return command.RunE(command, nil)
				}
			}
			command.InitDefaultHelpFlag()
			hideVersion(command)
			if all {
				command.Annotations = map[string]string{allKey: ""}
			}
			return command.Help()
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "show every flag, also those that are seldom needed")
	cmd.Long = "Help shows the help of a command, or of one of the topics " +
		strings.Join(slices.Sorted(maps.Keys(topics())), ", ") +
		". A topic alone is a list. With names after it, it shows the settings of these. With --all, as COMMAND " +
		"--help --all does, the help of a command describes every flag, also those that are seldom needed."
	cmd.Example = "  xlarun help evolve\n  xlarun help strategies\n  xlarun help strategies cmaes\n" +
		"  xlarun help policies mlp gru\n  xlarun help environments CartPole-v1"
	return cmd
}

func hasCommand(root *cobra.Command, name string) bool {
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
}

// topic prints a topic of the help, or the things of the topic that are named, in so many columns.
type topic func(w io.Writer, names []string, width int) error

// topics returns the topics: the environments, and the parts that kinds of run have.
func topics() map[string]topic {
	all := map[string]topic{"environments": printEnvironments}
	for _, p := range partsOf(run.Kinds()...) {
		all[plural(p.Name)] = func(w io.Writer, names []string, width int) error {
			return printPart(w, p, names, width)
		}
	}
	return all
}

// partsOf returns the parts that kinds of run have, sorted by name.
func partsOf(kinds ...run.Kind) (all []settings.Part) {
	for _, k := range kinds {
		h, ok := k.New().(settings.HasParts)
		if !ok {
			continue
		}
		for _, p := range h.Parts() {
			if !slices.ContainsFunc(all, func(other settings.Part) bool { return other.Name == p.Name }) {
				all = append(all, p)
			}
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
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
func printPart(w io.Writer, p settings.Part, names []string, width int) error {
	known := slices.Sorted(maps.Keys(p.Choices))
	for i, name := range names {
		choice, ok := p.Choices[settings.Choice(name)]
		if !ok {
			return noName(p.Name, name, known)
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprint(w, choiceHelp(p.Name, settings.Choice(name), choice, width))
	}
	if len(names) > 0 {
		return nil
	}
	var rows [][2]string
	for _, name := range known {
		var all []string
		for _, f := range settings.Fields(p.Choices[name]) {
			all = append(all, strings.TrimSpace(f.Name+" "+f.Default))
		}
		const most = 5
		if len(all) > most {
			all = append(all[:most], fmt.Sprintf("and %d more", len(all)-most))
		}
		rows = append(rows, [2]string{name, strings.Join(all, ", ")})
	}
	_, err := io.WriteString(w, console.List("", rows, width))
	return err
}

// choiceHelp returns the settings of one choice of a part as the help shows flags.
func choiceHelp(part, name string, choice any, width int) string {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SortFlags = false
	g := &flagValues{values: map[string]string{}}
	for _, x := range settings.Fields(choice) {
		setting{g, part + "." + x.Name, x.Type}.add(f, "", unbroken(x.Help), x.Default, false)
	}
	if !f.HasAvailableFlags() {
		return fmt.Sprintf("The %s %s has no settings.\n", part, name)
	}
	return fmt.Sprintf("Settings of the %s %s:\n%s", part, name, f.FlagUsagesWrapped(width))
}

// unbroken joins the lines of a text.
func unbroken(text string) string { return strings.ReplaceAll(text, "\n", " ") }

// printEnvironments lists the environments, or shows those that are named with their parameters.
func printEnvironments(w io.Writer, names []string, _ int) error {
	shown := names
	if len(names) == 0 {
		shown = envs.IDs()
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for i, id := range shown {
		if !slices.Contains(envs.IDs(), id) {
			return noName("environment", id, envs.IDs())
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
		if len(names) > 0 && i > 0 {
			fmt.Fprintln(t)
		}
		fmt.Fprintf(t, "%s\tobservations %v\tactions %v\t%d steps%s\n", id, s.Observation.Shape(), s.Action, s.MaxSteps,
			solved)
		if len(names) > 0 {
			printMeasures(t, s)
			if err := printParams(t, e); err != nil {
				return err
			}
		}
	}
	return t.Flush()
}

// printMeasures prints what an environment measures beside the return.
func printMeasures(w io.Writer, s envs.Spec) {
	for _, m := range []struct {
		name  string
		texts []string
	}{{"Descriptor, for xlarun qd", s.DescriptorTexts()}, {"Objectives, for xlarun qd --front 20", s.Objectives}} {
		if len(m.texts) > 0 {
			fmt.Fprintf(w, "%s: %s.\n", m.name, strings.Join(m.texts, ", "))
		}
	}
}

// printParams prints the parameters of an environment.
func printParams(w io.Writer, e envs.Environment) error {
	params, err := episode.Params(e)
	if err != nil {
		return err
	}
	if len(params) == 0 {
		_, err = fmt.Fprintln(w, "It has no parameters.")
		return err
	}
	fmt.Fprintln(w, "Parameters, set by --env-param NAME=VALUE:")
	for _, p := range params {
		fmt.Fprintf(w, "  %s\t%s\t(default %s)\n", p.Name, p.Wants, p.Default)
	}
	added, err := episode.Added(e)
	if err != nil {
		return err
	}
	for _, p := range added {
		fmt.Fprintf(w, "  %s\t%s\t(default %s, with %s)\n", p.Name, p.Wants, p.Default, p.With)
	}
	return nil
}
