package cli

import (
	"cmp"
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
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// helpWidth is the number of columns of the help of runs.
const helpWidth = 120

// helpCommand returns the command help. Unlike cobra's, it refuses commands that do not exist, and it has topics.
func helpCommand(a *App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "help [COMMAND|TOPIC]", Short: "Help about any command", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			command := cmd.Root()
			if len(args) > 0 {
				if list := topics()[args[0]]; list != nil && !hasCommand(command, args[0]) {
					return list(a.Out, args[1:])
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
			if all {
				command.Annotations = map[string]string{allKey: ""}
			}
			return command.Help()
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "show every flag, also those that are seldom needed")
	cmd.Long = "Help shows the help of a command, or of one of the topics\n" +
		strings.Join(slices.Sorted(maps.Keys(topics())), ", ") +
		".\nA topic alone is a list. With names after it, it shows the settings of these. With --all, as COMMAND " +
		"--help --all does,\nthe help of a command describes every flag, also those that are seldom needed."
	cmd.Example = "  xlarun help evolve\n  xlarun help strategies\n  xlarun help strategies cmaes\n" +
		"  xlarun help policies mlp gru\n  xlarun help environments CartPole-v1"
	return cmd
}

func hasCommand(root *cobra.Command, name string) bool {
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
}

// topics returns what prints each topic of the help: the environments, and the parts that kinds of run have.
func topics() map[string]func(w io.Writer, names []string) error {
	all := map[string]func(io.Writer, []string) error{"environments": printEnvironments}
	for _, p := range partsOf(run.Kinds()...) {
		all[plural(p.Name)] = func(w io.Writer, names []string) error { return printPart(w, p, names) }
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
	slices.SortFunc(all, func(a, b settings.Part) int { return strings.Compare(a.Name, b.Name) })
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
			return noName(p.Name, name, known)
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
			all = append(all, strings.TrimSpace(f.Name+" "+f.Default))
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
		setting{g, part + "." + x.Name, x.Type}.add(f, "", unbroken(x.Help), x.Default, false)
	}
	if !f.HasAvailableFlags() {
		return fmt.Sprintf("The %s %s has no settings.\n", part, name)
	}
	return fmt.Sprintf("Settings of the %s %s:\n%s", part, name, f.FlagUsagesWrapped(helpWidth))
}

// unbroken joins the lines of a text.
func unbroken(text string) string { return strings.ReplaceAll(text, "\n", " ") }

// printEnvironments lists the environments, or shows those that are named with their parameters.
func printEnvironments(w io.Writer, names []string) error {
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
	return nil
}

// partKey is the annotation of a flag that is a setting of a part.
const partKey = "part"

// advancedKey is the annotation of a flag that is seldom needed. The help of a command only names it, and
// "xlarun COMMAND --help --all" describes it.
const advancedKey = "advanced"

// allKey is the annotation of a command whose help shows every flag.
const allKey = "all"

// showAll makes "COMMAND --help --all" what "help COMMAND --all" is: the help shows every flag. It returns the
// arguments without --all. Those of a command of another program stay as they are.
func showAll(root *cobra.Command, args []string) []string {
	const flag = "--" + allKey
	isHelp := func(arg string) bool { return arg == "--help" || arg == "-h" }
	if !slices.Contains(args, flag) || !slices.ContainsFunc(args, isHelp) || args[0] == "help" {
		return args
	}
	rest := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == flag })
	command, _, err := root.Find(rest)
	if err != nil || command.Annotations[handoverKey] != "" {
		return args
	}
	command.Annotations = map[string]string{allKey: ""}
	return rest
}

// addHelp makes the help of a command short. It leaves out the settings of parts, and only names the flags that are
// seldom needed. If the command line chooses a part, the help shows the settings of that choice and nothing else.
func (g *flagValues) addHelp(cmd *cobra.Command, kinds ...run.Kind) {
	cmd.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c != cmd {
			c.Root().HelpFunc()(c, args)
			return
		}
		out, parts := c.OutOrStdout(), partsOf(kinds...)
		shown := false
		for _, p := range parts {
			text, chosen := g.values[p.Name]
			if chosen && shown {
				fmt.Fprintln(out)
			}
			if choice, ok := p.Choices[settings.Choice(text)]; chosen && ok {
				fmt.Fprint(out, choiceHelp(p.Name, settings.Choice(text), choice))
				shown = true
			} else if chosen {
				console.FailHelp(c, noName(p.Name, settings.Choice(text), slices.Sorted(maps.Keys(p.Choices))))
				shown = true
			}
		}
		if !shown {
			_, all := c.Annotations[allKey]
			fmt.Fprint(out, commandHelp(c, parts, all))
		}
	})
}

// mostPartLines is the number of parts up to which the help of a command has a line for each.
const mostPartLines = 6

// commandHelp returns the help of a command. Flags that are seldom needed are only named, unless all are wanted.
func commandHelp(c *cobra.Command, parts []settings.Part, all bool) string {
	var b strings.Builder
	for _, line := range console.Fill(strings.Fields(cmp.Or(c.Long, c.Short)), helpWidth) {
		fmt.Fprintln(&b, line)
	}
	fmt.Fprintf(&b, "\nUsage:\n  %s\n", c.UseLine())
	for _, below := range pages(c) {
		fmt.Fprintf(&b, "  %-*s %s\n", len(c.UseLine()), below.CommandPath(), below.Short)
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	shown := pflag.NewFlagSet(c.Name(), pflag.ContinueOnError)
	shown.SortFlags = false
	var named []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden || f.Annotations[partKey] != nil || f.Name == "help":
		case !all && f.Annotations[advancedKey] != nil:
			named = append(named, "--"+f.Name)
		default:
			line := *f
			line.Usage = unbroken(f.Usage)
			shown.AddFlag(&line)
		}
	})
	fmt.Fprintf(&b, "\nFlags:\n%s", shown.FlagUsagesWrapped(helpWidth))
	if len(named) > 0 {
		fmt.Fprintf(&b, "\nMore flags, which %s --help --all describes:\n", c.CommandPath())
		for _, line := range console.Fill(strings.Fields(strings.Join(named, ", ")), helpWidth-2) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	if len(parts) > mostPartLines {
		var names []string
		for _, p := range parts {
			names = append(names, plural(p.Name))
		}
		last := len(names) - 1
		fmt.Fprintf(&b, "\nSettings of one of the %s or %s:\nxlarun help PLURAL NAME, as in xlarun help %s NAME\n",
			strings.Join(names[:last], ", "), names[last], names[last])
		return b.String()
	}
	for i, p := range parts {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "Settings of one %s: xlarun help %s NAME, or %s --help --%s NAME\n", p.Name, plural(p.Name),
			c.CommandPath(), p.Name)
	}
	return b.String()
}
