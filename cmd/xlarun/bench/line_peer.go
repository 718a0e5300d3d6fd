package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// linePeer is a script of third_party/peers that stays up: a line of JSON for a question, one for its answer.
type linePeer struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs bytes.Buffer
}

func startLinePeer(ctx context.Context, r *peerRunner, script string, env ...string) (p *linePeer, err error) {
	p = &linePeer{name: script, cmd: exec.CommandContext(ctx, r.python, filepath.Join(r.scripts, "peers", script))}
	p.cmd.Env = append(append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), env...)
	p.cmd.Stderr = &p.errs
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.cmd.Start()
}

// ask gives the line of the answer. After an error the peer has ended.
func (p *linePeer) ask(question any) ([]byte, error) {
	line, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	if _, err = fmt.Fprintf(p.in, "%s\n", line); err == nil {
		if line, err = p.out.ReadBytes('\n'); err == nil {
			return line, nil
		}
	}
	_ = p.in.Close()
	return nil, fmt.Errorf("the peer %s has ended: %w", p.name, withLastLine(errors.Join(err, p.cmd.Wait()), p.errs.String()))
}

func (p *linePeer) stop() error {
	_ = p.in.Close()
	if p.cmd.ProcessState != nil { // ask has waited for it
		return nil
	}
	return p.cmd.Wait()
}
