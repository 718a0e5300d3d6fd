package handover

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/xlabridge/fetch"
)

// In a checkout, the program is built from its source, with one line about it the first time.
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

	t.Setenv(fetch.EnvCache, t.TempDir())
	var stderr bytes.Buffer
	path, err := build(checkout(root), Study, &stderr)
	require.NoError(t, err)
	require.Equal(t, "xlarun: building xlarun-study from "+root+"\n", stderr.String())
	help, err := exec.Command(path, "study", "show", "--help").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(help), "xlarun study show SPEC.toml|DATABASE [flags]")
}
