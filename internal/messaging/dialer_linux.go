package messaging

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// endAfter ends a connection when what was sent is not acknowledged for a time (RFC 5482).
func endAfter(conn net.Conn, silence time.Duration) {
	c, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return // it is closed
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silence.Milliseconds()))
	})
}
