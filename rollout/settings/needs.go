package settings

import (
	"path"
	"strings"
)

// Needs returns what the setting needs to have an effect, if the others of its struct, all, are not so: the name of
// another setting and the values that it must have. ok is false if the setting has an effect.
//
// The tag is needs:"encoder=population|delta". A value may be a pattern of path.Match, and "!0" means any other value.
func (f Field) Needs(all []Field) (other, wants string, ok bool) {
	tag, has := f.tag.Lookup("needs")
	if !has {
		return "", "", false
	}
	other, values, _ := strings.Cut(tag, "=")
	for _, x := range all {
		if x.Name != other {
			continue
		}
		for value := range strings.SplitSeq(values, "|") {
			pattern, not := strings.CutPrefix(value, "!")
			matched, err := path.Match(pattern, x.Text())
			if err != nil {
				panic("settings: the tag needs:\"" + tag + "\" of " + f.Name + " has a bad pattern")
			}
			if matched != not {
				return "", "", false
			}
		}
		return other, needed(values), true
	}
	panic("settings: the tag needs:\"" + tag + "\" of " + f.Name + " names no setting beside it")
}

// needed words the values of a tag needs.
func needed(values string) string {
	var words []string
	for value := range strings.SplitSeq(values, "|") {
		switch {
		case value == "?*" || strings.HasPrefix(value, "!"): // any value that does something
		default:
			words = append(words, strings.ReplaceAll(value, "*", "…"))
		}
	}
	return strings.Join(words, " or ")
}
