package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func runInspect(t *testing.T, args ...string) (status int, out, errText string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = Run(t.Context(), append([]string{"inspect", "CartPole-v1", "--backend", "reference", "--pop", "8",
		"--steps", "5"}, args...),
		Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Env: func(string) string { return "" }})
	return status, stdout.String(), stderr.String()
}

func TestInspect(t *testing.T) {
	status, out, errText := runInspect(t, "--json")
	require.Equal(t, StatusOK, status, errText)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var got inspection
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &got))
	require.Positive(t, got.Total)
	require.Positive(t, got.Counted.FLOPs)
	require.Nil(t, got.Memory, "nothing is compiled")
	sum := 0
	for _, o := range got.Ops {
		sum += o.Count
	}
	require.Equal(t, got.Total, sum)

	for phase, want := range map[string]string{"traced": "// episode.go:", "simplified": "threefry2x32",
		"stablehlo": "func.func public @main"} {
		status, out, errText := runInspect(t, "--phase", phase)
		require.Equal(t, StatusOK, status, errText)
		require.Contains(t, out, want, phase)
	}
	status, _, errText = runInspect(t, "--phase", "optimized")
	require.Equal(t, StatusFailed, status)
	require.Contains(t, errText, "compiles nothing")
	status, _, errText = runInspect(t, "--phase", "optimised")
	require.Equal(t, StatusUsage, status)
	require.Contains(t, errText, "did you mean optimized?")
}

// Case 27.161: profile and inspect made the folder that islands share, and profile wrote members into it.
func TestLookingAtAnIslandSharesNothing(t *testing.T) {
	b := onInterpreter(t)
	island := strings.Fields("CartPole-v1 --backend reference --policy linear --pop 4 --steps 2 --migrants 1 " +
		"--island a --migration-dir shared --migrate-every 1")
	require.Equal(t, StatusOK, b.do(append([]string{"profile", "--repeats", "1"}, island...)...), "%s", b.err)
	require.NotEmpty(t, b.out.String())
	b.do(append([]string{"inspect"}, island...)...)
	require.NoDirExists(t, "shared")
}
