package studies

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"xlarun/rollout/study"
	"xlarun/studies/rdb"
)

// What workers ask the coordinator for. Each may be asked twice, as an answer may be lost: the second time changes nothing.
const (
	claimKind   = "claim"   // a trial that the queue gave: to run it
	beatKind    = "beat"    // it is under way
	reportKind  = "report"  // a value on the way
	keepKind    = "keep"    // a checkpoint that was stored: to go on from it
	releaseKind = "release" // the worker is to end: to give the trial to another
	resultKind  = "result"  // how the trial ended
)

// request is what a worker asks.
type request struct {
	Trial      int64
	Worker     string
	Fence      uint64 // revision of its lease
	Ack        string // subject on which the queue's message is acknowledged
	Step, Last int64
	Value      float64
	Object     string
	Result     study.Result
	Threads    int
}

// reply is what it hears.
type reply struct {
	Lost  bool          // the trial is another's, or nobody's any more
	Over  bool          // there is nothing to run: the trial has ended
	Busy  time.Duration // another worker runs it: to be asked again so much later
	Stop  bool          // the pruner ends it
	Fence uint64
	Job   *job
	Note  string // what went wrong with a result that is nevertheless settled
}

// job is a trial as workers get it.
type job struct {
	Number, Sees          int64
	Params, Distributions []byte // JSON
	Spec, Call            []byte
	Object                string // checkpoint to go on from, "" for none
	PBT                   pbtJob
}

func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

func decoded(data []byte, v any) error { return gob.NewDecoder(bytes.NewReader(data)).Decode(v) }

// lease is the right of one worker to run a trial. It lasts while the worker is heard of, by this process's monotonic clock: setting the
// machine's clock changes nothing. Its revision in the bucket fences: what comes with an older one is refused.
type lease struct {
	Worker   string
	Ack      string
	Object   string // the newest checkpoint
	Attempts int64  // workers that had it

	revision uint64
	heard    time.Time // zero: the worker is known to be gone
	freed    bool      // the queue knows that it is over
	released bool      // its worker has given it back
	before   uint64    // the revision that its worker had when all leases were lost; 0: it was not
}

// fences tells whether a revision is the lease's, or what its worker knew it by before all leases were lost.
func (l *lease) fences(revision uint64) bool {
	return revision == l.revision || l.before != 0 && revision == l.before
}

// desk answers workers for the coordinator, which alone has the database.
type desk struct {
	db     *rdb.DB
	study  *study.Study
	spec   *Spec
	engine *engine
	ttl    time.Duration
	words  [2][]byte // the spec, in two parts
	notice func(string, ...any)

	changed chan struct{} // a trial ended
	trouble chan error    // what the coordinator has to see to
	ctx     context.Context

	mu      sync.Mutex
	leases  map[int64]*lease
	queued  map[int64]time.Time // trials without a lease: when they were put into the queue
	gone    map[int64]string    // trials that are over, whose lease and checkpoint are to be removed
	workers map[string]*Seen
	refused int // results and checkpoints that came too late
}

// Seen is what is known of a worker.
type Seen struct {
	ID      string
	Trial   int64 // number of the trial that it runs; -1 for none
	Threads int
	Done    int
	Heard   time.Time
	Leased  []int64 // IDs of the trials that it has a lease on, where Coordinator.Seen tells
}

func newDesk(ctx context.Context, c *Coordinator, e *engine) (*desk, error) {
	ttl, err := c.Spec.leaseTime()
	if err != nil {
		return nil, err
	}
	d := &desk{db: c.db, study: c.study, spec: c.Spec, engine: e, ttl: ttl, notice: c.notice, ctx: ctx, changed: make(chan struct{}, 1), trouble: make(chan error, 1),
		leases: map[int64]*lease{}, queued: map[int64]time.Time{}, gone: map[int64]string{}, workers: map[string]*Seen{}}
	for i, key := range []string{specAttr, callAttr} {
		if d.words[i], err = d.db.Attr(d.study.ID(), key); err != nil {
			return nil, err
		}
	}
	if err := d.remember(ctx); err != nil {
		return nil, err
	}
	for kind, answer := range map[string]func(request) (reply, error){claimKind: d.claim, beatKind: d.beat, reportKind: d.report, keepKind: d.keep, releaseKind: d.release, resultKind: d.result} {
		if _, err := e.conn.Subscribe(deskPrefix+kind, func(m *nats.Msg) {
			go d.answer(m, answer) // several at a time: their commits are grouped
		}); err != nil {
			return nil, err
		}
	}
	c.shown.Store(d)
	return d, nil
}

