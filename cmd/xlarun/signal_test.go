package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A run that is asked to end, at any moment and by any of the signals for that, says where its state is and ends with 130;
// gone on with until its end, it has written the bytes of one that was left alone.
func TestInterruptedRunsGoOn(t *testing.T) {
	interrupts := 6
	if os.Getenv("XLARUN_LONG") != "" {
		interrupts = 45
	}
	s := newShell(t)
	args := []string{"evolve", "CartPole-v1", "--policy", "mlp:5,3", "--pop", "26", "--steps", "33", "--generations", "301", "--target", "0", "--judge", "7"}
	s.do(t, append(args, "--out", "warm")...)
	start := time.Now()
	s.do(t, append(args, "--out", "whole")...)
	life := time.Since(start)
	seed := uint64(start.UnixNano())
	t.Logf("seed %d, a life is %v", seed, life)
	random := rand.New(rand.NewPCG(seed, 0))
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	for done := 0; done < interrupts; {
		require.NoError(t, os.RemoveAll(s.path("stopped")))
		next := append(args, "--out", "stopped")
		for done < interrupts {
			p := s.command(next...)
			require.NoError(t, p.Start())
			status := p.signalled(random, &life, signals[done%3])
			if status == 0 {
				next = nil
				break
			}
			done++
			if status < 0 { // it had not begun to listen, and was ended by the signal itself
				require.Empty(t, p.err.String())
			} else {
				require.Equal(t, 130, status, "%s", &p.err)
				require.Regexp(t, `^xlarun evolve: interrupted (after generation \d+; the state of generation \d+ is in stopped/checkpoints/\d+\.safetensors|`+
					`before the first generation was done; nothing was written|before a further generation was done; the run in stopped goes on from generation \d+)\n$`, p.err.String())
			}
			next = s.goOn(t, append(args, "--out", "stopped"), "stopped")
		}
		if next != nil {
			s.do(t, next...)
		}
		// When checkpoints were written depends on the clock here.
		for _, f := range []string{"metrics.jsonl", "config.toml", "best.safetensors", "centre.safetensors", "best.gif", "checkpoints/000301.safetensors"} {
			whole, err := os.ReadFile(s.path("whole", f))
			require.NoError(t, err)
			again, err := os.ReadFile(s.path("stopped", f))
			require.NoError(t, err)
			require.True(t, string(whole) == string(again), f)
		}
	}
}

// What else comes with signals.
func TestSignals(t *testing.T) {
	s := newShell(t)
	evolve := []string{"evolve", "--policy", "mlp:3", "--pop", "8", "--steps", "9", "--target", "0", "--judge", "2", "--generations"}
	s.do(t, append(evolve, "2", "--out", "none")...)
	long := append(evolve, "100000000", "--out", "run")
	running := func(t *testing.T) {
		t.Helper()
		require.NoError(t, os.RemoveAll(s.path("run")))
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(s.path("run"))) })
	}
	begun := func(t *testing.T) { // there is something to lose
		t.Helper()
		require.Eventually(t, func() bool {
			found, _ := filepath.Glob(s.path("run/checkpoints/*.safetensors"))
			return len(found) > 0
		}, time.Minute, 10*time.Millisecond)
	}
	saved := `^xlarun evolve: interrupted after generation \d+; the state of generation \d+ is in run/checkpoints/\d+\.safetensors\n$`

	t.Run("1: a terminal that is closed sends its signal several times", func(t *testing.T) {
		running(t)
		p := s.command(long...)
		require.NoError(t, p.Start())
		begun(t)
		for range 5 {
			_ = p.Process.Signal(syscall.SIGHUP)
		}
		require.Equal(t, 130, p.ended())
		require.Regexp(t, saved, p.err.String())
	})
	t.Run("2: the reader of stdout leaves", func(t *testing.T) {
		running(t)
		read, write, err := os.Pipe()
		require.NoError(t, err)
		p := s.command(long...)
		p.Stdout = write
		require.NoError(t, p.Start())
		require.NoError(t, write.Close())
		begun(t)
		require.NoError(t, read.Close())
		require.Equal(t, 130, p.ended())
		require.Regexp(t, saved, p.err.String())
	})
	t.Run("3: nobody reads stdout or stderr any more, and then comes the signal", func(t *testing.T) {
		running(t)
		read, write, err := os.Pipe()
		require.NoError(t, err)
		p := s.command(long...)
		p.Stdout, p.Stderr = write, write
		require.NoError(t, p.Start())
		require.NoError(t, write.Close())
		begun(t)
		require.NoError(t, read.Close())
		_ = p.Process.Signal(syscall.SIGHUP)
		require.Equal(t, 130, p.ended())
		require.FileExists(t, s.path("run/config.toml"))
	})
	t.Run("4: started to ignore a signal, as nohup does", func(t *testing.T) {
		running(t)
		p := s.command(append(evolve, "60", "--out", "run")...)
		p.Path, p.Args = must(exec.LookPath("sh")), append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`}, p.Args...)
		require.NoError(t, p.Start())
		begun(t)
		_ = p.Process.Signal(syscall.SIGHUP)
		require.Equal(t, 0, p.ended(), "%s", &p.err)
		text, err := os.ReadFile(s.path("run/metrics.jsonl"))
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
		p := s.command(long...)
		p.Stdout, p.Stderr = write, write
		require.NoError(t, p.Start())
		time.Sleep(200 * time.Millisecond)
		_ = p.Process.Signal(syscall.SIGTERM)
		require.Contains(t, []int{130, -1}, p.ended())
		require.NoError(t, write.Close())
	})
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
