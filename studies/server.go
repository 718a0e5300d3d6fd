package studies

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"xlarun/internal/messaging"
	"xlarun/internal/quantity"
	"xlarun/studies/internal/decision"
	"xlarun/studies/lease"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// deathsAttr is a system attribute of a trial: the lease.Deaths of workers that had it.
const deathsAttr = "xlarun:deaths"

// server answers the requests of workers. Only its process uses the database. Who has a trial is in memory alone: a new
// server learns it from the next beats. A trial is told once by the transaction that finishes it, which needs no lease.
type server struct {
	db          *rdb.DB
	study       *study.Study
	spec        *Spec
	version     string
	id          string // of the study: another one may be served at the same place later
	places      []place
	checkpoints checkpoints
	ttl         time.Duration
	specText    [2][]byte // the spec, see specAttr and callAttr
	notice      func(string, ...any)
	observe     func(decision.Decision)

	changed chan struct{} // gets a value when a trial finishes
	errs    chan error    // gets errors that the coordinator has to handle
	now     func() time.Time
	began   time.Time

	mu        sync.Mutex
	answers   bool         // requests
	leaves    bool         // soon: nobody gets a trial
	returned  atomic.Int64 // parts of checkpoints, trials and results that workers have sent
	leases    *lease.Table
	over      bool // the study is over
	workers   map[string]*WorkerStatus
	reported  map[int64]*study.FrozenTrial // open trials about which the pruner was asked, by ID
	processor string                       // of the worker that was heard first
}

// place is a connection at which workers ask: with the bus, or with the server of Coordinator.Join.
type place struct {
	*nats.Conn
	name string // of the study there
}

func newServer(ctx context.Context, c *Coordinator, b *bus) (s *server, err error) {
	s = &server{db: c.db, study: c.study, spec: c.Spec, version: c.Version,
		checkpoints: checkpoints{c.workdir.checkpoints(c.Spec.Name)}, notice: c.notice,
		observe: decision.Observer(ctx), changed: make(chan struct{}, 1), errs: make(chan error, 1), now: time.Now,
		began: time.Now(), workers: map[string]*WorkerStatus{}, reported: map[int64]*study.FrozenTrial{}}
	if s.ttl, err = c.Spec.leaseTime(); err != nil {
		return nil, err
	}
	s.leases = lease.New(s.ttl, int(c.Spec.Attempts))
	for i, key := range []string{specAttr, callAttr} {
		if s.specText[i], err = s.db.Attr(s.study.ID(), key); err != nil {
			return nil, err
		}
	}
	s.id = fmt.Sprintf("%d %x", s.study.ID(), sha256.Sum256(s.specText[0]))
	own, err := b.connect(c.Listen.own())
	if err != nil {
		return nil, err
	}
	s.places = []place{{own, ""}}
	return s, nil
}

// join connects with a message server that others have, at which no other study may have the name.
func (s *server) join(ctx context.Context, at messaging.Server) error {
	at.OnUnreachable = func(since time.Duration) {
		s.notice("nobody answers at %s since %v; this study waits until %v have passed", at.Address,
			since.Round(time.Second), at.Wait)
	}
	conn, err := at.Connect(ctx, "xlarun serve", nats.ReconnectWait(reconnectWait), nats.IgnoreAuthErrorAbort(),
		nats.NoEcho())
	if err != nil {
		return err
	}
	s.places = append(s.places, place{conn, at.Name})
	return s.claim(ctx, conn, at)
}

// claim takes the name. Of coordinators that come at once, each of which hears the others, the one with the least
// random text gets it.
func (s *server) claim(ctx context.Context, conn *nats.Conn, at messaging.Server) error {
	own, mu, has, other := rand.Text(), sync.Mutex{}, false, ""
	_, err := conn.Subscribe(subject(serveKind, at.Name), func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		text, study, _ := strings.Cut(string(m.Data), " ")
		if has || own < text {
			_ = m.Respond([]byte(s.id))
		} else {
			other = study
		}
	})
	if err != nil {
		return err
	}
	if err := conn.FlushTimeout(answerTimeout); err != nil {
		return err
	}
	if errors.Is(conn.LastError(), nats.ErrPermissionViolation) {
		return &messaging.CodedError{Code: messaging.CodeRefused, Text: fmt.Sprintf("the server at %s does not let %s "+
			"serve a study: give the token of its line server, which is not that of workers, or a user that may "+
			"subscribe to %s", at.Address, cmp.Or(at.Source, "this token"), subject(">", ""))}
	}
	ask, done := context.WithTimeout(ctx, answerTimeout)
	defer done()
	answer, err := conn.RequestWithContext(ask, subject(serveKind, at.Name), []byte(own+" "+s.id))
	mu.Lock()
	defer mu.Unlock()
	if err == nil {
		other = string(answer.Data)
	}
	switch has = other == ""; {
	case other == s.id:
		return &messaging.CodedError{Code: messaging.CodeRefused, Text: fmt.Sprintf("this study, or one of the "+
			"same file, is served at %s already: wait for its end, or give another name", at.Full())}
	case !has:
		return &messaging.CodedError{Code: messaging.CodeRefused, Text: fmt.Sprintf("another study is served at %s "+
			"under this name: give another one, %s/NAME, there and to its workers", at.Address, at.Address)}
	}
	return ctx.Err()
}

