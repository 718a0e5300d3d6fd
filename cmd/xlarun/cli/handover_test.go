package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/xlabridge/fetch"
)

// In a checkout, the program is built from its source, with one line about it the first time. The short form makes a
// checkout of its own.
func TestCheckout(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	if source := sourceRoot(); source != "" { // built without -trimpath
		require.Equal(t, root, source)
	}

	t.Chdir(t.TempDir())
	require.Empty(t, checkout(root), "the working folder is elsewhere")
	require.Empty(t, checkout(""))
	t.Chdir(filepath.Join(root, "docs"))
	require.Equal(t, root, checkout(root))

	for _, program := range []string{studyProgram, benchProgram} {
		require.FileExists(t, filepath.Join(root, "cmd", program, "main.go"))
	}
	if !long.On() { // a program that takes less time to link
		root = t.TempDir()
		main := filepath.Join(root, "cmd", studyProgram, "main.go")
		require.NoError(t, os.MkdirAll(filepath.Dir(main), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module xlarun\n"), 0o600))
		require.NoError(t, os.WriteFile(main, []byte("package main\n\nfunc main() { println(help) }\n\nconst help = "+
			"\"xlarun study show SPEC.toml|DATABASE [flags]\"\n"), 0o600))
		t.Chdir(root)
	}
	t.Setenv(fetch.EnvCache, t.TempDir())
	var stderr bytes.Buffer
	path, err := buildProgram(checkout(root), studyProgram, &stderr)
	require.NoError(t, err)
	require.Equal(t, "xlarun: building xlarun-study from "+root+"\n", stderr.String())
	help, err := exec.Command(path, "study", "show", "--help").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(help), "study show SPEC.toml|DATABASE [flags]")
}
