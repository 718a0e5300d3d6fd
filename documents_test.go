package xlarun_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/cli"
)

// TestDocumentedCommandsExist parses the commands in code blocks and code spans of all documents, with their flags.
func TestDocumentedCommandsExist(t *testing.T) {
	block := regexp.MustCompile("(?ms)^```(?:sh)?\n(.*?)^```")
	span := regexp.MustCompile("`(xlarun [^`]+)`")
	checked := map[string]bool{} // many stand on several pages
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/notes/*.md", "examples/*.md", "third_party/*.md"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var lines []string
			for _, m := range block.FindAllStringSubmatch(string(text), -1) {
				lines = append(lines, strings.Split(strings.ReplaceAll(m[1], "\\\n", " "), "\n")...)
			}
			for _, m := range span.FindAllStringSubmatch(string(text), -1) {
				lines = append(lines, strings.Join(strings.Fields(m[1]), " "))
			}
			for _, line := range lines {
				line, _, _ = strings.Cut(line, " #")
				for command := range strings.SplitSeq(line, ";") {
					args := strings.Fields(command)
					if len(args) < 2 || args[0] != "xlarun" ||
						removed[args[1]+" "+strings.Join(args[2:min(3, len(args))], "")] {
						continue
					}
					if checked[strings.Join(args, " ")] {
						continue
					}
					checked[strings.Join(args, " ")] = true
					if err := parse(args[1:]); err != nil {
						t.Errorf("%s: %s: %v", file, strings.Join(args, " "), err)
					}
				}
			}
		}
	}
	require.Greater(t, len(checked), 100)
}

// removed are commands of earlier commits, which documents name as such, and the format of members' files.
var removed = map[string]bool{"member ": true, "bench parallel": true, "bench crossover": true, "bench odd": true,
	"bench ppo-ladder": true, "bench ppo-logging": true}

// parse finds the command of a command line and parses its flags.
func parse(args []string) error {
	for i, arg := range args {
		if strings.HasPrefix(arg, "--") {
			args[i] = strings.ReplaceAll(arg, "_", "-")
		}
	}
	root := cli.Root()
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if c == root || c.HasAvailableSubCommands() && len(rest) > 0 && len(ownFlags(c)) == 0 {
		return fmt.Errorf("there is no command %s", args[0])
	}
	c.InitDefaultHelpFlag()
	return c.ParseFlags(rest)
}

// TestLinksOfDocuments checks that the files and headings that documents link to exist.
func TestLinksOfDocuments(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard", "-z", "*.md").Output()
	if err != nil {
		t.Skip("not a git checkout: ", err)
	}
	code := regexp.MustCompile("(?s)```.*?```|`[^`]*`")
	link := regexp.MustCompile(`\]\(([^)#]*)#?([^)]*)\)`)
	checked := 0
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, not committed yet
		}
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			file, heading := filepath.Join(filepath.Dir(name), m[1]), m[2]
			if m[1] == "" {
				file = name
			}
			if strings.Contains(m[1], "://") {
				continue
			}
			checked++
			_, err := os.Stat(file)
			require.NoError(t, err, "%s links to %s", name, m[1])
			if heading != "" {
				require.Contains(t, anchors(t, file), heading, "%s links to a heading of %s", name, file)
			}
		}
	}
	require.Greater(t, checked, 30)
}

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(t *testing.T, file string) (all []string) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	punctuation := regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		all = append(all, strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}
