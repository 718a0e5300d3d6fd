package command

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// Wrong and contradicting values of flags end with one sentence that names the flag, before anything is begun. They
// were accepted, were said of a key that the file does not have, or were failures of a run (status 1).
func TestWrongFlags(t *testing.T) {
	t.Parallel()
	spec := filepath.Join(t.TempDir(), "spec.toml")
	require.NoError(t, os.WriteFile(spec, []byte("name = \"small\"\nmetric = \"best_fitness\"\n"+smallRun), 0o600))
	roles := filepath.Join(t.TempDir(), "roles")
	require.NoError(t, os.WriteFile(roles, []byte("worker 0123456789abcdef\n"), 0o600))
	short := filepath.Join(t.TempDir(), "short")
	require.NoError(t, os.WriteFile(short, []byte("worker 0123456789abcdef\nserver abcdef\n"), 0o600))
	run, serve := []string{"study", "run", spec}, []string{"serve", spec}
	for _, c := range []struct {
		args []string
		want string
	}{
		{append(run, "--lease", "0s"),
			`xlarun study run: --lease got "0s", wants a time of 100ms or more, such as 15s`},
		{append(run, "--threads", "256"), "xlarun study run: --threads got 256, wants 1 to the "},
		{append(run, "--workers", "4096"), "xlarun study run: --workers got 4096 of 1 threads each, more than the "},
		{append(run, "--trials-as", "vectorized", "--timeout", "1m"),
			`xlarun study run: --trials-as got vectorized, but key "timeout" limits`},
		{append(serve, "--linger", "-5s"), "xlarun serve: --linger got -5s, wants a time such as 1m, or 0"},
		{append(serve, "--until-done"), "xlarun serve: --until-done is for a server without a study, "},
		{append(serve, "--no-workers", "--workers", "1"), "xlarun serve: --workers asks for workers on this machine, " +
			"and --no-workers for none: leave one of them out"},
		{append(serve, "--listen", "127.0.0.1:99999"),
			`xlarun serve: --listen: the address to listen on, "127.0.0.1:99999", wants HOST:PORT`},
		{[]string{"study", "best", spec, "--trial", "-1"},
			"xlarun study best: --trial got -1, wants the number of a trial, from 0"},
		{[]string{"work", "nats://127.0.0.1:1", "--wait", "-1s"}, "xlarun work: --wait got -1s, wants a time such as "},
		{append(serve, "--join", "here"), `xlarun serve: --join got "here", wants nats://HOST:PORT/NAME`},
		{append(serve, "--join", "nats://127.0.0.1:1", "--listen", "127.0.0.1:0"), "xlarun serve: --listen is for a " +
			"server of its own, and --join for another one: leave one of them out"},
		{append(serve, "--token-file", roles), "xlarun serve: --token-file " + roles + " has no token of a reader: " +
			`write a line "reader TOKEN" into it, or give --web none`},
		{append(serve, "--join", "nats://127.0.0.1:1", "--token-file", roles), "has no token of a server"},
		{append(serve, "--token-file", short, "--web", "none"), "xlarun serve: --token-file " + short + " has a " +
			"token of 6 characters"},
		{[]string{"study", "watch", spec, "--token-file", roles}, "has no token of a reader"},
		{append(serve, "--creds", spec), "xlarun serve: --creds " + spec + " has no credentials of a NATS user"},
		{append(serve, "--nkey", spec), "is for a server that this process joins: give --token-file or certificates"},
		{[]string{"work", "nats://127.0.0.1:1", "--nkey", spec}, "xlarun work: --nkey " + spec + " has no seed of a " +
			"user's nkey ("},
		{[]string{"work", "nats://127.0.0.1:1", "--nkey", spec, "--creds", spec}, "leave one of them out"},
		{[]string{"work", "nats://127.0.0.1:1", "--nkey", spec, "--token-file", spec}, "leave one of them out"},
	} {
		var out, stderr bytes.Buffer
		status := cli.Run(t.Context(), c.args, console.Streams{Out: &out, Err: &stderr})
		require.Equal(t, 2, status, "%v: %s", c.args, &stderr)
		require.Contains(t, stderr.String(), c.want)
		require.Empty(t, out.String(), c.args)
	}
}

// full is a stdout on which nothing can be written.
type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

// A command whose text could not be written ended with 0, if it does not look at its writes, as study show.
func TestFullOutput(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "study.db")
	d, err := rdb.Open("sqlite:///" + file)
	require.NoError(t, err)
	_, err = study.New("one", study.Options{Storage: d, Directions: []study.Direction{study.Maximize},
		Sampler: study.Random{}})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	for err, want := range map[syscall.Errno]int{syscall.ENOSPC: 1, syscall.EPIPE: 141} {
		var stderr bytes.Buffer
		out := full{&fs.PathError{Op: "write", Path: os.Stdout.Name(), Err: err}}
		status := cli.Run(t.Context(), []string{"study", "show", file}, console.Streams{Out: out, Err: &stderr})
		require.Equal(t, want, status, stderr.String())
		if want == 1 {
			require.Equal(t, "xlarun study show: write /dev/stdout: no space left on device\n", stderr.String())
		}
	}
}
