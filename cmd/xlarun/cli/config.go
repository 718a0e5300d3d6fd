package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// Keys of a config file that are not settings.
const (
	kindKey    = "kind"         // the kind of run
	formatKey  = "kind_version" // Kind.Version
	programKey = "xlarun"       // the version of xlarun that wrote it
)

// configFile is a config file that was read: settings by name; those of parts have names such as "strategy.sigma".
type configFile struct {
	path   string
	values map[string]any
	head   map[string]any // kind, format, program
}

// largestConfig is the largest size in bytes of a config file.
const largestConfig = 1 << 20

// readConfig reads a TOML file. Keys are the settings' names, with dashes or underscores. Settings of a part are in a
// table with the part's name.
func readConfig(path string) (*configFile, error) { return readConfigAs("--config", path) }

// readConfigAs is readConfig whose errors begin with the words before the path.
func readConfigAs(words, path string) (*configFile, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		what := "no regular file"
		if info.IsDir() {
			what = "a folder"
		}
		return nil, console.BadInput("%s %s is %s: give the path of a TOML file", words, path, what)
	}
	if err == nil && info.Size() > largestConfig {
		return nil, console.BadInput("%s %s has %d bytes, more than a config can have: give the path of a TOML file",
			words, path, info.Size())
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, console.BadInput("%s %s cannot be read (%w): give the path of a TOML file", words, path,
			console.Cause(err))
	}
	return parseConfig(path, text)
}

func parseConfig(path string, text []byte) (*configFile, error) {
	var values map[string]any
	if err := toml.Unmarshal([]byte(strings.TrimPrefix(string(text), "\ufeff")), &values); err != nil {
		var d *toml.DecodeError
		if errors.As(err, &d) {
			row, column := d.Position()
			return nil, console.BadInput("%s:%d:%d is no TOML (%s): write one key = value a line, strings in quotes",
				path, row, column, console.ShortText(strings.TrimPrefix(d.Error(), "toml: ")))
		}
		return nil, console.BadInput("%s is no TOML (%s): write one key = value a line, strings in quotes, and the "+
			"settings of a part in its table, [strategy]", path,
			console.ShortText(strings.TrimPrefix(err.Error(), "toml: ")))
	}
	c := &configFile{path: path, values: map[string]any{}, head: map[string]any{}}
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if key == kindKey || key == formatKey || key == programKey {
			c.head[key] = values[key]
			continue
		}
		name := string(console.NormalizeFlag(nil, key))
		if slices.Contains([]string{"config", "json", "mirror", "out", "resume"}, name) {
			return nil, console.BadInput("%s: there is no key %q, which is for the command line only: give --%s there",
				path, shortKey(key), name)
		}
		if other, ok := seen[name]; ok {
			return nil, console.BadInput("%s: key %q stands twice, as %q too: keep one", path, shortKey(key),
				shortKey(other))
		}
		seen[name] = key
		table, ok := values[key].(map[string]any)
		if !ok {
			if err := plain(path, key, values[key]); err != nil {
				return nil, err
			}
			if _, twice := c.values[name]; twice { // "strategy.sigma" beside [strategy]
				return nil, console.BadInput("%s: key %q stands twice, in its table too: keep one", path, shortKey(key))
			}
			c.values[name] = values[key]
			continue
		}
		// A part is a table with its choice as name: [strategy] name = "openes". An environment's parameters are not
		// a part: one of them may have the name "name".
		for _, inner := range slices.Sorted(maps.Keys(table)) {
			if err := plain(path, key+"."+inner, table[inner]); err != nil {
				return nil, err
			}
			full := name + "." + string(console.NormalizeFlag(nil, inner))
			if inner == "name" && name != settings.EnvParam {
				full = name
			}
			if _, twice := c.values[full]; twice {
				return nil, console.BadInput("%s: key %q stands twice in [%s]: keep one", path, shortKey(inner),
					shortKey(key))
			}
			c.values[full] = table[inner]
		}
	}
	return c, nil
}

// plain refuses values of types that no setting has.
func plain(path, key string, value any) error {
	switch v := value.(type) {
	case time.Time, toml.LocalDate, toml.LocalDateTime, toml.LocalTime:
		return console.BadInput("%s: key %q got the date or time %v, wants a number, a text or a list of numbers", path,
			shortKey(key), v)
	case map[string]any:
		return console.BadInput("%s: key %q got a table, wants a number, a text or a list of numbers", path,
			shortKey(key))
	case []any:
		for _, x := range v {
			switch x.(type) {
			case int64, float64:
			default:
				return console.BadInput("%s: key %q got a list with %s, wants a list of numbers", path, shortKey(key),
					console.ShortText(fmt.Sprint(x)))
			}
		}
	}
	return nil
}

// checkKind refuses the config of another kind.
func (c *configFile) checkKind(k run.Kind) error {
	name, err := c.kind()
	if err == nil && name != "" && name != k.Name {
		err = console.BadInput("%s is a config of %s: run xlarun %s --config %s", c.path, name, name, c.path)
	}
	return err
}

