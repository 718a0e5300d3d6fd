package studies

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// Pool keeps worker processes of this machine going, one a slot.
type Pool struct {
	Size, Threads int
	// Command is a worker of a slot.
	Command func(slot int) *exec.Cmd
	// Log is the file in which its output goes; "" for nowhere.
	Log func(slot int) string
	// Held tells of a slot with a worker that is not the pool's; nil: there are none.
	Held func(slot int) bool
	// Died hears of workers that are gone: err is nil for one that ended by itself.
	Died func(slot int, err error)
	// Limit is the number of workers that may die soon after their start, one after the other, before no more are started; 0 for any.
	Limit int
	// Done tells that none is to be started any more where one ended by itself.
	Done bool

	workers map[int]*process
	deaths  int
	quick   int // workers that died soon, one after the other
	rest    time.Time
}

type process struct {
	cmd   *exec.Cmd
	begun time.Time
	over  chan error
}

// soon is the age up to which the death of a worker tells that there is something wrong with all of them.
const soon = 3 * time.Second

// Man starts a worker in each slot that has none. After workers that died soon it takes its time.
func (p *Pool) Man() error {
	if p.workers == nil {
		p.workers = map[int]*process{}
	}
	for slot := range p.Size {
		if w := p.workers[slot]; w != nil {
			select {
			case err := <-w.over:
				delete(p.workers, slot)
				p.quick++
				if time.Since(w.begun) > soon {
					p.quick = 0
				}
				p.rest = time.Now().Add(min(time.Duration(max(p.quick-10, 0))*100*time.Millisecond, 5*time.Second))
				if err != nil {
					p.deaths++
				}
				if p.Died != nil {
					p.Died(slot, err)
				}
			default:
				continue
			}
		}
		if p.Done || p.Hopeless() || time.Now().Before(p.rest) || p.Held != nil && p.Held(slot) {
			continue
		}
		if err := p.start(slot); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pool) start(slot int) error {
	cmd := p.Command(slot)
	if path := p.Log(slot); path != "" {
		log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
		if err != nil {
			return err
		}
		defer func() { _ = log.Close() }()
		cmd.Stdout, cmd.Stderr = log, log
	}
	cmd.Env = append(cmd.Environ(), "GOMAXPROCS="+strconv.Itoa(p.Threads))
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("a worker cannot be started: %w", err)
	}
	w := &process{cmd: cmd, begun: time.Now(), over: make(chan error, 1)}
	go func() { w.over <- cmd.Wait() }()
	p.workers[slot] = w
	return nil
}

// Hopeless tells that so many workers as the limit died soon after their start, one after the other.
func (p *Pool) Hopeless() bool { return p.Limit > 0 && p.quick >= p.Limit }

// Works tells that workers do what they are for: the next that dies soon is the first.
func (p *Pool) Works() { p.quick = 0 }

// Left is the number of workers that have not ended.
func (p *Pool) Left() int { return len(p.workers) }

// Stop ends the workers.
func (p *Pool) Stop() {
	for _, w := range p.workers {
		_ = w.cmd.Process.Signal(syscall.SIGTERM) // it may be gone
	}
	for slot, w := range p.workers {
		select {
		case <-w.over:
		case <-time.After(3 * time.Second):
			_ = w.cmd.Process.Kill()
			<-w.over
		}
		delete(p.workers, slot)
	}
}
