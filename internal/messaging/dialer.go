package messaging

import (
	"net"
	"sync/atomic"
	"time"
)

// Dialer makes TCP connections that close when the other machine has acknowledged nothing of what was sent for a time.
// The link is cut then, or that machine is gone. The kernel doubles its waits between attempts. So after a cut, a
// connection would stay silent for about as long again. On other systems than Linux connections end as the kernel has
// it.
//
// The kernel of a server that is stopped or slow still acknowledges, so its connections stay. TCP_USER_TIMEOUT (RFC
// 5482) would close them on Linux once the server's buffer is full.
//
// It implements nats.CustomDialer.
type Dialer struct {
	timeout time.Duration // of a connection that is made
	silence atomic.Int64  // nanoseconds
}

// NewDialer returns a dialer. A connection is made within timeout, and closes after a silence.
func NewDialer(timeout, silence time.Duration) *Dialer {
	d := &Dialer{timeout: timeout}
	d.SetSilence(silence)
	return d
}

// Dial implements nats.CustomDialer.
func (d *Dialer) Dial(network, address string) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, d.timeout)
	if err != nil {
		return nil, err
	}
	d.watch(conn)
	return conn, nil
}

// SetSilence sets the silence after which connections close, also those that were made before.
func (d *Dialer) SetSilence(silence time.Duration) { d.silence.Store(int64(silence)) }

// Silence is the silence after which connections close.
func (d *Dialer) Silence() time.Duration { return time.Duration(d.silence.Load()) }

// unanswered is how long a connection has waited for an acknowledgement.
type unanswered struct {
	since time.Time // when it began to wait; zero: it does not wait
}

// after returns how long the connection has waited. waits says whether it waits now, and acknowledged is when the last
// acknowledgement came.
func (u *unanswered) after(now, acknowledged time.Time, waits bool) time.Duration {
	switch {
	case !waits:
		u.since = time.Time{}
		return 0
	case u.since.IsZero() || acknowledged.After(u.since):
		u.since = now
	}
	return now.Sub(u.since)
}
