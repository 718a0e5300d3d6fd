package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/bench/gradbench"
)

// jaxPeer is a process of jax_grad.py that answers each line with a line of JSON.
type jaxPeer struct {
	name    string // "jax 0.10.2"
	runner  *peerRunner
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	stderr  *strings.Builder
}

func startJAX(ctx context.Context, h *host, python string) (*jaxPeer, error) {
	runner, err := newPeerRunner(ctx, h, python)
	if err != nil {
		return nil, err
	}
	p := &jaxPeer{runner: runner, stderr: new(strings.Builder)}
	if err := p.open(ctx); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// command runs the script with other arguments.
func (p *jaxPeer) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.runner.python, append([]string{filepath.Join(p.runner.scripts, "peers", "jax_grad.py")}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "JAX_PLATFORMS=cpu")
	return cmd
}

func (p *jaxPeer) open(ctx context.Context) (err error) {
	p.process = p.command(ctx)
	p.process.Stderr = p.stderr
	if p.in, err = p.process.StdinPipe(); err != nil {
		return err
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReader(out)
	if err := p.process.Start(); err != nil {
		return err
	}
	var hello struct{ JAX string }
	if err := p.answer(&hello); err != nil {
		return err
	}
	p.name = "jax " + hello.JAX
	return nil
}

// ask sends a command and reads the answer.
func (p *jaxPeer) ask(answer any, words ...string) error {
	if _, err := fmt.Fprintln(p.in, strings.Join(words, " ")); err != nil {
		return p.failed(err)
	}
	return p.answer(answer)
}

func (p *jaxPeer) answer(v any) error {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return p.failed(err)
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("the peer jax_grad.py answered %q, not a line of JSON", line)
	}
	return nil
}

// failed words the end of the process, with the last line that it left on stderr.
func (p *jaxPeer) failed(err error) error {
	_ = p.in.Close()
	_ = p.process.Wait()
	lines := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
	return fmt.Errorf("the peer jax_grad.py failed: %s (%w)", lines[len(lines)-1], err)
}

func (p *jaxPeer) check(workload string) (n gradbench.Numbers, err error) {
	return n, p.ask(&n, "check", workload)
}

func (p *jaxPeer) cold(workload string) (c gradbench.Cold, err error) {
	return c, p.ask(&c, "cold", workload)
}

func (p *jaxPeer) run(workload string, n int) ([]float64, error) {
	var answer struct{ Seconds []float64 }
	if err := p.ask(&answer, "run", workload, strconv.Itoa(n)); err != nil {
		return nil, err
	}
	if len(answer.Seconds) != n {
		return nil, fmt.Errorf("the peer jax_grad.py ran %d times, wanted %d", len(answer.Seconds), n)
	}
	return answer.Seconds, nil
}

func (p *jaxPeer) close() {
	if p.process != nil && p.process.Process != nil && p.process.ProcessState == nil {
		_ = p.in.Close() // the end of its commands ends it
		_ = p.process.Wait()
	}
	p.runner.close()
}
