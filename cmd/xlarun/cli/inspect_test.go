package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph/lower"
	"xlarun/rollout/run"
)

func runInspect(t *testing.T, args ...string) (status int, out, errText string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args = append(strings.Fields("inspect CartPole-v1 --backend reference --pop 8 --steps 5"), args...)
	status = Run(t.Context(), args,
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
	status, _, errText = runInspect(t, "--codegen")
	require.Equal(t, StatusUsage, status)
	require.Contains(t, errText, "use --backend cpu")
	b := onInterpreter(t)
	b.refused(t, "leave --topology out", "inspect CartPole-v1 --codegen --topology h100")
	status, _, errText = runInspect(t, "--codegen", "--phase", "traced")
	require.Equal(t, StatusUsage, status)
	require.Contains(t, errText, "leave one of them out")
	for phase, now := range map[string]string{"optimizd": "optimized", "lowered": "ops", "hashes": "once"} {
		status, _, errText = runInspect(t, "--phase", phase)
		require.Equal(t, StatusUsage, status)
		require.Contains(t, errText, "wants one of traced, simplified, singles, ops, ")
		require.Contains(t, errText, "did you mean "+now+"?")
		require.Contains(t, inspectPhases(), now)
	}
}

// Profile and inspect made the folder that islands share, and profile wrote members into it.
func TestLookingAtAnIslandSharesNothing(t *testing.T) {
	b := onInterpreter(t)
	island := strings.Fields("CartPole-v1 --backend reference --policy linear --pop 4 --steps 2 --migrants 1 " +
		"--island a --migration-dir shared --migrate-every 1")
	b.ok(t, append([]string{"profile", "--repeats", "1"}, island...)...)
	require.NotEmpty(t, b.out.String())
	b.do(append([]string{"inspect"}, island...)...)
	require.NoDirExists(t, "shared")
}

// The JAX program of an experiment follows from its settings. What has none is refused before anything is compiled.
func TestPeerOf(t *testing.T) {
	for _, c := range []struct {
		kind string
		args []string
		want string
	}{
		{"evolve", []string{"CartPole-v1", "--pop", "512"}, "evosax_cartpole.py 512 16"},
		{"evolve", []string{"CartPole-v1", "--strategy", "cmaes", "--policy", "mlp:8,8"}, "evosax_cartpole.py 256 8 " +
			"cmaes"},
		{"evolve", []string{"CartPole-v1", "--policy", "mlp:8,4"}, ""},
		{"evolve", []string{"CartPole-v1", "--strategy", "pgpe"}, ""},
		{"evolve", []string{"Breakout-MinAtar-v1", "--policy", "cnn:16", "--pop", "64", "--steps", "100"},
			"gymnax_breakout.py 64 100 16"},
		{"ppo", []string{"CartPole-v1", "--epochs", "4", "--minibatches", "4", "--envs", "4", "--horizon", "128"},
			"gymnax_ppo.py CartPole-v1 500000 4 128 1"},
		{"ppo", []string{"CartPole-v1", "--epochs", "20"}, ""},
		{"ppo", []string{"Forage-L0-v1"}, ""},
		{"selfplay", strings.Fields("--vertices 6 --k 3 --search gumbel --game-batch-size 64 --num-simulations 50"),
			"selfplay_jax.py search 6 3 64 50 gumbel"},
		{"qd", []string{"CartPole-v1"}, ""},
	} {
		values := map[string]string{}
		argument := ""
		for i := 0; i < len(c.args); i++ {
			if name, ok := strings.CutPrefix(c.args[i], "--"); ok {
				values[name] = c.args[i+1]
				i++
			} else {
				argument = c.args[i]
			}
		}
		if argument != "" {
			values["env"] = argument
		}
		kind, ok := run.Lookup(c.kind)
		require.True(t, ok)
		x, err := (&flagValues{values: values}).resolve(kind, "", nil)
		require.NoError(t, err)
		p, ok := peerOf(x)
		require.Equal(t, c.want != "", ok, "%v", c.args)
		require.Equal(t, c.want, strings.TrimSpace(p.script+" "+strings.Join(p.args, " ")))
	}
}

// Facts and the rules that hold for them, in words and in JSON.
func TestInspectCodegen(t *testing.T) {
	d := codegenDecision{Facts: lower.Facts{Kernels: true, Tiles: true, Grain: 2048.56}}
	_, d.Rules = d.Facts.Codegen(lower.Use{})
	var out bytes.Buffer
	require.NoError(t, d.print(&out))
	require.Regexp(t, `Grain +2049\n`, out.String())
	require.Regexp(t, `loops +tiles: calls of the library`, out.String())
	text, err := json.Marshal(d)
	require.NoError(t, err)
	require.Contains(t, string(text), `"grain":2048.56`)
	require.Contains(t, string(text), `"rules":[{"group":"loops","name":"tiles"`)
}

func TestInspectPeersRefuses(t *testing.T) {
	status, _, errText := runInspect(t, "--peers")
	require.Equal(t, StatusUsage, status)
	require.Contains(t, errText, "add --topology h100")
	status, _, errText = runInspect(t, "--peers", "--strategy", "pgpe")
	require.Equal(t, StatusUsage, status)
	require.Contains(t, errText, "--peers has no JAX program for this work of evolve")
}

// The plan is shown with where it comes from. --phase with --json printed no JSON, and --dump wrote among old files.
func TestInspectPlan(t *testing.T) {
	_, out, errText := runInspect(t, "--json")
	require.Contains(t, out, "\nplan: 1 device, tiles of 8, ", "%s", errText)
	require.Contains(t, out, " (by the rule)\n")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &got))
	require.Equal(t, "static", got["plan_source"])
	_, out, errText = runInspect(t, "--unroll", "2")
	require.Contains(t, out, " (given)\n", "%s", errText)

	status, out, errText := runInspect(t, "--phase", "traced", "--json")
	require.Equal(t, StatusUsage, status)
	require.Contains(t, errText, "--phase prints the text of a program")
	require.Equal(t, 1, strings.Count(out, "\n"), "the error alone: %s", out)

	old := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(old, "old.txt"), nil, 0o600))
	status, _, errText = runInspect(t, "--dump", old)
	require.Equal(t, StatusUsage, status)
	require.Contains(t, errText, "has files already, wants a new or empty folder")
}
