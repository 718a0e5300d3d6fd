package studies

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What hinders the message server: a store that it cannot use is made anew, an address that is taken costs nothing.
func TestEngineThatIsHindered(t *testing.T) {
	t.Parallel() // a server that does not start is waited for
	dir, socket := filepath.Join(t.TempDir(), "engine"), filepath.Join(t.TempDir(), "socket")
	open := func(l Listen) (*broker, error) { return openBroker(dir, socket, l, time.Second) }

	// A socket that cannot be bound is an error, not a panic.
	_, err := openBroker(filepath.Join(t.TempDir(), "engine"), filepath.Join(t.TempDir(), "none", "socket"), Listen{},
		time.Second)
	require.Error(t, err)

	// A store that is no folder is made anew.
	e, err := open(Listen{})
	require.NoError(t, err)
	require.Empty(t, e.damage)
	e.close()
	require.NoError(t, os.RemoveAll(filepath.Join(e.dir, "jetstream")))
	require.NoError(t, os.WriteFile(filepath.Join(e.dir, "jetstream"), []byte("x"), 0o600))
	e, err = open(Listen{})
	require.NoError(t, err)
	require.NotEmpty(t, e.damage)
	e.close()

	// Where the address is taken the store stays.
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	kept := filepath.Join(e.dir, "kept")
	require.NoError(t, os.WriteFile(kept, nil, 0o600))
	_, err = open(Listen{Address: taken.Addr().String()})
	require.ErrorAs(t, err, new(*net.OpError))
	e, err = open(Listen{})
	require.NoError(t, err)
	require.Empty(t, e.damage)
	e.close()
	require.FileExists(t, kept)
}

// After all leases were lost, the worker that is at work goes on with the revision that it knows; another's is
// refused.
func TestLeaseGivenBack(t *testing.T) {
	l := &lease{revision: 9, Former: []uint64{0, 7}}
	require.True(t, l.fences(9))
	require.True(t, l.fences(7))
	require.False(t, l.fences(8))
	require.False(t, l.fences(0))
	require.False(t, (&lease{revision: 9}).fences(0))
}

// TestQueueHasNoFiles: the server keeps a file about each consumer of a stream on disk. A flipped bit
// in it made the server take all memory of the machine, or deliver no trial. A store that still has it is made anew.
func TestQueueHasNoFiles(t *testing.T) {
	t.Parallel()
	dir, socket := filepath.Join(t.TempDir(), "engine"), filepath.Join(t.TempDir(), "socket")
	consumers := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, "*", "jetstream", "*", "streams", "*", "obs", "*"))
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

// A message server that purges a stream while its disk is full and its files are gone waits for itself for
// ever. The broker leaves it behind: its clients are disconnected, and the next broker listens on the same address.
func TestServerThatHangs(t *testing.T) {
	t.Parallel()
	dir, socket := filepath.Join(t.TempDir(), "engine"), filepath.Join(t.TempDir(), "socket")
	b, err := openBroker(dir, socket, Listen{Address: "127.0.0.1:0"}, 0)
	require.NoError(t, err)
	l := Listen{Address: b.address()}
	client, err := net.Dial("tcp", b.address())
	require.NoError(t, err)
	for _, trial := range []string{"1", "2", "3"} {
		_, err = b.leases.Put(t.Context(), trial, []byte("lease"))
		require.NoError(t, err)
	}
	fillDisk(t, filepath.Join(b.dir, "jetstream"))
	require.NoError(t, os.RemoveAll(filepath.Join(b.dir, "jetstream")))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, b.removeTrial(ctx, 2, ""), context.DeadlineExceeded, "it does not answer")
	require.Error(t, (&server{broker: b, leases: map[int64]*lease{}}).loadLeases(t.Context()))
	b.close()
	require.NoDirExists(t, b.dir)
	require.NoError(t, os.Mkdir(b.dir, 0o700)) // as the server may do
	_, err = io.Copy(io.Discard, client)
	require.NoError(t, err)
	next, err := openBroker(dir, socket, l, time.Second)
	require.NoError(t, err)
	defer next.close()
	require.Equal(t, l.Address, next.address())
	require.NotEqual(t, b.dir, next.dir, "the next broker has a folder of its own")
	require.NoDirExists(t, b.dir)
	_, err = next.leases.Put(t.Context(), "1", []byte("lease"))
	require.NoError(t, err)
}

// A trial that was delivered, and that nobody has claimed, is delivered again after half a lease.
func TestDeliveredAgainAfterHalfALease(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := openBroker(filepath.Join(dir, "engine"), filepath.Join(dir, "socket"), Listen{}, 400*time.Millisecond)
	require.NoError(t, err)
	defer b.close()
	require.NoError(t, b.publish(t.Context(), 7))
	queue, err := b.queue.Consumer(t.Context(), workersName)
	require.NoError(t, err)
	require.Equal(t, 200*time.Millisecond, queue.CachedInfo().Config.AckWait)
	for delivery := range uint64(2) {
		m, err := queue.Next()
		require.NoError(t, err)
		require.Equal(t, subjectOf(7), m.Subject())
		about, err := m.Metadata()
		require.NoError(t, err)
		require.Equal(t, delivery+1, about.NumDelivered)
	}
}

// fillDisk makes each write to the open files of a folder fail as on a full disk.
func fillDisk(t *testing.T, folder string) {
	full, err := unix.Open("/dev/full", unix.O_RDWR|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(full)) }()
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	filled := 0
	for _, file := range open {
		path, err := os.Readlink(filepath.Join("/proc/self/fd", file.Name()))
		if err != nil || !strings.HasPrefix(path, folder) || !strings.HasSuffix(path, ".blk") {
			continue
		}
		number, err := strconv.Atoi(file.Name())
		require.NoError(t, err)
		require.NoError(t, unix.Dup3(full, number, unix.O_CLOEXEC))
		filled++
	}
	require.Positive(t, filled)
}
