package studies

import (
	"cmp"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"xlarun/internal/messaging"
)

// largestMessage in bytes is the size of a result with half a million reports.
const largestMessage = 8 << 20

// Listen says where workers of other machines join a study. With the zero value they cannot.
type Listen struct {
	Address string // HOST:PORT
	Token   string // secret that workers have to send; "" for none
	// ServerToken is that of a coordinator; "": Token, which lets everybody do everything. Else workers can do only
	// what workers do.
	ServerToken string
	TLS         *tls.Config
}

// Check returns an error if everybody who can reach the machine could join.
func (l Listen) Check() error {
	if l.Address == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(l.Address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
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
	if l.ServerToken != "" {
		o.Authorization, o.CustomClientAuthentication = "", roles(l)
	}
	if l.TLS != nil {
		o.TLSConfig = l.TLS.Clone()
		if l.TLS.ClientCAs != nil {
			o.TLSConfig.ClientAuth = tls.RequireAndVerifyClientCert
		}
	}
	return o
}

// own returns the token of the coordinator.
func (l Listen) own() string { return cmp.Or(l.ServerToken, l.Token) }

// roles lets clients do what their token is for.
type roles Listen

// Check implements the server's Authentication.
func (r roles) Check(c natsserver.ClientAuthentication) bool {
	is := func(token string) bool {
		return subtle.ConstantTimeCompare([]byte(c.GetOpts().Token), []byte(token)) == 1
	}
	if is(r.Token) {
		c.RegisterUser(&natsserver.User{Permissions: workerMay()})
	}
	return is(r.Token) || is(r.ServerToken)
}

// workerMay returns what a worker, a host and an island may do. No worker can answer others, or tell them that the
// study is over.
func workerMay() *natsserver.Permissions {
	own := []string{messaging.Run + ">", "$JS.API.>", "$JS.FC.>", "$KV.>", "$O.>"}
	heard := []string{messaging.Run + ">", "_INBOX.>"}
	for kind := range answers {
		own = append(own, subject(kind, ""), subject(kind, "*"))
	}
	for _, kind := range []string{freeKind, overKind} {
		heard = append(heard, subject(kind, ""), subject(kind, "*"))
	}
	return &natsserver.Permissions{Publish: &natsserver.SubjectPermission{Allow: own},
		Subscribe: &natsserver.SubjectPermission{Allow: heard}}
}

// setAddress sets the address of a message server that listens itself. The server only logs what hinders it, so the
// address is tried first.
func (l Listen) setAddress(o *natsserver.Options) error {
	probe, err := net.Listen("tcp", l.Address)
	if err != nil {
		return err
	}
	o.Host, _, _ = net.SplitHostPort(l.Address)
	o.Port = probe.Addr().(*net.TCPAddr).Port
	return probe.Close()
}

// bus is a NATS server in this process. It carries the requests of workers, and where it listens for other machines
// also the messages of hosts that compute one population.
type bus struct {
	server *natsserver.Server
	socket net.Listener // for processes of this machine; nil: they use the address
	remove func()       // removes what the server keeps
}

// openBus starts a bus. socket is the path of a Unix socket; "" for none.
func openBus(l Listen, socket string) (b *bus, err error) {
	o := l.options()
	b = &bus{remove: func() {}}
	if l.Address != "" {
		if err := l.setAddress(o); err != nil {
			return nil, err
		}
		// Hosts have it keep which runs are done, processes of one mesh what they tell each other, islands members.
		if o.StoreDir, b.remove, err = newStore(os.TempDir()); err != nil {
			return nil, err
		}
		o.JetStream, o.DisableJetStreamBanner = true, true
		o.JetStreamMaxMemory, o.JetStreamMaxStore = 512<<20, 64<<20 // pods of the examples have 1 GiB
	}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.server, err = natsserver.NewServer(o); err != nil {
		return b, err
	}
	if err := startServer(b.server); err != nil {
		return b, err
	}
	if socket == "" {
		return b, nil
	}
	_ = os.Remove(socket) // of one that was killed
	if b.socket, err = net.Listen("unix", socket); err != nil {
		return b, err
	}
	go b.accept()
	return b, os.Chmod(socket, 0o600)
}

// startServer starts a message server and waits until it is ready.
func startServer(s *natsserver.Server) error {
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

// accept connects clients of the socket with the server, which has no listener for sockets.
func (b *bus) accept() {
	for {
		client, err := b.socket.Accept()
		if err != nil {
			return
		}
		inner, err := b.server.InProcessConn()
		if err != nil {
			_ = client.Close()
			continue
		}
		for _, pair := range [][2]net.Conn{{client, inner}, {inner, client}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1]) // it ends when either side does
				_, _ = pair[0].Close(), pair[1].Close()
			}()
		}
	}
}

// connect returns a connection of this process with the server. It comes back if a process that stood still for long
// has lost it.
func (b *bus) connect(token string) (*nats.Conn, error) {
	return nats.Connect("", nats.InProcessServer(b.server), nats.Token(token), nats.MaxReconnects(-1),
		nats.ReconnectWait(20*time.Millisecond))
}

// address returns the address on which the server listens.
func (b *bus) address() string { return b.server.Addr().String() }

// closeTime is how long a server is waited for. One (2.15.2) that purges a stream while its disk is full waits for
// itself for ever.
const closeTime = 5 * time.Second

// close ends the server.
func (b *bus) close() {
	if b.socket != nil {
		_ = b.socket.Close()
	}
	over := make(chan struct{})
	go func() {
		if b.server != nil {
			b.server.Shutdown()
			b.server.WaitForShutdown()
		}
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(closeTime):
	}
	b.remove()
}

const (
	// storePattern is the name of a folder with what a message server that listens keeps.
	storePattern = "xlarun-serve-*"
	// storeLock is a file in it, which its process has locked.
	storeLock = "lock"
	// newStoreTime is how long a folder counts as one whose process has not locked it yet.
	newStoreTime = time.Minute
)

// newStore makes a folder for a message server's data in a folder. remove removes it. Those that processes which were
// killed have left are removed first.
func newStore(in string) (dir string, remove func(), err error) {
	removeStores(in, time.Now().Add(-newStoreTime))
	if dir, err = os.MkdirTemp(in, storePattern); err != nil {
		return "", nil, err
	}
	lock, ok, err := tryLock(filepath.Join(dir, storeLock))
	if err == nil && !ok {
		err = errors.New("another process has locked the folder " + dir)
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() {
		_ = os.RemoveAll(dir)
		_ = lock.Unlock()
	}, nil
}

// removeStores removes the folders of newStore that were made before a time, and whose process has ended. Those of
// other users stay.
func removeStores(in string, before time.Time) {
	locks, _ := filepath.Glob(filepath.Join(in, storePattern, storeLock))
	for _, lock := range locks {
		info, err := os.Lstat(lock)
		if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
			continue
		}
		if held, err := locked(lock); err == nil && !held {
			_ = os.RemoveAll(filepath.Dir(lock))
		}
	}
}