// close ends the connections.
func (s *server) close() {
	for _, p := range s.places {
		p.Close()
	}
}

// publish tells all workers something.
func (s *server) publish(kind string) (err error) {
	for _, p := range s.places {
		err = errors.Join(err, p.Publish(subject(kind, p.name), nil))
	}
	return err
}

// instant returns the time of the leases. s.mu is held.
func (s *server) instant() (at time.Time, now time.Duration) {
	at = s.now()
	return at, at.Sub(s.began)
}

// update sets the open trials. The first time it tells what earlier coordinators left: trials with a recent heartbeat
// are kept back for a lease if workers of theirs may live (orphans). From then on requests are answered.
func (s *server) update(open []*study.FrozenTrial, orphans bool) error {
	ids := make([]int64, len(open))
	for i, t := range open {
		ids[i] = t.ID
	}
	s.mu.Lock()
	_, now := s.instant()
	s.leases.Update(now, ids)
	s.mu.Unlock()
	if !s.answers {
		beats, err := s.db.Heartbeats(s.study.ID())
		if err != nil {
			return err
		}
		s.mu.Lock()
		for _, t := range open {
			deaths, _ := study.System[lease.Deaths](t, deathsAttr)
			beat, held := beats[t.ID]
			// If a clock was set meanwhile, a lease is waited for in vain, or two workers run a trial.
			s.leases.Restore(now, t.ID, deaths, held && orphans && time.Since(beat) < 2*s.ttl)
		}
		s.mu.Unlock()
		if err := s.subscribe(); err != nil {
			return err
		}
	}
	return s.offer()
}

// answers are the kinds of requests, and what answers them.
var answers = map[string]func(*server, request) (reply, error){nextKind: (*server).next, beatKind: (*server).beat,
	reportKind: (*server).report, keepKind: (*server).keep, fetchKind: (*server).fetch, releaseKind: (*server).release,
	resultKind: (*server).result}

// subscribe begins to answer requests: all kinds, or after an error none.
func (s *server) subscribe() error {
	var all []*nats.Subscription
	var err error
	for _, p := range s.places {
		for kind, answer := range answers {
			one, failure := p.Subscribe(subject(kind, p.name), func(m *nats.Msg) {
				go s.answer(m, answer) // several at a time: commits are grouped, and a slow disk holds up no beat
			})
			all, err = append(all, one), errors.Join(err, failure)
		}
	}
	s.mu.Lock()
	s.answers = err == nil
	s.mu.Unlock()
	if err != nil {
		for _, one := range all {
			_ = one.Unsubscribe() // of one that failed, too
		}
	}
	return err
}

// answer handles a message of a worker. Errors go to the coordinator, and the worker asks again.
func (s *server) answer(m *nats.Msg, handle func(*server, request) (reply, error)) {
	var q request
	var r reply
	err := decoded(m.Data, &q)
	switch {
	case err != nil || q.Protocol != protocol:
		r.Refused, err = fmt.Sprintf("%s (protocol %d)", s.version, protocol), nil
	case q.Version != s.version:
		r.Refused = s.version
	case strings.HasPrefix(q.Worker, ownWorker) && !strings.HasPrefix(q.Worker, ownWorkerOf(s.spec.Exec)):
		r.Over = true // an earlier coordinator has started it: another worker takes its slot
	case q.Study != "" && q.Study != s.id: // its trials have the same numbers
		r.Lost = true
	default:
		r, err = handle(s, q)
	}
	r.Study = s.id
	var data []byte
	if err == nil {
		data, err = encoded(r)
	}
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		select {
		case s.errs <- err:
		default:
		}
	}
}

