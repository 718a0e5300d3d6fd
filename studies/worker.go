package studies

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"xlarun/internal/credentials"
	"xlarun/internal/messaging"
	"xlarun/studies/study"
)

const (
	// pollQueue is the longest time that a worker waits for a trial before it looks whether the study is over.
	pollQueue = 250 * time.Millisecond
	// answerTimeout is how long a worker waits for an answer before it asks again.
	answerTimeout = 2 * time.Second
	// reconnectWait is how long a worker of another machine waits before it connects again, and up to as long again, so
	// that many workers do not come at once. Both are a small part of a lease.
	reconnectWait = 250 * time.Millisecond
	// orphanTimeout is how long a worker of this machine waits for a coordinator.
	orphanTimeout = 60 * time.Second
	// graceTime is how long a run that has to end may take.
	graceTime = time.Second
)

// Join says how a worker finds its study. Server.Wait holds for a coordinator that is away later, too, as Server.Away
// does.
type Join struct {
	messaging.Server
	// Joined is called when the coordinator has answered for the first time, with the server's address, and Ended for
	// each trial whose result it took; nil: they are not.
	Joined func(address string)
	Ended  func(number int64, r study.Result, took time.Duration)

	socket string // of a worker of the coordinator's machine, instead of the URL
}

// Worker runs trials of a study whose database is on this machine, until the study is over. It holds the lock of its
// slot, so that there are never more workers than slots. It does nothing if another worker holds the lock.
func Worker(ctx context.Context, storage, name string, slot int, runs Runs) error {
	workdir, err := openWorkdir(storage)
	if err != nil {
		return err
	}
	lock, ok, err := tryLock(workdir.slot(name, slot))
	if !ok || err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	id := newID()
	if err := os.WriteFile(workdir.slot(name, slot)+".id", []byte(id), 0o666); err != nil {
		return err
	}
	err = join(ctx, id, Join{Server: messaging.Server{Address: messaging.Address{URLs: []string{"nats://here"}},
		Token: os.Getenv(TokenVariable), Wait: orphanTimeout},
		socket: workdir.socket(name)}, runs)
	if errors.Is(err, ErrNoCoordinator) {
		return nil
	}
	return err
}

// TokenVariable is the environment variable with the token of the study.
const TokenVariable = credentials.TokenVariable

// JoinStudy runs trials of a study that another machine serves, until the study is over.
func JoinStudy(ctx context.Context, j Join, runs Runs) error { return join(ctx, newID(), j, runs) }

// newID returns a new unique name of a worker.
func newID() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s:%d:%d", host, os.Getpid(), time.Now().UnixNano())
}

// ErrNoCoordinator and ErrRefused end a worker. Another worker in its place would end in the same way.
var (
	ErrNoCoordinator = errors.New("there is no coordinator: the study may be over, or it is not served there")
	ErrRefused       = errors.New("the worker is refused")
)

// Errors that end a worker or its trial.
var (
	errOver = errors.New("the study is over")
	errLost = errors.New("the trial is another's")
)

// socketDialer dials the socket of the broker on this machine.
type socketDialer string

// Dial implements nats.CustomDialer.
func (s socketDialer) Dial(string, string) (net.Conn, error) { return net.Dial("unix", string(s)) }

// SkipTLSHandshake makes connections without TLS: they stay on the machine.
func (socketDialer) SkipTLSHandshake() bool { return true }

// worker asks a coordinator for trials and runs them.
type worker struct {
	conn        *nats.Conn
	dial        *messaging.Dialer
	js          jetstream.JetStream
	runs        Runs
	id          string
	wait        time.Duration
	lastContact atomic.Int64 // when the coordinator was last there, nanoseconds after start
	start       time.Time

	mu           sync.Mutex
	reconnection chan struct{} // closed when the worker is connected again

	waits atomic.Bool // for a trial

	onUnreachable func(since time.Duration) // Join.Away
	onJoined      func(address string)
	joined        sync.Once
	onEnded       func(number int64, r study.Result, took time.Duration)
	lastNotice    atomic.Int64 // when it was last called, nanoseconds after start
}

// awayEvery is the time between two calls of Join.Away.
const awayEvery = 5 * time.Second

