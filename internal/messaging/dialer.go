package messaging

import (
	"net"
	"sync"
	"time"
)

// Dialer makes TCP connections that end when the other machine has acknowledged nothing that was sent for a time. The
// link is cut then, or that machine is gone. The kernel alone would wait twice as long after each attempt: a connection
// whose link was cut for a while would stay silent for up to as long again. A server that is only slow keeps its
// connections, since its kernel acknowledges what arrives. On other systems than Linux connections end as the kernel
// has it.
//
// It implements nats.CustomDialer.
type Dialer struct {
	timeout time.Duration // of a connection that is made

	mu      sync.Mutex
	silence time.Duration
	last    net.Conn
}

// NewDialer returns a dialer. A connection is made within timeout, and ends after a silence.
func NewDialer(timeout, silence time.Duration) *Dialer {
	return &Dialer{timeout: timeout, silence: silence}
}

// Dial implements nats.CustomDialer.
func (d *Dialer) Dial(network, address string) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, d.timeout)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = conn
	endAfter(conn, d.silence)
	return conn, nil
}

// SetSilence sets the silence after which connections end, also for the last one that was made.
func (d *Dialer) SetSilence(silence time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.silence == silence {
		return
	}
	d.silence = silence
	if d.last != nil {
		endAfter(d.last, silence)
	}
}
