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
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Names of what the engine holds.
const (
	queueName   = "trials"      // the stream of trials that are to be run: a message trials.ID each, which is empty
	workersName = "workers"     // its consumer
	leasesName  = "leases"      // the bucket of leases, by the trial's ID
	keptName    = "checkpoints" // the store of checkpoints
	deskPrefix  = "desk."       // subjects of requests to the coordinator
	overSubject = "over"        // what is said there is heard by all workers: the study is over
)

// largestMessage is that of a result with half a million reports.
const largestMessage = 8 << 20

// Listen is where workers of other machines join a study; the zero value is nowhere.
type Listen struct {
	Address string // HOST:PORT
	Token   string // what workers have to know; "" for nothing
	TLS     *tls.Config
}

// Check refuses to let anybody in who can reach the machine.
func (l Listen) Check() error {
	if l.Address == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(l.Address)
	if err != nil {
		return fmt.Errorf("the address to listen on, %q, wants HOST:PORT", l.Address)
	}
	ip := net.ParseIP(host)
	if near := host == "localhost" || ip != nil && ip.IsLoopback(); !near && l.Token == "" && (l.TLS == nil || l.TLS.ClientCAs == nil) {
		return fmt.Errorf("%s can be reached from other machines: give a token, or TLS with a client authority, or listen on 127.0.0.1", l.Address)
	}
	return nil
}

// engine is a NATS server in this process, with what a study needs of JetStream. All of it can be lost: it is made anew of the
// database.
type engine struct {
	server *server.Server
	conn   *nats.Conn
	js     jetstream.JetStream
	queue  jetstream.Stream
	leases jetstream.KeyValue
	kept   jetstream.ObjectStore
	socket net.Listener
	dir    string
	damage string // why what was there could not be used; "" where it could
}

// openEngine opens the engine of a place, whose store is made anew where it cannot be used. Redelivery waits for so long.
func openEngine(dir, socket string, l Listen, wait time.Duration) (*engine, error) {
	// The mark stands while the store is opened: a process that a damaged store killed leaves it behind.
	mark := filepath.Join(dir, "opening")
	damage := ""
	if _, err := os.Stat(mark); err == nil {
		damage = "the process that opened it last died of it"
	} else if e, err := tryEngine(dir, mark, socket, l, wait); err == nil {
		return e, nil
	} else if errors.As(err, new(*net.OpError)) {
		return nil, errors.Join(err, os.Remove(mark)) // the address, not the store
	} else {
		damage = err.Error()
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	e, err := tryEngine(dir, mark, socket, l, wait)
	if err != nil {
		return nil, err
	}
	e.damage = damage
	return e, nil
}

func tryEngine(dir, mark, socket string, l Listen, wait time.Duration) (opened *engine, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return nil, err
	}
	o := &server.Options{ServerName: "xlarun", DontListen: l.Address == "", JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true, DisableJetStreamBanner: true,
		JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 1 << 50, MaxPayload: largestMessage, Authorization: l.Token, TLSTimeout: 5}
	if l.TLS != nil {
		o.TLSConfig = l.TLS.Clone()
		if l.TLS.ClientCAs != nil {
			o.TLSConfig.ClientAuth = tls.RequireAndVerifyClientCert
		}
	}
	if l.Address != "" {
		host, port, _ := net.SplitHostPort(l.Address)
		o.Host = host
		if o.Port, err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("the address to listen on, %q, wants HOST:PORT", l.Address)
		}
		probe, err := net.Listen("tcp", l.Address) // the server only logs what hinders it
		if err != nil {
			return nil, err
		}
		if o.Port == 0 {
			o.Port = probe.Addr().(*net.TCPAddr).Port
		}
		_ = probe.Close()
	}
	e := &engine{dir: dir}
	if e.server, err = server.NewServer(o); err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the message server panicked: %v", p)
		}
		if err != nil {
			e.close()
		}
	}()
	e.server.Start()
	if !e.server.ReadyForConnections(20*time.Second) || !e.server.JetStreamEnabled() {
		return nil, errors.New("the message server does not start with its store")
	}
	if e.conn, err = nats.Connect("", nats.InProcessServer(e.server), nats.Token(l.Token), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond)); err != nil {
		return nil, err
	}
	if err := e.make(wait); err != nil {
		return nil, err
	}
	_ = os.Remove(socket) // of one that was killed
	if e.socket, err = net.Listen("unix", socket); err != nil {
		return nil, err
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, err
	}
	go e.accept(e.socket)
	return e, os.Remove(mark)
}

// make makes streams and buckets, or finds them.
func (e *engine) make(wait time.Duration) (err error) {
	if e.js, err = jetstream.New(e.conn); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	// A trial stands in the queue once, however often it is published.
	if e.queue, err = e.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: queueName, Subjects: []string{queueName + ".*"}, Retention: jetstream.WorkQueuePolicy,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true}); err != nil {
		return err
	}
	if _, err = e.queue.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{Durable: workersName, AckPolicy: jetstream.AckExplicitPolicy, AckWait: wait, MaxDeliver: -1, MaxAckPending: -1}); err != nil {
		return err
	}
	if e.leases, err = e.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: leasesName}); err != nil {
		return err
	}
	e.kept, err = e.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: keptName})
	return err
}

// accept lets processes of this machine in by the socket.
func (e *engine) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		inner, err := e.server.InProcessConn()
		if err != nil {
			_ = c.Close()
			continue
		}
		for _, pair := range [][2]net.Conn{{c, inner}, {inner, c}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1]) // it ends when either side does
				_, _ = pair[0].Close(), pair[1].Close()
			}()
		}
	}
}

// lost tells that somebody removed the store.
func (e *engine) lost() error {
	c := e.server.JetStreamConfig()
	if c == nil {
		return errors.New("JetStream has given its store up")
	}
	_, err := os.Stat(c.StoreDir)
	return err
}

// address is where the engine listens; "" for nowhere.
func (e *engine) address() string {
	if a, ok := e.server.Addr().(*net.TCPAddr); ok && a != nil {
		return a.String()
	}
	return ""
}

func (e *engine) close() {
	if e.socket != nil {
		_ = e.socket.Close()
	}
	if e.conn != nil {
		e.conn.Close()
	}
	e.server.Shutdown()
	e.server.WaitForShutdown()
}

func subjectOf(trial int64) string { return queueName + "." + strconv.FormatInt(trial, 10) }

// publish puts a trial into the queue, if it does not stand there.
func (e *engine) publish(ctx context.Context, trial int64) error {
	_, err := e.js.Publish(ctx, subjectOf(trial), nil)
	if err != nil && strings.Contains(err.Error(), "maximum messages per subject") {
		return nil
	}
	return err
}

// purge takes trials out of the queue.
func (e *engine) purge(ctx context.Context, trial int64) error {
	return e.queue.Purge(ctx, jetstream.WithPurgeSubject(subjectOf(trial)))
}

// forget removes the lease of a trial that is over, with no trace, and its checkpoint.
func (e *engine) forget(ctx context.Context, trial int64, object string) error {
	bucket, err := e.js.Stream(ctx, "KV_"+leasesName)
	if err != nil {
		return err
	}
	if err := bucket.Purge(ctx, jetstream.WithPurgeSubject("$KV."+leasesName+"."+strconv.FormatInt(trial, 10))); err != nil || object == "" {
		return err
	}
	return e.drop(ctx, object)
}

// drop removes a checkpoint, with no trace.
func (e *engine) drop(ctx context.Context, object string) error {
	if err := e.kept.Delete(ctx, object); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	return nil
}
