package studies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"xlarun/rollout/settings"
	"xlarun/rollout/study"
	"xlarun/studies/rdb"
)

// Coordinator asks the trials of a study, hands them to workers by its engine, and writes what they come to. What it knows is in the storage:
// another goes on where it was killed, and workers wait for it.
type Coordinator struct {
	Spec *Spec
	// Command is a worker of a slot, a process that calls Worker.
	Command func(slot int) *exec.Cmd
	// Runs makes the runs of trials that are lanes of one program in this process; nil: all are run by workers.
	Runs Runs
	// Away tells that no workers are started here: all join from elsewhere.
	Away bool
	// Listen is where workers of other machines join.
	Listen Listen
	// Ended hears of each trial that is over, in the order of their numbers; best is the best so far, nil for none.
	Ended func(t, best *study.FrozenTrial)
	// Notice hears of what is worth knowing: workers that died, say.
	Notice func(string)
	// Listening hears of the address at which workers join.
	Listening func(address string)

	saying  sync.Mutex
	lock    *flock.Flock
	db      *rdb.DB
	study   *study.Study
	place   Place
	pool    *Pool
	desk    *desk
	shown   atomic.Pointer[desk] // the same, for Seen
	lanes   bool                 // trials are lanes
	why     error                // where the spec leaves it open: why they are not
	best    *study.FrozenTrial
	over    int   // the first trials, which are over
	next    int64 // number of the next trial
	asked   int   // how many of them are ours, and of these failed
	failed  int
	foreign int
	reason  string // why the last failed
	threads int
}

// poll is how often the coordinator looks at the storage, where nothing happens: others may have added trials.
const poll = 100 * time.Millisecond

// aheadOf is how many trials a worker are under way where none waits for others: enough that the queue never runs dry.
const aheadOf = 4

// hopeless is the number of trials after which a study is given up in which every one has failed.
const hopeless = 10

// Open opens the study's storage. It is refused where another process runs the study, where the storage is none, and where the study was started with other settings.
func (c *Coordinator) Open() (err error) {
	if err := c.chooseLanes(); err != nil {
		return err
	}
	if c.db, err = rdb.Open(c.Spec.Storage); err != nil {
		return wrong("storage", "got %s, which cannot be used: %v", c.Spec.Where(), err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if c.place, err = PlaceOf(c.Spec.Storage); err != nil {
		return wrong("storage", "got %s, which cannot be used: %v", c.Spec.Where(), err)
	}
	c.lock = flock.New(c.place.coordinator(c.Spec.Name))
	ok, err := c.lock.TryLock()
	if err != nil {
		return wrong("storage", "got %s, beside which nothing can be written: %v", c.Spec.Where(), err)
	}
	if ok { // and no other machine's
		err = c.db.Lock(c.Spec.Name)
	}
	if !ok || errors.Is(err, rdb.ErrTaken) {
		return fmt.Errorf("%w %s in %s: wait for its end, or stop it", rdb.ErrTaken, c.Spec.Name, c.Spec.Where())
	}
	if err != nil {
		return err
	}
	if c.study, err = study.New(c.Spec.Name, c.Spec.options(c.db)); err != nil {
		return err
	}
	return c.agree()
}

// Close ends what Open began.
func (c *Coordinator) Close() (err error) {
	if c.db != nil {
		err = c.db.Close()
		c.db = nil
	}
	if c.lock != nil {
		_ = c.lock.Unlock()
	}
	return err
}

// Run runs the study to its end, or until ctx ends. It opens it where Open was not called.
func (c *Coordinator) Run(ctx context.Context) (err error) {
	if c.db == nil {
		if err := c.Open(); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.Listen.Check(); err != nil {
		return err
	}
	c.pool = c.workers()
	defer c.pool.Stop()
	restarts, before := 0, -1
	for {
		session := c.session
		if c.lanes {
			session = c.laneSession
		}
		err := session(ctx)
		if _, ok := errors.AsType[*laneError](err); ok && ctx.Err() == nil && c.Spec.TrialsAs == asAuto {
			c.notice("%v: trials go on in processes", err)
			c.lanes = false
			continue
		}
		if err == nil || ctx.Err() != nil || !errors.As(err, new(*trouble)) {
			return err
		}
		if paused, err := c.pause(ctx); paused || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if before != c.asked {
			restarts, before = 0, c.asked
		}
		if restarts++; restarts > 5 {
			return err
		}
		if c.lanes {
			continue
		}
		c.notice("the message server is started anew, from the database: %v", err)
		if err := os.RemoveAll(c.place.engine(c.Spec.Name)); err != nil {
			return err
		}
	}
}

// trouble is what a new session may mend.
type trouble struct{ err error }

func (t *trouble) Error() string { return t.err.Error() }
func (t *trouble) Unwrap() error { return t.err }

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
	rest, err := json.Marshal(call{s.Trials, s.Workers, s.Timeout, s.Lease, int64(s.Memory), s.Attempts, s.Checkpoint, s.Stall})
	if err != nil {
		return err
	}
	return errors.Join(c.db.SetAttr(id, callAttr, rest), c.db.SetAttr(id, specAttr, text))
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
			return wrong(f.Name, "got %s, but the study in %s was started with %s: give that, or another name", f.Text(), c.Spec.Where(), was.Text())
		}
	}
	return fmt.Errorf("the study %s in %s was started with other settings of its runs, or other parameters: give those ([run], [[param]]), or another name", c.Spec.Name, c.Spec.Where())
}

