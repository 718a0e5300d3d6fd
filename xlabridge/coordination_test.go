package xlabridge_test

import (
	"context"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"xlarun/internal/messaging"
	"xlarun/xlabridge/coordination"
)

// at is the address of one server.
func at(url string) messaging.Address { return messaging.Address{URLs: []string{url}} }

// serve starts a message server.
func serve(t *testing.T, o natsserver.Options) coordination.Server {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs = "127.0.0.1", -1, true, true
	s, err := natsserver.NewServer(&o)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(s.Shutdown)
	require.True(t, s.ReadyForConnections(10*time.Second))
	return coordination.Server{Address: at("nats://" + s.Addr().String()), Token: o.Authorization}
}

// Two processes exchange keys as plugins name them. A get waits, a key has one value, meshes are apart.
func TestStore(t *testing.T) {
	server := serve(t, natsserver.Options{JetStream: true, StoreDir: t.TempDir(), Authorization: "secret"})
	a, err := coordination.Join(t.Context(), server, "one")
	require.NoError(t, err)
	defer a.Close()
	b, err := coordination.Join(t.Context(), server, "one")
	require.NoError(t, err)
	defer b.Close()
	other, err := coordination.Join(t.Context(), server, "other")
	require.NoError(t, err)
	defer other.Close()
	const key = "cuda:local_topology/node:1 ÷*>."
	_, ok, err := b.TryGet(key)
	require.NoError(t, err)
	require.False(t, ok)
	value := make([]byte, 100_000)
	value[7] = 1
	got := make(chan []byte, 1)
	go func() {
		data, _ := b.Get(t.Context(), key)
		got <- data
	}()
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, a.Put(key, value))
	require.Equal(t, value, <-got)
	data, err := b.Get(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, value, data)
	data, ok, err = b.TryGet(key)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, value, data)
	require.ErrorContains(t, a.Put(key, nil), "the mesh one was started before: give it another name")
	require.NoError(t, a.Put("", nil))
	data, ok, err = b.TryGet("")
	require.NoError(t, err)
	require.True(t, ok)
	require.Empty(t, data)
	_, ok, err = other.TryGet(key)
	require.NoError(t, err)
	require.False(t, ok)
	short, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err = other.Get(short, key)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// A process that waits for a key when the connection ends gets an error. It waited for ever.
func TestGetWhenTheConnectionEnds(t *testing.T) {
	server := serve(t, natsserver.Options{JetStream: true, StoreDir: t.TempDir()})
	a, err := coordination.Join(t.Context(), server, "one")
	require.NoError(t, err)
	time.AfterFunc(50*time.Millisecond, a.Close)
	_, err = a.Get(t.Context(), "key")
	require.ErrorContains(t, err, "the mesh one has lost its server")
}

// Servers that are away, that refuse, or that keep nothing are named in a sentence.
func TestServersThatCannotServe(t *testing.T) {
	_, err := coordination.Join(t.Context(), coordination.Server{Address: at("nats://127.0.0.1:1")}, "one")
	require.ErrorContains(t, err, "nats://127.0.0.1:1 cannot be reached")
	plain := serve(t, natsserver.Options{})
	_, err = coordination.Join(t.Context(), plain, "one")
	require.ErrorContains(t, err, "keeps nothing")
	locked := serve(t, natsserver.Options{JetStream: true, StoreDir: t.TempDir(), Authorization: "secret"})
	locked.Token = "wrong"
	_, err = coordination.Join(t.Context(), locked, "one")
	require.ErrorContains(t, err, "refuses the token of the variable XLARUN_TOKEN")
}
