package external

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Grace is how long a program that has to end may take after SIGTERM. SIGKILL follows.
const Grace = 2 * time.Second

// process is a program in a process group of its own. When the program ends, or this process does, nothing of the group
// is left.
type process struct {
	*exec.Cmd
	exited chan struct{} // closed when the program has ended, and its group too
}

// start starts the program of a command, which writes into two files.
func start(cmd *exec.Cmd, stdout, stderr *os.File) (*process, error) {
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the program %s cannot be started (%w)", cmd.Args[0], cause(err))
	}
	p := &process{cmd, make(chan struct{})}
	release, err := p.guard()
	if err != nil {
		p.signal(syscall.SIGKILL)
		return nil, errors.Join(err, cmd.Wait())
	}
	go func() {
		_ = cmd.Wait()            // cmd.ProcessState says how it has ended
		p.signal(syscall.SIGKILL) // what it has left behind
		release()
		close(p.exited)
	}()
	return p, nil
}

// guard starts a shell that kills the group when this process ends before it calls release, also by SIGKILL: the shell
// reads from a pipe that this process holds open.
func (p *process) guard() (release func(), err error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	shell := exec.Command("/bin/sh", "-c", `read -r end || kill -s KILL -- "-$0"`, strconv.Itoa(p.Process.Pid))
	shell.Stdin = from
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for it
	err = errors.Join(shell.Start(), from.Close())
	if err != nil {
		return nil, errors.Join(err, to.Close())
	}
	return func() {
		_, _ = to.WriteString("\n") // it may have been killed
		_ = to.Close()
		_ = shell.Wait()
	}, nil
}

// signal sends a signal to all processes of the group; there may be none.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.Process.Pid, s) }

// ended reports whether the program has ended.
func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// stop ends the program.
func (p *process) stop() {
	if p.ended() {
		return
	}
	p.signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(Grace):
		p.signal(syscall.SIGKILL)
		<-p.exited
	}
}

// failure returns how a program failed, with the last lines that it wrote to stderr; nil if its status was 0.
func (p *process) failure(folder string) error {
	if p.ProcessState.Success() {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(tail(filepath.Join(folder, errFile)), "?")), "\n")
	lines = lines[max(0, len(lines)-3):]
	const most = 300
	for i, line := range lines { // a long message begins with its kind
		if r := []rune(line); len(r) > most {
			lines[i] = string(r[:most]) + "…"
		}
	}
	said := strings.Join(lines, " / ")
	if said == "" {
		said = "it wrote nothing to stderr"
	}
	return fmt.Errorf("the program ended with %v: %s", p.ProcessState, said)
}

// tail returns the last 16 KiB of a file; "" if it cannot be read.
func tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	const most = 1 << 14
	if _, err := f.Seek(-most, io.SeekEnd); err != nil { // it is shorter
		_, _ = f.Seek(0, io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(f, most))
	return string(text)
}

// cause is the error of the system.
func cause(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	if look, ok := errors.AsType[*exec.Error](err); ok {
		return look.Err
	}
	return err
}
