package studies

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"xlarun/internal/credentials"
	"xlarun/internal/messaging"
	"xlarun/studies/study"
)

// Two studies are served at one message server that is neither's. One coordinator ends, and another one goes on: its
// worker stays connected. A third study under the same name is refused.
func TestStudiesJoinAServer(t *testing.T) {
	t.Parallel()
	b, err := openBus(Listen{Address: "127.0.0.1:0"}, "")
	require.NoError(t, err)
	defer b.close()
	at := func(name string) messaging.Server {
		return messaging.Server{Address: messaging.Address{URLs: []string{"nats://" + b.address()}, Name: name},
			Wait: time.Minute}
	}
	served := func(name string) (*Spec, *Coordinator) {
		_, s := written(t, "trials = 6\nsampler = \"random\"\npruner = \"none\"\n"+onlyX)
		server, c := at(name), coordinator(s)
		c.NoWorkers, c.Join = true, &server
		return s, c
	}
	moved, first := served("moved")
	other, second := served("other")
	ctx, stop := context.WithCancel(t.Context())
	first.Ended = func(*study.FrozenTrial, *study.FrozenTrial) { stop() }
	var joined atomic.Int64
	var all sync.WaitGroup
	for _, name := range []string{"moved", "other"} {
		all.Go(func() {
			require.NoError(t, JoinStudy(t.Context(), Join{Server: at(name), Joined: func(string) { joined.Add(1) }},
				bowls{}))
		})
	}
	all.Go(func() { require.NoError(t, second.Run(t.Context())) })
	require.Error(t, first.Run(ctx))
	again := coordinator(moved)
	again.NoWorkers, again.Join = true, first.Join
	said := ""
	again.Listening = func(address string) { said = address }
	again.Ended = func(x, _ *study.FrozenTrial) {
		if x.Number == 3 {
			_, third := served("moved")
			err := third.Run(t.Context())
			require.EqualError(t, err, "this study, or one of the same file, is served at nats://"+b.address()+
				"/moved already: wait for its end, or give another name")
		}
	}
	require.NoError(t, again.Run(t.Context()))
	all.Wait()
	require.Equal(t, "nats://"+b.address()+"/moved", said)
	require.EqualValues(t, 2, joined.Load())
	for _, s := range []*Spec{moved, other} {
		trials := trialsOf(t, s)
		require.Len(t, trials, 6)
		for _, x := range trials {
			require.Equal(t, study.Complete, x.State)
		}
	}
}

// A study whose message server is away says so: its page answered that all was well.
func TestThePingOfAStudyThatJoins(t *testing.T) {
	t.Parallel()
	b, err := openBus(Listen{Address: "127.0.0.1:0"}, "")
	require.NoError(t, err)
	_, s := written(t, "pruner = \"none\"\n")
	c := coordinator(s)
	c.NoWorkers = true
	c.Join = &messaging.Server{Address: messaging.Address{URLs: []string{"nats://" + b.address()}, Name: "study"}}
	require.ErrorContains(t, c.Ping(t.Context()), "the message server of --join has not answered yet")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	asked := func() error {
		within, done := context.WithTimeout(ctx, time.Second)
		defer done()
		return c.Ping(within)
	}
	require.Eventually(t, func() bool { return asked() == nil && c.Status().Ready }, time.Minute,
		10*time.Millisecond)
	b.close()
	require.Eventually(t, func() bool { return asked() != nil }, time.Minute, 10*time.Millisecond)
	require.EqualError(t, asked(), "the message server of --join does not answer")
	stop()
	require.Error(t, <-ended)
}

// A worker that still has a trial of the study that was served here before wrote its result into the trial of this
// one with the same number.
func TestAnotherStudysTrial(t *testing.T) {
	t.Parallel()
	x := newTestServer(t, "lease = \"8s\"\n")
	w := x.worker("a")
	w.study = "another"
	q := request{Trial: x.trial.ID, Result: study.Result{State: study.Complete, Values: []float64{1}}}
	r, err := w.ask(t.Context(), resultKind, q)
	require.NoError(t, err)
	require.True(t, r.Lost)
	require.Equal(t, x.id, r.Study)
	w.study = r.Study
	r, err = w.ask(t.Context(), resultKind, q)
	require.NoError(t, err)
	require.False(t, r.Lost)
	trial, err := x.server.trial(x.trial.ID)
	require.NoError(t, err)
	require.Equal(t, study.Complete, trial.State)
}

