package settings

import (
	"errors"
	"fmt"
	"strings"

	"xlarun/envs"
)

// Part is something that a struct of settings names by one of them and that has settings of its own: the strategy
// "openes" of an evolution. They are written behind the setting's name and a dot: strategy.sigma.
type Part struct {
	Name string // of the setting that names it: "strategy"
	// Choices are the names that there are, each with a pointer to a struct of its settings as they are by default.
	Choices map[string]any
}

// HasParts is a struct of settings with parts.
type HasParts interface {
	Parts() []Part
	// Own are the settings of the parts by name, "strategy.sigma".
	Own() *Values
}

// HasEachOfParts is a struct of settings with parts whose Numbers may be several.
type HasEachOfParts interface {
	HasParts
	EachOfParts() bool
}

// Choice is the name that a setting which names a part chooses, without what stands behind a colon.
func Choice(text string) string {
	name, _, _ := strings.Cut(text, ":")
	return name
}

// unknown is the error for a setting that there is not.
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

// prefixed puts a prefix before the key of an error.
func prefixed(err error, prefix string) error {
	var e *Error
	if err == nil || prefix == "" || !errors.As(err, &e) {
		return err
	}
	return &Error{prefix + e.Key, e.Got, e.Wants}
}

// Unknown is the error for a name that does not exist.
func Unknown(key, got string, known []string) *Error {
	return Wrong(key, got, "one of %s%s", strings.Join(known, ", "), didYouMean(got, known))
}

func didYouMean(got string, known []string) string {
	if near := envs.Nearest(got, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// Program is the text of all settings, those of the parts too, that another compiled program follows from: two
// experiments of a kind with the same text need the same programs.
func Program(ptr any) string {
	var b strings.Builder
	write := func(prefix string, fields []Field) {
		for _, f := range fields {
			if f.tag.Get("program") == "no" || f.Traced {
				continue
			}
			text := f.Text()
			if p, ok := f.value.Interface().(Pairs); ok {
				text = p.Shape()
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

// Words are the settings that another compiled program follows from, for people: "env CartPole-v1, policy mlp:16,16".
// Left out are those whose 0 leaves the choice to somebody else, and of the parts' settings those that are not as they
// are by default.
func Words(ptr any) string {
	var all []string
	for _, f := range Fields(ptr) {
		if _, chosen := f.tag.Lookup("zero"); chosen && f.value.IsZero() || f.tag.Get("program") == "no" || f.Traced {
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

// Chosen is a part as it is chosen: with the settings that it was given.
type Chosen struct {
	Name     string // of the part
	Choice   string // its name, without what stands behind a colon
	Settings any    // pointer to a struct
}

// ChosenParts are the parts of a struct of settings, as they are chosen and set. A choice that does not exist is left
// out, a value that does not fit is passed over: the struct's own Check says so.
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

// Unusual is the text of those settings of a chosen part that another compiled program follows from and that are not as
// they are by default: ", strategy.elite-ratio 0.2"; ptr is the struct that has the part.
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
