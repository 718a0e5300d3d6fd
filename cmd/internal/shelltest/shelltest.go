// Package shelltest runs commands of a program in tests, in this process or in others, which it kills.
package shelltest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/budget"
	"xlarun/internal/programs"
	"xlarun/internal/ramdisk"
	"xlarun/xlabridge/fetch"
	"xlarun/xlabridge/xlatest"
)

// asProgram makes the test binary run the program, so that processes need no second build.
const asProgram = "XLARUN_TEST_IS_PROGRAM"

// Main is the TestMain of a package whose tests start processes of the program main.
func Main(m *testing.M, main func()) {
	if os.Getenv(asProgram) != "" {
		main() // it exits
	}
	// If this process was started by nohup, its children would inherit the ignored hang-up signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	ramdisk.Use()
	os.Exit(run(m))
}

// run runs the tests and compares the programs of their processes, too, with the budget.
func run(m *testing.M) (status int) {
	file := os.Getenv(programs.Env)
	if file == "" {
		dir, err := os.MkdirTemp("", "programs")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		file = filepath.Join(dir, "programs")
		os.Setenv(programs.Env, file)
	}
	status = m.Run()
	seen, err := programs.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return status // none
	}
	if err = cmp.Or(err, budget.Programs(seen[programs.Binary()])); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// Shell starts processes in an empty working folder.
type Shell struct {
	Dir     string
	Cache   string // of compiled programs
	Program string // the file that is started; "" means the test binary
}

// New returns a shell whose processes use the cache of compiled programs that all tests share.
func New(t *testing.T) *Shell {
	t.Helper()
	return &Shell{Dir: t.TempDir(), Cache: sharedCache(t)}
}

// ShareCache lets this process use that cache, too, until the test ends. A second call changes nothing.
func ShareCache(t *testing.T) {
	t.Helper()
	dir := sharedCache(t)
	t.Setenv("XLARUN_TEST_CACHE", xlatest.CacheDir(t)) // which would move with the other one
	t.Setenv(fetch.EnvCache, dir)
}

// sharedCache is the cache folder of all processes that tests start.
func sharedCache(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(xlatest.CacheDir(t), "processes")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	EmptyCache(t, dir)
	return dir
}

// NewCold returns a shell with an empty cache of its own.
func NewCold(t *testing.T) *Shell {
	t.Helper()
	s := &Shell{Dir: t.TempDir(), Cache: t.TempDir()}
	EmptyCache(t, s.Cache)
	return s
}

// EmptyCache makes dir a cache folder that has the installed plugins. It adds no compiled programs.
func EmptyCache(t *testing.T, dir string) {
	t.Helper()
	folder, err := fetch.CacheDir()
	require.NoError(t, err)
	plugins := filepath.Join(folder, "plugins")
	require.NoError(t, os.MkdirAll(plugins, 0o755))
	if err := os.Symlink(plugins, filepath.Join(dir, "plugins")); !errors.Is(err, fs.ErrExist) {
		require.NoError(t, err)
	}
}

// Process is a process that runs or has ended.
type Process struct {
	*exec.Cmd
	Out, Err bytes.Buffer
	cancel   context.CancelFunc // of the time that it may take
}

// longest is how long a process may take.
const longest = 4 * time.Minute

// Command returns a process of the program that is not started yet. One that takes longer than it may prints its
// goroutines to stderr and ends with status 2, so that its test fails and says where the process waited.
func (s *Shell) Command(args ...string) *Process {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	p := &Process{Cmd: exec.CommandContext(ctx, cmp.Or(s.Program, os.Args[0]), args...), cancel: cancel}
	p.Cancel = func() error { return p.Process.Signal(syscall.SIGQUIT) }
	p.WaitDelay = 10 * time.Second
	p.Dir, p.Env = s.Dir, append(os.Environ(), asProgram+"=1", fetch.EnvCache+"="+s.Cache)
	p.Stdout, p.Stderr = &p.Out, &p.Err
	return p
}

// Ended waits for the process and returns its exit status, -1 if a signal killed it.
func (p *Process) Ended() int {
	_ = p.Wait()
	p.cancel()
	return p.ProcessState.ExitCode()
}

// Signaled sends a signal at a random time of a process's life, and returns its exit status. If the process ends
// before the signal, it shortens the life: otherwise most signals would come too late on a machine that has become
// faster.
func (p *Process) Signaled(random *rand.Rand, life *time.Duration, signal os.Signal) (status int) {
	began, over := time.Now(), make(chan int, 1)
	go func() { over <- p.Ended() }()
	select {
	case status = <-over:
		*life = min(*life, time.Since(began))
	case <-time.After(time.Duration(random.Int64N(int64(*life)))):
		_ = p.Process.Signal(signal)
		status = <-over
	}
	return status
}

// Do runs a command that must succeed, and returns its output.
func (s *Shell) Do(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	p := s.Command(args...)
	require.NoError(t, p.Start())
	require.Equal(t, 0, p.Ended(), "%v: %s", args, &p.Err)
	require.Empty(t, p.Err.String(), "%v", args)
	return p.Out.String()
}

// Result runs a command with --json and returns its last line.
func (s *Shell) Result(t *testing.T, args ...string) map[string]any {
	t.Helper()
	return lastLine(t, s.Do(t, append(args, "--json")...))
}

// lastLine is the JSON object in the last line of an output.
func lastLine(t *testing.T, stdout string) (r map[string]any) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &r), "%s", stdout)
	return r
}

// Program runs a command line in this process and returns its exit status, as cli.Run does.
type Program func(ctx context.Context, args []string, streams console.Streams) (status int)

// Do runs a command that must succeed, and returns its output.
func (run Program) Do(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	return run.Told(t, "", args...)
}

// Told is Do with a text on standard input.
func (run Program) Told(t *testing.T, stdin string, args ...string) (stdout string) {
	t.Helper()
	var out, stderr bytes.Buffer
	streams := console.Streams{In: strings.NewReader(stdin), Out: &out, Err: &stderr, Env: os.Getenv}
	require.Equal(t, 0, run(t.Context(), args, streams), "%v: %s", args, &stderr)
	require.Empty(t, stderr.String(), "%v", args)
	return out.String()
}

// Result runs a command with --json and returns its last line.
func (run Program) Result(t *testing.T, args ...string) map[string]any {
	t.Helper()
	return lastLine(t, run.Do(t, append(args, "--json")...))
}

// Refused runs a command with wrong input, and returns its error, one sentence.
func (s *Shell) Refused(t *testing.T, args ...string) string {
	t.Helper()
	p := s.Command(args...)
	require.NoError(t, p.Start())
	require.Equal(t, 2, p.Ended(), "%v: %s%s", args, &p.Err, &p.Out)
	require.Equal(t, 1, strings.Count(p.Err.String(), "\n"), "%v: %s", args, &p.Err)
	return p.Err.String()
}

// Path returns a path below the working folder.
func (s *Shell) Path(parts ...string) string {
	return filepath.Join(append([]string{s.Dir}, parts...)...)
}

// Read returns the text of a file below the working folder.
func (s *Shell) Read(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(s.Path(parts...))
	require.NoError(t, err)
	return string(text)
}
