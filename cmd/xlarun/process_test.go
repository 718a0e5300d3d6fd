package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/bench"
)

// asProgram makes this test's binary the program itself, so that processes can be started, and killed, without a second
// build.
const asProgram = "XLARUN_TEST_IS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main() // it exits
	}
	// Started by nohup, this process ignores hang-ups, and those that it starts would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	os.Exit(m.Run())
}

// shell is a place to start processes of the program in: an empty working folder, and a cache of programs of its own.
type shell struct {
	dir, cache string
	program    string // the one that is started; "": this one
}

func newShell(t *testing.T) *shell {
	t.Helper()
	s := &shell{dir: t.TempDir(), cache: t.TempDir()}
	require.NoError(t, bench.EmptyCache(s.cache))
	return s
}

// process is a process under way, or one that has ended.
type process struct {
	*exec.Cmd
	out, err bytes.Buffer
}

func (s *shell) command(args ...string) *process {
	p := &process{Cmd: exec.Command(cmp.Or(s.program, os.Args[0]), args...)}
	p.Dir, p.Env = s.dir, append(os.Environ(), asProgram+"=1", "XLARUN_CACHE="+s.cache)
	p.Stdout, p.Stderr = &p.out, &p.err
	return p
}

// ended waits for the process and gives its exit status, -1 where a signal killed it.
func (p *process) ended() int {
	_ = p.Wait()
	return p.ProcessState.ExitCode()
}

// signalled sends a signal at a moment of a process's life, and gives its exit status. A process that ends by itself first shortens
// the life: it was measured while the machine did other work, and most moments would come too late.
func (p *process) signalled(random *rand.Rand, life *time.Duration, signal os.Signal) (status int) {
	began, over := time.Now(), make(chan int, 1)
	go func() { over <- p.ended() }()
	select {
	case status = <-over:
		*life = min(*life, time.Since(began))
	case <-time.After(time.Duration(random.Int64N(int64(*life)))):
		_ = p.Process.Signal(signal)
		status = <-over
	}
	return status
}

// do runs a command to its end, which has to be good, and gives what it printed.
func (s *shell) do(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	p := s.command(args...)
	require.NoError(t, p.Start())
	require.Equal(t, 0, p.ended(), "%v: %s", args, &p.err)
	require.Empty(t, p.err.String(), "%v", args)
	return p.out.String()
}

// refused runs a command that its input stops, and gives the one sentence that it says.
func (s *shell) refused(t *testing.T, args ...string) string {
	t.Helper()
	p := s.command(args...)
	require.NoError(t, p.Start())
	require.Equal(t, 2, p.ended(), "%v: %s%s", args, &p.err, &p.out)
	require.Equal(t, 1, strings.Count(p.err.String(), "\n"), "%v: %s", args, &p.err)
	return p.err.String()
}

func (s *shell) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// pictures writes a folder with the four files of a small data set like MNIST.
func (s *shell) pictures(t *testing.T, name string) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	write := func(file string, limit byte, dims ...int) {
		text, n := []byte{0, 0, 8, byte(len(dims))}, 1
		for _, d := range dims {
			text, n = binary.BigEndian.AppendUint32(text, uint32(d)), n*d
		}
		for i := range n {
			x := byte(i)
			if len(dims) > 1 {
				x = byte(r.IntN(256))
			}
			text = append(text, x%limit)
		}
		require.NoError(t, os.WriteFile(s.path(name, file), text, 0o600))
	}
	require.NoError(t, os.MkdirAll(s.path(name), 0o755))
	write("train-images-idx3-ubyte", 255, 101, 5, 5)
	write("train-labels-idx1-ubyte", 10, 101)
	write("t10k-images-idx3-ubyte", 255, 37, 5, 5)
	write("t10k-labels-idx1-ubyte", 10, 37)
}
