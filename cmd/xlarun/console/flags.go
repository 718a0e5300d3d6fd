package console

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NormalizeFlag accepts underscores instead of dashes in a flag.
func NormalizeFlag(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// flagError rewords pflag's errors.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var valueless *pflag.ValueRequiredError
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case errors.As(err, &unknown) && !cmd.HasParent() && cmd.RunE != nil && cmd.Flags().NArg() > 0:
		return cmd.RunE(cmd, cmd.Flags().Args()) // a command that does not exist: its flags do not matter
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		dashes := "--"
		if unknown.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if inChoice(cmd.Flags(), f) {
				names = append(names, f.Name)
			}
		})
		hint := ""
		if near := LikeFlag(name, names); near != "" {
			hint = ", did you mean --" + near + "?" + scales[strings.ToLower(string(NormalizeFlag(nil, name)))]
		}
		return BadInput("there is no flag %s%s%s; see %s --help", dashes, name, hint, cmd.CommandPath())
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return BadInput("--%s got %q, wants %s", f.Name, invalid.GetValue(), Wants(f))
	case errors.As(err, &valueless):
		return BadInput("--%s got no value, wants %s", valueless.GetFlag().Name, Wants(valueless.GetFlag()))
	}
	return UsageError{err}
}

// ChoicesKey is the annotation of a flag that only some choices of another flag have, as "policy=mlp".
const ChoicesKey = "choices"

// inChoice reports whether a flag goes with what others choose, by their values or defaults.
func inChoice(flags *pflag.FlagSet, f *pflag.Flag) bool {
	choices, some := f.Annotations[ChoicesKey]
	return !some || slices.ContainsFunc(choices, func(choice string) bool {
		name, choice, _ := strings.Cut(choice, "=")
		other := flags.Lookup(name)
		if other == nil {
			return false
		}
		chosen, _, _ := strings.Cut(cmp.Or(other.Value.String(), other.DefValue), ":")
		return chosen == choice
	})
}

// Wants describes the values of a flag. The value of a flag can say it itself, by a method Wants.
func Wants(f *pflag.Flag) string {
	if own, ok := f.Value.(interface{ Wants() string }); ok {
		return own.Wants()
	}
	switch f.Value.Type() {
	case "int", "int64":
		return "a whole number such as " + example(f.DefValue, "1")
	case "float64":
		return "a number such as " + example(f.DefValue, "0.1")
	case "bool":
		return "true or false"
	case "command":
		return "exec:COMMAND: other environments stand in the member's file"
	}
	return "a text such as \"" + example(f.DefValue, "name") + "\""
}

func example(value, other string) string {
	if value == "" || value == "NaN" {
		return other
	}
	return value
}

// OneArgument accepts exactly one argument. what describes it in the error.
func OneArgument(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return BadInput("got %d arguments, wants one: %s", len(args), what)
		}
		return nil
	}
}
