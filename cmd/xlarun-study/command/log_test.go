package command

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
)

// records reads lines of --log json: each is an object with a time, a level and a message.
func records(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var r map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		for _, key := range []string{"time", "level", "msg"} {
			require.Contains(t, r, key, line)
		}
		all = append(all, r)
	}
	return all
}

// With --log json all that serve and its workers print is lines for a log collector, a trial's with its numbers.
func TestLogsOfAStudy(t *testing.T) {
	t.Parallel()
	s := shelltest.New(t)
	require.NoError(t, os.WriteFile(s.Path("spec.toml"), []byte("name = \"one\"\nmetric = \"best_fitness\"\n"+
		"trials = 2\n"+smallRun), 0o666))
	for flag, wants := range map[string]string{"--log=xml": `--log got "xml", wants text or json`,
		"--log-level=loud": `--log-level got "loud", wants debug, info, warn or error`} {
		for command, of := range map[string]string{"serve": "spec.toml", "work": "@server"} {
			require.Contains(t, s.Refused(t, command, of, flag), wants)
		}
	}
	serve := s.Command("serve", "spec.toml", "--listen", "127.0.0.1:0", "--no-workers", "--address-file", "server",
		"--log", "json")
	out, err := os.Create(s.Path("output"))
	require.NoError(t, err)
	serve.Stdout = out
	require.NoError(t, serve.Start())
	worked := records(t, s.Do(t, "work", "@server", "--workers", "2", "--log", "json"))
	require.Equal(t, 0, serve.Ended(), "%s", &serve.Err)
	require.NoError(t, out.Close())
	served := records(t, s.Read(t, "output"))
	for _, all := range [][]map[string]any{served, worked} {
		trials := 0
		for _, r := range all {
			if r["trial"] == nil {
				continue
			}
			trials++
			require.Equal(t, "INFO", r["level"])
			require.Equal(t, "COMPLETE", r["state"])
			require.Len(t, r["values"], 1)
		}
		require.Equal(t, 2, trials, "%v", all)
	}
	require.Contains(t, served[len(served)-2]["msg"], "best: trial ")
	require.Contains(t, worked[len(worked)-1]["msg"], "done: 2 trials, 0 failed")
	require.Empty(t, s.Do(t, "study", "run", "spec.toml", "--log", "json", "--log-level", "error"), "it is over")
}
