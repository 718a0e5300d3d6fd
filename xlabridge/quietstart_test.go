package xlabridge

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every command of a user without a home wrote a library's complaint; what comes after the start is seen.
func TestStartWithoutHome(t *testing.T) {
	const helper = "XLARUN_TEST_QUIET_START"
	if os.Getenv(helper) != "" {
		_, _ = os.Stderr.WriteString("our own word\n")
		return
	}
	bare := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "HOME=") })
	for _, c := range []struct {
		number int
		what   string
		env    []string
	}{
		{1, "HOME is not set", bare},
		{2, "HOME is empty", append(slices.Clone(bare), "HOME=")},
		{3, "HOME is set", append(slices.Clone(bare), "HOME="+t.TempDir())},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestStartWithoutHome$")
		cmd.Env = append(c.env, helper+"=1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Run(), "%d: %s", c.number, c.what)
		require.Equal(t, "our own word\n", stderr.String(), "%d: %s", c.number, c.what)
	}
}
