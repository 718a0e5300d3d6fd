package console

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Help was up to 237 columns wide.
func TestParagraphs(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"one two\nthree", "one two\nthree\n"},
		{"one. two.\nthree four five six", "one. two.\nthree four five six\n"},
		{"one two three four. five\n\nsix", "one two three four.\nfive\n\nsix\n"}, // a stop ends no paragraph
		{"one two three four five six", "one two three four\nfive six\n"},
		{"one.\ntwo", "one.\ntwo\n"},
		{"one\n\ntwo", "one\n\ntwo\n"},
		{"one\n  ab   three four five six seven", "one\n  ab   three four five six\n       seven\n"},
		{"\tcode that is not wrapped apart from blanks", "\tcode that is not\n wrapped apart from\n blanks\n"},
		{strings.Repeat("x", 30) + " y", strings.Repeat("x", 30) + "\ny\n"},
		{"ü ü ü ü ü ü ü ü ü ü", "ü ü ü ü ü ü ü ü ü ü\n"},
	} {
		assert.Equal(t, c.want, Paragraphs(c.text, 20), "%q", c.text)
	}
}

func TestList(t *testing.T) {
	assert.Empty(t, List("  ", nil, 40))
	assert.Equal(t, "  a    one two three four five six seven\n       eight\n  bcd\n",
		List("  ", [][2]string{{"a", "one two three four five six seven eight"}, {"bcd", ""}}, 40))
	assert.Equal(t, "long-name  one two three four\n           five\n",
		List("", [][2]string{{"long-name", "one two three four five"}}, 10), "no room beside the names")
}
