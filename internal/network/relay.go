package network

import (
	"net"
	"sync"
	"time"
)

// Relay forwards TCP connections to an address, over a link. A connection has no packets, so data that a link loses
// arrives later, as it does when TCP sends it again.
type Relay struct {
	to, at   string // HOST:PORT
	link     linkState
	mu       sync.Mutex
	listener net.Listener // nil while the relay is down
	conns    map[net.Conn]bool
}

const (
	// retransmitDelay is the time after which TCP sends again what was lost, at first.
	retransmitDelay = 200 * time.Millisecond
	// connQueueLength bounds the packets of a connection that have not arrived.
	connQueueLength = 1 << 12
)

// NewRelay starts a relay to an address, HOST:PORT.
func NewRelay(to string) (*Relay, error) {
	r := &Relay{to: to, at: "127.0.0.1:0", conns: map[net.Conn]bool{}}
	return r, r.Up()
}

// Address returns the address of the relay, HOST:PORT.
func (r *Relay) Address() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

// Set changes the link.
func (r *Relay) Set(l Link) { r.link.set(l) }

// Up lets connections through.
func (r *Relay) Up() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener != nil {
		return nil
	}
	l, err := net.Listen("tcp", r.at)
	if err != nil {
		return err
	}
	r.listener, r.at = l, l.Addr().String()
	go r.accept(l)
	return nil
}

// Down refuses connections and closes those that are open.
func (r *Relay) Down() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener == nil {
		return
	}
	_ = r.listener.Close()
	for c := range r.conns {
		_ = c.Close()
	}
	r.listener, r.conns = nil, map[net.Conn]bool{}
}

func (r *Relay) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		go r.connect(l, client)
	}
}

// connect connects a client that came by a listener.
func (r *Relay) connect(l net.Listener, client net.Conn) {
	upstream, err := net.Dial("tcp", r.to)
	if err != nil {
		_ = client.Close()
		return
	}
	r.mu.Lock()
	if r.listener != l { // it is down by now
		_, _ = client.Close(), upstream.Close()
	}
	r.conns[client], r.conns[upstream] = true, true
	r.mu.Unlock()
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{client, upstream}, {upstream, client}} {
		both.Go(func() {
			r.carry(pair[0], pair[1])
			_, _ = pair[0].Close(), pair[1].Close()
		})
	}
	both.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, client)
	delete(r.conns, upstream)
}

// carry copies what it reads over the link, and its end too.
func (r *Relay) carry(to, from net.Conn) {
	packets, stop := make(chan packet, connQueueLength), make(chan struct{})
	defer close(stop)
	go func() {
		defer close(packets)
		for {
			b := make([]byte, 1<<16)
			n, err := from.Read(b)
			link := r.link.take()
			p := packet{time.Now().Add(link.Delay), b[:n]}
			if !link.Cut && link.dropped() {
				p.due = p.due.Add(retransmitDelay)
			}
			select {
			case packets <- p:
			case <-stop:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range packets {
		sleepUntil(p.due)
		link, changed := r.link.get()
		for ; link.Cut; link, changed = r.link.get() {
			<-changed
		}
		time.Sleep(link.time(len(p.data)))
		if _, err := to.Write(p.data); err != nil {
			return
		}
	}
}
