package studies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"xlarun/internal/quantity"
	"xlarun/studies/internal/decision"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// server answers the requests of workers. Only its process uses the database.
type server struct {
	db       *rdb.DB
	study    *study.Study
	spec     *Spec
	broker   *broker
	ttl      time.Duration
	specText [2][]byte // the spec, see specAttr and callAttr
	notice   func(string, ...any)
	observe  func(decision.Decision)

	changed chan struct{} // gets a value when a trial finishes
	errs    chan error    // gets errors that the coordinator has to handle
	ctx     context.Context
	now     func() time.Time // a monotonic clock

	mu       sync.Mutex
	leases   map[int64]*lease
	writing  map[int64]int       // trials whose result is being written: how often
	queued   map[int64]time.Time // trials without a lease: when they were put into the queue
	obsolete map[int64]string    // finished trials whose lease and checkpoint have to be removed
	workers  map[string]*WorkerStatus
	deaths   []*death
	replaced []string // checkpoints that have to be removed
	removing bool     // they are being removed
	refused  int      // number of results and checkpoints that came too late
	failure  error    // of the broker, after which the session ends: no other request waits for it
}

func newServer(ctx context.Context, c *Coordinator, b *broker) (*server, error) {
	ttl, err := c.Spec.leaseTime()
	if err != nil {
		return nil, err
	}
	s := &server{db: c.db, study: c.study, spec: c.Spec, broker: b, ttl: ttl, notice: c.notice,
		observe: decision.Observer(ctx),
		ctx:     ctx, now: time.Now, changed: make(chan struct{}, 1), errs: make(chan error, 1),
		leases: map[int64]*lease{}, writing: map[int64]int{}, queued: map[int64]time.Time{},
		obsolete: map[int64]string{},
		workers:  map[string]*WorkerStatus{}}
	for i, key := range []string{specAttr, callAttr} {
		if s.specText[i], err = s.db.Attr(s.study.ID(), key); err != nil {
			return nil, err
		}
	}
	if err := s.loadLeases(ctx); err != nil {
		return nil, err
	}
	if former := c.status.Load(); former != nil {
		if err := s.adopt(former); err != nil {
			return nil, err
		}
	}
	for kind, answer := range map[string]func(request) (reply, error){helloKind: s.hello, claimKind: s.claim,
		beatKind: s.beat, reportKind: s.report, checkpointKind: s.recordCheckpoint, releaseKind: s.release,
		resultKind: s.result} {
		if _, err := b.conn.Subscribe(requestPrefix+kind, func(m *nats.Msg) {
			go s.answer(m, answer) // several at a time: their commits are grouped
		}); err != nil {
			return nil, err
		}
	}
	c.status.Store(s)
	return s, nil
}

// loadLeases reads the leases that an earlier coordinator granted. Their workers have a lease time to send a request.
// Leases that cannot be read are left out.
func (s *server) loadLeases(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, patience(s.ttl))
	defer cancel()
	keys, err := s.broker.leases.Keys(short) // of a broker that does not answer: some of them, or none
	if short.Err() != nil {
		return fmt.Errorf("the leases cannot be read: %w", short.Err())
	}
	if err != nil && !errors.Is(err, jetstream.ErrNoKeysFound) {
		return err
	}
	for _, key := range keys {
		trial, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			continue
		}
		entry, err := s.broker.leases.Get(ctx, key)
		l := &lease{lastSeen: s.now(), unheard: true}
		if err != nil || decoded(entry.Value(), l) != nil {
			continue
		}
		l.revision = entry.Revision()
		s.leases[trial] = l
	}
	return nil
}

// errFormer is the failure of a server that has a successor in its process.
var errFormer = errors.New("the message server was started anew")

// adopt takes over the leases of the former server of this process, whose broker may have lost them. Workers keep their
// trials. Checkpoints that the broker has lost are forgotten.
func (s *server) adopt(former *server) error {
	former.mu.Lock()
	defer former.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	former.failure = errFormer
	for trial, l := range former.leases {
		if stored := s.leases[trial]; stored != nil && stored.Worker == l.Worker {
			stored.lastSeen, stored.unheard, stored.freed, stored.released = l.lastSeen, l.unheard, l.freed, l.released
			stored.death, stored.blamed = l.death, l.blamed
			stored.Former = l.revisions() // a write that timed out may have been stored
			continue
		}
		again := *l
		again.Former, again.revision, again.Object = l.revisions(), 0, ""
		if err := s.write(trial, &again); err != nil {
			return err
		}
		s.leases[trial] = &again
	}
	s.deaths = former.deaths
	return nil
}

