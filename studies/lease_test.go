package studies

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"xlarun/internal/messaging"
	"xlarun/rollout/run"
	"xlarun/studies/internal/decision"
	"xlarun/studies/study"
	"xlarun/xlabridge"
)

// slowLeases is a bucket whose answers to writes are lost. The writes are stored, or not.
type slowLeases struct {
	jetstream.KeyValue
	stores bool
}

func (s slowLeases) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if s.stores {
		if _, err := s.KeyValue.Update(ctx, key, value, revision); err != nil {
			return 0, err
		}
	}
	return 0, context.DeadlineExceeded
}

// A write of a lease times out, and a new server takes the study over: the worker keeps its trial.
func TestLeaseWhoseWriteFails(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct{ stored, lost bool }{
		"the leases are lost too": {false, true}, "it was not stored": {false, false}, "it was stored": {true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, d, trial := newTestSession(t, "lease = \"15s\"\n")
			q := request{Trial: trial, Worker: "a", Ack: "$JS.ACK.a", Object: "one"}
			got, err := d.claim(q)
			require.NoError(t, err)
			q.Fence = got.Fence
			bucket := d.broker.leases
			d.broker.leases = slowLeases{bucket, at.stored}
			_, err = d.recordCheckpoint(q)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			d.broker.leases = bucket
			for range 2 { // the worker may hear of none of several servers
				if at.lost {
					require.NoError(t, d.broker.removeTrial(t.Context(), trial, ""))
				}
				d, err = newServer(t.Context(), c, d.broker)
				require.NoError(t, err)
			}
			q.Result = study.Result{State: study.Complete, Values: []float64{1}}
			got, err = d.result(q)
			require.NoError(t, err)
			require.Equal(t, reply{}, got)
			require.Zero(t, d.refused)
		})
	}
}

// The message server does not store that a worker gives its trial back, so the worker still has it.
func TestReleaseThatIsNotStored(t *testing.T) {
	t.Parallel()
	c, d, trial := newTestSession(t, "lease = \"15s\"\n")
	q := request{Trial: trial, Worker: "a", Ack: "$JS.ACK.a"}
	_, err := d.claim(q)
	require.NoError(t, err)
	bucket := d.broker.leases
	d.broker.leases = slowLeases{bucket, false}
	_, err = d.release(q)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	d.broker.leases = bucket
	d, err = newServer(t.Context(), c, d.broker)
	require.NoError(t, err)
	other := request{Trial: trial, Worker: "b", Ack: "$JS.ACK.b"}
	got, err := d.claim(other)
	require.NoError(t, err)
	require.NotZero(t, got.Busy, "the worker a has it")
	_, err = d.release(q)
	require.NoError(t, err)
	got, err = d.claim(other)
	require.NoError(t, err)
	require.NotNil(t, got.Job)
}

// All leases are lost while a result is being written: no other worker gets the trial.
func TestNoLeaseWhileAResultIsWritten(t *testing.T) {
	t.Parallel()
	d, trial := newTestServer(t, "lease = \"15s\"\n")
	other := request{Trial: trial, Worker: "b", Ack: "$JS.ACK.b", Fence: 3}
	d.writing[trial]++
	got, err := d.beat(other)
	require.NoError(t, err)
	require.True(t, got.Lost)
	require.Empty(t, d.leases)
	d.endWrite(trial)
	got, err = d.beat(other)
	require.NoError(t, err)
	require.False(t, got.Lost, "the result was not written")
	require.NotNil(t, d.leases[trial])
}

// A lease lasts from the answer to its worker, not from the question: the message server took half a minute to
// store a checkpoint, and no other worker gets the trial meanwhile.
func TestLeaseLastsFromTheAnswer(t *testing.T) {
	t.Parallel()
	d, trial := newTestServer(t, "lease = \"15s\"\n")
	start, passed := time.Now(), time.Duration(0)
	d.now = func() time.Time { return start.Add(passed) }
	q := request{Trial: trial, Worker: "a", Ack: "$JS.ACK.a", Object: "one"}
	got, err := d.claim(q)
	require.NoError(t, err)
	q.Fence = got.Fence
	d.broker.leases = laterLeases{d.broker.leases, func() { passed += 30 * time.Second }}
	_, err = d.recordCheckpoint(q)
	require.NoError(t, err)
	got, err = d.claim(request{Trial: trial, Worker: "b", Ack: "$JS.ACK.b"})
	require.NoError(t, err)
	require.NotZero(t, got.Busy, "the worker a has it")
}

