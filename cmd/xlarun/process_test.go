package main

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
	os.Exit(m.Run())
}

// shell is a place to start processes of the program in: an empty working folder, and a cache of programs of its own.
type shell struct {
	dir, cache string
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
	p := &process{Cmd: exec.Command(os.Args[0], args...)}
	p.Dir, p.Env = s.dir, append(os.Environ(), asProgram+"=1", "XLARUN_CACHE="+s.cache)
	p.Stdout, p.Stderr = &p.out, &p.err
	return p
}

// ended waits for the process and gives its exit status, -1 where a signal killed it.
func (p *process) ended() int {
	_ = p.Wait()
	return p.ProcessState.ExitCode()
}

// do runs a command to its end, which has to be good.
func (s *shell) do(t *testing.T, args ...string) {
	t.Helper()
	p := s.command(args...)
	require.NoError(t, p.Start())
	require.Equal(t, 0, p.ended(), "%v: %s", args, &p.err)
	require.Empty(t, p.err.String(), "%v", args)
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