// kind returns the kind that the file names; "" for none. It refuses a kind that does not exist, and another version.
func (c *configFile) kind() (string, error) {
	value, ok := c.head[kindKey]
	if version, given := c.head[formatKey]; !ok && given {
		return "", console.BadInput("%s: key %q got %s, a version of no kind: give the key %q too, or take it out",
			c.path, formatKey, console.ShortText(fmt.Sprint(version)), kindKey)
	}
	if !ok {
		return "", nil
	}
	name, _ := value.(string)
	k, ok := run.Lookup(name)
	if !ok {
		var names []string
		for _, k := range run.Kinds() {
			names = append(names, k.Name)
		}
		return "", console.BadInput("%s: key %q got %s, wants one of %s%s", c.path, kindKey,
			console.ShortText(fmt.Sprint(value)), strings.Join(names, ", "), console.DidYouMean(name, names))
	}
	v, ok := c.head[formatKey]
	if _, number := v.(int64); ok && !number {
		return "", console.BadInput("%s: key %q got %s, wants a whole number, as the config of a run has it", c.path,
			formatKey, console.ShortText(fmt.Sprintf("%#v", v)))
	}
	if ok && v != int64(k.Version) {
		return "", console.BadInput("%s is of version %v of %s, this xlarun (%s) has version %d: run it with the "+
			"xlarun that wrote it%s, or take %q out and look through its settings",
			c.path, console.ShortText(fmt.Sprint(v)), name, console.Version(), k.Version, c.writer(), formatKey)
	}
	return name, nil
}

// writer returns the version of the program that wrote the file, " (0.1.0)"; "" if the file does not say.
func (c *configFile) writer() string {
	if v, ok := c.head[programKey]; ok {
		return fmt.Sprintf(" (%s)", console.ShortText(fmt.Sprint(v)))
	}
	return ""
}

// checkUntrusted refuses settings of a file that a file must not have, because a stranger may have written it. It drops
// those that name nothing, as files of earlier versions have them. stored means that the file is the config of a run
// that is resumed.
func (t *task) checkUntrusted(stored bool) error {
	path := t.path
	for _, f := range slices.Concat(settings.Fields(t.Experiment), settings.Fields(&t.session)) {
		g := t.given[f.Name]
		text := fmt.Sprint(g.value)
		switch why := f.FlagOnly(); {
		case g.from != byFile:
		case why != "" && (text == "" || text == "0"):
			delete(t.given, f.Name)
		case why != "":
			return console.BadInput("%s: key %q got %s, which %s, and a file must not: take it out, and give --%s on "+
				"the command line if you trust it", path, f.Name, console.ShortText(text), why, f.Name)
		case f.IsLocalPath() && !stored && text != "" && !filepath.IsLocal(text):
			return console.BadInput("%s: key %q got %s, and a file may name only a path below the working directory: "+
				"give --%s on the command line if you trust it", path, f.Name, console.ShortText(text), f.Name)
		}
	}
	return nil
}

// config returns the config file that repeats a task: every setting with its value, except those of the command line
// alone and the length of a run that has none. ended, if it is not nil, has the settings of a run that had ended: its
// ends stay as they are there.
func (t *task) config(ended map[string]any) (string, error) {
	var b strings.Builder
	write := func(key string, value any) error {
		text, err := toml.Marshal(map[string]any{key: value})
		b.Write(text)
		return err
	}
	fields := settings.Fields(t.Experiment)
	for _, f := range settings.Fields(&t.session) {
		if _, found := settings.Lookup(t.Experiment, f.Name); !found { // a kind's own setting goes before the session's
			fields = append(fields, f)
		}
	}
	err := errors.Join(write(kindKey, t.Name), write(formatKey, t.Version), write(programKey, console.Version()))
	parts := settings.ChosenParts(t.Experiment)
	for _, f := range fields {
		// parts and pairs have tables of their own
		part := slices.ContainsFunc(parts, func(c settings.Chosen) bool { return c.Name == f.Name })
		value, unlimited := f.Value(), t.unlimited && f.Name == t.Length
		if ended != nil && (f.Name == t.Length || slices.Contains(endNames, f.Name)) {
			value = ended[f.Name]
			unlimited = value == nil
		}
		if !part && f.Type != "pairs" && f.FlagOnly() == "" && !unlimited {
			err = errors.Join(err, write(f.Name, value))
		}
	}
	for _, f := range fields {
		if f.Type == "pairs" {
			b.WriteByte('\n')
			err = errors.Join(err, write(f.Name, f.Value()))
		}
	}
	for _, c := range parts {
		f, _ := settings.Lookup(t.Experiment, c.Name)
		fmt.Fprintf(&b, "\n[%s]\n", c.Name)
		err = errors.Join(err, write("name", f.Value()))
		for _, f := range settings.Fields(c.Settings) {
			if !run.InChoice(t.Experiment, c, f) {
				err = errors.Join(err, write(f.Name, f.Value()))
			}
		}
	}
	return b.String(), err
}

// configWith sets the settings that a run chose, and returns the config file that repeats it.
func (t *task) configWith(chosen settings.Values) (string, error) {
	values := origins{}
	values.all(chosen, byRun)
	if err := t.apply(values); err != nil {
		return "", err
	}
	return t.config(nil)
}