// remember reads the leases that an earlier coordinator gave: their workers have the time of a lease to be heard of. What cannot be read is
// as if it were not there.
func (d *desk) remember(ctx context.Context) error {
	keys, err := d.engine.leases.Keys(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoKeysFound) {
		return err
	}
	for _, key := range keys {
		trial, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			continue
		}
		entry, err := d.engine.leases.Get(ctx, key)
		l := &lease{heard: time.Now()}
		if err != nil || decoded(entry.Value(), l) != nil {
			continue
		}
		l.revision = entry.Revision()
		d.leases[trial] = l
	}
	return nil
}

func (d *desk) answer(m *nats.Msg, answer func(request) (reply, error)) {
	var q request
	if err := decoded(m.Data, &q); err != nil {
		d.notice("a worker sent what cannot be read (%v): is it of another version?", err)
		return
	}
	r, err := answer(q)
	var data []byte
	if err == nil {
		data, err = encoded(r)
	}
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil { // the worker asks again
		select {
		case d.trouble <- err:
		default:
		}
	}
}

func (d *desk) trial(id int64) (*study.FrozenTrial, error) {
	news, err := d.db.News(d.study.ID(), math.MaxInt64, []int64{id}, nil)
	if err != nil || len(news) == 0 {
		return nil, err
	}
	return news[0], nil
}

func (d *desk) alive(l *lease) bool { return !l.heard.IsZero() && time.Since(l.heard) < d.ttl }

// write stores a lease; its revision rises.
func (d *desk) write(trial int64, l *lease) error {
	data, err := encoded(l)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(d.ctx, 5*time.Second)
	defer cancel()
	key := strconv.FormatInt(trial, 10)
	if l.revision == 0 {
		l.revision, err = d.engine.leases.Put(ctx, key, data)
		return err
	}
	l.revision, err = d.engine.leases.Update(ctx, key, data, l.revision)
	return err
}

