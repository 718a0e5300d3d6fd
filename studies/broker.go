package studies

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Names in the broker.
const (
	queueName       = "trials"      // stream of the trials that are to run: an empty message trials.ID for each
	workersName     = "workers"     // consumer of the stream
	leasesName      = "leases"      // bucket of the leases, by the ID of the trial
	checkpointsName = "checkpoints" // object store of the checkpoints
	requestPrefix   = "desk."       // subjects of requests to the server
	overSubject     = "over"        // a message there tells all workers that the study is over
)

// largestMessage in bytes is the size of a result with half a million reports.
const largestMessage = 8 << 20

// Listen says where workers of other machines join a study. With the zero value they cannot.
type Listen struct {
	Address string // HOST:PORT
	Token   string // secret that workers have to send; "" for none
	TLS     *tls.Config
}

// Check returns an error if everybody who can reach the machine could join.
func (l Listen) Check() error {
	if l.Address == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(l.Address)
	if err != nil {
		return fmt.Errorf("the address to listen on, %q, wants HOST:PORT", l.Address)
	}
	ip := net.ParseIP(host)
	if near := host == "localhost" || ip != nil && ip.IsLoopback(); !near && l.Token == "" &&
		(l.TLS == nil || l.TLS.ClientCAs == nil) {
		return fmt.Errorf("%s can be reached from other machines: give a token, or TLS with a client authority, or "+
			"listen on 127.0.0.1", l.Address)
	}
	return nil
}

// options returns the settings of a message server with the token and the certificates.
func (l Listen) options() *natsserver.Options {
	o := &natsserver.Options{ServerName: "xlarun", DontListen: l.Address == "", NoLog: true, NoSigs: true,
		MaxPayload: largestMessage, Authorization: l.Token, TLSTimeout: 5}
	if l.TLS != nil {
		o.TLSConfig = l.TLS.Clone()
		if l.TLS.ClientCAs != nil {
			o.TLSConfig.ClientAuth = tls.RequireAndVerifyClientCert
		}
	}
	return o
}

// broker is a NATS server in this process: the queue of trials, the leases and the checkpoints of a study. All of it
// may be lost, since it can be rebuilt from the database.
//
// The server itself listens on 127.0.0.1 only. Connections from outside go through listeners of the broker, so that a
// server that hangs keeps neither the address nor the clients.
type broker struct {
	server      *natsserver.Server
	conn        *nats.Conn
	js          jetstream.JetStream
	queue       jetstream.Stream
	leases      jetstream.KeyValue
	checkpoints jetstream.ObjectStore
	socket      net.Listener  // for processes of this machine
	remote      net.Listener  // for other machines; nil: they cannot join
	dir         string        // its files
	limit       time.Duration // for which the server is waited for
	damage      string        // why the files that were there could not be used; "" if they could
	over        sync.Once

	mu      sync.Mutex
	clients map[net.Conn]bool // connections of the listeners
	closed  bool
}

// A server may take half a lease to store a lease, to answer and to end, within these bounds. The server (2.15.2) waits
// for itself for ever if its disk is full, or its files are gone, when it purges a stream: the purge holds the lock
// that the server needs to count the messages that it has lost.
const shortestWait, longestWait = 500 * time.Millisecond, 5 * time.Second

// patience returns how long a server is waited for, given the time of a lease.
func patience(lease time.Duration) time.Duration { return min(longestWait, max(lease/2, shortestWait)) }