func join(ctx context.Context, id string, j Join, runs Runs) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &worker{runs: runs, id: id, wait: j.Wait, start: time.Now(), onUnreachable: j.Away,
		onJoined: j.Joined, onEnded: j.Ended,
		reconnection: make(chan struct{}),
		dial:         messaging.NewDialer(nats.DefaultTimeout, messaging.Silence)}
	options := []nats.Option{nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.ReconnectHandler(func(*nats.Conn) { w.reconnected() }),
		nats.IgnoreAuthErrorAbort(), nats.ReconnectBufSize(-1),
		nats.SetCustomDialer(w.dial)}
	options = append(options, nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
		if refusal := j.Refusal(err); refusal != nil {
			cancel(fmt.Errorf("%w: %w", ErrRefused, refusal))
		}
	}))
	if j.socket != "" {
		options = append(options, nats.SetCustomDialer(socketDialer(j.socket)), nats.SkipHostLookup(),
			nats.ReconnectWait(10*time.Millisecond),
			nats.ReconnectJitter(10*time.Millisecond, 10*time.Millisecond))
	}
	var err error
	w.conn, err = j.Connect(ctx, id, options...)
	unreached, _ := errors.AsType[*messaging.ConnectError](err)
	switch {
	case errors.Is(err, messaging.ErrOver) || errors.Is(err, context.Canceled):
		return nil
	case unreached != nil && unreached.Refused:
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case unreached != nil:
		return fmt.Errorf("%w: %w", ErrNoCoordinator, err)
	case err != nil:
		return err
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

// orphaned reports whether there has been no coordinator for longer than w.wait. It also calls Join.Away when
// that is due.
func (w *worker) orphaned() bool {
	now := int64(time.Since(w.start))
	if w.conn.IsConnected() {
		w.lastContact.Store(now)
	}
	since := now - w.lastContact.Load()
	if last := w.lastNotice.Load(); w.onUnreachable != nil && since > int64(awayEvery) && now-last > int64(awayEvery) &&
		w.lastNotice.CompareAndSwap(last, now) {
		w.onUnreachable(time.Duration(since))
	}
	return since > int64(w.wait)
}

// work takes trials from the queue and runs them, until ctx ends.
func (w *worker) work(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.waits.Store(true)
	go w.sayHello(ctx)
	var from jetstream.Consumer
	for ctx.Err() == nil {
		if w.orphaned() {
			return ErrNoCoordinator
		}
		var msg jetstream.Msg
		var err error
		if from == nil && w.conn.IsConnected() {
			short, cancel := context.WithTimeout(ctx, pollQueue)
			from, err = w.js.Consumer(short, queueName, workersName)
			cancel()
		}
		if from != nil && err == nil {
			short, cancel := context.WithTimeout(ctx, pollQueue)
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
		w.waits.Store(false)
		if err := w.runTrial(ctx, msg); err != nil {
			return err
		}
		w.waits.Store(true)
	}
	return ctx.Err()
}

// sayHello says hello as long as the worker waits for trials, until ctx ends.
func (w *worker) sayHello(ctx context.Context) {
	every := pollQueue
	for ctx.Err() == nil {
		if w.waits.Load() && w.conn.IsConnected() {
			if lease, err := w.hello(ctx); err == nil {
				every = max(lease/4, pollQueue)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
}

// hello tells the coordinator that the worker waits for a trial, and learns how long a lease is. The lease also says
// after which silence a connection ends.
func (w *worker) hello(ctx context.Context) (lease time.Duration, err error) {
	r, err := w.ask(ctx, helloKind, request{Trial: -1})
	if err != nil || r.Lease == 0 {
		return 0, err
	}
	w.dial.SetSilence(patience(r.Lease))
	if w.onJoined != nil {
		w.joined.Do(func() { w.onJoined(w.conn.ConnectedUrlRedacted()) })
	}
	return r.Lease, nil
}

// reconnected lets requests without an answer be sent again: the server of the former connection may have ended.
func (w *worker) reconnected() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.reconnection)
	w.reconnection = make(chan struct{})
}

// untilReconnected returns a context that ends when the worker is connected again, or after a time.
func (w *worker) untilReconnected(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	w.mu.Lock()
	reconnection := w.reconnection
	w.mu.Unlock()
	short, cancel := context.WithTimeout(ctx, after)
	go func() {
		select {
		case <-reconnection:
			cancel()
		case <-short.Done():
		}
	}()
	return short, cancel
}

// untilAnswered calls f, which asks the server, within a time. It calls f again if the worker is connected again
// meanwhile: what the server of the former connection was asked has no answer.
func (w *worker) untilAnswered(ctx context.Context, after time.Duration, f func(context.Context) error) error {
	ctx, done := context.WithTimeout(ctx, after)
	defer done()
	for {
		short, cancel := w.untilReconnected(ctx, after)
		err := f(short)
		lost := err != nil && short.Err() != nil && ctx.Err() == nil
		cancel()
		if !lost {
			return err
		}
	}
}

// ask sends a request until the coordinator answers, ctx ends, or there has been no coordinator for too long.
func (w *worker) ask(ctx context.Context, kind string, q request) (r reply, err error) {
	q.Worker, q.Threads = w.id, threadCount(os.Getpid())
	data, err := encoded(q)
	if err != nil {
		return r, err
	}
	for {
		short, cancel := w.untilReconnected(ctx, answerTimeout)
		m, err := w.conn.RequestWithContext(short, requestPrefix+kind, data)
		cancel()
		if err == nil {
			w.lastContact.Store(int64(time.Since(w.start)))
			return r, decoded(m.Data, &r)
		}
		switch {
		case ctx.Err() != nil:
			return r, ctx.Err()
		case errors.Is(err, nats.ErrMaxPayload):
			return r, err
		case w.orphaned():
			return r, ErrNoCoordinator
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}
