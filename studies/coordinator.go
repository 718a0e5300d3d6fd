package studies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"xlarun/internal/messaging"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// Coordinator runs a study: it asks trials, has an executor run them, and writes their results. All its state is in the
// storage: after it was killed another coordinator goes on, and workers wait for it.
type Coordinator struct {
	Spec *Spec
	// Command returns the command of a worker process, which calls Worker.
	Command func(slot int) *exec.Cmd
	// Runs makes the runs of trials that are lanes of one program in this process. If it is nil, workers run all
	// trials.
	Runs Runs
	// NoWorkers means that no workers are started on this machine: all join from elsewhere.
	NoWorkers bool
	// Listen is where workers of other machines join.
	Listen Listen
	// Join is a message server that others have, at which workers join, too; nil: none. Its Name tells the study from
	// others there.
	Join *messaging.Server
	// Ended is called for each finished trial, in the order of their numbers, also for those after an open one when ctx
	// ends. best is the best trial so far, or nil.
	Ended func(t, best *study.FrozenTrial)
	// Notice is called with messages for the user, for example that a worker died.
	Notice func(string)
	// Listening is called with the address at which workers join, HOST:PORT, or that of Join.
	Listening func(address string)
	// Linger is how long workers of other machines are told that the study is over, after its end.
	Linger time.Duration
	// Leave returns the time that workers of other machines have, after the end of ctx, to give their trials back; nil:
	// none.
	Leave func() time.Duration
	// Version is that of xlarun. Workers of another one are refused.
	Version string

	noticeLock sync.Mutex
	lock       *flock.Flock
	db         *rdb.DB
	study      *study.Study
	workdir    workdir
	over       bool // Run has ended the study
	pool       *Pool
	deaths     atomic.Int64           // of workers that crashed or were killed
	server     atomic.Pointer[server] // of workers; nil: there is none yet
	lanes      bool                   // trials are lanes
	notLanes   error                  // why trials are not lanes, if the spec leaves it open

	earlier   map[int64]bool // trials of this study that had finished when it was opened, by number
	exhausted bool           // the sampler has no more trials
	best      *study.FrozenTrial
	announced int    // number of trials that announce has passed, from the first
	next      int64  // number of the next trial
	asked     int    // announced trials of this study
	failed    int    // of these, how many failed
	reason    string // why the last one failed
	foreign   int    // announced trials of other programs
	threads   int    // see Threads
}

const (
	// maxRestarts is the number of sessions in a row that may fail with no trial finished between them.
	maxRestarts = 5
	// restartWait is how long the first of them waits, and the next ones longer.
	restartWait = 100 * time.Millisecond
)

