package studies

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"xlarun/rollout/study"
)

const (
	// glance is the longest that a worker waits for a trial before it looks whether the study is over.
	glance = 250 * time.Millisecond
	// answer is how long a worker waits for an answer before it asks again.
	answer = 2 * time.Second
	// orphaned is how long a worker of this machine lives without a coordinator.
	orphaned = 60 * time.Second
	// lastWord is how long a trial that is over its time or memory may take to end by itself.
	lastWord = time.Second
)

// Join is how a worker finds its study.
type Join struct {
	URL   string        // nats://HOST:PORT, or tls://
	Token string        // "" for none
	TLS   *tls.Config   // nil for none
	Wait  time.Duration // for a coordinator that is away

	socket string // of a worker of the coordinator's machine, in place of the URL
}

// Worker runs trials of a study whose database is on this machine, until there are no more. It holds the lock of its slot, so that there are
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
	id := newID()
	if err := os.WriteFile(place.slot(name, slot)+".id", []byte(id), 0o666); err != nil {
		return err
	}
	err = join(ctx, id, Join{URL: "nats://here", Token: os.Getenv(TokenVariable), Wait: orphaned, socket: place.socket(name)}, runs)
	if errors.Is(err, ErrAlone) {
		return nil
	}
	return err
}

// TokenVariable is the environment variable by which workers are given the study's token.
const TokenVariable = "XLARUN_TOKEN"

// JoinStudy runs trials of a study that is served, until it is over.
func JoinStudy(ctx context.Context, j Join, runs Runs) error { return join(ctx, newID(), j, runs) }

// newID names a worker as no other.
func newID() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s:%d:%d", host, os.Getpid(), time.Now().UnixNano())
}

// ErrAlone and ErrRefused are ends of a worker that another one would come to, too.
var (
	ErrAlone   = errors.New("there is no coordinator: the study may be over, or it is not served there")
	ErrRefused = errors.New("the server refuses this worker")
)

// Ends of a worker, and of its trial.
var (
	errOver = errors.New("the study is over")
	errLost = errors.New("the trial is another's")
)

// bySocket dials the socket of this machine's engine.
type bySocket string

// Dial implements nats.CustomDialer.
func (s bySocket) Dial(string, string) (net.Conn, error) { return net.Dial("unix", string(s)) }

// SkipTLSHandshake tells that nothing leaves the machine.
func (bySocket) SkipTLSHandshake() bool { return true }

type worker struct {
	conn *nats.Conn
	js   jetstream.JetStream
	runs Runs
	id   string
	wait time.Duration
	away atomic.Int64 // when the coordinator was last there, Unix nanoseconds of this process's clock
	born time.Time
}

func join(ctx context.Context, id string, j Join, runs Runs) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &worker{runs: runs, id: id, wait: j.Wait, born: time.Now()}
	options := []nats.Option{nats.Name(id), nats.MaxReconnects(-1), nats.ReconnectWait(time.Second), nats.ReconnectJitter(time.Second, time.Second),
		nats.RetryOnFailedConnect(true), nats.IgnoreAuthErrorAbort(), nats.ReconnectBufSize(-1)}
	options = append(options, nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
		switch {
		case errors.Is(err, nats.ErrAuthorization):
			cancel(fmt.Errorf("%s: %w (%w): give the study's token by --token-file or %s", j.URL, ErrRefused, err, TokenVariable))
		case errors.As(err, new(*tls.CertificateVerificationError)) || errors.Is(err, nats.ErrSecureConnRequired) || errors.Is(err, nats.ErrSecureConnWanted):
			cancel(fmt.Errorf("%s: %w (%w): give --tls-ca, --tls-cert and --tls-key as the server wants them", j.URL, ErrRefused, err))
		}
	}))
	if j.Token != "" {
		options = append(options, nats.Token(j.Token))
	}
	if j.TLS != nil {
		options = append(options, nats.Secure(j.TLS))
	}
	if j.socket != "" {
		options = append(options, nats.SetCustomDialer(bySocket(j.socket)), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(10*time.Millisecond, 10*time.Millisecond))
	}
	var err error
	if w.conn, err = nats.Connect(j.URL, options...); err != nil {
		return fmt.Errorf("%s cannot be joined: %w", j.URL, err)
	}
	defer w.conn.Close()
	if _, err := w.conn.Subscribe(overSubject, func(*nats.Msg) { cancel(errOver) }); err != nil {
		return err
	}
	if w.js, err = jetstream.New(w.conn); err != nil {
		return err
	}
	err = w.work(ctx)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if errors.Is(err, errOver) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// alone tells whether there has been no coordinator for too long.
