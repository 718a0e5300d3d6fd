package xlarun_test

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// widest is the number of columns that a line of Go, of C or of Markdown prose may have. A tab counts as four.
const widest = 120

// columns is the width of a line.
func columns(line string) int { return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t") }

// target is where a Markdown link or picture leads.
var target = regexp.MustCompile(`\]\([^)]*\)`)

// wideProse returns the numbers of the lines of prose that are too wide: not those of tables, of code blocks, or that
// are too wide only by where a link leads.
func wideProse(text string) (lines []int) {
	code := false
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			code = !code
		}
		if code || strings.HasPrefix(trimmed, "|") || !strings.Contains(trimmed, " ") {
			continue
		}
		if columns(target.ReplaceAllString(line, "]")) > widest {
			lines = append(lines, i+1)
		}
	}
	return lines
}

// structTag is the tag of a field of a struct, at the end of its line. A tag cannot be broken.
var structTag = regexp.MustCompile("\\s*`\\w+:\"[^`]*`$")

// wideCode returns the numbers of the lines of Go or C that are too wide without a struct's tag; none of a generated
// file.
func wideCode(text string) (lines []int) {
	if strings.HasPrefix(text, "// Code generated ") {
		return nil
	}
	for i, line := range strings.Split(text, "\n") {
		if columns(structTag.ReplaceAllString(line, "")) > widest {
			lines = append(lines, i+1)
		}
	}
	return lines
}

func TestWide(t *testing.T) {
	long := strings.Repeat("word ", 30)
	require.Equal(t, []int{2}, wideProse("short\n"+long+"\nshort"))
	require.Empty(t, wideProse("| "+long+"|\n```sh\n"+long+"\n```\n"+strings.Repeat("x", 200)))
	require.Empty(t, wideProse("see [this]("+strings.Repeat("x", 200)+") and that"))
	require.Equal(t, []int{1}, wideCode("\t"+strings.Repeat("x", 117)))
	require.Empty(t, wideCode("\t"+strings.Repeat("x", 116)+" `set:\"pop\" help:\"members\"`"))
	require.Equal(t, []int{1}, wideCode("\tprint(`"+strings.Repeat("x", 117)+"`)"))
}

func TestProseIsNotWide(t *testing.T) { checkWidths(t, "*.md", wideProse) }

func TestGoIsNotWide(t *testing.T) { checkWidths(t, "*.go", wideCode) }

// C is not wide either. `clang-format -i FILE` formats a file.
func TestCIsNotWide(t *testing.T) { checkWidths(t, "*.[ch]", wideCode) }

// checkWidths checks all files of the repository whose names match a pattern.
func checkWidths(t *testing.T, pattern string, wide func(text string) (lines []int)) {
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard", "-z", pattern).Output()
	if err != nil {
		t.Skip("not a git checkout: ", err)
	}
	checked := 0
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, not committed yet
		}
		require.NoError(t, err)
		checked++
		for _, line := range wide(string(text)) {
			t.Errorf("%s:%d: this line has more than %d columns: break it", name, line, widest)
		}
	}
	require.Greater(t, checked, 20, "git lists almost no files")
}
