package cli

import (
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
)

// Doctor joins a mesh by a server, and says what is wrong with the flags, the server and the backend.
func TestMesh(t *testing.T) {
	b := newBed(t)
	for want, args := range map[string][]string{
		`--coordinator got "here", wants nats://HOST:PORT/NAME`:       {"--coordinator", "here"},
		`--coordinator got "nats://a:1", wants a name after`:          {"--coordinator", "nats://a:1"},
		`--coordinator got "nats://u:p@a:1/n", wants an address with`: {"--coordinator", "nats://u:p@a:1/n"},
		"need --coordinator nats://HOST:PORT/NAME":                    {"--process-id", "1"},
		"--coordinator needs --num-processes, how many processes":     {"--coordinator", "nats://a:1/n"},
		"--num-processes got -1 and --process-id 0, wants a number of": {"--coordinator", "nats://a:1/n",
			"--num-processes", "-1"},
		"--num-processes got 2 and --process-id 2, wants a number of": {"--coordinator", "nats://a:1/n",
			"--num-processes", "2", "--process-id", "2"},
	} {
		b.refused(t, want, append([]string{"doctor"}, args...)...)
	}
	b.err.b.Reset()
	require.Equal(t, console.StatusNoServer, b.do("doctor", "--coordinator", "nats://127.0.0.1:1/n", "--num-processes",
		"2"))
	require.Contains(t, b.err.String(), "nats://127.0.0.1:1 cannot be reached")

	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: t.TempDir()})
	require.NoError(t, err)
	s.Start()
	defer s.Shutdown()
	require.True(t, s.ReadyForConnections(10*time.Second))
	b.out.b.Reset()
	require.Equal(t, StatusFailed, b.do("doctor", "--coordinator", "nats://"+s.Addr().String()+"/n", "--num-processes",
		"2"))
	require.Contains(t, b.out.String(), "its plugin forms no mesh of several processes")
}