// claim gives a trial to a worker.
func (d *desk) claim(q request) (reply, error) {
	t, err := d.trial(q.Trial)
	if err != nil {
		return reply{}, err
	}
	if t == nil || t.State.Finished() {
		return reply{Over: true}, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.leases[q.Trial]
	switch {
	case l == nil:
		l = &lease{}
	case l.Worker == q.Worker && l.Ack == q.Ack && d.alive(l):
		return d.granted(t, l)
	case d.alive(l):
		return reply{Busy: d.ttl / 2}, nil
	}
	if l.Attempts >= d.spec.Attempts {
		reason := fmt.Sprintf("%d workers died while they ran it: see their logs", l.Attempts)
		if err := d.db.Finish(q.Trial, study.Result{State: study.Fail, Reason: reason}); err != nil {
			return reply{}, err
		}
		d.ended(q.Trial)
		return reply{Over: true}, nil
	}
	next := &lease{Worker: q.Worker, Ack: q.Ack, Object: l.Object, Attempts: l.Attempts + 1, revision: l.revision, heard: time.Now()}
	if err := d.write(q.Trial, next); err != nil {
		return reply{}, err
	}
	d.leases[q.Trial] = next
	delete(d.queued, q.Trial)
	d.see(q, t.Number)
	return d.granted(t, next)
}

func (d *desk) granted(t *study.FrozenTrial, l *lease) (r reply, err error) {
	j := &job{Number: t.Number, Spec: d.words[0], Call: d.words[1], Object: l.Object}
	j.Sees, _ = study.System[int64](t, study.SeesAttr)
	if j.Params, err = json.Marshal(t.Params); err == nil {
		j.Distributions, err = json.Marshal(t.Distributions)
	}
	if err == nil && d.spec.Sampler == asPBT {
		var trials []*study.FrozenTrial
		if trials, err = d.study.Trials(); err == nil {
			j.PBT, err = d.spec.pbtJob(trials, t)
		}
	}
	return reply{Fence: l.revision, Job: j}, err
}

// see notes that a worker was heard of; d.mu is held.
func (d *desk) see(q request, number int64) {
	s := d.workers[q.Worker]
	if s == nil {
		s = &Seen{ID: q.Worker, Trial: -1}
		d.workers[q.Worker] = s
	}
	s.Heard, s.Threads = time.Now(), max(s.Threads, q.Threads)
	if number >= 0 {
		s.Trial = number
	}
}

// holder is the lease of a worker on a trial, nil where it has none (any more); d.mu is held. Where nobody has one, as after the loss of all
// leases, a worker that is at work is given it back.
func (d *desk) holder(q request) (*lease, error) {
	l := d.leases[q.Trial]
	if l == nil {
		if t, err := d.trial(q.Trial); err != nil || t == nil || t.State.Finished() {
			return nil, err
		}
		l = &lease{Worker: q.Worker, Ack: q.Ack, Attempts: 1, heard: time.Now(), before: q.Fence}
		if err := d.write(q.Trial, l); err != nil {
			return nil, err
		}
		d.leases[q.Trial] = l
		delete(d.queued, q.Trial)
		return l, nil
	}
	if l.Worker != q.Worker || l.freed {
		return nil, nil
	}
	l.heard = time.Now()
	return l, nil
}

// held runs what needs the lease.
func (d *desk) held(q request, then func(l *lease) (reply, error)) (reply, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.see(q, -1)
	l, err := d.holder(q)
	if err != nil {
		return reply{}, err
	}
	if l == nil {
		return reply{Lost: true}, nil
	}
	return then(l)
}

func (d *desk) beat(q request) (reply, error) {
	return d.held(q, func(l *lease) (reply, error) {
		return reply{Fence: l.revision}, d.engine.conn.Publish(l.Ack, []byte("+WPI"))
	})
}

func (d *desk) report(q request) (reply, error) {
	if r, err := d.beat(q); err != nil || r.Lost {
		return r, err
	}
	if err := d.db.Report(q.Trial, study.Reported{Step: q.Step, Value: q.Value}); err != nil {
		return reply{}, err
	}
	t, err := d.trial(q.Trial)
	if err != nil || d.spec.Pruner == "none" {
		return reply{}, err
	}
	own := *t
	own.Intermediate = nil
	for _, x := range t.Intermediate { // what a worker that died reported beyond this is reported again
		if x.Step <= q.Step {
			own.Intermediate = append(own.Intermediate, x)
		}
	}
	stop, err := d.spec.prunes(d.study, &own, q.Last)
	return reply{Stop: stop}, err
}

// prunes tells whether the pruner ends a trial with its reports so far, whose runs' last step is `last`.
func (s *Spec) prunes(of *study.Study, t *study.FrozenTrial, last int64) (bool, error) {
	pruner := s.pruner(last)
	if pruner == nil {
		return false, nil
	}
	sees, _ := study.System[int64](t, study.SeesAttr)
	v, err := of.View(t.Number, sees)
	if err != nil {
		return false, err
	}
	return pruner.Prune(v, t), nil
}

// keep makes a stored checkpoint the one that the trial goes on from. The lease's revision fences it: a worker that has lost the trial changes nothing.
func (d *desk) keep(q request) (reply, error) {
	return d.held(q, func(l *lease) (reply, error) {
		if l.Object == q.Object {
			return reply{Fence: l.revision}, nil
		}
		if !l.fences(q.Fence) {
			d.refused++
			return reply{Lost: true}, nil
		}
		old := l.Object
		l.Object = q.Object
		if err := d.write(q.Trial, l); err != nil {
			l.Object = old
			return reply{}, err
		}
		if old != "" {
			_ = d.engine.drop(d.ctx, old) // it only takes room
		}
		return reply{Fence: l.revision}, nil
	})
}

// release gives a trial back; this attempt does not count.
func (d *desk) release(q request) (reply, error) {
	return d.held(q, func(l *lease) (reply, error) {
		if !l.released { // it may be asked twice
			l.Attempts--
		}
		l.released = true
		l.heard = time.Time{}
		d.seeIdle(q.Worker)
		return reply{}, d.write(q.Trial, l)
	})
}

func (d *desk) seeIdle(worker string) {
	if s := d.workers[worker]; s != nil {
		s.Trial = -1
	}
}

// result commits how a trial ended. Of a trial that is over already it has to be equal to the bit; one whose trial is another's by now is refused.
func (d *desk) result(q request) (reply, error) {
	d.mu.Lock()
	d.see(q, -1)
	l := d.leases[q.Trial]
	other := l != nil && (l.Worker != q.Worker || l.freed || q.Fence != 0 && !l.fences(q.Fence))
	d.mu.Unlock()
	if other {
		t, err := d.trial(q.Trial)
		if err != nil {
			return reply{}, err
		}
		if t != nil && !t.State.Finished() {
			d.mu.Lock()
			d.refused++
			d.mu.Unlock()
			return reply{Lost: true}, nil
		}
	}
	err := d.db.Finish(q.Trial, q.Result)
	note := ""
	if n, ok := errors.AsType[*study.Nondeterminism](err); ok {
		note, err = n.Error(), nil
		d.notice("%s", note)
	}
	if err != nil {
		return reply{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended(q.Trial)
	d.seeIdle(q.Worker)
	if s := d.workers[q.Worker]; s != nil {
		s.Done++
	}
	return reply{Note: note}, nil
}

// ended notes that a trial is over; d.mu is held.
func (d *desk) ended(trial int64) {
	object := ""
	if l := d.leases[trial]; l != nil {
		object = l.Object
	}
	delete(d.leases, trial)
	delete(d.queued, trial)
	d.gone[trial] = object
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// died tells that a worker is gone: its trials are free at once.
func (d *desk) died(worker string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.leases {
		if l.Worker == worker {
			l.heard = time.Time{}
		}
	}
	delete(d.workers, worker)
}

// reconcile makes the queue what the database says: each open trial stands there, or is leased. Leases whose workers are silent are freed; what
// was delivered, and never claimed, is delivered again.
func (d *desk) reconcile(ctx context.Context, open []int64) error {
	d.mu.Lock()
	var publish, again []int64
	is := map[int64]bool{}
	for _, trial := range open {
		is[trial] = true
		l := d.leases[trial]
		switch at, has := d.queued[trial]; {
		case l != nil && d.alive(l):
		case l != nil && !l.freed:
			l.freed = true
			if err := d.engine.conn.Publish(l.Ack, []byte("-NAK")); err != nil {
				d.mu.Unlock()
				return err
			}
			publish = append(publish, trial)
			d.queued[trial] = time.Now()
		case !has:
			publish = append(publish, trial)
			d.queued[trial] = time.Now()
		case time.Since(at) > 2*d.ttl:
			again = append(again, trial)
			d.queued[trial] = time.Now()
		}
	}
	gone := d.gone
	d.gone = map[int64]string{}
	for trial, l := range d.leases {
		if !is[trial] && !d.alive(l) {
			gone[trial] = l.Object
			delete(d.leases, trial)
		}
	}
	d.mu.Unlock()
	for _, trial := range again {
		if err := d.engine.purge(ctx, trial); err != nil {
			return err
		}
	}
	for _, trial := range append(publish, again...) {
		if err := d.engine.publish(ctx, trial); err != nil {
			return err
		}
	}
	for trial, object := range gone {
		if err := d.engine.forget(ctx, trial, object); err != nil {
			return err
		}
	}
	return nil
}

// beating are the trials that are leased.
func (d *desk) beating() (trials []int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for trial, l := range d.leases {
		if d.alive(l) {
			trials = append(trials, trial)
		}
	}
	return trials
}

// working is the number of workers that are heard of.
func (d *desk) working() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.workers)
}

// seen are the workers that were heard of lately.
func (d *desk) seen() (all []Seen) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.workers {
		all = append(all, *s)
	}
	return all
}
