package studies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"xlarun/rollout/settings"
	"xlarun/rollout/study"
	"xlarun/studies/rdb"
)

// Attributes of a study.
const (
	specAttr = "xlarun:spec" // what its results follow from
	callAttr = "xlarun:call" // the rest of the spec, as it was given last
	overAttr = "xlarun:over" // true: no more trials will come
)

// call are the settings of a spec that its results do not follow from.
type call struct {
	Trials, Workers int
	Timeout, Lease  string
	Memory          int64
	Attempts        int64
}

// Place is where the processes of a study meet: the folder beside its database.
type Place struct{ dir string }

// PlaceOf is that of a storage.
func PlaceOf(storage string) (Place, error) {
	path, err := rdb.Path(storage)
	if err != nil {
		return Place{}, err
	}
	return Place{path + ".work"}, os.MkdirAll(path+".work", 0o777)
}

func (p Place) coordinator(name string) string { return filepath.Join(p.dir, name+".coordinator") }
func (p Place) slot(name string, i int) string {
	return filepath.Join(p.dir, fmt.Sprintf("%s.worker-%d", name, i))
}

// Log is the file in which a worker's stderr goes.
func (p Place) Log(name string, i int) string { return p.slot(name, i) + ".log" }

const (
	// idle is how long a worker without a trial waits before it looks for one again.
	idle = 20 * time.Millisecond
	// orphaned is how long a worker without a trial and without a coordinator waits for either.
	orphaned = 60 * time.Second
	// lastWord is how long a trial that is over its time or memory may take to end by itself.
	lastWord = time.Second
)

// Worker runs trials of a study, one at a time, until there are no more. It holds the lock of its slot, so that there are
// never more workers than slots; where another has it, it does nothing.
func Worker(ctx context.Context, storage, name string, slot int, runs Runs) error {
	place, err := PlaceOf(storage)
	if err != nil {
		return err
	}
	lock := flock.New(place.slot(name, slot))
	if ok, err := lock.TryLock(); !ok || err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	host, _ := os.Hostname()
	id := fmt.Sprintf("%s:%d:%d", host, os.Getpid(), time.Now().UnixNano())
	if err := os.WriteFile(place.slot(name, slot)+".id", []byte(id), 0o666); err != nil {
		return err
	}
	d, err := rdb.Open(storage)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	w := &worker{db: d, runs: runs, id: id}
	if err := w.open(name); err != nil {
		return err
	}
	free := time.Now()
	for ctx.Err() == nil {
		if err := w.refresh(); err != nil {
			return err
		}
		did, err := w.one(ctx)
		if err != nil {
			return err
		}
		if did {
			free = time.Now()
			continue
		}
		if over, err := d.Attr(w.study.ID(), overAttr); err != nil || string(over) == "true" {
			return err
		}
		if time.Since(free) > orphaned && !locked(place.coordinator(name)) {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(idle):
		}
	}
	return nil
}

// locked tells whether a process holds a lock.
func locked(path string) bool {
	l := flock.New(path)
	ok, err := l.TryLock()
	if ok {
		_ = l.Unlock()
	}
	return err == nil && !ok
}

type worker struct {
	db    *rdb.DB
	runs  Runs
	id    string
	spec  *Spec
	study *study.Study
}

// SpecOf is the spec that a study was started with.
func SpecOf(d *rdb.DB, id study.StudyID) (*Spec, error) {
	s := defaults()
	text, err := d.Attr(id, specAttr)
	if err != nil {
		return nil, err
	}
	if text == nil {
		return nil, errors.New("the study was not started by xlarun study run: it has no spec")
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err := decoder.Decode(s); err != nil {
		return nil, err
	}
	for name, v := range s.Fixed {
		s.Fixed[name] = plain(v)
	}
	for _, p := range s.Space {
		for on, list := range p.When {
			for i := range list {
				p.When[on][i] = plain(list[i])
			}
		}
	}
	var c call
	if text, err = d.Attr(id, callAttr); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	s.Trials, s.Workers, s.Timeout, s.Lease, s.Attempts, s.Memory = c.Trials, c.Workers, c.Timeout, c.Lease, c.Attempts, settings.Bytes(c.Memory)
	return s, nil
}

// plain are JSON's numbers as TOML's.
func plain(v any) any {
	switch x := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(x.String(), 10, 64); err == nil {
			return n
		}
		f, _ := x.Float64()
		return f
	case []any:
		for i := range x {
			x[i] = plain(x[i])
		}
	}
	return v
}

func (w *worker) open(name string) error {
	_, directions, err := w.db.Studies()
	if err != nil {
		return err
	}
	if directions[name] == nil {
		return fmt.Errorf("the storage has no study %q", name)
	}
	w.study, err = study.New(name, study.Options{Storage: w.db, Directions: directions[name], Sampler: study.Random{}})
	return err
}

