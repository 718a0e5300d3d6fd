package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/cmd/xlarun/cli"
)

func TestMain(m *testing.M) { shelltest.Main(m, main) }

// 30.278: the program passes its exit status on, here 2.
func TestExitStatus(t *testing.T) {
	require.Contains(t, shelltest.New(t).Refused(t, "evolve", "--pop", "0"), "--pop got 0")
}

// do runs a command that must succeed in this process, and returns its output.
func do(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	var out, stderr bytes.Buffer
	streams := cli.Streams{Out: &out, Err: &stderr, Env: os.Getenv}
	require.Equal(t, cli.StatusOK, cli.Run(t.Context(), args, streams), "%v: %s", args, &stderr)
	require.Empty(t, stderr.String(), "%v", args)
	return out.String()
}

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