// workers is the pool of this machine's.
func (c *Coordinator) workers() *Pool {
	name := c.Spec.Name
	size := c.Spec.Workers
	if c.Away {
		size = 0
	}
	return &Pool{Size: size, Threads: c.Spec.Threads, Command: c.Command,
		Log:  func(slot int) string { return c.place.Log(name, slot) },
		Held: func(slot int) bool { return locked(c.place.slot(name, slot)) }, // one that an earlier coordinator started
		Died: func(slot int, err error) {
			if id, e := os.ReadFile(c.place.slot(name, slot) + ".id"); e == nil && c.desk != nil {
				c.desk.died(string(id))
			}
			if err != nil {
				c.notice("worker %d ended: %v%s", slot, err, tail(c.place.Log(name, slot)))
			}
		}}
}

// dead are the workers of slots that have none any more.
func (c *Coordinator) dead() (ids []string) {
	for slot := range c.pool.Size {
		path := c.place.slot(c.Spec.Name, slot)
		id, err := os.ReadFile(path + ".id")
		if err == nil && !locked(path) {
			ids = append(ids, string(id))
		}
	}
	return ids
}

// session runs the study with one engine.
func (c *Coordinator) session(ctx context.Context) error {
	ttl, err := c.Spec.leaseTime()
	if err != nil {
		return err
	}
	name := c.Spec.Name
	dead := c.dead()
	c.bare() // nobody waits for the engine: the workers start meanwhile
	e, err := openEngine(c.place.engine(name), c.place.socket(name), c.Listen, ttl)
	if errors.As(err, new(*net.OpError)) {
		return err // nothing is wrong with the store
	}
	if err != nil {
		return &trouble{err}
	}
	defer e.close()
	if e.damage != "" {
		c.notice("the store of the message server could not be used (%s): it is made anew, from the database", e.damage)
	}
	if at := e.address(); at != "" && c.Listening != nil {
		c.Listening(at)
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx)) // workers that end give their trials back
	defer cancel()
	if c.desk, err = newDesk(inner, c, e); err != nil {
		return &trouble{err}
	}
	defer func() {
		for _, s := range c.desk.seen() {
			c.threads = max(c.threads, s.Threads)
		}
	}()
	for _, id := range dead {
		c.desk.died(id)
	}
	err = c.loop(ctx)
	if errors.As(err, new(*trouble)) {
		return err
	}
	if ctx.Err() == nil { // also where it ends with an error
		_ = e.conn.Publish(overSubject, nil)
		_ = e.conn.Flush()
		if c.Listen.Address != "" {
			time.Sleep(50 * time.Millisecond) // it is on its way
		}
	}
	c.pool.Stop() // while the desk still answers
	if err == nil {
		e.close()
		return c.place.clear(name)
	}
	return err
}

// bare starts workers where it can; what hinders it is found later.
func (c *Coordinator) bare() { _ = c.pool.Man() }

// loop asks trials and sees to the workers.
func (c *Coordinator) loop(ctx context.Context) error {
	exhausted, ahead := false, c.Spec.ahead()
	var checked, beaten time.Time
	ttl, _ := c.Spec.leaseTime() // it was checked
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		trials, err := c.study.Followed(c.over)
		if err != nil {
			return &trouble{err}
		}
		rest, err := c.tell(trials, false)
		if err != nil {
			return err
		}
		at := c.standing(rest)
		var open []int64
		for _, t := range at.open {
			open = append(open, t.ID)
		}
		wanted := !exhausted && at.asked < c.Spec.Trials
		if !wanted && len(open) == 0 {
			return c.verdict(rest)
		}
		// A trial sees how all ended that are a window before it, and so it waits for them, where anything hangs on that.
		if sees := c.Spec.sees(at.next); wanted && (at.first >= sees || ahead && len(open) < aheadOf*max(c.Spec.Workers, c.desk.working())) {
			t, err := c.study.AskSpace(c.Spec.Space, sees)
			if exhausted = errors.Is(err, study.ErrExhausted); err != nil && !exhausted {
				return &trouble{err}
			}
			if t != nil {
				c.ignored(t)
				if err := c.desk.reconcile(ctx, append(open, t.ID())); err != nil {
					return &trouble{err}
				}
			}
			continue
		}
		if time.Since(checked) > min(ttl/8, poll) {
			if err := c.db.There(c.study.ID()); errors.Is(err, rdb.ErrDeleted) {
				return c.deleted()
			}
			if err := c.desk.engine.lost(); err != nil {
				return &trouble{err}
			}
			for _, id := range c.dead() { // before their slots have others: what they had is free at once
				c.desk.died(id)
			}
			if err := c.pool.Man(); err != nil {
				return &trouble{err}
			}
			if err := c.desk.reconcile(ctx, open); err != nil {
				return &trouble{err}
			}
			checked = time.Now()
		}
		if time.Since(beaten) > ttl/4 {
			if err := c.db.Beat(c.desk.beating()...); err != nil {
				return &trouble{err}
			}
			beaten = time.Now()
		}
		select {
		case <-ctx.Done():
		case err := <-c.desk.trouble:
			return &trouble{err}
		case <-c.desk.changed:
		case <-time.After(min(ttl/8, poll)):
		}
	}
}