func (w *worker) alone() bool {
	now := int64(time.Since(w.born))
	if w.conn.IsConnected() {
		w.away.Store(now)
	}
	return now-w.away.Load() > int64(w.wait)
}

// work runs trials.
func (w *worker) work(ctx context.Context) error {
	var from jetstream.Consumer
	for ctx.Err() == nil {
		if w.alone() {
			return ErrAlone
		}
		var msg jetstream.Msg
		var err error
		if from == nil && w.conn.IsConnected() {
			short, cancel := context.WithTimeout(ctx, glance)
			from, err = w.js.Consumer(short, queueName, workersName)
			cancel()
		}
		if from != nil && err == nil {
			short, cancel := context.WithTimeout(ctx, glance)
			msg, err = from.Next(jetstream.FetchContext(short))
			cancel()
		}
		if msg == nil {
			if err != nil && !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, context.DeadlineExceeded) {
				from = nil
			}
			if err != nil || from == nil {
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Millisecond):
				}
			}
			continue
		}
		if err := w.one(ctx, msg); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// ask asks the coordinator until it answers, or ctx ends, or there has been none for too long.
func (w *worker) ask(ctx context.Context, kind string, q request) (r reply, err error) {
	q.Worker, q.Threads = w.id, threads(os.Getpid())
	data, err := encoded(q)
	if err != nil {
		return r, err
	}
	for {
		short, cancel := context.WithTimeout(ctx, answer)
		m, err := w.conn.RequestWithContext(short, deskPrefix+kind, data)
		cancel()
		if err == nil {
			w.away.Store(int64(time.Since(w.born)))
			return r, decoded(m.Data, &r)
		}
		switch {
		case ctx.Err() != nil:
			return r, ctx.Err()
		case errors.Is(err, nats.ErrMaxPayload):
			return r, err
		case w.alone():
			return r, ErrAlone
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// frozen is the trial.
func (j *job) frozen() (*study.FrozenTrial, error) {
	t := &study.FrozenTrial{Number: j.Number}
	return t, errors.Join(json.Unmarshal(j.Params, &t.Params), json.Unmarshal(j.Distributions, &t.Distributions))
}

// attempt is a worker's run of a trial.
type attempt struct {
	*worker
	spec   *Spec
	job    *job
	trial  int64
	ack    string
	own    []study.Reported
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	fence uint64
	moved time.Time // when the last round ended
	kept  time.Time // when the last checkpoint was stored
}

// one runs the trial of a message of the queue.
func (w *worker) one(ctx context.Context, msg jetstream.Msg) error {
	trial, err := strconv.ParseInt(strings.TrimPrefix(msg.Subject(), queueName+"."), 10, 64)
	if err != nil {
		return msg.Term()
	}
	r, err := w.ask(ctx, claimKind, request{Trial: trial, Ack: msg.Reply()})
	switch {
	case err != nil:
		return err
	case r.Over:
		return ignored(msg.Ack())
	case r.Job == nil:
		return ignored(msg.NakWithDelay(max(r.Busy, 10*time.Millisecond)))
	}
	spec, err := specFrom(r.Job.Spec, r.Job.Call)
	if err != nil {
		return err
	}
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &attempt{worker: w, spec: spec, job: r.Job, trial: trial, ack: msg.Reply(), cancel: cancel, fence: r.Fence, moved: time.Now(), kept: time.Now()}
	over := make(chan struct{})
	go a.beats(own, over)
	go a.watch(over)
	result := a.run(own)
	close(over)
	cause := context.Cause(own)
	limit, _ := errors.AsType[*limitError](cause)
	switch {
	case cause == nil:
	case limit != nil:
		result = study.Result{State: study.Fail, Reason: limit.Error()}
	case errors.Is(cause, errLost):
		return nil
	default: // the worker is to end: the trial is somebody else's
		last, done := context.WithTimeout(context.WithoutCancel(ctx), answer)
		defer done()
		_, err := w.ask(last, releaseKind, a.request())
		return ignored(err)
	}
	if err := a.tell(ctx, result); errors.Is(err, errLost) {
		return nil
	} else if err != nil {
		return err
	}
	if limit != nil {
		return limit // memory that was asked for is given back by the end of the process alone
	}
	return ignored(msg.Ack())
}

// ignored are errors of what the coordinator makes good for by itself.
func ignored(error) error { return nil }

func (a *attempt) request() request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return request{Trial: a.trial, Ack: a.ack, Fence: a.fence}
}

// tell brings the result to the coordinator, also where the worker is to end.
func (a *attempt) tell(ctx context.Context, r study.Result) error {
	q := a.request()
	q.Result = r
	if ctx.Err() != nil {
		last, done := context.WithTimeout(context.WithoutCancel(ctx), answer)
		defer done()
		ctx = last
	}
	got, err := a.ask(ctx, resultKind, q)
	if got.Note != "" {
		fmt.Fprintln(os.Stderr, got.Note)
	}
	if err == nil && got.Lost {
		return errLost
	}
	return err
}

// limitError is the end of a trial that took too much.
type limitError struct{ reason string }

func (e *limitError) Error() string { return e.reason }

// beats tell the coordinator that the trial is under way, as long as its run moves; where it is another's they end it.
func (a *attempt) beats(ctx context.Context, over <-chan struct{}) {
	ttl, _ := a.spec.leaseTime() // it was checked
	stall, _ := a.spec.stall()
	tick := time.NewTicker(ttl / 4)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		a.mu.Lock()
		still := time.Since(a.moved)
		a.mu.Unlock()
		if stall > 0 && still > stall {
			a.end(errLost, over)
			return
		}
		short, done := context.WithTimeout(ctx, ttl/4)
		r, err := a.ask(short, beatKind, a.request())
		done()
		if err == nil && r.Lost {
			a.end(errLost, over)
			return
		}
		if err == nil {
			a.mu.Lock()
			a.fence = r.Fence
			a.mu.Unlock()
		}
	}
}

// end ends the run; one that does not hear of it, as it is inside a call, is ended with the process.
func (a *attempt) end(cause error, over <-chan struct{}) {
	a.cancel(cause)
	select {
	case <-over:
	case <-time.After(lastWord):
		if _, ok := errors.AsType[*limitError](cause); ok {
			last, done := context.WithTimeout(context.Background(), answer)
			_ = a.tell(last, study.Result{State: study.Fail, Reason: cause.Error()})
			done()
		}
		fmt.Fprintln(os.Stderr, cause)
		os.Exit(1)
	}
}

// watch ends a trial that takes too long or too much.
func (a *attempt) watch(over <-chan struct{}) {
	began := time.Now()
	limit, _ := a.spec.Limit() // it was checked
	most := int64(a.spec.Memory)
	if limit == 0 && most == 0 {
		return
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if limit > 0 && time.Since(began) > limit {
			a.end(&limitError{fmt.Sprintf("it took more than %s", limit)}, over)
			return
		}
		if most > 0 && resident() > most {
			a.end(&limitError{fmt.Sprintf("its worker took more than %d bytes of memory", most)}, over)
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

// run runs the trial.
func (a *attempt) run(ctx context.Context) (r study.Result) {
	defer func() {
		if p := recover(); p != nil {
			debug.PrintStack()
			r = study.Result{State: study.Fail, Reason: fmt.Sprintf("the run panicked: %v", p)}
		}
	}()
	params, err := a.job.params()
	if err != nil {
		return study.Result{State: study.Fail, Reason: err.Error()}
	}
	from := a.stored(ctx)
	if from != nil {
		a.own = from.Reported
	}
	values, err := a.runFrom(ctx, params, from)
	if errors.Is(err, errRestore) && from != nil {
		fmt.Fprintf(os.Stderr, "trial %d begins anew: %v\n", a.job.Number, err)
		a.own = nil
		values, err = a.runFrom(ctx, params, nil)
	}
	if errors.Is(err, ErrAlone) { // nothing is wrong with the trial
		a.cancel(ErrAlone)
	}
	return resultOf(values, a.own, err)
}

// runFrom runs the trial from where it was stored, nil: from where it begins, which for one of population-based training is the end of another.
func (a *attempt) runFrom(ctx context.Context, params map[string]any, from *progress) (values []float64, err error) {
	h := hooks{report: a.report(ctx), keep: a.keep(ctx), from: from, until: a.job.PBT.Until}
	if h.until > 0 {
		h.end = func(p *progress) { a.leave(ctx, a.job.Number, p) }
		if from == nil {
			if h.from, err = a.inherited(ctx); err != nil {
				return nil, err
			}
		}
	}
	values, err = a.spec.objective(ctx, a.runs, params, h)
	if n := len(a.job.PBT.Before); n > 0 && from == nil && errors.Is(err, errRestore) {
		err = fmt.Errorf("the state that trial %d ended with is of runs of another make (parameters of pbt that are numbers have to leave states as they are): %v", a.job.PBT.Before[n-1].Number, err)
	}
	return values, err
}

// resultOf is how a trial ends whose objective came to values or an error.
func resultOf(values []float64, reports []study.Reported, err error) study.Result {
	r := study.Result{State: study.Complete, Values: values, Intermediate: reports}
	switch {
	case errors.Is(err, errStopped):
		r.State = study.Pruned
	case err != nil:
		return study.Result{State: study.Fail, Reason: err.Error()}
	}
	if slices.ContainsFunc(values, math.IsNaN) {
		return study.Result{State: study.Fail, Reason: fmt.Sprintf("the objective is not a number: %v", values)}
	}
	return r
}

// report brings a value on the way to the coordinator, which knows what the pruner makes of it.
func (a *attempt) report(ctx context.Context) func(step, last int64, value float64) (bool, error) {
	return func(step, last int64, value float64) (bool, error) {
		a.own = append(a.own, study.Reported{Step: step, Value: value})
		q := a.request()
		q.Step, q.Last, q.Value = step, last, value
		r, err := a.ask(ctx, reportKind, q)
		if err == nil && r.Lost {
			a.cancel(errLost)
			return false, errLost
		}
		return r.Stop, err
	}
}

// keep stores the trial where it is time.
func (a *attempt) keep(ctx context.Context) func(state func() (*progress, error)) error {
	every, _ := a.spec.keepEvery() // it was checked
	return func(state func() (*progress, error)) error {
		now := time.Now()
		a.mu.Lock()
		a.moved = now
		due := every > 0 && now.Sub(a.kept) >= every
		a.mu.Unlock()
		if !due {
			return nil
		}
		p, err := state()
		if err != nil {
			return err
		}
		p.Reported = a.own
		data, err := encoded(p)
		if err != nil {
			return err
		}
		err = a.store(ctx, data)
		a.mu.Lock()
		a.kept = time.Now()
		a.mu.Unlock()
		if errors.Is(err, errLost) {
			a.cancel(errLost)
			return err
		}
		return nil // what could not be stored is stored the next time
	}
}

// store stores a checkpoint under a name of its own, then has it made the trial's.
func (a *attempt) store(ctx context.Context, data []byte) error {
	short, done := context.WithTimeout(ctx, max(10*time.Second, time.Duration(len(data)/1e6)*time.Second))
	defer done()
	kept, err := a.js.ObjectStore(short, keptName)
	if err != nil {
		return err
	}
	q := a.request()
	q.Object = fmt.Sprintf("%d/%s/%d", a.trial, a.id, time.Since(a.born))
	if _, err := kept.PutBytes(short, q.Object, data); err != nil {
		return err
	}
	r, err := a.ask(short, keepKind, q)
	if err == nil && r.Lost {
		return errors.Join(errLost, kept.Delete(short, q.Object))
	}
	if err == nil {
		a.mu.Lock()
		a.fence = r.Fence
		a.mu.Unlock()
	}
	return err
}

// stored is the checkpoint to go on from; nil where there is none that can be used.
func (a *attempt) stored(ctx context.Context) *progress {
	if a.job.Object == "" {
		return nil
	}
	p, err := a.fetch(ctx, a.job.Object)
	if err != nil {
		fmt.Fprintf(os.Stderr, "trial %d begins anew: its checkpoint cannot be read (%v)\n", a.job.Number, err)
		return nil
	}
	return p
}

// fetch reads an object that is a progress.
func (a *attempt) fetch(ctx context.Context, object string) (*progress, error) {
	short, done := context.WithTimeout(ctx, time.Minute)
	defer done()
	p := &progress{}
	kept, err := a.js.ObjectStore(short, keptName)
	var data []byte
	if err == nil {
		data, err = kept.GetBytes(short, object)
	}
	if err == nil {
		err = decoded(data, p)
	}
	return p, err
}
