package studies

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Pool keeps worker processes running on this machine, one in each slot.
type Pool struct {
	Size, Threads int
	// Command returns the command of the worker of a slot.
	Command func(slot int) *exec.Cmd
	// Log returns the file for the output of a worker; "" for none.
	Log func(slot int) string
	// Occupied reports whether a worker that the pool did not start holds the slot. nil: none does.
	Occupied func(slot int) bool
	// Died is called when a worker has ended. err is nil if its exit status was 0.
	Died func(slot int, err error)
	// Limit is the number of workers that may die right after their start, one after the other, before the pool starts
	// no more. 0: no limit.
	Limit int
	// NoRestart makes the pool start no worker instead of one that has ended.
	NoRestart bool

	workers     map[int]*process
	earlyDeaths int // workers in a row that died within earlyAge of their start
	startAfter  time.Time
}

type process struct {
	cmd    *exec.Cmd
	start  time.Time
	exited chan error
}

// earlyAge is the age in which a worker dies if something is wrong with all workers.
const earlyAge = 3 * time.Second

// StartMissing starts a worker in each slot that has none. It waits longer and longer if workers die right after their
// start.
func (p *Pool) StartMissing() error {
	if p.workers == nil {
		p.workers = map[int]*process{}
	}
	for slot := range p.Size {
		if w := p.workers[slot]; w != nil {
			select {
			case err := <-w.exited:
				delete(p.workers, slot)
				p.earlyDeaths++
				if time.Since(w.start) > earlyAge {
					p.earlyDeaths = 0
				}
				pause := time.Duration(max(p.earlyDeaths-10, 0)) * 100 * time.Millisecond
				p.startAfter = time.Now().Add(min(pause, 5*time.Second))
				if p.Died != nil {
					p.Died(slot, err)
				}
			default:
				continue
			}
		}
		if p.NoRestart || p.LimitReached() || time.Now().Before(p.startAfter) || p.Occupied != nil && p.Occupied(slot) {
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
	if gpus := share(os.Getenv(visibleGPUs), slot, p.Size); gpus != "" {
		cmd.Env = append(cmd.Env, visibleGPUs+"="+gpus)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("a worker cannot be started: %w", err)
	}
	w := &process{cmd: cmd, start: time.Now(), exited: make(chan error, 1)}
	go func() { w.exited <- cmd.Wait() }()
	p.workers[slot] = w
	return nil
}

// visibleGPUs is the variable with the numbers of the GPUs that CUDA shows to a process.
const visibleGPUs = "CUDA_VISIBLE_DEVICES"

// share returns a worker's part of a list of GPUs, "0,1,2,3": each size-th from its slot on. Where there are fewer than
// workers, several workers have one.
func share(list string, slot, size int) string {
	all := strings.Split(list, ",")
	own := all[slot%len(all)]
	for i := slot + size; i < len(all); i += size {
		own += "," + all[i]
	}
	return own
}

// LimitReached reports whether the limit of workers has died right after their start.
func (p *Pool) LimitReached() bool { return p.Limit > 0 && p.earlyDeaths >= p.Limit }

// ResetDeaths resets the count of workers that died right after their start.
func (p *Pool) ResetDeaths() { p.earlyDeaths = 0 }

// Running returns the number of running workers.
func (p *Pool) Running() int { return len(p.workers) }

// Stop ends all workers with SIGTERM, after three seconds with SIGKILL.
func (p *Pool) Stop() {
	for _, w := range p.workers {
		_ = w.cmd.Process.Signal(syscall.SIGTERM) // it may be gone
	}
	for slot, w := range p.workers {
		select {
		case <-w.exited:
		case <-time.After(3 * time.Second):
			_ = w.cmd.Process.Kill()
			<-w.exited
		}
		delete(p.workers, slot)
	}
}
