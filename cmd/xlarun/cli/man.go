package cli

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/quantity"
)

// manCommand writes the manual's pages, for those who package the program.
func manCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR [COMMAND...]", Hidden: true, Args: cobra.ArbitraryArgs,
		Short: "Write the manual's pages, a file for each command, into a folder",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return console.BadInput("got no argument, wants the folder to write the pages to")
			}
			dir, only := args[0], args[1:]
			m, err := newManual(dir)
			if err == nil {
				err = os.MkdirAll(dir, 0o755)
			}
			if err != nil {
				return fmt.Errorf("the manual cannot be written to %s: %w", dir, console.Cause(err))
			}
			for _, c := range pages(cmd.Root()) {
				if len(only) > 0 && !slices.Contains(only, c.Name()) {
					continue
				}
				if err := a.writePages(m, c); err != nil {
					return err
				}
			}
			if len(only) == 0 {
				if err := m.write(cmd.Root()); err != nil {
					return err
				}
			}
			written, err := os.ReadDir(dir)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "%s in %s\n", quantity.Count(len(written), "page", "pages"), dir)
			return nil
		},
	}
}

// writePages writes the pages of a command and of those below it. The program that has the command writes them.
func (a *App) writePages(m *manual, c *cobra.Command) error {
	program := c.Annotations[handoverKey]
	if program == "" {
		if err := m.write(c); err != nil {
			return err
		}
		for _, below := range pages(c) {
			if err := a.writePages(m, below); err != nil {
				return err
			}
		}
		return nil
	}
	path, err := a.find(program)
	if err != nil {
		return err
	}
	if text, err := exec.Command(path, "man", m.dir, c.Name()).CombinedOutput(); err != nil {
		return fmt.Errorf("%s cannot write its pages of the manual: %w: %s", program, err,
			strings.TrimSpace(string(text)))
	}
	return nil
}

// pages returns the commands below one that have a page.
func pages(c *cobra.Command) (all []*cobra.Command) {
	for _, x := range c.Commands() {
		if x.IsAvailableCommand() && !x.IsAdditionalHelpTopicCommand() {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b *cobra.Command) int { return cmp.Compare(a.Name(), b.Name()) })
	return all
}

// manual writes pages in the format of man(7).
type manual struct{ dir, date string }

// newManual returns the manual of a folder. Its date is today, or SOURCE_DATE_EPOCH for builds that repeat.
func newManual(dir string) (*manual, error) {
	date := time.Now()
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("SOURCE_DATE_EPOCH got %q, wants a number of seconds", text)
		}
		date = time.Unix(seconds, 0)
	}
	return &manual{dir: dir, date: date.Format("Jan 2006")}, nil
}

// write writes the page of one command.
func (m *manual) write(c *cobra.Command) error {
	c.InitDefaultHelpCmd()
	c.InitDefaultHelpFlag()
	hideVersion(c)
	name := pageName(c)
	var b strings.Builder
	fmt.Fprintf(&b, ".nh\n.TH \"%s\" \"1\" \"%s\" \"xlarun %s\" \"xlarun\"\n", strings.ToUpper(name), m.date,
		roff(console.Version()))
	section := func(title, text string) { fmt.Fprintf(&b, "\n.SH %s\n%s\n", title, strings.TrimRight(text, "\n")) }
	section("NAME", name+` \- `+roff(c.Short))
	section("SYNOPSIS", bold(c.UseLine()))
	section("DESCRIPTION", roff(cmp.Or(c.Long, c.Short)))
	if f := c.NonInheritedFlags(); f.HasAvailableFlags() {
		section("OPTIONS", options(f))
	}
	if f := c.InheritedFlags(); f.HasAvailableFlags() {
		section("OPTIONS INHERITED FROM PARENT COMMANDS", options(f))
	}
	if c.Example != "" {
		section("EXAMPLE", ".EX\n"+roff(c.Example)+"\n.EE")
	}
	var others []string
	if c.HasParent() {
		others = append(others, bold(pageName(c.Parent())+"(1)"))
	}
	for _, below := range pages(c) {
		others = append(others, bold(pageName(below)+"(1)"))
	}
	if len(others) > 0 {
		section("SEE ALSO", strings.Join(others, ", "))
	}
	if err := os.WriteFile(filepath.Join(m.dir, name+".1"), []byte(b.String()), 0o666); err != nil {
		return fmt.Errorf("the manual cannot be written to %s: %w", m.dir, console.Cause(err))
	}
	return nil
}

// pageName is "xlarun-cache-list".
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func bold(text string) string { return `\fB` + roff(text) + `\fP` }

// options lists flags, each with its default and its help.
func options(flags *pflag.FlagSet) string {
	var all []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name, value := bold("--"+f.Name), f.DefValue
		if f.Shorthand != "" {
			name = bold("-"+f.Shorthand) + ", " + name
		}
		if f.Value.Type() == "string" {
			value = strconv.Quote(value)
		}
		value = "=" + roff(value)
		if f.NoOptDefVal != "" {
			value = "[" + value + "]"
		}
		all = append(all, fmt.Sprintf("%s%s\n\t%s\n", name, value, roff(f.Usage)))
	})
	return strings.Join(all, "\n.PP\n")
}

// roff escapes a text: backslashes, and lines that would be commands.
func roff(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, `\`, `\e`), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
