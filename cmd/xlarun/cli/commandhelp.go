package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// Numbers of columns of help. On a terminal it has the terminal's, within bounds.
const (
	leastHelpWidth = 60
	helpWidth      = 100 // in a file or a pipe
	runHelpWidth   = 120 // the same, of runs: they have many flags
)

// columns returns the terminal's number of columns, or another one where stdout is no terminal.
func (a *App) columns(otherwise int) int {
	if width := display.Width(a.Out, a.Getenv); width > 0 {
		return min(max(width, leastHelpWidth), runHelpWidth)
	}
	return otherwise
}

// showHelp prints the help of a command that has no parts.
func (a *App) showHelp(c *cobra.Command, _ []string) {
	fmt.Fprint(c.OutOrStdout(), commandHelp(c, nil, a.columns(helpWidth)))
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
func (g *flagValues) addHelp(a *App, cmd *cobra.Command, kinds ...run.Kind) {
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
				fmt.Fprint(out, choiceHelp(p.Name, settings.Choice(text), choice, a.columns(helpWidth)))
				shown = true
			} else if chosen {
				console.FailHelp(c, noName(p.Name, settings.Choice(text), slices.Sorted(maps.Keys(p.Choices))))
				shown = true
			}
		}
		if !shown {
			fmt.Fprint(out, commandHelp(c, parts, a.columns(runHelpWidth)))
		}
	})
}

// mostPartLines is the number of parts up to which the help of a command has a line for each.
const mostPartLines = 6

// commandHelp returns the help of a command in so many columns. Flags that are seldom needed are only named, except if
// the annotation allKey wants all.
func commandHelp(c *cobra.Command, parts []settings.Part, width int) string {
	var b strings.Builder
	b.WriteString(console.Paragraphs(cmp.Or(c.Long, c.Short), width))
	below := pages(c)
	fmt.Fprintf(&b, "\nUsage:\n  %s\n", c.UseLine())
	if len(below) == 1 { // it needs no list
		fmt.Fprintf(&b, "  %s  %s\n", below[0].CommandPath(), below[0].Short)
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	if len(below) > 1 {
		var rows [][2]string
		for _, x := range below {
			rows = append(rows, [2]string{x.Name(), x.Short})
		}
		fmt.Fprintf(&b, "\nCommands:\n%s", console.List("  ", rows, width))
	}
	b.WriteString(flagsHelp(c, width))
	if len(parts) > mostPartLines {
		var names []string
		for _, p := range parts {
			names = append(names, plural(p.Name))
		}
		last := len(names) - 1
		fmt.Fprintf(&b, "\n%sxlarun help PLURAL NAME, as in xlarun help %s NAME\n", console.Paragraphs(
			fmt.Sprintf("Settings of one of the %s or %s:", strings.Join(names[:last], ", "), names[last]), width),
			names[last])
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

// flagsHelp returns the flags of a command, as commandHelp shows them.
func flagsHelp(c *cobra.Command, width int) string {
	_, all := c.Annotations[allKey]
	shown := pflag.NewFlagSet(c.Name(), pflag.ContinueOnError)
	shown.SortFlags = false
	var named []string
	add := func(f *pflag.Flag) {
		switch {
		case f.Hidden || f.Annotations[partKey] != nil || f.Name == "help":
		case !all && f.Annotations[advancedKey] != nil:
			named = append(named, "--"+f.Name)
		default:
			line := *f
			line.Usage = unbroken(f.Usage)
			shown.AddFlag(&line)
		}
	}
	c.LocalFlags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	var b strings.Builder
	if shown.HasFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s", shown.FlagUsagesWrapped(width))
	}
	if len(named) > 0 {
		fmt.Fprintf(&b, "\nMore flags, which %s --help --all describes:\n", c.CommandPath())
		for _, line := range console.Fill(strings.Fields(strings.Join(named, ", ")), width-2) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.String()
}
