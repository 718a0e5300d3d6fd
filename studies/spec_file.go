package studies

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"xlarun/rollout/external"
	"xlarun/rollout/settings"
	"xlarun/studies/study"
)

// Parse reads a spec. over holds settings by name that replace those of the file. An error about a key is a *SpecError.
func Parse(text []byte, over map[string]string) (*Spec, error) {
	var values map[string]any
	if err := toml.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &values); err != nil {
		var d *toml.DecodeError
		if errors.As(err, &d) {
			row, column := d.Position()
			return nil, fmt.Errorf("line %d, column %d is no TOML: %s", row, column,
				shorten(strings.TrimPrefix(d.Error(), "toml: ")))
		}
		return nil, fmt.Errorf("it is no TOML: %s", shorten(err.Error()))
	}
	if _, ok := values["kind_version"]; ok {
		return nil, fmt.Errorf("it is the config of a run, which xlarun %v runs: the file of a study has a metric, "+
			"such settings in [run], and parameters in [[param]]", values["kind"])
	}
	s := Defaults()
	kind := values["kind"]
	if given := over["kind"]; given != "" {
		kind = given
	}
	if kind == external.Name || kind == nil && over["exec"] != "" {
		s.usePrograms()
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if err := s.set(strings.ReplaceAll(key, "_", "-"), values[key]); err != nil {
			return nil, err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(over)) {
		if err := s.set(key, over[key]); err != nil {
			return nil, err
		}
	}
	return s, s.check()
}

// set sets a key of the file.
func (s *Spec) set(key string, value any) error {
	switch key {
	case "command":
		return s.setCommand(value)
	case "run":
		table, ok := value.(map[string]any)
		if !ok {
			return wrong(key, "got %v, wants a table of the runs' settings, [run]", value)
		}
		return s.setRun("", table)
	case "param":
		list, ok := value.([]any)
		if !ok {
			return wrong(key, "got %v, wants the parameters, each as a table [[param]]", value)
		}
		for i, one := range list {
			table, ok := one.(map[string]any)
			if !ok {
				return wrong(key, "got %v, wants tables [[param]]", one)
			}
			p, err := s.readParam(i, table)
			if err != nil {
				return err
			}
			s.Space = append(s.Space, p)
		}
		return nil
	}
	f, ok := settings.Lookup(s, key)
	if !ok {
		names := append(settings.Names(s), "command", "run", "param")
		return wrong(key, "is not known: there are %s", strings.Join(names, ", "))
	}
	return asSpecError(f.Set(value))
}

func asSpecError(err error) error {
	if e, ok := errors.AsType[*settings.Error](err); ok {
		return wrong(e.Key, "got %s, wants %s", e.Got, e.Wants)
	}
	return err
}

// setRun sets the table [run]. Tables in it are settings of parts.
func (s *Spec) setRun(prefix string, table map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(table)) {
		name := prefix + s.nameOf(key)
		if name == prefix+"name" && !s.Programs() && prefix != "" && prefix != settings.EnvParam+"." {
			name = strings.TrimSuffix(prefix, ".")
		}
		switch v := table[key].(type) {
		case map[string]any:
			if prefix != "" {
				return wrong("run."+name, "got a table in a table, wants a number or a text")
			}
			if err := s.setRun(name+".", v); err != nil {
				return err
			}
		case bool, int64, float64, string:
			s.Fixed[name] = v
		case []any:
			for _, x := range v {
				switch x.(type) {
				case int64, float64:
				default:
					return wrong("run."+name, "got a list with %v, wants numbers", x)
				}
			}
			s.Fixed[name] = v
		default:
			return wrong("run."+name, "got %v, wants a number, a text or a list of numbers", v)
		}
	}
	return nil
}

// nameOf returns the name of a setting that a key means. A program's are its own.
func (s *Spec) nameOf(key string) string {
	if s.Programs() {
		return key
	}
	return strings.ReplaceAll(key, "_", "-")
}

// readParam reads a table [[param]].
func (s *Spec) readParam(i int, table map[string]any) (p study.Param, err error) {
	name, ok := table["name"].(string)
	if !ok || name == "" {
		return p, wrong("param", "number %d has no name: give the setting that it is, name = \"strategy.sigma\"", i+1)
	}
	p.Name = s.nameOf(name)
	keyOf := func(key string) string { return "param." + p.Name + "." + key }
	kind, _ := table["type"].(string)
	d := &p.Distribution
	known := []string{"name", "type", "when"}
	switch kind {
	case "float":
		d.Kind = study.Float
		known = append(known, "low", "high", "log", "step")
	case "int":
		d.Kind, d.Step = study.Int, 1
		known = append(known, "low", "high", "log", "step")
	case "categorical":
		d.Kind = study.Categorical
		known = append(known, "choices")
	default:
		return p, wrong(keyOf("type"), "got %v, wants float, int or categorical", table["type"])
	}
	for key, value := range table {
		if !slices.Contains(known, key) {
			return p, wrong(keyOf(key), "is not known: %s has %s", kind, strings.Join(known, ", "))
		}
		switch key {
		case "low", "high", "step":
			x, ok := value.(float64)
			if n, isInt := value.(int64); isInt {
				x, ok = float64(n), true
			}
			if !ok {
				return p, wrong(keyOf(key), "got %v, wants a number", value)
			}
			*map[string]*float64{"low": &d.Low, "high": &d.High, "step": &d.Step}[key] = x
		case "log":
			if d.Log, ok = value.(bool); !ok {
				return p, wrong(keyOf(key), "got %v, wants true or false", value)
			}
		case "choices":
			if d.Choices, ok = value.([]any); !ok {
				return p, wrong(keyOf(key), "got %v, wants a list", value)
			}
		case "when":
			when, ok := value.(map[string]any)
			if !ok {
				return p, wrong(keyOf(key), "got %v, wants { NAME = VALUE } or { NAME = [VALUES] } of a parameter "+
					"before it", value)
			}
			p.When = map[string][]any{}
			for on, v := range when {
				list, ok := v.([]any)
				if !ok {
					list = []any{v}
				}
				p.When[s.nameOf(on)] = list
			}
		}
	}
	for _, key := range []string{"low", "high"} {
		if _, ok := table[key]; !ok && kind != "categorical" {
			return p, wrong(keyOf(key), "is missing: give both bounds")
		}
	}
	if d.Log && d.Kind == study.Float {
		if _, ok := table["step"]; ok {
			return p, wrong(keyOf("step"), "does not go with a log scale: leave one of them out")
		}
	}
	return p, nil
}