// standing is how far a study is.
type standing struct {
	asked int                  // trials of ours
	open  []*study.FrozenTrial // of these, those that are not over
	next  int64                // number of the next trial
	first int64                // of the first of ours that is not over; the highest there is where all are
}

// standing is how far it is with trials that tell has left.
func (c *Coordinator) standing(rest []*study.FrozenTrial) standing {
	s := standing{asked: c.asked, next: c.next, first: math.MaxInt64}
	for _, t := range rest {
		if t.SystemAttrs[study.SeesAttr] == nil {
			continue
		}
		s.asked++
		if !t.State.Finished() {
			s.first = min(s.first, t.Number)
			s.open = append(s.open, t)
		}
	}
	return s
}

// sees is the number of trials of which a trial's sampler sees how they ended.
func (s *Spec) sees(number int64) int64 { return max(number-int64(s.Window)+1, 0) }

// verdict is the end of a study: an error where every trial failed. rest are trials of others that tell has left.
func (c *Coordinator) verdict(rest []*study.FrozenTrial) error {
	if _, err := c.tell(rest, true); err != nil {
		return err
	}
	if c.failed > 0 && c.failed == c.asked {
		return fmt.Errorf("all %d trials have failed, the last as %s: mend the spec, and give the study another name", c.failed, c.reason)
	}
	return nil
}

// tell says which of the trials that were not told before are over, by number, up to the first of ours that is not; it gives the rest. Trials of others are not waited for. One that somebody
// has enqueued is ours as soon as it is asked, which is next: until the study ends nothing is said of what comes after it.
func (c *Coordinator) tell(trials []*study.FrozenTrial, end bool) (rest []*study.FrozenTrial, err error) {
	if n := len(trials); n > 0 {
		c.next = trials[n-1].Number + 1
	}
	for i, t := range trials {
		ours := t.SystemAttrs[study.SeesAttr] != nil
		waits := t.State == study.Waiting
		if ours && !t.State.Finished() || waits && !end {
			return trials[i:], nil
		}
		c.over++
		if waits {
			continue
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
		if !ours {
			if c.foreign++; c.foreign == 1 {
				c.notice("trial %d was added by another program: samplers see such trials, and they do not count among the %d of this study", t.Number, c.Spec.Trials)
			}
			continue
		}
		c.asked++
		c.pool.Works()
		if t.State == study.Fail {
			c.failed++
			c.reason = reason(t)
		}
		if c.Ended != nil {
			c.Ended(t, c.best)
		}
		if c.failed >= hopeless && c.failed == c.asked {
			return nil, c.giveUp(trials[i+1:])
		}
	}
	return nil, nil
}

// giveUp ends a study in which nothing works; trials under way are none of it any more.
func (c *Coordinator) giveUp(rest []*study.FrozenTrial) error {
	c.pool.Stop()
	var given []rdb.Ended
	for _, t := range rest {
		if t.SystemAttrs[study.SeesAttr] != nil && !t.State.Finished() {
			given = append(given, rdb.Ended{Trial: t.ID, Result: study.Result{State: study.Fail, Reason: fmt.Sprintf("the study was given up after %d trials that failed", c.failed)}})
		}
	}
	for _, err := range c.db.FinishAll(given) {
		if err != nil && !errors.As(err, new(*study.Nondeterminism)) { // it ended by itself meanwhile
			return err
		}
	}
	return fmt.Errorf("the first %d trials have all failed, the last as %s: mend the spec, and give the study another name", c.failed, c.reason)
}

// ignored says what of a trial that was enqueued could not be.
func (c *Coordinator) ignored(t *study.Trial) {
	for _, sentence := range t.Ignored() {
		c.notice("trial %d: %s", t.Number(), sentence)
	}
}

func reason(t *study.FrozenTrial) string {
	var text string
	_ = json.Unmarshal(t.UserAttrs[study.ReasonAttr], &text)
	return text
}

// Reason is why a trial failed.
func Reason(t *study.FrozenTrial) string { return reason(t) }

func (c *Coordinator) notice(format string, args ...any) {
	c.saying.Lock()
	defer c.saying.Unlock()
	if c.Notice != nil {
		c.Notice(fmt.Sprintf(format, args...))
	}
}

// Threads is the most threads that a worker was seen to have; 0 where that is not known.
func (c *Coordinator) Threads() int { return c.threads }

// Deaths is the number of workers that ended other than by themselves.
func (c *Coordinator) Deaths() int { return c.pool.deaths }

// Foreign is the number of trials that other programs added.
func (c *Coordinator) Foreign() int { return c.foreign }
