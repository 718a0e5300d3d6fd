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

// origin returns the source of a setting by its full name, and the name under which it is given there.
func (t *task) origin(name string) (as string, from source) {
	as, from = name, t.given[name].from
	_, short, parted := strings.Cut(name, ".")
	g, ok := t.given[short]
	if !parted || !ok || g.from <= from {
		return as, from
	}
	for _, e := range []any{t.Experiment, &t.session} {
		if _, ok := settings.Lookup(e, short); ok { // it is not the part's
			return as, from
		}
	}
	if full, err := t.partOf(short, settings.ChosenParts(t.Experiment), false); err != nil || full != name {
		return as, from
	}
	return short, g.from
}

// named makes an error of a setting one that says where its value comes from: the flag, under its full name, the key of
// the file, as it is written there, or the default.
func (t *task) named(err error) error {
	e, ok := asSetting(err)
	if !ok {
		return settingError(err)
	}
	as, from := t.origin(e.Key)
	switch {
	case from == byFile && t.path != "":
		return console.BadInput("%s: key %q got %s, wants %s", t.path, shortKey(as), console.ShortText(e.Got), e.Wants)
	case from == byDefault && t.isDefault(e):
		return settingError(&settings.Error{Key: e.Key, Got: e.Got + " (the default)", Wants: e.Wants})
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