// A lease that is granted lasts from the answer too, and so does one that is granted once more to a worker that
// has not heard the answer. The observer gets the instant at which the lease begins.
func TestGrantedLeaseLastsFromTheAnswer(t *testing.T) {
	t.Parallel()
	d, trial := newTestServer(t, "lease = \"15s\"\n")
	start, passed := time.Now(), time.Duration(0)
	d.now = func() time.Time { return start.Add(passed) }
	var last decision.Decision
	d.observe = func(x decision.Decision) { last = x }
	a, b := request{Trial: trial, Worker: "a", Ack: "$JS.ACK.a"}, request{Trial: trial, Worker: "b", Ack: "$JS.ACK.b"}
	lasts := func() {
		t.Helper()
		require.Equal(t, decision.Decision{Kind: claimKind, Trial: trial, Worker: "a", Granted: true,
			Instant: start.Add(passed)}, last)
		passed += 15*time.Second - 1
		got, err := d.claim(b)
		require.NoError(t, err)
		require.NotZero(t, got.Busy, "the worker a has it")
	}
	d.broker.leases = laterLeases{d.broker.leases, func() { passed += 30 * time.Second }}
	_, err := d.claim(a)
	require.NoError(t, err)
	lasts()
	_, err = d.claim(a)
	require.NoError(t, err)
	lasts()
	passed++
	got, err := d.claim(b)
	require.NoError(t, err)
	require.NotNil(t, got.Job, "the lease of a is over")
}

// A worker that waits for a trial says that it is there, and learns how long a lease is.
func TestHello(t *testing.T) {
	t.Parallel()
	d, _ := newTestServer(t, "lease = \"8s\"\n")
	w := &worker{conn: d.broker.conn, id: "a", dial: messaging.NewDialer(time.Second, time.Second),
		reconnection: make(chan struct{})}
	lease, err := w.hello(t.Context())
	require.NoError(t, err)
	require.Equal(t, 8*time.Second, lease)
	require.Equal(t, 4*time.Second, w.dial.Silence())
	all := d.workerStatus()
	require.Len(t, all, 1)
	require.Equal(t, "a", all[0].ID)
	require.EqualValues(t, -1, all[0].Trial)
}

// Workers that were not heard for two leases do not count. A hello that comes late leaves a worker its trial.
func TestWorkersThatAreHeard(t *testing.T) {
	t.Parallel()
	d, trial := newTestServer(t, "lease = \"8s\"\n")
	now := time.Now()
	d.now = func() time.Time { return now }
	for _, id := range []string{"a", "b"} {
		_, err := d.hello(request{Trial: -1, Worker: id})
		require.NoError(t, err)
	}
	require.Equal(t, 2, d.working())
	_, err := d.claim(request{Trial: trial, Worker: "a", Ack: "$JS.ACK.a"})
	require.NoError(t, err)
	_, err = d.hello(request{Trial: -1, Worker: "a"})
	require.NoError(t, err)
	runs := map[string]int64{}
	for _, w := range d.workerStatus() {
		runs[w.ID] = w.Trial
	}
	require.GreaterOrEqual(t, runs["a"], int64(0))
	require.EqualValues(t, -1, runs["b"])
	now = now.Add(16 * time.Second)
	require.Zero(t, d.working())
	_, err = d.hello(request{Trial: -1, Worker: "b"})
	require.NoError(t, err)
	require.Equal(t, 1, d.working())
}

// laterLeases are leases of which a write takes a time.
type laterLeases struct {
	jetstream.KeyValue
	pass func()
}

func (l laterLeases) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	revision, err := l.KeyValue.Put(ctx, key, value)
	l.pass()
	return revision, err
}

func (l laterLeases) Update(ctx context.Context, key string, value []byte, last uint64) (uint64, error) {
	revision, err := l.KeyValue.Update(ctx, key, value, last)
	l.pass()
	return revision, err
}

// slowBowls are bowls of a worker that stands still before a trial's first round.
type slowBowls struct {
	bowls
	still func()
}

func (s slowBowls) Backend(ctx context.Context, e run.Experiment) (xlabridge.Backend, error) {
	s.still()
	return s.bowls.Backend(ctx, e)
}

// A worker stands still for longer than a lease, and another one gets its trial. The first one says so when its
// next request is refused: a report, or the result of a trial without reports.
func TestLostTrialIsTold(t *testing.T) {
	for name, steps := range map[string]int{"report": 6, "result": 1} {
		d, trial := newTestServer(t, fmt.Sprintf("lease = \"15s\"\n[run]\nsteps = %d\n", steps))
		now := time.Now()
		d.now = func() time.Time { return now }
		var other reply
		w := &worker{conn: d.broker.conn, js: d.broker.js, id: "a", start: time.Now(), wait: time.Minute,
			reconnection: make(chan struct{}), runs: slowBowls{still: func() {
				d.mu.Lock()
				now = now.Add(16 * time.Second)
				d.mu.Unlock()
				var err error
				other, err = d.claim(request{Trial: trial, Worker: "b", Ack: "$JS.ACK.b"})
				require.NoError(t, err, name)
			}}}
		consumer, err := d.broker.js.Consumer(t.Context(), queueName, workersName)
		require.NoError(t, err)
		msg, err := consumer.Next()
		require.NoError(t, err)
		told := stderrOf(t, func() { require.NoError(t, w.runTrial(t.Context(), msg), name) })
		require.NotNil(t, other.Job, "%s: the worker b has the trial", name)
		require.Equal(t, fmt.Sprintf("trial %d was given to another worker, since the study had not heard of this one "+
			"for as long as a lease: this worker takes the next trial\n", trial), told, name)
	}
}
