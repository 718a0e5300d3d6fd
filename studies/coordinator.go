package studies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"xlarun/rollout/settings"
	"xlarun/rollout/study"
	"xlarun/studies/rdb"
)

// Coordinator asks the trials of a study and keeps its workers going. What it knows is in the storage: another goes on where it was
// killed, and workers do not notice.
type Coordinator struct {
	Spec *Spec
	// Command is a worker of a slot, a process that calls Worker.
	Command func(slot int) *exec.Cmd
	// Ended hears of each trial that is over, in the order of their numbers; best is the best so far, nil for none.
	Ended func(t, best *study.FrozenTrial)
	// Notice hears of what is worth knowing: workers that died, say.
	Notice func(string)

	db      *rdb.DB
	study   *study.Study
	place   Place
	workers map[int]*process
	best    *study.FrozenTrial
	over    int // the first trials, which are over
	asked   int // how many of them are ours, and of these failed
	failed  int
	deaths  int
	threads int
}

// process is a worker that this coordinator started.
type process struct {
	cmd   *exec.Cmd
	begun time.Time
	over  chan error
}

// poll is how often the coordinator looks at the storage.
const poll = 10 * time.Millisecond

// hopeless is the number of trials after which a study is given up in which every one has failed.
const hopeless = 10

// Run runs the study to its end, or until ctx ends.
func (c *Coordinator) Run(ctx context.Context) (err error) {
	if c.place, err = PlaceOf(c.Spec.Storage); err != nil {
		return err
	}
	lock := flock.New(c.place.coordinator(c.Spec.Name))
	ok, err := lock.TryLock()
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("another process runs the study %s in %s: wait for its end, or stop it", c.Spec.Name, c.Spec.Storage)
	}
	defer func() { _ = lock.Unlock() }()
	if c.db, err = rdb.Open(c.Spec.Storage); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.db.Close()) }()
	if c.study, err = study.New(c.Spec.Name, c.Spec.options(c.db)); err != nil {
		return err
	}
	if err := c.agree(); err != nil {
		return err
	}
	c.workers = map[int]*process{}
	defer c.stop()
	return c.loop(ctx)
}

// agree holds the spec against that of a study that goes on.
func (c *Coordinator) agree() error {
	id := c.study.ID()
	text, err := c.Spec.text()
	if err != nil {
		return err
	}
	before, err := c.db.Attr(id, specAttr)
	if err != nil {
		return err
	}
	if before != nil && string(before) != string(text) {
		return c.differs(id)
	}
	s := c.Spec
	rest, err := json.Marshal(call{s.Trials, s.Workers, s.Timeout, s.Lease, int64(s.Memory), s.Attempts})
	if err != nil {
		return err
	}
	return errors.Join(c.db.SetAttr(id, callAttr, rest), c.db.SetAttr(id, specAttr, text), c.db.SetAttr(id, overAttr, json.RawMessage("false")))
}

// differs names what is not as it was.
func (c *Coordinator) differs(id study.StudyID) error {
	old, err := SpecOf(c.db, id)
	if err != nil {
		return err
	}
	for _, f := range settings.Fields(c.Spec) {
		was, _ := settings.Lookup(old, f.Name)
		if !f.MayChange() && was.Text() != f.Text() {
			return wrong(f.Name, "got %s, but the study in %s was started with %s: give that, or another name", f.Text(), c.Spec.Storage, was.Text())
		}
	}
	return fmt.Errorf("the study %s in %s was started with other settings of its runs, or other parameters: give those ([run], [[param]]), or another name", c.Spec.Name, c.Spec.Storage)
}

// loop asks trials and sees to the workers.
func (c *Coordinator) loop(ctx context.Context) error {
	exhausted := false
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		trials, err := c.study.Trials()
		if err != nil {
			return err
		}
		if err := c.tell(trials); err != nil {
			return err
		}
		asked, first := c.asked, int64(math.MaxInt64) // of ours, the first that is not over
		for _, t := range trials[c.over:] {
			if t.SystemAttrs[study.SeesAttr] == nil {
				continue
			}
			asked++
			if !t.State.Finished() {
				first = min(first, t.Number)
			}
		}
		wanted := !exhausted && asked < c.Spec.Trials
		if !wanted && first == math.MaxInt64 {
			return c.db.SetAttr(c.study.ID(), overAttr, json.RawMessage("true"))
		}
		next := int64(0)
		if n := len(trials); n > 0 {
			next = trials[n-1].Number + 1
		}
		// A trial sees how all ended that are a window before it, and so it waits for them.
		if sees := max(next-int64(c.Spec.Window)+1, 0); wanted && first >= sees {
			_, err := c.study.AskSpace(c.Spec.Space, sees)
			if exhausted = errors.Is(err, study.ErrExhausted); err != nil && !exhausted {
				return err
			}
			if len(trials) > 0 && len(c.workers) > 0 {
				continue
			}
		}
		if err := c.man(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(poll):
		}
	}
}

