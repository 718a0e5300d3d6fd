package messaging

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// checksPerSilence is how often a connection is checked within a silence.
const checksPerSilence = 8

// watch closes a connection after a silence. It ends when the connection is closed.
func (d *Dialer) watch(conn net.Conn) {
	c, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return // it is closed
	}
	go func() {
		var wait unanswered
		for {
			time.Sleep(max(d.Silence()/checksPerSilence, time.Millisecond))
			var info *unix.TCPInfo
			var failure error
			if err := raw.Control(func(fd uintptr) {
				info, failure = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			}); err != nil || failure != nil {
				return // it is closed
			}
			now := time.Now()
			acknowledged := now.Add(-time.Duration(info.Last_ack_recv) * time.Millisecond)
			// A full machine answers what is sent again, but takes none of it.
			answered := info.Unacked == 0 || info.Last_ack_recv <= info.Last_data_sent
			if wait.after(now, acknowledged, !answered) >= d.Silence() {
				_ = conn.Close()
				return
			}
		}
	}()
}