// openBroker starts the broker whose files are in a folder of dir. It makes the files anew if they cannot be used. A
// trial that was delivered is delivered again after half a lease, unless the server says meanwhile that it runs. It may
// have been delivered to a worker that had just ended, or by a connection whose link was cut.
func openBroker(dir, socket string, l Listen, lease time.Duration) (*broker, error) {
	// The mark exists while the files are opened. If damaged files crash the process, the mark stays.
	mark := filepath.Join(dir, "opening")
	damage := ""
	if _, err := os.Stat(mark); err == nil {
		damage = "the process that opened it last died of it"
	} else if b, err := tryBroker(dir, mark, socket, l, lease); err == nil {
		return b, nil
	} else if errors.As(err, new(*net.OpError)) {
		return nil, errors.Join(err, os.Remove(mark)) // the address, not the store
	} else {
		damage = err.Error()
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	b, err := tryBroker(dir, mark, socket, l, lease)
	if err != nil {
		return nil, err
	}
	b.damage = damage
	return b, nil
}

// storeName is the file that names the folder of the last broker's files.
const storeName = "store"

// storeIn returns the folder of a broker's files in dir: that of the last broker if it ended, else a new one.
func storeIn(dir string) (string, error) {
	file := filepath.Join(dir, storeName)
	if name, err := os.ReadFile(file); err == nil && filepath.Base(string(name)) == string(name) {
		path := filepath.Join(dir, string(name))
		if info, err := os.Lstat(path); err == nil && info.IsDir() && path != dir {
			return path, nil
		}
	}
	former, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, entry := range former {
		if entry.IsDir() {
			_ = os.RemoveAll(filepath.Join(dir, entry.Name())) // a server that hangs may write there
		}
	}
	path, err := os.MkdirTemp(dir, "store-*")
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(file, []byte(filepath.Base(path)), 0o600)
}

func tryBroker(dir, mark, socket string, l Listen, lease time.Duration) (opened *broker, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return nil, err
	}
	store, err := storeIn(dir)
	if err != nil {
		return nil, err
	}
	o := l.options()
	o.Host, o.Port = "127.0.0.1", natsserver.RANDOM_PORT
	o.JetStream, o.StoreDir, o.DisableJetStreamBanner = true, store, true
	o.JetStreamMaxMemory, o.JetStreamMaxStore = 256<<20, 1<<50
	b := &broker{dir: store, limit: patience(lease), clients: map[net.Conn]bool{}}
	if l.Address != "" { // before the server is there, which needs time to end
		if b.remote, err = net.Listen("tcp", l.Address); err != nil {
			return nil, err
		}
	}
	if b.server, err = natsserver.NewServer(o); err != nil {
		if b.remote != nil {
			_ = b.remote.Close()
		}
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the message server panicked: %v", p)
		}
		if err != nil {
			b.close()
		}
	}()
	if err := started(b.server); err != nil {
		return nil, err
	}
	if !b.server.JetStreamEnabled() {
		return nil, errors.New("the message server does not start with its store")
	}
	if b.conn, err = nats.Connect("", nats.InProcessServer(b.server), nats.Token(l.Token), nats.MaxReconnects(-1),
		nats.ReconnectWait(20*time.Millisecond)); err != nil {
		return nil, err
	}
	if err := b.createStreams(lease); err != nil {
		return nil, err
	}
	_ = os.Remove(socket) // of one that was killed
	if b.socket, err = net.Listen("unix", socket); err != nil {
		return nil, err
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, err
	}
	go b.accept(b.socket, b.server.InProcessConn)
	if b.remote != nil {
		go b.accept(b.remote, func() (net.Conn, error) { return net.Dial("tcp", b.server.Addr().String()) })
	}
	return b, os.Remove(mark)
}

// started starts a message server and waits until it is ready.
func started(s *natsserver.Server) error {
	failure := &fatalError{}
	s.SetLogger(failure, false, false)
	s.Start()
	if failure.err != nil {
		return fmt.Errorf("the message server does not start: %w", failure.err)
	}
	if !s.ReadyForConnections(20 * time.Second) {
		return errors.New("the message server does not start")
	}
	return nil
}

// fatalError is a logger of the message server that keeps its fatal error: Start does not return it.
type fatalError struct{ err error }

func (f *fatalError) Fatalf(format string, v ...any) { f.err = fmt.Errorf(format, v...) }
func (*fatalError) Noticef(string, ...any)           {}
func (*fatalError) Warnf(string, ...any)             {}
func (*fatalError) Errorf(string, ...any)            {}
func (*fatalError) Debugf(string, ...any)            {}
func (*fatalError) Tracef(string, ...any)            {}