// answer handles a message of a worker. Errors go to the coordinator, and the worker asks again.
func (s *server) answer(m *nats.Msg, handle func(request) (reply, error)) {
	var q request
	if err := decoded(m.Data, &q); err != nil {
		s.notice("a worker sent what cannot be read (%v): is it of another version?", err)
		return
	}
	r, err := handle(q)
	var data []byte
	if err == nil {
		data, err = encoded(r)
	}
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil { // the worker asks again
		select {
		case s.errs <- err:
		default:
		}
	}
}

// notifyObserver tells the observer how and when a request was answered. s.mu is held.
func (s *server) notifyObserver(kind string, q request, granted bool, at time.Time) {
	s.observe(decision.Decision{Kind: kind, Trial: q.Trial, Worker: q.Worker, Granted: granted, Instant: at})
}

// trial reads a trial; nil if it was deleted.
func (s *server) trial(id int64) (*study.FrozenTrial, error) {
	news, err := s.db.Updates(s.study.ID(), math.MaxInt64, []int64{id}, nil)
	if err != nil || len(news) == 0 {
		return nil, err
	}
	return news[0], nil
}

// alive reports whether the worker that has a lease was heard of within the lease time.
func (s *server) alive(l *lease) bool { return !l.lastSeen.IsZero() && s.now().Sub(l.lastSeen) < s.ttl }

// write stores a lease, whose revision grows. s.mu is held: a broker that does not answer holds all requests up, once.
func (s *server) write(trial int64, l *lease) (err error) {
	if s.failure != nil {
		return s.failure
	}
	data, err := encoded(l)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.ctx, patience(s.ttl))
	defer cancel()
	key := strconv.FormatInt(trial, 10)
	var revision uint64
	if l.revision == 0 {
		revision, err = s.broker.leases.Put(ctx, key, data)
	} else {
		revision, err = s.broker.leases.Update(ctx, key, data, l.revision)
	}
	if err != nil { // the worker still knows the revision before
		s.failure = err
		return err
	}
	l.revision = revision
	return nil
}

// hello tells a worker that waits for a trial how long a lease lasts.
func (s *server) hello(q request) (reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteWorker(q, -1)
	if !s.leased(q.Worker) { // else it has got a trial since it sent this
		s.noteIdle(q.Worker)
	}
	s.notifyObserver(helloKind, q, false, s.now())
	return reply{Lease: s.ttl}, nil
}

