package settings

import (
	"path"
	"strings"
)

// Needs returns the first condition of the tag needs that does not hold for the settings of the struct, all: the name
// of another setting, and in words the values that it must have. missing is false if all conditions hold.
//
// Conditions are joined by "&", the alternatives of one by "|": needs:"search=puct|games=!0&value=a*". A value is a
// pattern of path.Match; "!none" is any other value than none, and "!" any text that is not empty. An alternative
// without a name is about the setting before it.
func (f Field) Needs(all []Field) (other, wants string, missing bool) {
	tag, tagged := f.tag.Lookup("needs")
	if !tagged {
		return "", "", false
	}
	for condition := range strings.SplitSeq(tag, "&") {
		alternatives := alternativesOf(condition)
		holds := false
		for _, a := range alternatives {
			holds = holds || a.holds(f, all)
		}
		if !holds {
			return alternatives[0].setting, words(alternatives), true
		}
	}
	return "", "", false
}

// alternative is a value that a setting must have.
type alternative struct{ setting, value string }

// alternativesOf splits a condition, such as encoder=population|delta.
func alternativesOf(condition string) (all []alternative) {
	setting := ""
	for text := range strings.SplitSeq(condition, "|") {
		if name, value, named := strings.Cut(text, "="); named {
			setting, text = name, value
		}
		all = append(all, alternative{setting, text})
	}
	return all
}

// holds reports whether a setting beside f has the value.
func (a alternative) holds(f Field, all []Field) bool {
	for _, x := range all {
		if x.Name != a.setting {
			continue
		}
		pattern, not := strings.CutPrefix(a.value, "!")
		matched, err := path.Match(pattern, x.Text())
		if err != nil {
			panic("settings: the tag needs of " + f.Name + " has the bad pattern " + pattern)
		}
		return matched != not
	}
	panic("settings: the tag needs of " + f.Name + " names " + a.setting + ", which is no setting beside it")
}

// words words alternatives as they follow the name of the first setting: "puct or --games other than 0".
func words(alternatives []alternative) string {
	var texts []string
	setting := alternatives[0].setting
	for _, a := range alternatives {
		text := strings.ReplaceAll(a.value, "*", "…")
		if value, not := strings.CutPrefix(text, "!"); not && value != "" {
			text = "other than " + value
		} else if not {
			text = "" // any text
		}
		if a.setting != setting {
			setting, text = a.setting, "--"+a.setting+" "+text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " or ")
}

// CheckNeeds returns an *Error if the setting has no effect with the others of its struct, all. prefix goes before
// their names.
func (f Field) CheckNeeds(prefix string, all []Field) error {
	other, wants, missing := f.Needs(all)
	if !missing {
		return nil
	}
	return &Error{prefix + f.Name, f.Text(), strings.TrimSpace("--"+prefix+other+" "+wants) +
		" beside it: it has no effect otherwise"}
}

// CheckNeeds is Field.CheckNeeds of the settings of a struct, to which ptr points, that have a value in v.
func (v Values) CheckNeeds(ptr any, prefix string) error {
	all := Fields(ptr)
	for _, f := range all {
		err := f.CheckNeeds(prefix, all)
		if _, given := v[f.Name]; given && err != nil {
			return err
		}
	}
	return nil
}

// CheckChanged is Field.CheckNeeds of the settings of a struct that differ from those of usual, a struct of the same
// type. Only conditions on the setting other count: a config file has all settings, also some that do nothing.
func CheckChanged(ptr, usual any, other string) error {
	defaults, all := Fields(usual), Fields(ptr)
	for i, f := range all {
		if name, _, _ := f.Needs(all); name == other && f.Text() != defaults[i].Text() {
			return f.CheckNeeds("", all)
		}
	}
	return nil
}
