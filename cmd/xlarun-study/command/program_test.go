package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
)

// The example whose trials are a script, in worker processes; and what programs do not have.
func TestStudyOfAScript(t *testing.T) {
	t.Parallel()
	s := shelltest.New(t)
	require.NoError(t, os.Mkdir(filepath.Join(s.Dir, "examples"), 0o777))
	for _, name := range []string{"study-script.toml", "study-script.sh"} {
		text, err := os.ReadFile(filepath.Join("../../../examples", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "examples", name), text, 0o666))
	}
	const spec = "examples/study-script.toml"
	out := s.Do(t, "study", "run", spec, "--trials", "6", "--workers", "6")
	require.Contains(t, out, "study script: 6 trials of exec, minimize of loss, sampler tpe; kept in ")
	require.Contains(t, out, "trials in processes: 6 workers x 1 thread\n", "programs wait: more than cores may run")
	require.Contains(t, out, "done: 6 trials, 0 failed, in ")
	require.FileExists(t, filepath.Join(s.Dir, "runs/study-script/trials/0/seed-0/stdout"))
	program := `["sh", "-c", "echo '{\"loss\": -1}'"]`
	require.Contains(t, s.Do(t, "study", "run", spec, "--trials", "7", "--exec", program), "best: trial 6, -1: x=")
	serve := s.Command("serve", spec, "--trials", "9", "--listen", "127.0.0.1:0", "--no-workers",
		"--address-file", "at")
	require.NoError(t, serve.Start())
	s.Do(t, "work", "@at", "--workers", "2", "--exec",
		`["sh", "-c", "! env | grep ^XLARUN_WORKER_ && echo '{\"loss\": -1}'"]`)
	require.Equal(t, 0, serve.Ended())
	require.Contains(t, serve.Out.String(), "done: 9 trials, 0 failed", "a program may start a study itself")
	require.Contains(t, s.Do(t, "study", "best", spec, "--config", "best.json"), "best.json, as JSON\n")
	require.Contains(t, s.Read(t, "best.json"), "{\n  \"x\": ")
	require.Contains(t, s.Refused(t, "study", "best", spec, "--member", "m.safetensors"),
		"trials of script are programs, which have no members: leave --member out")
	require.Contains(t, s.Refused(t, "evolve", "--from-study", spec), "which have no config of a run")
	require.Contains(t, s.Refused(t, "study", "run", spec, "--exec", "{x}"), "--exec got the program {x}, which "+
		"cannot be started here (executable file not found in $PATH)")
	require.Contains(t, s.Refused(t, "work", "nats://127.0.0.1:1", "--exec", "nowhere"),
		"--exec got the program nowhere, which cannot")
}
