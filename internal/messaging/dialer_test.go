package messaging

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The connection to a machine that takes nothing, but whose kernel acknowledges, stays through many silences,
// and loses no byte.
func TestSlowReaderKeepsItsConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	d := NewDialer(time.Second, time.Second)
	d.SetSilence(100 * time.Millisecond) // a kernel may acknowledge 40 ms later
	conn, err := d.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	server, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, conn.SetWriteDeadline(time.Now().Add(600*time.Millisecond)))
	sent := int64(0)
	for err == nil { // until the buffers are full and the deadline is over
		var n int
		n, err = conn.Write(make([]byte, 1<<20))
		sent += int64(n)
	}
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	read := make(chan int64)
	go func() {
		n, _ := io.Copy(io.Discard, server)
		read <- n
	}()
	require.NoError(t, conn.Close())
	require.Equal(t, sent, <-read)
	_, err = d.Dial("tcp", "127.0.0.1:1")
	require.Error(t, err)
}

// A connection waits from the moment when something is not acknowledged, until an acknowledgement comes.
func TestUnanswered(t *testing.T) {
	var u unanswered
	start := time.Now()
	second := func(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }
	for i, c := range []struct {
		now, acknowledged int
		waits             bool
		want              int
	}{
		{100, 0, false, 0}, // nothing was sent for a long time
		{101, 0, true, 0},
		{103, 0, true, 2},
		{104, 103, true, 0}, // some of it was acknowledged
		{107, 103, true, 3},
		{108, 107, false, 0},
		{109, 107, true, 0},
		{110, 107, true, 1},
	} {
		got := u.after(second(c.now), second(c.acknowledged), c.waits)
		require.Equal(t, time.Duration(c.want)*time.Second, got, "step %d", i)
	}
}
