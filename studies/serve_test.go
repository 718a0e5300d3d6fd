package studies

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"xlarun/internal/messaging"
)

// Two studies that begin at once under one name were both served: neither answered when the other asked.
func TestStudiesThatBeginAtOnce(t *testing.T) {
	t.Parallel()
	b, err := openBus(Listen{Address: "127.0.0.1:0"}, "")
	require.NoError(t, err)
	defer b.close()
	at := messaging.Server{Address: messaging.Address{URLs: []string{"nats://" + b.address()}}, Wait: time.Minute}
	come := func(id string) (*server, error) {
		s := &server{id: id}
		return s, s.join(t.Context(), at)
	}
	first, err := come("a")
	require.NoError(t, err)
	for id, wants := range map[string]string{"b": "another study is served at " + at.Address.String() +
		" under this name", "a": "this study, or one of the same file, is served at " +
		at.Full() + " already"} {
		other, err := come(id)
		other.close()
		require.ErrorContains(t, err, wants)
	}
	first.close()
	others, errs := make(chan *server, 3), make(chan error, 3)
	for _, id := range []string{"a", "b", "c"} {
		go func() {
			s, err := come(id)
			others <- s
			errs <- err
		}()
	}
	served := 0
	for range 3 {
		if <-errs == nil {
			served++
		}
	}
	for range 3 {
		(<-others).close()
	}
	require.Equal(t, 1, served)
}

// A worker that was refused some message, and whose question nobody took, ended as if it were refused.
func TestAnotherSubjectsViolation(t *testing.T) {
	t.Parallel()
	const token, own = "the worker's token", "the server's token"
	b, err := openBus(Listen{Address: "127.0.0.1:0", Token: token, ServerToken: own}, "")
	require.NoError(t, err)
	defer b.close()
	conn, err := nats.Connect(b.address(), nats.Token(token),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.Publish(subject(overKind, ""), nil))
	require.NoError(t, conn.Flush())
	require.ErrorIs(t, conn.LastError(), nats.ErrPermissionViolation)
	w := &worker{conn: conn, start: time.Now(), wait: time.Minute, reconnection: make(chan struct{}),
		free: make(chan struct{}, 1), end: func(error) {}}
	done := make(chan error, 1)
	go func() {
		_, err := w.ask(t.Context(), nextKind, request{})
		done <- err
	}()
	select {
	case err := <-done:
		require.FailNow(t, "it ended", "%v", err)
	case <-time.After(5 * askAgain):
	}
	s, err := b.connect(own)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Subscribe(subject(nextKind, ""), func(m *nats.Msg) {
		data, _ := encoded(reply{})
		_ = m.Respond(data)
	})
	require.NoError(t, err)
	require.NoError(t, <-done)
}

// A server that ends waits for workers that give their trials back, not for those that go on, and gives no more.
func TestLeaveWorkersThatGoOn(t *testing.T) {
	defer func(d time.Duration) { leaveQuiet = d }(leaveQuiet)
	leaveQuiet = 20 * time.Millisecond
	x := newTestServer(t, "")
	require.False(t, x.asks(x.beat, request{Worker: "a"}).Lost)
	began := time.Now()
	x.leave(time.Hour)
	require.Less(t, time.Since(began), time.Minute)
	require.Len(t, x.running(), 1)

	ctx, stop := context.WithCancel(t.Context())
	stop()
	y := &workerExecutor{c: x.c, bus: x.bus, server: x.server, check: time.NewTicker(time.Hour),
		beat: time.NewTicker(time.Hour)}
	x.c.pool = x.c.newPool()
	require.ErrorIs(t, y.close(ctx, ctx.Err()), context.Canceled)
	x.asks(x.release, request{Worker: "a"})
	require.Nil(t, x.asks(x.next, request{Worker: "b"}).Job)
}

// A worker of this machine that stood still and was then killed counted twice.
func TestDeathsOfSilentWorkers(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]int{ownWorker + "a": 0, "a": 1} {
		x := newTestServer(t, "lease = \"8s\"\n")
		x.c.server.Store(x.server)
		require.False(t, x.asks(x.beat, request{Worker: id}).Lost)
		x.pass(10 * time.Second)
		require.Equal(t, want, x.c.Deaths(), id)
	}
}