// decided tells the observer how and when a request was answered. s.mu is held.
func (s *server) decided(kind string, q request, granted bool, at time.Time) {
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

// next gives a worker a trial.
func (s *server) next(q request) (reply, error) {
	for {
		s.mu.Lock()
		if s.over {
			s.mu.Unlock()
			return reply{Over: true}, nil
		}
		at, now := s.instant()
		s.noteRequest(q)
		ok := false
		if !s.leaves {
			q.Trial, ok = s.leases.Next(now, q.Worker)
		}
		if !ok {
			q.Trial = -1
		}
		s.decided(nextKind, q, ok, at)
		w := s.workers[q.Worker]
		if w.waits = !ok; !ok {
			w.Trial = -1
		}
		s.mu.Unlock()
		if !ok {
			return reply{Busy: s.ttl / 4, Lease: s.ttl}, nil
		}
		t, err := s.trial(q.Trial)
		if err != nil {
			return reply{}, err
		}
		if t != nil && !t.State.Finished() {
			return s.grant(t, q.Worker)
		}
		s.finished(q.Trial) // by another program
	}
}

// grant returns the answer to a worker that has got a trial: all that it needs to run it.
func (s *server) grant(t *study.FrozenTrial, worker string) (r reply, err error) {
	j := &job{ID: t.ID, Number: t.Number, Spec: s.specText[0], Call: s.specText[1],
		Stored: s.checkpoints.has(trialFile(t.ID))}
	j.Sees, _ = study.System[int64](t, study.SeesAttr)
	if j.Params, err = json.Marshal(t.Params); err == nil {
		j.Distributions, err = json.Marshal(t.Distributions)
	}
	if err == nil && s.spec.Sampler == samplerPBT {
		var trials []*study.FrozenTrial
		if trials, err = s.study.Trials(); err == nil {
			var useless []int64
			j.PBT, useless, err = s.spec.pbtJob(trials, t)
			for _, number := range useless {
				s.checkpoints.remove(endFile(number))
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.workers[worker]; w != nil {
		w.Trial = t.Number
	}
	return reply{Job: j, Lease: s.ttl}, err
}

// has notes that a worker runs a trial, and reports whether it has it.
func (s *server) has(kind string, q request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteRequest(q)
	at, now := s.instant()
	has := s.leases.Beat(now, q.Worker, q.Trial)
	s.decided(kind, q, has, at)
	return has
}

func (s *server) beat(q request) (reply, error) { return reply{Lost: !s.has(beatKind, q)}, nil }

func (s *server) report(q request) (reply, error) {
	if !s.has(beatKind, q) {
		return reply{Lost: true}, nil
	}
	if err := s.db.Report(q.Trial, study.Reported{Step: q.Step, Value: q.Value}); err != nil {
		return reply{}, err
	}
	if s.spec.Pruner == "none" {
		return reply{}, nil
	}
	t, err := s.upTo(q)
	if err != nil || t == nil { // nil: the study was deleted, as supervise will find
		return reply{}, err
	}
	stop, err := s.spec.prunes(s.study, t, q.Last)
	return reply{Stop: stop}, err
}

// upTo returns a trial with its reports up to that of a request: what a worker that died reported beyond this is
// reported again. Only the first time it reads them: a trial may have many.
func (s *server) upTo(q request) (*study.FrozenTrial, error) {
	s.mu.Lock()
	t := s.reported[q.Trial]
	s.mu.Unlock()
	if t == nil {
		var err error
		if t, err = s.trial(q.Trial); err != nil || t == nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.reported[q.Trial]; other != nil {
		t = other
	}
	s.reported[q.Trial] = t
	return t.Reported(study.Reported{Step: q.Step, Value: q.Value}), nil
}

// keep stores a part of a checkpoint. That of a trial is its owner's. The end of a trial is the same whoever sends it.
func (s *server) keep(q request) (reply, error) {
	s.returned.Add(1)
	if q.File == trialFile(q.Trial) && !s.has(keepKind, q) {
		return reply{Lost: true}, nil
	}
	return withError(reply{}, s.checkpoints.keep(q.File, q.Part)), nil
}

// fetch reads a part of a checkpoint.
func (s *server) fetch(q request) (reply, error) {
	p, err := s.checkpoints.fetch(q.File, q.Part.Number)
	return withError(reply{Part: p}, err), nil
}

// withError adds an error to a reply: the worker goes on without a checkpoint.
func withError(r reply, err error) reply {
	if err != nil {
		r.Failed = err.Error()
	}
	return r
}

// release gives a trial back. Without a heartbeat the next coordinator does not keep it back.
func (s *server) release(q request) (reply, error) {
	s.returned.Add(1)
	s.mu.Lock()
	s.noteRequest(q)
	at, now := s.instant()
	had := s.leases.Release(now, q.Worker, q.Trial, q.Stalled)
	s.decided(releaseKind, q, had, at)
	s.workers[q.Worker].Trial = -1
	s.mu.Unlock()
	if had {
		if err := s.db.EndBeat(q.Trial); err != nil {
			return reply{}, err
		}
	}
	return reply{}, s.offer()
}

// giveNone gives no more trials.
func (s *server) giveNone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaves = true
}

// leave waits until no worker has a trial, for a time at most: workers that end with this process give theirs back, and
// store their last checkpoints. It does not wait for workers that go on: they keep theirs for the next server.
func (s *server) leave(most time.Duration) {
	end, quiet := time.Now().Add(most), time.Now().Add(leaveQuiet)
	for before := int64(-1); len(s.running()) > 0 && time.Now().Before(end) && time.Now().Before(quiet); {
		if n := s.returned.Load(); n != before {
			before, quiet = n, time.Now().Add(leaveQuiet)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// leaveQuiet is the time without anything that workers give back after which those with a trial go on. Tests shorten
// it.
var leaveQuiet = 2 * graceTime

// result writes the result of a trial, whoever sends it: a worker that has lost the trial computes the same. If the
// trial has finished already, its result has to be the same to the bit. That a machine was too slow or too small counts
// only from the worker that has the trial.
func (s *server) result(q request) (reply, error) {
	s.returned.Add(1)
	if !s.has(beatKind, q) && q.Limited {
		return reply{Lost: true}, nil
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
	at, _ := s.instant()
	s.decided(resultKind, q, true, at)
	had := s.leases.Finish(q.Trial) == q.Worker // else it is sent again, or late: the worker may have another trial
	if w := s.workers[q.Worker]; w != nil && had {
		w.Trial = -1
		w.Done++
	}
	s.mu.Unlock()
	s.finished(q.Trial)
	return reply{Note: note}, nil
}

// finished notes that a trial has finished.
func (s *server) finished(trial int64) {
	s.mu.Lock()
	s.leases.Finish(trial)
	delete(s.reported, trial)
	s.mu.Unlock()
	go s.checkpoints.remove(trialFile(trial))
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// workerDied notes that the process of a worker has ended: its trial is free at once.
func (s *server) workerDied(worker string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, now := s.instant()
	s.leases.Expire(now, worker)
	delete(s.workers, worker)
}

// recordDeaths writes the deaths of trials into the database, and ends trials of which too many workers have died.
func (s *server) recordDeaths() error {
	s.mu.Lock()
	_, now := s.instant()
	failed, died := s.leases.Failed(now), s.leases.ChangedDeaths()
	s.mu.Unlock()
	if len(died) > 0 {
		texts := map[int64]json.RawMessage{}
		for id, deaths := range died {
			texts[id], _ = json.Marshal(deaths) // two numbers
		}
		if err := s.db.SetTrialAttrs(deathsAttr, texts); err != nil {
			return err
		}
	}
	for id, deaths := range failed {
		reason, err := s.deathsReason(id, deaths)
		if err != nil {
			return err
		}
		err = s.db.Finish(id, study.Result{State: study.Fail, Reason: reason})
		if err != nil && !errors.As(err, new(*study.Nondeterminism)) { // it has finished meanwhile
			return err
		}
		s.finished(id)
	}
	return s.offer()
}

// deathsReason returns why a trial has failed of which too many workers have died.
func (s *server) deathsReason(id int64, deaths lease.Deaths) (string, error) {
	if deaths.Stalled < deaths.All() || !s.spec.Programs() {
		return quantity.Count(deaths.All(), "worker", "workers") + " died while running it: see the logs", nil
	}
	t, err := s.trial(id)
	if err != nil || t == nil {
		return "", err
	}
	return fmt.Sprintf("it printed no values for %s (stall), %s: see stdout and stderr in %s", s.spec.Stall,
		quantity.Count(deaths.All(), "time", "times"), filepath.Dir(s.spec.program(nil, t.Number, 0).Folder)), nil
}

// offer tells workers that wait for a trial that there is one. They ask again anyway.
func (s *server) offer() error {
	s.mu.Lock()
	_, now := s.instant()
	waiting := false
	if s.leases.AnyFree(now) {
		for _, w := range s.workers {
			waiting = waiting || w.waits
			w.waits = false
		}
	}
	s.mu.Unlock()
	if !waiting {
		return nil
	}
	return s.publish(freeKind)
}

// end tells all workers that the study is over: those that are there, and those that ask from now on.
func (s *server) end() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	if !s.answers { // there was no trial to run
		_ = s.subscribe()
	}
	_ = s.publish(overKind)
	for _, p := range s.places {
		_ = p.FlushTimeout(answerTimeout)
	}
}

// running returns the trials that workers have.
func (s *server) running() (trials []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for trial := range s.leases.Holders() {
		trials = append(trials, trial)
	}
	return trials
}
