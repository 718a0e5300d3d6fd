package studies

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// What hinders the message server: a store that it cannot use is made anew, an address that is taken costs nothing.
func TestEngineThatIsHindered(t *testing.T) {
	t.Parallel() // a server that does not start is waited for
	dir, socket := filepath.Join(t.TempDir(), "engine"), filepath.Join(t.TempDir(), "socket")
	open := func(l Listen) (*broker, error) { return openBroker(dir, socket, l, time.Second) }

	// Case 1: a socket that cannot be bound is an error, not a panic.
	_, err := openBroker(filepath.Join(t.TempDir(), "engine"), filepath.Join(t.TempDir(), "none", "socket"), Listen{},
		time.Second)
	require.Error(t, err)

	// Case 2: a store that is no folder is made anew.
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jetstream"), []byte("x"), 0o600))
	e, err := open(Listen{})
	require.NoError(t, err)
	require.NotEmpty(t, e.damage)
	e.close()

	// Case 3: where the address is taken the store stays.
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	kept := filepath.Join(dir, "kept")
	require.NoError(t, os.WriteFile(kept, nil, 0o600))
	_, err = open(Listen{Address: taken.Addr().String()})
	require.ErrorAs(t, err, new(*net.OpError))
	e, err = open(Listen{})
	require.NoError(t, err)
	require.Empty(t, e.damage)
	e.close()
	require.FileExists(t, kept)
}

// Case 4: after all leases were lost, the worker that is at work goes on with the revision that it knows; another's is
// refused.
func TestLeaseGivenBack(t *testing.T) {
	l := &lease{revision: 9, Former: []uint64{0, 7}}
	require.True(t, l.fences(9))
	require.True(t, l.fences(7))
	require.False(t, l.fences(8))
	require.False(t, l.fences(0))
	require.False(t, (&lease{revision: 9}).fences(0))
}

// TestQueueHasNoFiles (case 27.44): the server keeps a file about each consumer of a stream on disk. A flipped bit
// in it made the server take all memory of the machine, or deliver no trial. A store that still has it is made anew.
func TestQueueHasNoFiles(t *testing.T) {
	t.Parallel()
	dir, socket := filepath.Join(t.TempDir(), "engine"), filepath.Join(t.TempDir(), "socket")
	consumers := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*", "obs", "*"))
		require.NoError(t, err)
		return found
	}
	b, err := openBroker(dir, socket, Listen{}, time.Second)
	require.NoError(t, err)
	require.NoError(t, b.publish(t.Context(), 1))
	_, err = b.leases.Put(t.Context(), "1", []byte("lease"))
	require.NoError(t, err)
	require.Empty(t, consumers())

	require.NoError(t, b.js.DeleteStream(t.Context(), queueName))
	queue, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: queueName, Subjects: []string{
		queueName + ".*"}, Retention: jetstream.WorkQueuePolicy})
	require.NoError(t, err)
	_, err = queue.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: workersName})
	require.NoError(t, err)
	require.NotEmpty(t, consumers())
	b.close()
	b, err = openBroker(dir, socket, Listen{}, time.Second)
	require.NoError(t, err)
	defer b.close()
	require.NotEmpty(t, b.damage)
	require.Empty(t, consumers())
}
