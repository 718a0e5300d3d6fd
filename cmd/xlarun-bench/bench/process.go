package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/xlabridge/fetch"
)

// The protocol between processes, for ours and for peers in Python and C: a process writes a line of JSON when it is
// ready, and for each line of JSON on stdin another one. To a side of a Workload the lines are numbers of runs, its
// first line is a ready and the others are answers. The end of stdin ends the process.

// ready is the first line of a side.
type ready struct {
	Compile float64   `json:"compile,omitempty"` // seconds to trace and compile
	Plan    string    `json:"plan,omitempty"`
	Checks  []float64 `json:"checks,omitempty"`
}

// answer is a side's line for a number of runs.
type answer struct {
	Seconds   []float64 `json:"seconds"`   // of each run
	Processor float64   `json:"processor"` // seconds of CPU time of a run, on all cores
	Result    float64   `json:"result"`
	Peak      int64     `json:"peak"` // the most resident memory so far; 0: not known
}

// lastLines is the number of lines of a failed process's output that are shown.
const lastLines = 5

// process is a process that speaks the protocol.
type process struct {
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan []byte
	limit time.Duration
	note  string // on limit
	tail  *tail
	wait  func() error // once
}

// startProcess starts a process, which gets a group of its own. limit is the time that each of its answers may take.
func startProcess(cmd *exec.Cmd, name string, limit time.Duration) (p *process, err error) {
	p = &process{name: name, cmd: cmd, lines: make(chan []byte), limit: limit, tail: new(tail)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	cmd.Stderr = p.tail
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s cannot be started: %w", name, err)
	}
	p.wait = sync.OnceValue(cmd.Wait)
	go func() {
		defer close(p.lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadBytes('\n')
			if err != nil {
				_, _ = p.tail.Write(line)
				return
			}
			if clean := withoutInfinities(line); json.Valid(clean) {
				p.lines <- clean
				continue
			}
			_, _ = p.tail.Write(line) // what libraries print
		}
	}()
	return p, nil
}

// ask writes a line and reads the answer. After an error the process has ended.
func (p *process) ask(question, answer any) error {
	line, err := json.Marshal(question)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(p.in, "%s\n", line); err != nil {
		return p.failed("has ended")
	}
	return p.read(answer)
}

// read reads the next line. After an error the process has ended.
func (p *process) read(answer any) error {
	timer := time.NewTimer(p.limit)
	defer timer.Stop()
	select {
	case line, ok := <-p.lines:
		if !ok {
			return p.failed("has ended")
		}
		if err := json.Unmarshal(line, answer); err != nil {
			return p.failed(fmt.Sprintf("answered %.80q, which is no such answer (%v)", line, err))
		}
		return nil
	case <-timer.C:
		return p.failed(fmt.Sprintf("gave no answer for %v%s", p.limit, p.note))
	}
}

// infinite stands for an infinity, which JSON does not have.
const infinite = 1e300

// withoutInfinities replaces the words that Python writes for numbers that JSON does not have.
func withoutInfinities(line []byte) []byte {
	line = bytes.ReplaceAll(line, []byte("-Infinity"), fmt.Append(nil, -infinite))
	line = bytes.ReplaceAll(line, []byte("Infinity"), fmt.Append(nil, infinite))
	return bytes.ReplaceAll(line, []byte("NaN"), []byte("null"))
}

// traceback is of Python: indented frames, and then the exception, of which the first lines are the message.
var traceback = regexp.MustCompile(`^Traceback .*\n(?: .*\n)+(\S(?:.*\n?){1,5})`)

// failed kills the process and returns an error with the last lines that it wrote, or the exception of its last
// traceback.
func (p *process) failed(how string) error {
	p.kill()
	text := p.tail.text()
	last := max(0, strings.LastIndex(text, "Traceback (most recent call last):\n"))
	if m := traceback.FindStringSubmatch(text[last:]); m != nil {
		return fmt.Errorf("%s %s: %s", p.name, how, strings.Join(strings.Fields(m[1]), " "))
	}
	if text != "" {
		return fmt.Errorf("%s %s; its last lines were:\n%s", p.name, how, lastOf(text))
	}
	return fmt.Errorf("%s %s", p.name, how)
}

func (p *process) kill() {
	_ = p.in.Close()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	p.drain()
	_ = p.wait()
}

func (p *process) drain() {
	go func() {
		for range p.lines { // the reader must not wait
		}
	}()
}

// close ends the process. One that goes on after the end of its stdin is killed.
func (p *process) close() {
	_ = p.in.Close()
	p.drain()
	ended := make(chan struct{})
	go func() { _ = p.wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(min(p.limit, 10*time.Second)):
		p.kill()
	}
}

// tail keeps the last lines that are written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.data = append(t.data, b...); len(t.data) > 1<<14 {
		t.data = bytes.Clone(t.data[len(t.data)-1<<13:])
	}
	return len(b), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.data))
}

// lastOf is the last lines of a text.
func lastOf(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-lastLines):], "\n")
}

// ownProcess returns this program with these arguments and the backend of bench itself. cache is its cache folder, ""
// for the user's.
func ownProcess(ctx context.Context, o console.BackendFlags, cache string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return processOf(ctx, self, o, cache, args...)
}

// processOf returns a process of a program of ours with these arguments and a backend, as ownProcess does.
func processOf(ctx context.Context, program string, o console.BackendFlags, cache string,
	args ...string) (*exec.Cmd, error) {
	args = append(args, "--backend", o.Backend)
	if o.Plugin != "" {
		args = append(args, "--plugin", o.Plugin)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = os.Environ()
	if cache != "" {
		cmd.Env = append(cmd.Env, fetch.EnvCache+"="+cache)
	}
	return cmd, nil
}

// scratchCache makes a cache folder that has the installed plugins but no programs.
func scratchCache() (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp("", "xlarun-bench-*"); err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	if err := EmptyCache(dir); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// EmptyCache makes dir a cache folder that has the installed plugins but no programs.
func EmptyCache(dir string) error {
	folder, err := fetch.CacheDir()
	if err != nil {
		return err
	}
	plugins := filepath.Join(folder, "plugins")
	if err := os.MkdirAll(plugins, 0o755); err != nil {
		return err
	}
	return os.Symlink(plugins, filepath.Join(dir, "plugins"))
}

// outputOf runs a command and returns its stdout; its error holds the last lines of stderr.
func outputOf(cmd *exec.Cmd) (string, error) {
	var stderr tail
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", lastOf(stderr.text()), err)
	}
	return string(out), nil
}
