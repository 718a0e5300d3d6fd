package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
)

// notInFile are the flags of one call, which a config file does not hold.
var notInFile = []string{"config", "out", "json", "help"}

// fileKeys are the keys that a config file for these flags may have.
func fileKeys(flags *pflag.FlagSet) []string {
	var keys []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(notInFile, f.Name) {
			keys = append(keys, f.Name)
		}
	})
	return keys
}

// applyFile sets the flags that a TOML file names and the command line does not. Keys are the flags' names, with
// dashes or underscores; values have the flag's type. Anything else is refused.
func applyFile(flags *pflag.FlagSet, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return console.BadInput("--config %s cannot be read (%w): give the path of a TOML file", path, console.Cause(err))
	}
	var values map[string]any
	if err := toml.Unmarshal(text, &values); err != nil {
		var d *toml.DecodeError
		if errors.As(err, &d) {
			row, column := d.Position()
			return console.BadInput("%s:%d:%d is no TOML (%s): write one key = value a line, strings in quotes", path, row, column, strings.TrimPrefix(d.Error(), "toml: "))
		}
		return console.BadInput("%s is no TOML (%w)", path, err)
	}
	keys := fileKeys(flags)
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name := string(console.NormalizeFlag(flags, key))
		if !slices.Contains(keys, name) {
			return console.BadInput("%s: there is no key %q%s; known are %s", path, key, console.DidYouMean(name, keys), strings.Join(keys, ", "))
		}
		if other, ok := seen[name]; ok {
			return console.BadInput("%s: key %q stands twice, as %q too: keep one", path, key, other)
		}
		seen[name] = key
		f := flags.Lookup(name)
		value, ok := flagText(f, values[key])
		if !ok {
			return console.BadInput("%s: key %q got %s, wants %s", path, key, describe(values[key]), console.Wants(f))
		}
		if f.Changed {
			continue // the command line wins
		}
		if err := flags.Set(f.Name, value); err != nil {
			return console.BadInput("%s: key %q got %s, wants %s", path, key, describe(values[key]), console.Wants(f))
		}
	}
	return nil
}

// flagText is a TOML value as a flag takes it, if it has the flag's type.
func flagText(f *pflag.Flag, value any) (string, bool) {
	switch f.Value.Type() {
	case "string":
		s, ok := value.(string)
		return s, ok
	case "bool":
		b, ok := value.(bool)
		return strconv.FormatBool(b), ok
	case "int", "int64":
		n, ok := value.(int64)
		return strconv.FormatInt(n, 10), ok
	case "float64":
		if n, ok := value.(int64); ok {
			return strconv.FormatInt(n, 10), true
		}
		x, ok := value.(float64)
		return strconv.FormatFloat(x, 'g', -1, 64), ok
	}
	return "", false
}

// describe names a TOML value and its type.
func describe(value any) string {
	switch v := value.(type) {
	case string:
		return fmt.Sprintf("the string %q", v)
	case int64:
		return fmt.Sprintf("the whole number %d", v)
	case float64:
		return fmt.Sprintf("the number %v", v)
	case bool:
		return fmt.Sprintf("the boolean %v", v)
	case time.Time, toml.LocalDate, toml.LocalDateTime, toml.LocalTime:
		return fmt.Sprintf("the date or time %v", v)
	case []any:
		return "an array"
	case map[string]any:
		return "a table"
	}
	return fmt.Sprintf("%v", value)
}

// resolvedConfig is the config file that repeats a run: every key with its value.
func resolvedConfig(flags *pflag.FlagSet) (string, error) {
	var b strings.Builder
	for _, key := range fileKeys(flags) {
		f := flags.Lookup(key)
		var value any = f.Value.String()
		var err error
		switch f.Value.Type() {
		case "bool":
			value, err = flags.GetBool(key)
		case "int":
			value, err = flags.GetInt(key)
		case "int64":
			value, err = flags.GetInt64(key)
		case "float64":
			value, err = flags.GetFloat64(key)
		}
		if err != nil {
			return "", err
		}
		text, err := toml.Marshal(map[string]any{key: value})
		if err != nil {
			return "", err
		}
		b.Write(text)
	}
	return b.String(), nil
}
