package peers

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A progress line of pip becomes a line of ours. What pip refuses is the text of the error.
func TestPipProgress(t *testing.T) {
	for line, want := range map[string]string{
		"  Downloading jaxlib-0.10.2-cp311-manylinux_2_27.whl (83.6 MB)": "downloading jaxlib 0.10.2 (83.6 MB)",
		"Downloading jax-0.10.2-py3-none-any.whl.metadata (13 kB)":       "",
		"Using cached gymnax-0.0.9-py3-none-any.whl (86 kB)":             "already downloaded: gymnax 0.0.9 (86 kB)",
		"Using cached gymnax-0.0.9-py3-none-any.whl.metadata (2 kB)":     "",
		"Downloading https://a.example/pool/six.tar.gz":                  "downloading six.tar.gz",
		"Installing collected packages: six, numpy, jax":                 "installing 3 packages",
		"Collecting six": "", "": "", "Downloading": "", "Requirement already satisfied: six": "",
	} {
		require.Equal(t, want, step(line), "%q", line)
	}
	var out strings.Builder
	script := `echo "Collecting a"; echo "Installing collected packages: a"; echo "one" >&2
		echo "no such package" >&2; exit 3`
	err := runPip(&out, exec.CommandContext(t.Context(), "sh", "-c", script))
	require.EqualError(t, err, "no such package: exit status 3")
	require.Equal(t, "installing 1 package\n", out.String())
	for script, want := range map[string]string{
		`echo "error: no compiler" >&2; echo "hint: see above" >&2; exit 1`: "error: no compiler: exit status 1",
		`exit 2`: "exit status 2",
	} {
		err := runPip(&out, exec.CommandContext(t.Context(), "sh", "-c", script))
		require.EqualError(t, err, want)
	}
	require.Error(t, runPip(&out, exec.CommandContext(t.Context(), "/there/is/no/python")))
}
