package studies

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"xlarun/internal/credentials"
	"xlarun/internal/hardware"
	"xlarun/internal/messaging"
	"xlarun/studies/study"
)

const (
	// answerTimeout is how long a worker waits for an answer before it asks again, beside the time that the request
	// takes on a link of so many bytes a second.
	answerTimeout = 2 * time.Second
	slowestLink   = 50e3
	// askAgain is how long a worker waits after a request that could not be sent, or that nobody took, at first. It
	// waits twice as long each time, up to reconnectWait.
	askAgain = 10 * time.Millisecond
	// reconnectWait is how long a worker of another machine waits before it connects again, and up to as long again, so
	// that many workers do not come at once. Both are a small part of a lease.
	reconnectWait = 250 * time.Millisecond
	// orphanTimeout is how long a worker of this machine waits for a coordinator.
	orphanTimeout = 60 * time.Second
)

// graceTime is how long a run that has to end may take. Tests shorten it.
var graceTime = time.Second

// Join says how a worker finds its study. Server.Wait and Server.OnUnreachable hold for a coordinator that is away
// later, too.
type Join struct {
	messaging.Server
	// Joined is called when the coordinator has answered for the first time, with the server's address, and Ended for
	// each trial whose result it took; nil: they are not.
	Joined func(address string)
	Ended  func(number int64, r study.Result, took time.Duration)
	// Version is that of xlarun. It has to be the coordinator's.
	Version string
	// Exec is the command of trials that are programs, as Spec.Exec; "": the worker runs none.
	Exec string

	socket string // of a worker of the coordinator's machine, instead of the URL
}

// Worker runs trials of a study whose database is on this machine, until the study is over. It holds the lock of its
// slot, so that there are never more workers than slots. It does nothing if another worker holds the lock. exec is as
// Join.Exec.
func Worker(ctx context.Context, storage, name string, slot int, version, exec string, runs Runs) error {
	workdir, err := workdirOf(storage)
	if err != nil {
		return err
	}
	lock, ok, err := tryLock(workdir.slot(name, slot))
	if !ok || err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	id := ownWorkerOf(exec) + newID()
	if err := os.WriteFile(workdir.slot(name, slot)+".id", []byte(id), 0o666); err != nil {
		return err
	}
	err = join(ctx, id, Join{Version: version, Exec: exec, Server: messaging.Server{
		Address: messaging.Address{URLs: []string{"nats://here"}}, Token: os.Getenv(TokenVariable),
		Wait: orphanTimeout},
		socket: workdir.socket(name)}, runs)
	if errors.Is(err, ErrNoCoordinator) || errors.Is(err, ErrOver) {
		return nil
	}
	return err
}

// TokenVariable is the environment variable with the token of the study.
const TokenVariable = credentials.TokenVariable

// JoinStudy runs trials of a study that another machine serves, until the study is over. It returns ErrOver if the
// study was over before.
func JoinStudy(ctx context.Context, j Join, runs Runs) error { return join(ctx, newID(), j, runs) }

// ownWorker is what names of workers that the coordinator's machine runs begin with.
const ownWorker = "own:"

// newID returns a new unique name of a worker.
func newID() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s:%d:%d", host, os.Getpid(), time.Now().UnixNano())
}

// Errors that end a worker. Another worker in its place would end in the same way.
var (
	ErrNoCoordinator error = &messaging.CodedError{Code: messaging.CodeNoServer,
		Text: "there is no coordinator: the study may be over, or it is not served there"}
	ErrRefused error = &messaging.CodedError{Code: messaging.CodeRefused, Text: "the worker is refused"}
	ErrOver          = errors.New("the study was over before this worker came")
)

// Errors that end a worker or its trial.
var (
	errOver    = errors.New("the study is over")
	errLost    = errors.New("the trial is another's")
	errStalled = errors.New("the trial makes no progress")
)

// socketDialer dials the socket of the coordinator's bus on this machine.
type socketDialer string

// Dial implements nats.CustomDialer.
func (s socketDialer) Dial(string, string) (net.Conn, error) { return net.Dial("unix", string(s)) }

// SkipTLSHandshake makes connections without TLS: they stay on the machine.
func (socketDialer) SkipTLSHandshake() bool { return true }

// worker asks a coordinator for trials and runs them.
type worker struct {
	address     messaging.Address
	study       string // that answered the last question for a trial
	conn        *nats.Conn
	dial        *messaging.Dialer
	runs        Runs
	id          string
	version     string
	exec        string // Join.Exec
	wait        time.Duration
	end         context.CancelCauseFunc // ends the worker
	free        chan struct{}           // gets a value when a trial may be free
	lastContact atomic.Int64            // when the coordinator was last there, nanoseconds after start
	start       time.Time

	mu           sync.Mutex
	reconnection chan struct{} // closed when the worker is connected again

	onUnreachable func(since time.Duration) // Join.OnUnreachable
	onJoined      func(address string)
	onEnded       func(number int64, r study.Result, took time.Duration)
	lastNotice    atomic.Int64 // when it was last called, nanoseconds after start
}

