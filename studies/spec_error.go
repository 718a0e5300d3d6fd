package studies

import (
	"fmt"
	"strings"
)

// SpecError says what is wrong with a key of a spec.
type SpecError struct {
	Key, Problem string
}

// Error implements error.
func (e *SpecError) Error() string {
	return e.Of(fmt.Sprintf("key %q", shorten(e.Key)))
}

// Of is the error's text with another name of the key, such as that of its flag.
func (e *SpecError) Of(name string) string { return name + " " + shorten(e.Problem) }

// shorten cuts a text from a file to a length that can be read.
func shorten(s string) string {
	const most = 300
	s = strings.ToValidUTF8(s, "?")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

func wrong(key, format string, args ...any) error {
	return &SpecError{key, fmt.Sprintf(format, args...)}
}
