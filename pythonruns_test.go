package xlarun_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

const pythonHead = `"""Functions that start runs. ´go test . -run Reference -update´ writes them from the flags."""
import os
from typing import TYPE_CHECKING, Annotated, Any, Literal, Mapping, Optional, Sequence, TypedDict, Union

from .run import Run, described, start
from .track import Tracker

if TYPE_CHECKING:
    from typing_extensions import Unpack

Path = Union[str, "os.PathLike[str]"]
Number = Union[float, str]  # of islands also a range or a list for the islands: "0.1..0.3"
`

// pythonTrack is the one setting that is no flag: a process of Python follows the run.
const pythonTrack = `    track: Annotated[
        Tracker,
        "experiment tracker that gets the run while it goes on, as xlarun.track sends it"]
`

// pythonTypes are types of Python by those of flags.
var pythonTypes = map[string]string{"bool": "bool", "int": "int", "number": "float", "text": "str", "duration": "str",
	"string": "Path", "bytes": "Union[int, str]", "pairs": "Union[Mapping[str, Any], str]",
	"ints": "Union[int, Sequence[int], str]", "numbers": "Union[float, Sequence[float], str]"}

// pythonWords are keywords of Python that are names of flags.
var pythonWords = []string{"for", "lambda"}

// notInPython are flags that the package gives itself.
var notInPython = []string{"help", "json", "log", "log-level"}

// pythonPage is a function for each kind of run, whose keyword arguments are its flags.
func pythonPage(t *testing.T) string {
	root := cli.Root()
	var b, functions strings.Builder
	var kinds []string
	b.WriteString(ticks(pythonHead))
	shared := sharedFlags(t, root)
	pythonSettings(t, &b, "Common", "Flags of every kind of run.", "", shared, nil)
	b.WriteString(pythonTrack)
	parts := map[string][]*pflag.Flag{}
	for _, k := range slices.SortedFunc(slices.Values(run.Kinds()), func(x, y run.Kind) int {
		return strings.Compare(x.Name, y.Name)
	}) {
		c := child(root, k.Name)
		bases, class := []string{"Common"}, pythonClass(k.Name)
		for part, flags := range partFlags(c) {
			if known, ok := parts[part]; !ok {
				parts[part] = flags
				pythonSettings(t, &b, pythonClass(part), "Settings of a choice of "+part+".", "", flags, nil)
			} else {
				require.Empty(t, without(flags, known), "settings of %s in %s", part, k.Name)
			}
			bases = append(bases, pythonClass(part))
		}
		own := without(ownFlags(c), shared)
		own = slices.DeleteFunc(own, func(f *pflag.Flag) bool { return f.Name == k.Argument })
		pythonSettings(t, &b, class, "Flags of xlarun "+k.Name+".", strings.Join(bases, ", "), own, settingsOf(k.Name))
		pythonFunction(&functions, c, k, class)
		kinds = append(kinds, k.Name)
	}
	fmt.Fprintf(&b, "\n\nPARTS = (\"%s\")\n__all__ = [\"%s\"]\n",
		strings.Join(slices.Sorted(maps.Keys(parts)), `", "`), strings.Join(kinds, `", "`))
	return b.String() + functions.String()
}

func pythonClass(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// partFlags returns the flags of the parts' settings, in the order of the parts.
func partFlags(c *cobra.Command) func(yield func(string, []*pflag.Flag) bool) {
	return func(yield func(string, []*pflag.Flag) bool) {
		parts, order := map[string][]*pflag.Flag{}, []string(nil)
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if part := f.Annotations["part"]; part != nil && !f.Hidden {
				if parts[part[0]] == nil {
					order = append(order, part[0])
				}
				parts[part[0]] = append(parts[part[0]], f)
			}
		})
		for _, name := range order {
			if !yield(name, parts[name]) {
				return
			}
		}
	}
}

// pythonSettings writes a class with a key for each flag.
func pythonSettings(t *testing.T, b *strings.Builder, class, doc, bases string, flags []*pflag.Flag,
	known map[string]settings.Field) {
	if bases == "" {
		bases = "TypedDict"
	}
	fmt.Fprintf(b, "\n\nclass %s(%s, total=False):\n    \"\"\"%s\"\"\"\n", class, bases, doc)
	for _, f := range flags {
		if slices.Contains(notInPython, f.Name) {
			continue
		}
		name := strings.NewReplacer("-", "_", ".", "_").Replace(f.Name)
		if slices.Contains(pythonWords, name) {
			name += "_"
		}
		help := strings.Join(strings.Fields(f.Usage), " ")
		if value := strings.Trim(f.DefValue, "[]"); value != "" && f.Annotations["part"] == nil {
			help += " (default " + value + ")"
		}
		line := fmt.Sprintf("    %s: Annotated[%s, %s]\n", name, pythonType(t, f, known), strconv.Quote(help))
		if len(line) > widest {
			line = fmt.Sprintf("    %s: Annotated[\n        %s,\n", name, pythonType(t, f, known))
			lines := console.Fill(strings.Fields(help), widest-12)
			for i, text := range lines {
				if i < len(lines)-1 {
					text += " "
				}
				line += "        " + strconv.Quote(text) + "\n"
			}
			line = strings.TrimSuffix(line, "\n") + "]\n"
		}
		b.WriteString(line)
	}
}

// pythonType is the type of a flag's values. A text that may be a number in a file may be one in Python.
func pythonType(t *testing.T, f *pflag.Flag, known map[string]settings.Field) string {
	s, found := known[f.Name]
	if names := s.OneOf(); found && names != nil {
		return `Literal["` + strings.Join(names, `", "`) + `"]`
	}
	kind := f.Value.Type()
	text, ok := pythonTypes[kind]
	require.True(t, ok, "--%s has the type %s, which Python has no type for", f.Name, kind)
	_, several := s.Several()
	switch {
	case kind == "number" && (several || f.Annotations["part"] != nil):
		return "Number"
	case kind == "text" && found && s.Set(1.) == nil:
		return "Number"
	}
	return text
}

// pythonFunction writes the function that starts a run of a kind.
func pythonFunction(b *strings.Builder, c *cobra.Command, k run.Kind, class string) {
	argument, value := "", "None"
	if k.Argument != "" {
		argument, value = k.Argument+": Optional[Path] = None, ", k.Argument
	}
	fmt.Fprintf(b, "\n\n@described(%s)\ndef %s(%s**settings: \"Unpack[%s]\") -> Run:\n    \"\"\"%s.\n", class, k.Name,
		argument, class, c.Short)
	for line := range strings.Lines(c.Long) {
		fmt.Fprintf(b, "\n    %s\n", strings.Join(console.Fill(strings.Fields(line), widest-5), "\n    "))
	}
	fmt.Fprintf(b, "    \"\"\"\n    return start(%q, %s, %s, settings)\n", k.Name, class, value)
}