// tell says which trials of ours are over, by number, up to the first that is not.
func (c *Coordinator) tell(trials []*study.FrozenTrial) error {
	for _, t := range trials[c.over:] {
		if t.SystemAttrs[study.SeesAttr] == nil && t.State.Finished() {
			c.over++
			continue
		}
		if !t.State.Finished() {
			return nil
		}
		c.over++
		c.asked++
		if t.State == study.Fail {
			c.failed++
		}
		if len(c.Spec.Directions()) == 1 {
			both := []*study.FrozenTrial{t}
			if c.best != nil {
				both = append([]*study.FrozenTrial{c.best}, t)
			}
			if b := study.Best(both, c.Spec.Directions()); len(b) > 0 {
				c.best = b[0]
			}
		}
		if c.Ended != nil {
			c.Ended(t, c.best)
		}
		if c.failed >= hopeless && c.failed == c.asked {
			return fmt.Errorf("the first %d trials have all failed, the last as %s: mend the spec, and give the study another name", c.failed, reason(t))
		}
	}
	return nil
}

func reason(t *study.FrozenTrial) string {
	var text string
	_ = json.Unmarshal(t.UserAttrs[study.ReasonAttr], &text)
	return text
}

// Reason is why a trial failed.
func Reason(t *study.FrozenTrial) string { return reason(t) }

// man starts a worker for each slot that has none. What one that died had leased is free at once.
func (c *Coordinator) man() error {
	for slot := range c.Spec.Workers {
		if p := c.workers[slot]; p != nil {
			select {
			case err := <-p.over:
				delete(c.workers, slot)
				if err != nil {
					c.deaths++
					c.notice("worker %d ended: %v%s", slot, err, tail(c.place.Log(c.Spec.Name, slot)))
				}
			default:
				c.threads = max(c.threads, threads(p.cmd.Process.Pid))
				continue
			}
		}
		if locked(c.place.slot(c.Spec.Name, slot)) {
			continue // one that an earlier coordinator started
		}
		if id, err := os.ReadFile(c.place.slot(c.Spec.Name, slot) + ".id"); err == nil {
			if err := c.db.Release(c.study.ID(), string(id)); err != nil {
				return err
			}
		}
		if err := c.start(slot); err != nil {
			return err
		}
	}
	return nil
}

func (c *Coordinator) start(slot int) error {
	cmd := c.Command(slot)
	log, err := os.OpenFile(c.place.Log(c.Spec.Name, slot), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(cmd.Environ(), "GOMAXPROCS="+strconv.Itoa(c.Spec.Threads))
	if err := cmd.Start(); err != nil {
		return err
	}
	p := &process{cmd: cmd, begun: time.Now(), over: make(chan error, 1)}
	go func() { p.over <- cmd.Wait() }()
	c.workers[slot] = p
	return nil
}

// stop ends the workers.
func (c *Coordinator) stop() {
	for _, p := range c.workers {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may be gone
	}
	for _, p := range c.workers {
		select {
		case <-p.over:
		case <-time.After(3 * time.Second):
			_ = p.cmd.Process.Kill()
			<-p.over
		}
	}
}

func (c *Coordinator) notice(format string, args ...any) {
	if c.Notice != nil {
		c.Notice(fmt.Sprintf(format, args...))
	}
}

// Threads is the most threads that a worker was seen to have.
func (c *Coordinator) Threads() int { return c.threads }

// Deaths is the number of workers that ended other than by themselves.
func (c *Coordinator) Deaths() int { return c.deaths }

// threads of a process; 0 where that cannot be told.
func threads(pid int) int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0
	}
	return len(entries)
}

// tail is the last line of a log.
func tail(path string) string {
	text, err := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if last := lines[len(lines)-1]; err == nil && last != "" {
		return ": " + shown(last)
	}
	return ""
}
