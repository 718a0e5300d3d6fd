package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"xlarun/envs"
)

// Part is a choice among structs of settings, which one setting names: the strategy "openes" of an evolution. The names
// of its settings follow the setting's name and a dot: strategy.sigma.
type Part struct {
	Name string // of the setting: "strategy"
	// Choices has a pointer to a struct of default settings for each name.
	Choices map[string]any
}

// HasParts is a struct of settings with parts.
type HasParts interface {
	Parts() []Part
	// Own returns the settings of the parts by name, "strategy.sigma".
	Own() *Values
}

// HasEachOfParts is a struct of settings with parts whose Numbers may have several values.
type HasEachOfParts interface {
	HasParts
	EachOfParts() bool
}

// Choice returns the name of a choice, without the text after a colon.
func Choice(text string) string {
	name, _, _ := strings.Cut(text, ":")
	return name
}

// unknown returns the error for an unknown setting.
func unknown(ptr any, name, whose, prefix string) error {
	names := Names(ptr)
	if len(names) == 0 {
		return Wrong(prefix+name, "a value", "nothing: %s has no settings, leave it out", whose).unquoted()
	}
	for i := range names {
		names[i] = prefix + names[i]
	}
	return Wrong(prefix+name, "a value", "one of the settings that %s has: %s%s", whose, strings.Join(names, ", "),
		didYouMean(prefix+name, names)).unquoted()
}

func (e *Error) unquoted() *Error {
	e.Got = strings.Trim(e.Got, `"`)
	return e
}

// prefixed returns an error with a prefix before its key.
func prefixed(err error, prefix string) error {
	var e *Error
	if err == nil || prefix == "" || !errors.As(err, &e) {
		return err
	}
	return &Error{prefix + e.Key, e.Got, e.Wants}
}

// Unknown returns the error for an unknown name.
func Unknown(key, got string, known []string) *Error {
	return Wrong(key, got, "one of %s%s", strings.Join(known, ", "), didYouMean(got, known))
}

func didYouMean(got string, known []string) string {
	if near := envs.Nearest(got, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// Program returns the text of all settings, including those of parts, that the compiled program depends on. Experiments
// of a kind with the same text need the same programs.
func Program(ptr any) string {
	var b strings.Builder
	write := func(prefix string, fields []Field) {
		for _, f := range fields {
			if f.tag.Get("program") == "no" || f.Traced {
				continue
			}
			text := f.Text()
			if p, ok := f.value.Interface().(Pairs); ok {
				id := ""
				if env, ok := Lookup(ptr, "env"); ok {
					id = env.Text()
				}
				text = p.Shape(id)
			}
			fmt.Fprintf(&b, "%s%s=%q;", prefix, f.Name, text)
		}
	}
	write("", Fields(ptr))
	for _, p := range ChosenParts(ptr) {
		write(p.Name+".", Fields(p.Settings))
	}
	return b.String()
}

// Words describes the settings that the compiled program depends on: "env CartPole-v1, policy mlp:16,16". It leaves out
// settings whose 0 stands for a default, default settings of parts, and the settings of the names in without.
func Words(ptr any, without ...string) string {
	var all []string
	for _, f := range Fields(ptr) {
		if _, chosen := f.tag.Lookup("zero"); chosen && f.value.IsZero() || f.tag.Get("program") == "no" || f.Traced ||
			slices.Contains(without, f.Name) {
			continue
		}
		all = append(all, f.Name+" "+f.Text())
	}
	text := strings.Join(all, ", ")
	if h, ok := ptr.(HasParts); ok {
		for _, c := range ChosenParts(ptr) {
			text += Unusual(c, h)
		}
	}
	return text
}

// Chosen is a part's choice with its settings.
type Chosen struct {
	Name     string // of the part
	Choice   string // without the text after a colon
	Settings any    // pointer to a struct
}

// ChosenParts returns the choices of a struct of settings. It ignores unknown choices and wrong values, which the
// struct's Check reports.
func ChosenParts(ptr any) (all []Chosen) {
	h, ok := ptr.(HasParts)
	if !ok {
		return nil
	}
	e, _ := ptr.(HasEachOfParts)
	for _, p := range h.Parts() {
		f, ok := Lookup(ptr, p.Name)
		if !ok {
			continue
		}
		choice := Choice(f.Text())
		s, ok := p.Choices[choice]
		if !ok {
			continue
		}
		_ = h.Own().Under(p.Name+".").apply(s, choice, "", e != nil && e.EachOfParts())
		all = append(all, Chosen{p.Name, choice, s})
	}
	return all
}

// Unusual describes the settings of a chosen part that are not defaults and that the compiled program depends on:
// ", strategy.elite-ratio 0.2". ptr is the struct that has the part.
func Unusual(c Chosen, ptr HasParts) string {
	text := ""
	for _, p := range ptr.Parts() {
		if p.Name != c.Name {
			continue
		}
		for _, f := range Fields(c.Settings) {
			usual, ok := Lookup(p.Choices[c.Choice], f.Name)
			if ok && !f.Traced && f.tag.Get("program") != "no" && f.Text() != usual.Text() {
				text += fmt.Sprintf(", %s.%s %s", c.Name, f.Name, f.Text())
			}
		}
	}
	return text
}
