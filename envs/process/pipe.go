package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"xlarun/envs"
)

// protocol is the version of the protocol.
const protocol = 1

// patience is how long a process may take for an answer, if it does not say more.
var patience = 60 * time.Second

// pipe is a process that simulates, and the pipes to it.
type pipe struct {
	command *exec.Cmd
	to      *os.File
	from    *os.File
	answers *bufio.Reader
	words   *tail
	wait    time.Duration
}

// start starts a command and reads its first line, the Spec.
func start(command []string) (*pipe, envs.Spec, error) {
	var none envs.Spec
	cmd := exec.Command(command[0], command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the run, which ends in order
	stdin, to, err := os.Pipe()
	if err != nil {
		return nil, none, err
	}
	from, stdout, err := os.Pipe()
	if err != nil {
		return nil, none, errors.Join(err, stdin.Close(), to.Close())
	}
	p := &pipe{command: cmd, to: to, from: from, answers: bufio.NewReaderSize(from, 1<<16), words: &tail{},
		wait: patience}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, p.words
	err = cmd.Start()
	_ = stdin.Close() // the process has its own
	_ = stdout.Close()
	if err != nil {
		_, _ = to.Close(), from.Close()
		return nil, none, fmt.Errorf("the command %s cannot be started (%w)", command[0], cause(err))
	}
	line, err := p.line()
	if err != nil {
		return nil, none, err
	}
	spec, err := p.greeting(line)
	if err != nil {
		p.kill()
		return nil, none, fmt.Errorf("the first line of the process is wrong: %w", err)
	}
	return p, spec, nil
}

// cause is the error of the system.
func cause(err error) error {
	var path *os.PathError
	var look *exec.Error
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &look):
		return look.Err
	}
	return err
}

// greeting reads the first line.
func (p *pipe) greeting(line string) (spec envs.Spec, err error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		return spec, fmt.Errorf("it is no JSON object: %.60q", line)
	}
	var version int
	if json.Unmarshal(fields["protocol"], &version) != nil || version != protocol {
		return spec, fmt.Errorf("protocol is %s, want %d", fields["protocol"], protocol)
	}
	if seconds, ok := fields["timeout"]; ok {
		var wait float64
		if json.Unmarshal(seconds, &wait) != nil || !(wait > 0 && wait < 1e6) {
			return spec, fmt.Errorf("timeout is %s, want seconds above 0", seconds)
		}
		p.wait = time.Duration(wait * float64(time.Second))
	}
	delete(fields, "protocol")
	delete(fields, "timeout")
	rest, err := json.Marshal(fields)
	if err != nil {
		return spec, err
	}
	if spec, err = envs.ReadSpec(rest, nil, nil); err != nil {
		return spec, err
	}
	spec.ID = Scheme
	return spec, spec.Check()
}

// longestLine is the largest length of a line in bytes.
const longestLine = 1 << 20

// line reads a line.
func (p *pipe) line() (string, error) {
	if err := p.from.SetReadDeadline(time.Now().Add(p.wait)); err != nil {
		return "", err
	}
	var line []byte
	for {
		part, err := p.answers.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return string(bytes.TrimSuffix(line, []byte("\n"))), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", p.failed(err)
		case len(line) > longestLine:
			p.kill()
			return "", fmt.Errorf("the process wrote a line of more than %d bytes", longestLine)
		}
	}
}

// ask sends a request about n simulators. It returns the columns of the answer, n rows each, of the given widths in
// bytes.
func (p *pipe) ask(word string, n int, body []byte, widths []int) ([][]byte, error) {
	if err := p.to.SetWriteDeadline(time.Now().Add(p.wait)); err != nil {
		return nil, err
	}
	if _, err := p.to.Write(append(fmt.Appendf(nil, "%s %d\n", word, n), body...)); err != nil {
		return nil, p.failed(err)
	}
	line, err := p.line()
	if err != nil {
		return nil, err
	}
	if text, is := strings.CutPrefix(line, "error "); is {
		p.kill()
		return nil, fmt.Errorf("the process refused a %s: %.300s", word, text)
	}
	text, is := strings.CutPrefix(line, "ok ")
	got, err := strconv.Atoi(text)
	if !is || err != nil {
		p.kill()
		return nil, fmt.Errorf("the process answered a %s with %.60q, want ok and the number of bytes: what it prints "+
			"goes to its standard error", word, line)
	}
	want := 0
	for _, w := range widths {
		want += n * w
	}
	if got != want {
		p.kill()
		return nil, fmt.Errorf("the process answered a %s of %d episodes with %d bytes, want %d: observations%s", word,
			n, got, want, map[bool]string{true: ", rewards, terminated and truncated"}[len(widths) > 1])
	}
	content := make([]byte, want)
	if _, err := io.ReadFull(p.answers, content); err != nil {
		return nil, p.failed(err)
	}
	rows := make([][]byte, len(widths))
	for i, w := range widths {
		rows[i], content = content[:n*w], content[n*w:]
	}
	return rows, nil
}

// failed returns the error of a process that has ended, or that is silent.
func (p *pipe) failed(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.kill()
		return fmt.Errorf("the process was silent for %v%s", p.wait, p.words.last())
	}
	time.AfterFunc(time.Second, p.kill) // it closed its output, and may still run
	err = p.command.Wait()
	how := "ended"
	var status *exec.ExitError
	if errors.As(err, &status) {
		how = "ended by " + status.String()
	}
	return fmt.Errorf("the process %s%s", how, p.words.last())
}

// kill ends the process.
func (p *pipe) kill() {
	if p.command.Process != nil {
		_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) // with the processes that it has started
		go func() { _ = p.command.Wait() }()
	}
}

// tail keeps the end of what a process writes to its standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailLength = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if n := len(t.text); n > tailLength {
		t.text = append([]byte(nil), t.text[n-tailLength:]...)
	}
	return len(b), nil
}

// last returns the last line, after a comma; "" if there is none.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	if line := strings.TrimSpace(lines[len(lines)-1]); line != "" {
		return fmt.Sprintf(", its last words: %.300s", line)
	}
	return ""
}