// refresh reads the spec, which a new coordinator may have changed.
func (w *worker) refresh() (err error) {
	w.spec, err = SpecOf(w.db, w.study.ID())
	return err
}

// one runs a trial, if there is one to run.
func (w *worker) one(ctx context.Context) (did bool, err error) {
	ttl, err := w.spec.leaseTime()
	if err != nil {
		return false, err
	}
	id, lease, err := w.db.Claim(w.study.ID(), study.SeesAttr, w.id, ttl, w.spec.Attempts)
	if err != nil || id == 0 {
		return false, err
	}
	news, err := w.db.News(w.study.ID(), math.MaxInt64, []int64{id})
	if err != nil {
		return true, err
	}
	t := news[0]
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := make(chan struct{})
	defer close(over)
	go w.watch(id, lease, ttl, cancel, over)
	result := w.run(ctx, t)
	cause := context.Cause(ctx)
	limit, _ := errors.AsType[*limitError](cause)
	switch {
	case cause == nil:
	case limit != nil:
		result = study.Result{State: study.Fail, Reason: limit.Error()}
	case errors.Is(cause, rdb.ErrLost):
		return true, nil
	default: // the worker is to end: the trial is somebody else's
		return true, w.db.Release(w.study.ID(), w.id)
	}
	err = w.db.Finish(id, result)
	if n, ok := errors.AsType[*study.Nondeterminism](err); ok {
		fmt.Fprintln(os.Stderr, n)
		return true, nil
	}
	if errors.As(cause, new(*limitError)) && err == nil {
		return true, cause // memory that was asked for is given back by the end of the process alone
	}
	return true, err
}

// limitError is the end of a trial that took too much.
type limitError struct{ reason string }

func (e *limitError) Error() string { return e.reason }

// watch renews the lease, and ends a trial that takes too long or too much. One that does not hear of it, as it is inside a call, is
// ended with the process.
func (w *worker) watch(id int64, lease rdb.Lease, ttl time.Duration, cancel context.CancelCauseFunc, over <-chan struct{}) {
	began, renewed := time.Now(), time.Now()
	limit, _ := w.spec.Limit() // it was checked
	tick := time.NewTicker(min(ttl/4, 200*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		var exceeded *limitError
		if limit > 0 && time.Since(began) > limit {
			exceeded = &limitError{fmt.Sprintf("it took more than %s", limit)}
		} else if most := int64(w.spec.Memory); most > 0 && resident() > most {
			exceeded = &limitError{fmt.Sprintf("its worker took more than %d bytes of memory", most)}
		}
		if exceeded != nil {
			cancel(exceeded)
			select {
			case <-over:
			case <-time.After(lastWord):
				_ = w.db.Finish(id, study.Result{State: study.Fail, Reason: exceeded.reason})
				os.Exit(1)
			}
			return
		}
		if time.Since(renewed) < ttl/4 {
			continue
		}
		renewed = time.Now()
		if err := w.db.Renew(id, lease); errors.Is(err, rdb.ErrLost) {
			cancel(err)
			return
		}
	}
}

// resident is the memory of this process in bytes, 0 where that cannot be told.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// run runs a trial.
func (w *worker) run(ctx context.Context, t *study.FrozenTrial) (r study.Result) {
	defer func() {
		if p := recover(); p != nil {
			debug.PrintStack()
			r = study.Result{State: study.Fail, Reason: fmt.Sprintf("the run panicked: %v", p)}
		}
	}()
	sees, _ := study.System[int64](t, study.SeesAttr)
	own := *t
	own.Intermediate = nil // what a worker that died reported is reported again
	values, err := w.spec.objective(ctx, w.runs, t.External(), func(step, last int64, value float64) (bool, error) {
		own.Intermediate = append(own.Intermediate, study.Reported{Step: step, Value: value})
		if err := w.db.Report(t.ID, study.Reported{Step: step, Value: value}); err != nil {
			return false, err
		}
		pruner := w.spec.pruner(last)
		if pruner == nil {
			return false, nil
		}
		v, err := w.study.View(t.Number, sees)
		if err != nil {
			return false, err
		}
		return pruner.Prune(v, &own), nil
	})
	r = study.Result{State: study.Complete, Values: values, Intermediate: own.Intermediate}
	switch {
	case errors.Is(err, errStopped):
		r.State = study.Pruned
	case err != nil:
		return study.Result{State: study.Fail, Reason: err.Error()}
	}
	for _, x := range values {
		if math.IsNaN(x) {
			return study.Result{State: study.Fail, Reason: fmt.Sprintf("the objective is not a number: %v", values)}
		}
	}
	return r
}