// claim grants the lease of a trial to a worker. The lease lasts from the answer: the broker may have been slow.
func (s *server) claim(q request) (r reply, err error) {
	t, err := s.trial(q.Trial)
	if err != nil {
		return reply{}, err
	}
	if t == nil || t.State.Finished() {
		return reply{Over: true}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure != nil {
		return reply{}, s.failure
	}
	defer func() {
		at, granted := s.now(), err == nil && r.Job != nil
		if granted {
			s.leases[q.Trial].lastSeen = at
		}
		s.notifyObserver(claimKind, q, granted, at)
	}()
	l := s.leases[q.Trial]
	switch {
	case s.writing[q.Trial] > 0:
		return reply{Busy: s.ttl / 2}, nil
	case l == nil:
		l = &lease{}
	case l.Worker == q.Worker && l.Ack == q.Ack && s.alive(l):
		return s.grant(t, l)
	case s.alive(l):
		return reply{Busy: s.ttl / 2}, nil
	}
	s.recordDeath(q.Trial, l, l.lastSeen, true)
	next := &lease{Worker: q.Worker, Ack: q.Ack, Object: l.Object, Attempts: l.Attempts, Excused: l.Excused,
		revision: l.revision}
	switch {
	case l.Worker == "" || l.released: // nobody died
	case s.excused(l):
		next.Attempts--
		next.Excused++
	default:
		next.blamed = l.death
	}
	if next.Attempts >= s.spec.Attempts || next.Excused >= excusedFactor*s.spec.Attempts {
		reason := fmt.Sprintf("%s died while running it: see the logs",
			quantity.Count(next.Attempts+next.Excused, "worker", "workers"))
		if err := s.db.Finish(q.Trial, study.Result{State: study.Fail, Reason: reason}); err != nil {
			return reply{}, err
		}
		s.recordFinished(q.Trial)
		return reply{Over: true}, nil
	}
	next.Attempts++
	if err := s.write(q.Trial, next); err != nil {
		return reply{}, err
	}
	next.lastSeen = s.now()
	s.leases[q.Trial] = next
	delete(s.queued, q.Trial)
	s.noteWorker(q, t.Number)
	return s.grant(t, next)
}

// grant returns the answer to a worker that has the lease of a trial: all that it needs to run it.
func (s *server) grant(t *study.FrozenTrial, l *lease) (r reply, err error) {
	j := &job{Number: t.Number, Spec: s.specText[0], Call: s.specText[1], Object: l.Object}
	j.Sees, _ = study.System[int64](t, study.SeesAttr)
	if j.Params, err = json.Marshal(t.Params); err == nil {
		j.Distributions, err = json.Marshal(t.Distributions)
	}
	if err == nil && s.spec.Sampler == samplerPBT {
		var trials []*study.FrozenTrial
		if trials, err = s.study.Trials(); err == nil {
			j.PBT, err = s.spec.pbtJob(trials, t)
		}
	}
	return reply{Fence: l.revision, Job: j}, err
}

// leaseOf returns the lease of a worker on a trial; nil if it has none. If nobody has one, because all leases were
// lost, the worker gets it back, except while a result of the trial is being written. s.mu is held.
func (s *server) leaseOf(q request) (*lease, error) {
	if s.failure != nil {
		return nil, s.failure
	}
	l := s.leases[q.Trial]
	if l == nil {
		if s.writing[q.Trial] > 0 {
			return nil, nil
		}
		if t, err := s.trial(q.Trial); err != nil || t == nil || t.State.Finished() {
			return nil, err
		}
		l = &lease{Worker: q.Worker, Ack: q.Ack, Attempts: 1, Former: []uint64{q.Fence}}
		if err := s.write(q.Trial, l); err != nil {
			return nil, err
		}
		l.lastSeen = s.now()
		s.leases[q.Trial] = l
		delete(s.queued, q.Trial)
		s.notifyObserver(claimKind, q, true, l.lastSeen)
		return l, nil
	}
	if l.Worker != q.Worker || l.freed {
		return nil, nil
	}
	l.lastSeen, l.unheard = s.now(), false
	return l, nil
}

// withLease calls then with the lease of the worker.
func (s *server) withLease(kind string, q request, then func(l *lease) (reply, error)) (reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteWorker(q, -1)
	l, err := s.leaseOf(q)
	if err != nil {
		return reply{}, err
	}
	if l == nil {
		s.notifyObserver(kind, q, false, s.now())
		return reply{Lost: true}, nil
	}
	r, err := then(l)
	at, granted := s.now(), err == nil && !r.Lost
	if granted && !l.lastSeen.IsZero() {
		l.lastSeen = at // the lease lasts from the answer: the broker may have been slow
	}
	s.notifyObserver(kind, q, granted, at)
	return r, err
}

func (s *server) beat(q request) (reply, error) {
	return s.withLease(beatKind, q, func(l *lease) (reply, error) {
		return reply{Fence: l.revision}, s.broker.conn.Publish(l.Ack, []byte("+WPI"))
	})
}

func (s *server) report(q request) (reply, error) {
	if r, err := s.beat(q); err != nil || r.Lost {
		return r, err
	}
	if err := s.db.Report(q.Trial, study.Reported{Step: q.Step, Value: q.Value}); err != nil {
		return reply{}, err
	}
	t, err := s.trial(q.Trial)
	if err != nil || t == nil || s.spec.Pruner == "none" { // nil: the study was deleted, as supervise will find
		return reply{}, err
	}
	resumed := *t
	resumed.Intermediate = nil
	for _, x := range t.Intermediate { // what a worker that died reported beyond this is reported again
		if x.Step <= q.Step {
			resumed.Intermediate = append(resumed.Intermediate, x)
		}
	}
	stop, err := s.spec.prunes(s.study, &resumed, q.Last)
	return reply{Stop: stop}, err
}

// recordCheckpoint records a stored checkpoint as the one to go on from. The revision of the lease is a fence: a worker
// that has lost the trial changes nothing.
func (s *server) recordCheckpoint(q request) (reply, error) {
	return s.withLease(checkpointKind, q, func(l *lease) (reply, error) {
		if l.Object == q.Object {
			return reply{Fence: l.revision}, nil
		}
		if !l.fences(q.Fence) {
			s.refused++
			return reply{Lost: true}, nil
		}
		old := l.Object
		l.Object = q.Object
		if err := s.write(q.Trial, l); err != nil {
			l.Object = old
			return reply{}, err
		}
		if old != "" {
			s.replaced = append(s.replaced, old)
			if !s.removing {
				s.removing = true
				go s.remove()
			}
		}
		return reply{Fence: l.revision}, nil
	})
}

// remove removes the replaced checkpoints one after the other, and ends when there is none. They only take room: no
// request waits for it. A broker that does not answer ends the session.
func (s *server) remove() {
	for {
		s.mu.Lock()
		if len(s.replaced) == 0 || s.failure != nil || s.ctx.Err() != nil {
			s.removing = false
			s.mu.Unlock()
			return
		}
		object := s.replaced[0]
		s.replaced = s.replaced[1:]
		s.mu.Unlock()
		ctx, cancel := context.WithTimeout(s.ctx, patience(s.ttl))
		err := s.broker.removeCheckpoint(ctx, object)
		cancel()
		if err != nil && s.ctx.Err() == nil {
			s.mu.Lock()
			s.failure = err
			s.mu.Unlock()
			select {
			case s.errs <- err:
			default:
			}
		}
	}
}

// release gives a trial back. This attempt does not count.
func (s *server) release(q request) (reply, error) {
	return s.withLease(releaseKind, q, func(l *lease) (reply, error) {
		next := *l
		if !l.released { // it may be asked twice
			next.Attempts--
		}
		next.released, next.lastSeen = true, time.Time{}
		if err := s.write(q.Trial, &next); err != nil {
			return reply{}, err // the worker has the lease, and asks again
		}
		*l = next
		s.noteIdle(q.Worker)
		return reply{}, nil
	})
}

// result writes the result of a trial. If the trial has finished already, its result has to be the same to the bit. If
// another worker has the trial now, the result is refused.
func (s *server) result(q request) (reply, error) {
	s.mu.Lock()
	if err := s.failure; err != nil {
		s.mu.Unlock()
		return reply{}, err
	}
	s.noteWorker(q, -1)
	l := s.leases[q.Trial]
	other := l != nil && (l.Worker != q.Worker || l.freed || q.Fence != 0 && !l.fences(q.Fence))
	if !other {
		s.writing[q.Trial]++ // no other worker gets the trial meanwhile
		defer s.endWrite(q.Trial)
	}
	s.mu.Unlock()
	if other {
		t, err := s.trial(q.Trial)
		if err != nil {
			return reply{}, err
		}
		if t != nil && !t.State.Finished() {
			s.mu.Lock()
			s.refused++
			s.notifyObserver(resultKind, q, false, s.now())
			s.mu.Unlock()
			return reply{Lost: true}, nil
		}
	}
	err := s.db.Finish(q.Trial, q.Result)
	note := ""
	if n, ok := errors.AsType[*study.Nondeterminism](err); ok {
		note, err = n.Error(), nil
		s.notice("%s", note)
	}
	if err != nil {
		return reply{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notifyObserver(resultKind, q, true, s.now())
	s.recordFinished(q.Trial)
	s.noteIdle(q.Worker)
	if w := s.workers[q.Worker]; w != nil {
		w.Done++
	}
	return reply{Note: note}, nil
}

// endWrite ends a write of a result.
func (s *server) endWrite(trial int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing[trial]--; s.writing[trial] == 0 {
		delete(s.writing, trial)
	}
}

// recordFinished records that a trial has finished. s.mu is held.
func (s *server) recordFinished(trial int64) {
	object := ""
	if l := s.leases[trial]; l != nil {
		object = l.Object
	}
	delete(s.leases, trial)
	delete(s.queued, trial)
	s.obsolete[trial] = object
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// workerDied records that a worker is gone: its trials are free at once.
func (s *server) workerDied(worker string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for trial, l := range s.leases {
		if l.Worker == worker {
			s.recordDeath(trial, l, s.now(), false)
			l.lastSeen = time.Time{}
		}
	}
	delete(s.workers, worker)
}

// reconcile makes the queue agree with the database: each open trial is in the queue or has a lease. It frees the
// leases of silent workers, and puts trials that were delivered and never claimed into the queue again.
func (s *server) reconcile(ctx context.Context, open []int64) error {
	s.mu.Lock()
	var publish, again []int64
	isOpen := map[int64]bool{}
	for _, trial := range open {
		isOpen[trial] = true
		l := s.leases[trial]
		switch queuedAt, isQueued := s.queued[trial]; {
		case l != nil && s.alive(l):
		case l != nil && !l.freed:
			s.recordDeath(trial, l, l.lastSeen, true)
			l.freed = true
			if err := s.broker.conn.Publish(l.Ack, []byte("-NAK")); err != nil {
				s.mu.Unlock()
				return err
			}
			publish = append(publish, trial)
			s.queued[trial] = s.now()
		case !isQueued:
			publish = append(publish, trial)
			s.queued[trial] = s.now()
		case s.now().Sub(queuedAt) > 2*s.ttl:
			again = append(again, trial)
			s.queued[trial] = s.now()
		}
	}
	gone := s.obsolete
	s.obsolete = map[int64]string{}
	for trial, l := range s.leases {
		if !isOpen[trial] && !s.alive(l) {
			gone[trial] = l.Object
			delete(s.leases, trial)
		}
	}
	s.mu.Unlock()
	for _, trial := range again {
		if err := s.broker.purge(ctx, trial); err != nil {
			return err
		}
	}
	for _, trial := range append(publish, again...) {
		if err := s.broker.publish(ctx, trial); err != nil {
			return err
		}
	}
	for trial, object := range gone {
		if err := s.broker.removeTrial(ctx, trial, object); err != nil {
			return err
		}
	}
	return nil
}

// running returns the trials that have a lease.
func (s *server) running() (trials []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for trial, l := range s.leases {
		if s.alive(l) {
			trials = append(trials, trial)
		}
	}
	return trials
}
