package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
)

// The commands of docs/tutorial/first-run.md work one after the other, and leave the files that the page names.
func TestFirstRun(t *testing.T) {
	page := read(t, "../../docs/tutorial/first-run.md")
	shelltest.ShareCache(t)
	t.Chdir(t.TempDir())
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			words := strings.Fields(line)
			require.Equal(t, "xlarun", words[0])
			inProcess.Do(t, words[1:]...)
			commands++
		}
	}
	require.GreaterOrEqual(t, commands, 7)
	require.Contains(t, read(t, "runs/first/config.toml"), "rounds = 100", "the run was resumed")
	for _, file := range []string{"runs/first/play.gif", "runs/first/plot.png", "member.safetensors"} {
		require.FileExists(t, file)
	}
}
