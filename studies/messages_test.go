package studies

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"xlarun/internal/messaging"
	"xlarun/rollout/evolve/hosts"
)

// A message server without a study never ended. It ends by itself when a run has reached its goal and all hosts have
// left, says when nobody uses it, tells workers that the study is over, and lets hosts leave before it does.
func TestMessagesEnd(t *testing.T) {
	quiet, nobody := quietFor, nobodyFor
	defer func() { quietFor, nobodyFor = quiet, nobody }()
	quietFor = 200 * time.Millisecond
	const token = "a-token-of-16-or-more"
	serve := func(ctx context.Context, m Messages) (address string, end chan error) {
		at := make(chan string, 1)
		m.Listen = Listen{Address: "127.0.0.1:0", Token: token}
		m.Listening = func(address string) { at <- address }
		end = make(chan error, 1)
		go func() { end <- m.Serve(ctx) }()
		return <-at, end
	}
	connected := func(address string) *nats.Conn {
		conn, err := nats.Connect(address, nats.Token(token))
		require.NoError(t, err)
		return conn
	}
	address, end := serve(t.Context(), Messages{UntilDone: true})
	host := connected(address)
	js, err := host.JetStream()
	require.NoError(t, err)
	notes, err := js.CreateKeyValue(&nats.KeyValueConfig{Bucket: messaging.Runs, Storage: nats.MemoryStorage})
	require.NoError(t, err)
	put := func(name string, done bool) {
		text, err := json.Marshal(hosts.Note{Done: done})
		require.NoError(t, err)
		_, err = notes.Put(name, text)
		require.NoError(t, err)
	}
	put("run", true)
	put("try", false)
	stays := func(why string) {
		select {
		case err := <-end:
			require.FailNow(t, why, "%v", err)
		case <-time.After(2 * quietFor):
		}
	}
	host.Close()
	stays("it ended while the hosts of a run were to come back")
	host = connected(address)
	js, err = host.JetStream()
	require.NoError(t, err)
	notes, err = js.KeyValue(messaging.Runs)
	require.NoError(t, err)
	put("try", true)
	stays("it ended while a host was there")
	host.Close()
	require.NoError(t, <-end)

	nobodyFor = quietFor
	_, end = serve(t.Context(), Messages{UntilDone: true})
	require.ErrorIs(t, <-end, ErrNobody)

	ctx, cancel := context.WithCancel(t.Context())
	address, end = serve(ctx, Messages{Leave: func() time.Duration { return time.Minute }})
	host = connected(address)
	_, err = host.SubscribeSync(messaging.Run + "try.all")
	require.NoError(t, err)
	require.NoError(t, host.Flush())
	cancel()
	select {
	case err := <-end:
		require.FailNow(t, "it left before its client", "%v", err)
	case <-time.After(quietFor):
	}
	host.Close()
	require.NoError(t, <-end)

	// It took all of that time for islands, which only ask for what it keeps.
	ctx, cancel = context.WithCancel(t.Context())
	address, end = serve(ctx, Messages{Hosted: &Hosted{}, Leave: func() time.Duration { return time.Hour }})
	island := connected(address)
	defer island.Close()
	js, err = island.JetStream()
	require.NoError(t, err)
	_, err = js.CreateKeyValue(&nats.KeyValueConfig{Bucket: "members", Storage: nats.MemoryStorage})
	require.NoError(t, err)
	cancel()
	require.NoError(t, <-end)
}

// A worker that has missed the message that its study is over ends when the address file says so: it waited, then
// failed.
func TestAWorkerMissesTheEnd(t *testing.T) {
	t.Parallel()
	b, err := openBus(Listen{Address: "127.0.0.1:0"}, "")
	require.NoError(t, err)
	defer b.close()
	conn, err := nats.Connect(b.address())
	require.NoError(t, err)
	defer conn.Close()
	sub, err := conn.Subscribe(subject(nextKind, ""), func(m *nats.Msg) { // a coordinator that answers once
		data, _ := encoded(reply{Busy: time.Millisecond, Lease: time.Second})
		_ = m.Respond(data)
	})
	require.NoError(t, err)
	require.NoError(t, sub.AutoUnsubscribe(1))
	require.NoError(t, conn.Flush())
	file := filepath.Join(t.TempDir(), "server")
	require.NoError(t, os.WriteFile(file, []byte("nats://"+b.address()), 0o600))
	at := messaging.Server{Address: messaging.Address{File: file}, Wait: time.Hour}
	require.NoError(t, JoinStudy(t.Context(), Join{Server: at, Joined: func(string) {
		require.NoError(t, os.WriteFile(file, []byte(messaging.Over), 0o600))
	}}, nil))
}
