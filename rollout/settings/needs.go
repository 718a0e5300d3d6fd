package settings

import (
	"path"
	"strings"
)

// Needs tells what the setting needs to have an effect, if the others of its struct, all, are not so: the name of
// another setting, and in words the values that it must have. missing is false if the setting has an effect.
//
// The tag is needs:"encoder=population|delta". A value may be a pattern of path.Match. "!none" means any other value
// than none, and "!" any text. An alternative may name another setting, as in "search=puct|games=!0". "&" separates
// conditions that must all hold; the first that does not is returned.
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

// CheckNeeds refuses settings that have no effect because of the value of one setting, other, unless their values are
// those of usual, a struct of the same type. The error is an *Error.
func CheckNeeds(ptr, usual any, other string) error {
	defaults, all := Fields(usual), Fields(ptr)
	for i, f := range all {
		if name, wants, missing := f.Needs(all); missing && name == other && f.Text() != defaults[i].Text() {
			return &Error{f.Name, f.Text(), "--" + name + " " + wants + " beside it: it has no effect otherwise"}
		}
	}
	return nil
}
