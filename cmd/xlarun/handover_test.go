package main

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/cmd/xlarun/cli"
)

// Another program replaces this process: it has its number, so that signals reach it and its exit status is the
// process's.
func TestHandOver(t *testing.T) {
	s := shelltest.New(t)
	t.Setenv("PATH", s.Path("bin")+":"+os.Getenv("PATH"))
	sentence := s.Refused(t, "study", "run", "spec.toml")
	require.Contains(t, sentence, "this needs the program xlarun-study, which is neither beside ")
	require.Contains(t, sentence, "go install xlarun/cmd/xlarun-study")

	script := "#!/bin/sh\necho $$ $*\ncat\ntrap 'exit 42' TERM\necho ready\nwhile :; do sleep 0.01; done\n"
	require.NoError(t, os.Mkdir(s.Path("bin"), 0o755))
	require.NoError(t, os.WriteFile(s.Path("bin", "xlarun-study"), []byte(script), 0o755))
	p := s.Command("study", "run", "spec.toml", "--json")
	p.Stdout, p.Stdin = nil, strings.NewReader("what stdin has\n")
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	lines := bufio.NewScanner(out)
	for _, want := range []string{strconv.Itoa(p.Process.Pid) + " study run spec.toml --json", "what stdin has",
		"ready"} {
		require.True(t, lines.Scan(), "%s", &p.Err)
		require.Equal(t, want, lines.Text())
	}
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 42, p.Ended())

	// 1: a program that hands the same command line over again ends there.
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Remove(s.Path("bin", "xlarun-study")))
	require.NoError(t, os.Symlink(self, s.Path("bin", "xlarun-study")))
	p = s.Command("study", "run", "spec.toml")
	require.NoError(t, p.Start())
	require.Equal(t, cli.StatusFailed, p.Ended())
	require.Contains(t, p.Err.String(), "does not have this command: it is of another version, or another program")
}
