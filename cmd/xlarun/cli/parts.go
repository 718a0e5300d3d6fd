package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/settings"
)

// apply sets the settings. A name without a part is taken for a setting of a chosen part, if a part has it.
func (t *task) apply(values origins) error {
	later := origins{} // settings of parts
	for _, name := range slices.Sorted(maps.Keys(values)) {
		known, err := t.set(name, values[name].value)
		if err != nil {
			return err
		}
		if !known {
			later[name] = values[name]
		}
	}
	if len(later) == 0 {
		return nil
	}
	if err := t.checkChoices(); err != nil { // settings cannot be looked up in a part that does not exist
		return err
	}
	chosen := settings.ChosenParts(t.Experiment)
	for from := byDefault; from <= byRun; from++ { // a later source wins, also under another name of a setting
		ofFile, names := from == byFile, map[string]string{} // by full name
		for _, name := range slices.Sorted(maps.Keys(later)) {
			if later[name].from != from {
				continue
			}
			full, err := t.partOf(name, chosen, ofFile)
			if err != nil {
				return err
			}
			if other, twice := names[full]; twice {
				where := ""
				if ofFile {
					where = t.path + ": "
				}
				return console.BadInput("%s%s and %s are the same setting: give one of them", where, other, name)
			}
			names[full] = name
			part, _, _ := strings.Cut(full, ".")
			if values[part].from < later[name].from {
				if err := t.withoutArgument(part, full, chosen); err != nil {
					return err
				}
			}
			own := t.Experiment.(settings.HasParts).Own()
			*own = own.With(full, later[name].value)
		}
	}
	return nil
}

// set sets a setting of the experiment or of the session. known is false for other names.
func (t *task) set(name string, value any) (known bool, err error) {
	f, ok := settings.Lookup(t.Experiment, name)
	if !ok {
		f, ok = settings.Lookup(&t.session, name)
	}
	if ok {
		return true, f.Set(value)
	}
	return false, nil
}

// checkChoices refuses parts that do not exist.
func (t *task) checkChoices() error {
	h, ok := t.Experiment.(settings.HasParts)
	if !ok {
		return nil
	}
	for _, p := range h.Parts() {
		f, ok := settings.Lookup(t.Experiment, p.Name)
		if !ok {
			continue
		}
		name := settings.Choice(f.Text())
		if _, known := p.Choices[name]; !known {
			return settings.Unknown(p.Name, name, slices.Sorted(maps.Keys(p.Choices)))
		}
	}
	return nil
}

// withoutArgument removes the argument after the colon of a part's choice if it is the same setting as the given one.
func (t *task) withoutArgument(part, full string, chosen []settings.Chosen) error {
	choice, ok := settings.Lookup(t.Experiment, part)
	if !ok {
		return nil
	}
	for _, c := range chosen {
		if f, is := settings.Lookup(c.Settings, strings.TrimPrefix(full, part+".")); is && c.Name == part &&
			f.IsArgument() {
			name, _, _ := strings.Cut(choice.Text(), ":")
			return choice.Set(name)
		}
	}
	return nil
}

// partOf returns the full name of a setting of a part. ofFile says that it is a key of the file.
func (t *task) partOf(name string, chosen []settings.Chosen, ofFile bool) (string, error) {
	part, rest, dotted := strings.Cut(name, ".")
	var names []string
	for _, c := range chosen {
		for _, f := range settings.Fields(c.Settings) {
			names = append(names, c.Name+"."+f.Name)
			if dotted && c.Name == part && f.Name == rest || !dotted && f.Name == name {
				return c.Name + "." + f.Name, nil
			}
		}
		if dotted && c.Name == part {
			return name, nil // the part itself says that it has no such setting
		}
	}
	if ofFile {
		hint := console.DidYouMeanAny(name, slices.Concat(settings.Names(t.Experiment), settings.Names(&t.session),
			names))
		if name == topologyFlag {
			hint = topologyHint("it", "devices to compile for")
		}
		return "", console.BadInput("%s: there is no key %q%s; see xlarun %s --help --all", t.path, shortKey(name),
			hint, t.Name)
	}
	hint := ""
	var having []string // choices of a part, by its name
	if h, ok := t.Experiment.(settings.HasParts); ok {
		for _, p := range h.Parts() {
			for _, choice := range slices.Sorted(maps.Keys(p.Choices)) {
				if _, has := settings.Lookup(p.Choices[choice], strings.TrimPrefix(name, p.Name+".")); has {
					having = append(having, p.Name+" "+choice)
				}
			}
		}
	}
	if len(having) > 0 {
		hint = ", that is one of " + strings.Join(having, " and ")
	}
	if name == topologyFlag {
		hint = topologyHint("that", "devices to compile for, such as h100,")
	}
	what := "an experiment of " + t.Name
	for _, c := range chosen {
		what += ", " + c.Name + " " + c.Choice
	}
	return "", console.BadInput("%s has no --%s%s: leave it out", what, shortKey(name), hint)
}

// topologyHint tells the two meanings of --topology apart.
func topologyHint(it, devices string) string {
	return fmt.Sprintf(", %s is one of %s; %s are the flag --%s of inspect and warmup", it,
		strings.Join(kindsWithTopology(""), " and "), devices, topologyFlag)
}

// shortKey shortens a long key for errors.
func shortKey(name string) string {
	if len(name) > 60 {
		return strings.ToValidUTF8(name[:40], "") + "…" // the cut may lie within a letter
	}
	return name
}