// With a token for each role a worker cannot pose as the coordinator, and a study that is served there needs the
// server's: with one token for all, everybody could do everything.
func TestRoles(t *testing.T) {
	t.Parallel()
	const worker, server = "the worker's token", "the server's token"
	b, err := openBus(Listen{Address: "127.0.0.1:0", Token: worker, ServerToken: server}, "")
	require.NoError(t, err)
	defer b.close()
	connect := func(token string) *nats.Conn {
		conn, err := nats.Connect(b.address(), nats.Token(token),
			nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		return conn
	}
	_, err = nats.Connect(b.address(), nats.Token("another"))
	require.ErrorIs(t, err, nats.ErrAuthorization)
	of, as := connect(server), connect(worker)
	heard, err := of.SubscribeSync("xlarun.study.>")
	require.NoError(t, err)
	require.NoError(t, of.Flush())
	for _, kind := range []string{overKind, freeKind} {
		require.NoError(t, as.Publish(subject(kind, "x"), nil))
		require.NoError(t, as.Flush())
		require.ErrorIs(t, as.LastError(), nats.ErrPermissionViolation)
	}
	require.NoError(t, as.Publish(subject(nextKind, "x"), nil))
	require.NoError(t, as.Publish(subject(resultKind, ""), nil))
	for _, want := range []string{"xlarun.study.next.x", "xlarun.study.result"} {
		m, err := heard.NextMsg(time.Minute)
		require.NoError(t, err)
		require.Equal(t, want, m.Subject)
	}
	spy := connect(worker)
	_, err = spy.SubscribeSync(subject(nextKind, "*"))
	require.NoError(t, err)
	require.NoError(t, spy.Flush())
	require.ErrorIs(t, spy.LastError(), nats.ErrPermissionViolation)

	// What hosts and islands keep at the server.
	js, err := connect(worker).JetStream()
	require.NoError(t, err)
	notes, err := messaging.Bucket(js, nats.KeyValueConfig{Bucket: "notes"})
	require.NoError(t, err)
	_, err = notes.PutString("a", "b")
	require.NoError(t, err)
	keys, err := messaging.Keys(notes)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, keys)
	_, err = notes.Get("a")
	require.NoError(t, err)
	require.NoError(t, notes.Delete("a"))
	store, err := messaging.Objects(js, nats.ObjectStoreConfig{Bucket: "members", Storage: nats.MemoryStorage})
	require.NoError(t, err)
	for range 2 { // the second one replaces the first
		_, err = store.PutBytes("a", make([]byte, 1<<20))
		require.NoError(t, err)
	}
	data, err := store.GetBytes("a")
	require.NoError(t, err)
	require.Len(t, data, 1<<20)

	_, s := written(t, "trials = 1\nsampler = \"random\"\npruner = \"none\"\n"+onlyX)
	c := coordinator(s)
	at := messaging.Server{Address: messaging.Address{URLs: []string{"nats://" + b.address()}}, Token: worker}
	c.NoWorkers, c.Join = true, &at
	c.Listening = func(string) { require.Equal(t, server, at.Token, "workers cannot join it") }
	err = c.Run(t.Context())
	refused, ok := errors.AsType[*messaging.CodedError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, messaging.CodeRefused, refused.ErrorCode())
	require.EqualError(t, err, "the server at nats://"+b.address()+" does not let this token serve a study: give the "+
		"token of its line server, which is not that of workers, or a user that may subscribe to xlarun.study.>")
	at.Token = server
	guest := at
	guest.Token, guest.Wait = worker, time.Minute
	done := make(chan error)
	go func() { done <- JoinStudy(t.Context(), Join{Server: guest}, bowls{}) }()
	require.NoError(t, c.Run(t.Context()))
	require.NoError(t, <-done)
}

// A worker that a server of others lets do nothing says so: it waited for an answer.
func TestAWorkerWithoutPermission(t *testing.T) {
	t.Parallel()
	const seed = "SUAAFCPAHF3U47WGZCCKXWOM5H3H7LO7UILNHZ3JKNK6GULPA5W4WXR3EQ"
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true,
		Nkeys: []*natsserver.NkeyUser{{Nkey: "UA5NMOT52CW63FEQOS4IZWNWSM35MULI6PDWRXZEUZRMQNTGRP2DF5WY",
			Permissions: &natsserver.Permissions{Publish: &natsserver.SubjectPermission{Deny: []string{">"}}}}}})
	require.NoError(t, err)
	require.NoError(t, startServer(s))
	defer s.Shutdown()
	file := filepath.Join(t.TempDir(), "nkey")
	require.NoError(t, os.WriteFile(file, []byte(seed), 0o600))
	at := messaging.Server{Address: messaging.Address{URLs: []string{"nats://" + s.Addr().String()}}, Wait: time.Hour}
	require.NoError(t, at.Use(credentials.Files{NKey: file}, credentials.Worker))
	err = JoinStudy(t.Context(), Join{Server: at}, bowls{})
	require.ErrorIs(t, err, ErrRefused)
	require.ErrorContains(t, err, "lets nobody work by this token, or as this user: give a worker's")
}
