package rdbtest

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Proxy forwards connections to a server. Tests use it as a server that goes away and comes back at once.
type Proxy struct {
	to, at   string // HOST:PORT
	mu       sync.Mutex
	listener net.Listener // nil while the proxy is down
	conns    []net.Conn
}

// NewProxy starts a proxy for the server of a database and returns the URL of the database through it.
func NewProxy(t testing.TB, database string) (p *Proxy, through string) {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	p = &Proxy{to: u.Host, at: "127.0.0.1:0"}
	require.NoError(t, p.Up())
	t.Cleanup(p.Down)
	u.Host = p.at
	return p, u.String()
}

// Up lets connections through.
func (p *Proxy) Up() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, err := net.Listen("tcp", p.at)
	if err != nil {
		return err
	}
	p.listener, p.at = l, l.Addr().String()
	go p.accept(l)
	return nil
}

// Down refuses connections and closes those that are open.
func (p *Proxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		return
	}
	_ = p.listener.Close()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.listener, p.conns = nil, nil
}

func (p *Proxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		if p.listener != l { // it is down by now
			_, _ = client.Close(), server.Close()
		}
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1]) // it ends when either side does
				_, _ = pair[0].Close(), pair[1].Close()
			}()
		}
	}
}