// Open opens the study's storage. It returns an error if another process runs the study, if the storage cannot be used,
// or if the study was started with other settings.
func (c *Coordinator) Open() (err error) {
	if err := c.chooseLanes(); err != nil {
		return err
	}
	if path, err := rdb.Path(c.Spec.Storage); err == nil && path != "" {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return wrong("storage", "got %s, which is a folder: give the path of a file in it", c.Spec.Where())
		}
	}
	if c.db, err = rdb.Open(c.Spec.Storage); rdb.IsDamaged(err) {
		return wrong("storage", "got %s, which is a damaged or cut database: take it from a copy, or give another path",
			c.Spec.Where())
	}
	if err != nil {
		return wrong("storage", "got %s, which cannot be used: %v", c.Spec.Where(), err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if c.workdir, err = workdirOf(c.Spec.Storage); err != nil {
		return wrong("storage", "got %s, which cannot be used: %v", c.Spec.Where(), err)
	}
	if err := c.takeLock(); err != nil {
		return err
	}
	if c.study, err = study.New(c.Spec.Name, c.Spec.options(c.db)); err != nil {
		return err
	}
	if err := c.checkSpec(); err != nil {
		return err
	}
	trials, err := c.study.Trials()
	if err != nil {
		return err
	}
	c.earlier = map[int64]bool{}
	for _, t := range trials {
		if isOurs(t) && t.State.Finished() {
			c.earlier[t.Number] = true
		}
	}
	return nil
}

// Earlier reports whether a trial had finished when the study was opened. Ended is called for it all the same.
func (c *Coordinator) Earlier(t *study.FrozenTrial) bool { return c.earlier[t.Number] }

// EarlierTrials returns the number of trials of this study that had finished when it was opened.
func (c *Coordinator) EarlierTrials() int { return len(c.earlier) }

// takeLock takes the lock of a study, which one process holds at a time: a file's lock on this machine, and also a lock
// in the database if a server has it.
func (c *Coordinator) takeLock() (err error) {
	var ok bool
	c.lock, ok, err = tryLock(c.workdir.coordinator(c.Spec.Name))
	if err != nil {
		return wrong("storage", "got %s, beside which nothing can be written: %v", c.Spec.Where(), err)
	}
	if ok {
		err = c.db.Lock(c.Spec.Name)
	}
	if !ok || errors.Is(err, rdb.ErrTaken) {
		return fmt.Errorf("%w %s in %s: wait for its end, or stop it", rdb.ErrTaken, c.Spec.Name, c.Spec.Where())
	}
	return err
}

// Close releases what Open acquired.
func (c *Coordinator) Close() (err error) {
	if c.db != nil {
		err = c.db.Close()
		if c.db = nil; c.over { // another process may run it from here on
			err = errors.Join(err, c.workdir.clear(c.Spec.Name))
		}
	}
	if c.lock != nil {
		_ = c.lock.Unlock()
	}
	return err
}

// Run runs the study to its end, or until ctx ends. It calls Open if the caller has not.
func (c *Coordinator) Run(ctx context.Context) (err error) {
	if c.db == nil {
		if err := c.Open(); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	defer func() {
		if c.over = err == nil; ctx.Err() != nil {
			c.announceHeld()
		}
	}()
	if err := c.Listen.Check(); err != nil {
		return err
	}
	c.pool = c.newPool()
	defer c.pool.Stop()
	lanes := &laneExecutor{c: c}
	defer func() { err = errors.Join(err, lanes.close(err)) }()
	var workers *workerExecutor
	defer func() {
		if workers != nil {
			err = workers.close(ctx, err)
		}
	}()
	session := func() (err error) {
		if c.lanes {
			return c.optimize(ctx, lanes)
		}
		if workers == nil {
			if workers, err = c.openWorkers(ctx); err != nil {
				return err
			}
		}
		return c.optimize(ctx, workers)
	}
	restarts, before := 0, -1
	for {
		err := session()
		if err == nil || ctx.Err() != nil {
			return err
		}
		if _, ok := errors.AsType[*laneError](err); ok && c.Spec.TrialsAs == trialsAuto {
			c.notice("%v: trials continue in processes", err)
			c.lanes = false
			continue
		}
		if !errors.As(err, new(*retryable)) {
			return err
		}
		paused, pauseErr := c.pause(ctx)
		if pauseErr != nil {
			return &retryable{pauseErr} // by another coordinator
		}
		if before != c.asked {
			restarts, before = 0, c.asked
		}
		if !paused {
			if restarts++; restarts > maxRestarts {
				return err
			}
			c.notice("the study goes on after an error: %v", err)
			if err := wait(ctx, time.Duration(restarts)*restartWait); err != nil {
				return err
			}
		}
	}
}

// retryable is an error after which a new session, or another coordinator, may go on with the study.
type retryable struct{ err error }

func (e *retryable) Error() string { return e.err.Error() }
func (e *retryable) Unwrap() error { return e.err }

// Reason returns why a trial failed.
func Reason(t *study.FrozenTrial) (text string) {
	_ = json.Unmarshal(t.UserAttrs[study.ReasonAttr], &text)
	return text
}

// notice tells the user something.
func (c *Coordinator) notice(format string, args ...any) {
	c.noticeLock.Lock()
	defer c.noticeLock.Unlock()
	if c.Notice != nil {
		c.Notice(fmt.Sprintf(format, args...))
	}
}

// Threads returns the highest number of threads that a worker had; 0 if it is not known.
func (c *Coordinator) Threads() int { return c.threads }

// Deaths returns the number of workers that crashed or were killed so far, and of those of other machines that fell
// silent while they had a trial.
func (c *Coordinator) Deaths() int {
	n := int(c.deaths.Load())
	if s := c.server.Load(); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		for worker, times := range s.leases.Silent() {
			if !strings.HasPrefix(worker, ownWorker) { // else the end of its process counts
				n += times
			}
		}
	}
	return n
}

// Foreign returns the number of trials that other programs added.
func (c *Coordinator) Foreign() int { return c.foreign }
