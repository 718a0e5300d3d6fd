package messaging

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// 32.180: connections end after the silence that a dialer has, the last one too if it is set later.
func TestDialerSilence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	d := NewDialer(time.Second, 1500*time.Millisecond)
	d.SetSilence(2 * time.Second) // before there is a connection
	silence := func(c net.Conn) (milliseconds int) {
		raw, err := c.(*net.TCPConn).SyscallConn()
		require.NoError(t, err)
		require.NoError(t, raw.Control(func(fd uintptr) {
			milliseconds, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
		}))
		require.NoError(t, err)
		return milliseconds
	}
	first, err := d.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	require.Equal(t, 2000, silence(first))
	d.SetSilence(300 * time.Millisecond)
	require.Equal(t, 300, silence(first))
	require.NoError(t, first.Close())
	d.SetSilence(400 * time.Millisecond) // the connection is closed
	second, err := d.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	require.Equal(t, 400, silence(second))
	require.NoError(t, second.Close())
	_, err = d.Dial("tcp", "127.0.0.1:1")
	require.Error(t, err)
}
