package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/cmd/xlarun/cli"
)

func TestMain(m *testing.M) { shelltest.Main(m, main) }

// The program passes its exit status on, here 2.
func TestExitStatus(t *testing.T) {
	require.Contains(t, shelltest.New(t).Refused(t, "evolve", "--pop", "0"), "--pop got 0")
}

// Without a home folder, which some libraries look for as they start, the program says nothing but what it is asked.
func TestStartWithoutHome(t *testing.T) {
	s := shelltest.New(t)
	for _, home := range [][]string{nil, {"HOME="}} {
		p := s.Command("version")
		p.Env = slices.DeleteFunc(p.Env, func(v string) bool { return strings.HasPrefix(v, "HOME=") })
		p.Env = append(p.Env, home...)
		require.NoError(t, p.Start())
		require.Equal(t, 0, p.Ended(), "%v: %s", home, &p.Err)
		require.Empty(t, p.Err.String(), "%v", home)
		require.Regexp(t, `^xlarun \d`, p.Out.String(), "%v", home)
	}
}

// inProcess runs commands in the process of the tests.
var inProcess = shelltest.Program(cli.Run)

// fails runs a command that must fail in this process, and returns its error.
func fails(t *testing.T, status int, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	streams := cli.Streams{Out: io.Discard, Err: &stderr, Env: os.Getenv}
	assert.Equal(t, status, cli.Run(t.Context(), args, streams), "%v: %s", args, &stderr)
	return stderr.String()
}

// read returns the text of a file.
func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(text)
}