// createStreams makes the streams and buckets that do not exist.
func (b *broker) createStreams(lease time.Duration) (err error) {
	if b.js, err = jetstream.New(b.conn, jetstream.WithDefaultTimeout(b.limit)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	// A trial is in the queue once, however often it is published. The queue has no files, since the database has the
	// open trials, and the server's file about a consumer has no checksum: a flipped bit there made the server take all
	// memory, or deliver no trial.
	if b.queue, err = b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: queueName, Subjects: []string{
		queueName + ".*"}, Storage: jetstream.MemoryStorage, Retention: jetstream.WorkQueuePolicy,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true}); err != nil {
		return err
	}
	if _, err = b.queue.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{Durable: workersName,
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: lease / 2, MaxDeliver: -1, MaxAckPending: -1}); err != nil {
		return err
	}
	if b.leases, err = b.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: leasesName}); err != nil {
		return err
	}
	b.checkpoints, err = b.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: checkpointsName})
	return err
}

// accept connects the clients of a listener with the server.
func (b *broker) accept(l net.Listener, dial func() (net.Conn, error)) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		inner, err := dial()
		if err != nil {
			_ = client.Close()
			continue
		}
		b.mu.Lock()
		b.clients[client] = true
		closed := b.closed
		b.mu.Unlock()
		if closed {
			_ = client.Close()
		}
		for _, pair := range [][2]net.Conn{{client, inner}, {inner, client}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1]) // it ends when either side does
				_, _ = pair[0].Close(), pair[1].Close()
				b.mu.Lock()
				defer b.mu.Unlock()
				delete(b.clients, client)
			}()
		}
	}
}

// checkStore returns an error if the files of the broker were removed.
func (b *broker) checkStore() error {
	c := b.server.JetStreamConfig()
	if c == nil {
		return errors.New("JetStream has given its store up")
	}
	_, err := os.Stat(c.StoreDir)
	return err
}

// address returns the address on which the broker listens; "" if it does not.
func (b *broker) address() string {
	if b.remote == nil {
		return ""
	}
	return b.remote.Addr().String()
}

// announceEnd tells all workers that the study is over.
func (b *broker) announceEnd() {
	_ = b.conn.Publish(overSubject, nil)
	_ = b.conn.Flush()
	if b.address() != "" {
		time.Sleep(50 * time.Millisecond) // the server still has to send it to other machines
	}
}

// close ends the server, or leaves it behind without files if it hangs.
func (b *broker) close() { b.over.Do(b.shutdown) }

func (b *broker) shutdown() {
	for _, l := range []net.Listener{b.socket, b.remote} {
		if l != nil {
			_ = l.Close()
		}
	}
	if b.conn != nil {
		b.conn.Close()
	}
	over := make(chan struct{})
	go func() {
		b.server.Shutdown()
		b.server.WaitForShutdown()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(b.limit):
		// The server may write into its folder for a while, and make it again. The next broker has another one.
		_ = os.Remove(filepath.Join(filepath.Dir(b.dir), storeName))
		_ = os.RemoveAll(b.dir)
	}
	// A server that shuts down may leave a new connection without an answer: the worker would wait for it.
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for c := range b.clients {
		_ = c.Close()
	}
}

func subjectOf(trial int64) string { return queueName + "." + strconv.FormatInt(trial, 10) }

// publish puts a trial into the queue if it is not there.
func (b *broker) publish(ctx context.Context, trial int64) error {
	_, err := b.js.Publish(ctx, subjectOf(trial), nil)
	if err != nil && strings.Contains(err.Error(), "maximum messages per subject") {
		return nil
	}
	return err
}

// purge removes a trial from the queue.
func (b *broker) purge(ctx context.Context, trial int64) error {
	return b.queue.Purge(ctx, jetstream.WithPurgeSubject(subjectOf(trial)))
}

// removeTrial removes the lease of a finished trial, with its history in the bucket, and its checkpoint.
func (b *broker) removeTrial(ctx context.Context, trial int64, object string) error {
	bucket, err := b.js.Stream(ctx, "KV_"+leasesName)
	if err != nil {
		return err
	}
	if err := bucket.Purge(ctx, jetstream.WithPurgeSubject("$KV."+leasesName+"."+strconv.FormatInt(trial, 10))); err !=
		nil || object == "" {
		return err
	}
	return b.removeCheckpoint(ctx, object)
}

// removeCheckpoint removes a checkpoint.
func (b *broker) removeCheckpoint(ctx context.Context, object string) error {
	if err := b.checkpoints.Delete(ctx, object); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	return nil
}
