package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/runtest"
	"xlarun/cmd/internal/shelltest"
)

// What else comes with signals.
func TestSignals(t *testing.T) {
	t.Parallel()
	s := shelltest.New(t)
	evolve := runtest.Small(t, "openes", "--generations")
	s.Do(t, append(evolve, "2", "--out", "none")...)
	long := append(evolve, "100000000", "--out", "run")
	running := func(t *testing.T) {
		t.Helper()
		require.NoError(t, os.RemoveAll(s.Path("run")))
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(s.Path("run"))) })
	}
	begun := func(t *testing.T) { // there is something to lose
		t.Helper()
		require.Eventually(t, func() bool {
			found, _ := filepath.Glob(s.Path("run/checkpoints/*.safetensors"))
			return len(found) > 0
		}, time.Minute, 10*time.Millisecond)
	}
	saved :=
		`^xlarun evolve: interrupted after generation \d+; the state of generation \d+ is in ` +
			`run/checkpoints/\d+\.safetensors\n$`

	t.Run("1: a terminal that is closed sends its signal several times", func(t *testing.T) {
		running(t)
		p := s.Command(long...)
		require.NoError(t, p.Start())
		begun(t)
		for range 5 {
			_ = p.Process.Signal(syscall.SIGHUP)
		}
		require.Equal(t, 130, p.Ended())
		require.Regexp(t, saved, p.Err.String())
	})
	t.Run("2: the reader of stdout leaves", func(t *testing.T) {
		running(t)
		read, write, err := os.Pipe()
		require.NoError(t, err)
		p := s.Command(long...)
		p.Stdout = write
		require.NoError(t, p.Start())
		require.NoError(t, write.Close())
		begun(t)
		require.NoError(t, read.Close())
		require.Equal(t, 130, p.Ended())
		require.Regexp(t, saved, p.Err.String())
	})
	t.Run("3: nobody reads stdout or stderr any more, and then comes the signal", func(t *testing.T) {
		running(t)
		read, write, err := os.Pipe()
		require.NoError(t, err)
		p := s.Command(long...)
		p.Stdout, p.Stderr = write, write
		require.NoError(t, p.Start())
		require.NoError(t, write.Close())
		begun(t)
		require.NoError(t, read.Close())
		_ = p.Process.Signal(syscall.SIGHUP)
		require.Equal(t, 130, p.Ended())
		require.FileExists(t, s.Path("run/config.toml"))
	})
	t.Run("4: started to ignore a signal, as nohup does", func(t *testing.T) {
		running(t)
		p := s.Command(append(evolve, "60", "--out", "run")...)
		p.Path, p.Args = must(exec.LookPath("sh")), append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`},
			p.Args...)
		require.NoError(t, p.Start())
		begun(t)
		_ = p.Process.Signal(syscall.SIGHUP)
		require.Equal(t, 0, p.Ended(), "%s", &p.Err)
		text, err := os.ReadFile(s.Path("run/metrics.jsonl"))
		require.NoError(t, err)
		require.Equal(t, 60, strings.Count(string(text), "\n"))
	})
	t.Run("5: a pipe that is full: what reads stdout is itself stopped", func(t *testing.T) {
		running(t)
		read, write, err := os.Pipe()
		require.NoError(t, err)
		defer read.Close()
		require.NoError(t, write.SetWriteDeadline(time.Now().Add(200*time.Millisecond)))
		_, err = write.Write(make([]byte, 1<<22)) // until nothing more fits
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		p := s.Command(append(long, "--grace", "1s")...)
		p.Stdout, p.Stderr = write, write
		require.NoError(t, p.Start())
		time.Sleep(200 * time.Millisecond)
		_ = p.Process.Signal(syscall.SIGTERM)
		require.Contains(t, []int{75, -1}, p.Ended())
		require.NoError(t, write.Close())
	})
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
