package cli

import (
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/settings"
)

// source is where the value of a setting comes from. Of two values, the one of the later source counts.
type source int

const (
	byDefault source = iota
	byRecipe         // suggested for the experiment's argument
	byFile
	byFlag // or the command's argument
	byRun  // chosen by a run when it was compiled
)

// given is the value of a setting, and its source.
type given struct {
	value any
	from  source
}

// origins are the settings that are not the defaults, by name. Those of parts may have names without the part.
type origins map[string]given

// all adds values of one source. They go before those of earlier sources.
func (o origins) all(values map[string]any, from source) {
	for name, value := range values {
		o[name] = given{value, from}
	}
}

// of returns the source of a setting by its full name.
func (o origins) of(name string) source {
	if g, ok := o[name]; ok {
		return g.from
	}
	_, short, parted := strings.Cut(name, ".")
	if g, ok := o[short]; parted && ok {
		return g.from
	}
	return byDefault
}

// named makes an error of a setting one that says where its value comes from: the flag, the key of the file, or the
// default.
func (t *task) named(err error) error {
	e, ok := asSetting(err)
	if !ok {
		return settingError(err)
	}
	if t.given[e.Key].from == byFile && t.path != "" {
		return console.BadInput("%s: key %q got %s, wants %s", t.path, shortKey(e.Key), console.ShortText(e.Got),
			e.Wants)
	}
	if t.given.of(e.Key) == byDefault && t.isDefault(e) {
		e = &settings.Error{Key: e.Key, Got: e.Got + " (the default)", Wants: e.Wants}
	}
	return settingError(e)
}

// isDefault reports whether an error is one of the value that a setting has, which nobody gave.
func (t *task) isDefault(e *settings.Error) bool {
	f, ok := settings.Lookup(t.Experiment, e.Key)
	part, name, parted := strings.Cut(e.Key, ".")
	for _, c := range settings.ChosenParts(t.Experiment) {
		if parted && c.Name == part {
			f, ok = settings.Lookup(c.Settings, name)
		}
	}
	return ok && e.Got != `""` && (e.Got == f.Text() || e.Got == strconv.Quote(f.Text()))
}