func join(ctx context.Context, id string, j Join, runs Runs) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &worker{address: j.Address, runs: runs, id: id, version: j.Version, exec: j.Exec, wait: j.Wait, end: cancel,
		free: make(chan struct{}, 1), start: time.Now(), onUnreachable: j.OnUnreachable, onJoined: j.Joined,
		onEnded: j.Ended, reconnection: make(chan struct{}),
		dial: messaging.NewDialer(nats.DefaultTimeout, messaging.Silence)}
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
	case errors.Is(err, messaging.ErrOver):
		return fmt.Errorf("%w: %s says so", ErrOver, j.File)
	case errors.Is(err, context.Canceled):
		return nil
	case unreached != nil && unreached.Refused:
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case unreached != nil:
		return fmt.Errorf("%w: %w", ErrNoCoordinator, err)
	case err != nil:
		return err
	}
	defer w.conn.Close()
	if _, err := w.conn.Subscribe(subject(overKind, j.Name), func(*nats.Msg) { cancel(errOver) }); err != nil {
		return err
	}
	if _, err := w.conn.Subscribe(subject(freeKind, j.Name), func(*nats.Msg) { w.wake() }); err != nil {
		return err
	}
	err = w.work(ctx)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(err, ErrOver) {
		err = cause
	}
	if errors.Is(err, errOver) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// orphaned reports whether there has been no coordinator for longer than w.wait. It also calls
// Join.OnUnreachable when that is due. there says whether one may be there: it is only busy.
func (w *worker) orphaned(there bool) bool {
	now := int64(time.Since(w.start))
	if there {
		w.lastContact.Store(now)
	}
	since := now - w.lastContact.Load()
	const every = int64(messaging.UnreachableEvery)
	if last := w.lastNotice.Load(); w.onUnreachable != nil && since > every && now-last > every &&
		w.lastNotice.CompareAndSwap(last, now) {
		w.onUnreachable(time.Duration(since))
	}
	return since > int64(w.wait)
}

// wake lets a worker that waits for a trial ask again.
func (w *worker) wake() {
	select {
	case w.free <- struct{}{}:
	default:
	}
}

// work asks for trials and runs them, until ctx ends.
func (w *worker) work(ctx context.Context) error {
	for first := true; ; {
		select {
		case <-w.free: // until now
		default:
		}
		r, err := w.ask(ctx, nextKind, request{Trial: -1, Processor: processor()})
		switch {
		case first && errors.Is(err, errOver):
			return ErrOver
		case err != nil:
			return err
		}
		if first && w.onJoined != nil {
			w.onJoined(w.conn.ConnectedUrlRedacted())
		}
		first = false
		// The lease also says after which silence a connection ends.
		w.dial.SetSilence(min(longestSilence, max(r.Lease/2, shortestSilence)))
		if w.study = r.Study; r.Job != nil {
			if err := w.runTrial(ctx, r); err != nil {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.free:
		case <-time.After(r.Busy):
		}
	}
}

// shortestSilence and longestSilence bound the silence after which a connection ends.
const shortestSilence, longestSilence = 500 * time.Millisecond, 5 * time.Second

// processor names the kind of this machine's processor.
func processor() string {
	sum := sha256.Sum256([]byte(hardware.Fingerprint()))
	return hex.EncodeToString(sum[:4])
}

// reconnected lets requests without an answer be sent again: the server of the former connection may have ended.
func (w *worker) reconnected() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.reconnection)
	w.reconnection = make(chan struct{})
	w.wake()
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

// refuses reports whether the last thing that the server has refused is a message of a subject, or the answers.
func (w *worker) refuses(subject string) bool {
	err := w.conn.LastError()
	return errors.Is(err, nats.ErrPermissionViolation) &&
		(strings.Contains(err.Error(), fmt.Sprintf("%q", subject)) ||
			strings.Contains(err.Error(), `"`+nats.InboxPrefix))
}

// ask sends a request until the coordinator answers, ctx ends, or there has been no coordinator for too long. What ends
// the worker ends ctx too.
func (w *worker) ask(ctx context.Context, kind string, q request) (r reply, err error) {
	q.Worker, q.Protocol, q.Version = w.id, protocol, w.version
	if kind != nextKind {
		q.Study = w.study
	}
	if kind != keepKind && kind != fetchKind {
		q.Threads = threadCount(os.Getpid())
	}
	data, err := encoded(q)
	if err != nil {
		return r, err
	}
	for pause := askAgain; ; pause = min(2*pause, reconnectWait) {
		short, cancel := w.untilReconnected(ctx, answerTimeout+time.Duration(len(data))*time.Second/slowestLink)
		m, err := w.conn.RequestWithContext(short, subject(kind, w.address.Name), data)
		cancel()
		if err == nil {
			w.orphaned(true)
			if err := decoded(m.Data, &r); err != nil {
				return r, err
			}
			switch {
			case r.Refused != "":
				err = fmt.Errorf("%w: this worker is xlarun %s, the study is served by %s: install the same on both",
					ErrRefused, w.version, r.Refused)
			case r.Over:
				err = errOver
			}
			if err != nil {
				w.end(err)
			}
			return r, err
		}
		switch {
		case ctx.Err() != nil:
			return r, ctx.Err()
		case errors.Is(err, nats.ErrMaxPayload):
			return r, err
		case w.refuses(subject(kind, w.address.Name)):
			err = fmt.Errorf("%w: the server at %s lets nobody work by this token, or as this user: give a worker's",
				ErrRefused, w.address)
			w.end(err)
			return r, err
		case w.address.IsOver(): // it missed the message
			w.end(errOver)
			return r, errOver
		case w.orphaned(w.conn.IsConnected() && !errors.Is(err, nats.ErrNoResponders)):
			w.end(ErrNoCoordinator)
			return r, ErrNoCoordinator
		}
		_ = wait(ctx, pause)
	}
}
