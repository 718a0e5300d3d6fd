package rdb

import (
	"net"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"xlarun/studies/rdb/rdbtest"
)

// The kernel asks after two seconds whether a server still knows a connection, and asks for five minutes.
func TestKeepAlive(t *testing.T) {
	d := opened(t, rdbtest.Start(t).Database(t))
	conn, err := d.write.Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	require.NoError(t, conn.Raw(func(driver any) error {
		raw, err := driver.(*stdlib.Conn).Conn().PgConn().Conn().(*net.TCPConn).SyscallConn()
		require.NoError(t, err)
		return raw.Control(func(fd uintptr) {
			for option, want := range map[int]int{unix.TCP_KEEPIDLE: 2, unix.TCP_KEEPINTVL: 3, unix.TCP_KEEPCNT: 100} {
				got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option)
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
		})
	}))
}
