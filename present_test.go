package xlarun_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// diary are the words of pages that tell what was done and when. Pages for users say what the program does.
var diary = regexp.MustCompile(`\b[Cc]ommits? [0-9a-f]{7,40}\b|\b[0-9a-f]{8}\b|` +
	`\b([Ll]ater|[Ss]ince then|[Ss]ince these|[Ee]arlier|[Nn]o longer|any more|was removed|busy|nearly alone)\b|` +
	`\b(beside|with) other (work|programs)\b|` +
	`\b(January|February|March|April|June|July|August|September|October|November|December) 20\d\d\b|` +
	`\b20\d\d-\d\d-\d\d\b`)

// Documents for users are in the present tense: no commits, no dates, no history. Laboratory notes may have them, and
// so may code and the pages that a test writes.
func TestDocumentsAreInThePresent(t *testing.T) {
	code := regexp.MustCompile("(?s)```.*?```|`[^`]*`|<!--.*?-->|\\]\\([^)]*\\)|/amd64, [0-9a-f]{8}")
	for name, text := range documents(t) {
		if name != "README.md" && (!strings.HasPrefix(name, "docs/") || strings.HasPrefix(name, "docs/notes/")) ||
			referencePages[name] != nil {
			continue
		}
		prose := code.ReplaceAllStringFunc(text, func(s string) string {
			return strings.Repeat("\n", strings.Count(s, "\n")) // lines keep their numbers
		})
		for i, line := range strings.Split(prose, "\n") {
			if m := diary.FindString(line); m != "" {
				t.Errorf("%s:%d: %q tells when something was done: say what the program does", name, i+1, m)
			}
		}
	}
	require.True(t, diary.MatchString("since 98ced04f") && diary.MatchString("It was removed."))
	require.False(t, diary.MatchString("a limit of 65536 members"))
}
