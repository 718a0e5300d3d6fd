package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/internal/long"
	"xlarun/internal/network"
)

// messageServer is a NATS server that a test stops and starts again.
type messageServer struct {
	port int
	*natsserver.Server
}

// start starts the server, at the port that it had before.
func (m *messageServer) start(t *testing.T) {
	t.Helper()
	port := m.port
	if port == 0 {
		port = -1
	}
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: port, NoLog: true, NoSigs: true})
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(10*time.Second))
	m.Server, m.port = s, s.Addr().(*net.TCPAddr).Port
}

// stop stops the server.
func (m *messageServer) stop() {
	m.Shutdown()
	m.WaitForShutdown()
}

// Three hosts that are killed, suspended and cut off, with a server that goes away, have the metrics, the
// members and the last checkpoint of one host. One of them is never killed. What computes a chunk does not matter, so
// the short form interprets it.
func TestHostsUnderFaults(t *testing.T) {
	t.Parallel()
	histories, size := 1, "--policy linear --pop 64 --tile 8 --steps 10 --backend reference"
	if long.On() {
		histories, size = 50, "--policy mlp:16,16 --pop 256 --tile 16 --steps 500"
	}
	s := shelltest.New(t)
	args := strings.Fields("evolve CartPole-v1 --generations 30 --target 0 --eval-episodes 5 --devices 1 " +
		"--checkpoint-every 5 " + size)
	s.Do(t, append(args, "--out", "warm", "--generations", "1")...)
	began := time.Now()
	s.Do(t, append(args, "--out", "one")...)
	life := time.Since(began)
	first := uint64(began.UnixNano())
	for i := range uint64(histories) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			h := &history{s: s, args: args, folder: fmt.Sprintf("history-%d", i), life: 2 * life,
				random: rand.New(rand.NewPCG(first+i, 0))}
			t.Logf("seed %d, a life is %v", first+i, life)
			h.run(t)
		})
	}
}

// history is a run of several hosts and what happens to them.
type history struct {
	s      *shelltest.Shell
	args   []string
	folder string
	life   time.Duration // in which something happens
	random *rand.Rand
	server messageServer
	hosts  []*faultyHost
}

// faultyHosts is the number of hosts of a history. The first generation waits for all: the others may be done before a
// slow one joins, and the server keeps nothing that says so.
const faultyHosts = 3

// faultyHost is a host to which things happen.
type faultyHost struct {
	*network.Relay // to the server
	process        *shelltest.Process
	ended          chan int
	folders        []string // of its processes
}

func (h *history) run(t *testing.T) {
	const faults = 8
	h.server.start(t)
	defer func() { h.server.stop() }()
	for i := range faultyHosts {
		relay, err := network.NewRelay(h.server.Addr().String())
		require.NoError(t, err)
		t.Cleanup(relay.Down)
		h.hosts = append(h.hosts, &faultyHost{Relay: relay})
		h.start(t, i)
	}
	at := make([]time.Duration, faults)
	for i := range at {
		at[i] = time.Duration(h.random.Int64N(int64(h.life)))
	}
	slices.Sort(at)
	for i := range faultyHosts {
		require.Eventually(t, func() bool {
			_, err := os.Stat(h.s.Path(h.hosts[i].folders[0], "metrics.jsonl"))
			return err == nil
		}, time.Minute, time.Millisecond, "host %d does not begin: %s", i, &h.hosts[i].process.Err)
	}
	began := time.Now()
	for _, a := range at {
		select {
		case status := <-h.hosts[0].ended: // it is done
			h.hosts[0].ended <- status
		case <-time.After(time.Until(began.Add(a))):
			t.Logf("%5d ms: %s", time.Since(began).Milliseconds(), h.fault(t))
		}
	}
	for _, host := range h.hosts { // all is well again
		require.NoError(t, host.Up())
		_ = host.process.Process.Signal(syscall.SIGCONT)
	}
	for i, host := range h.hosts {
		status := h.wait(t, host)
		if status == 3 && strings.Contains(host.process.Err.String(), "cannot be reached") { // when it started
			h.start(t, i)
			status = h.wait(t, host)
		}
		require.Equal(t, 0, status, "host %d: %s", i, &host.process.Err)
		t.Logf("%5d ms: host %d is done", time.Since(began).Milliseconds(), i)
		last := host.folders[len(host.folders)-1]
		for _, file := range []string{"metrics.jsonl", "best.safetensors", "final.safetensors",
			"hall-of-fame-1.safetensors", "checkpoints/000030.safetensors", "config.toml"} {
			require.True(t, h.s.Read(t, "one", file) == h.s.Read(t, last, file), "%s of host %d", file, i)
		}
	}
}

// wait waits until a host's process ends. One that hangs shows what it does.
func (h *history) wait(t *testing.T, host *faultyHost) (status int) {
	t.Helper()
	select {
	case status = <-host.ended:
	case <-time.After(20*h.life + 20*time.Second):
		_ = host.process.Process.Signal(syscall.SIGQUIT)
		<-host.ended
		require.Fail(t, "a host hangs", "%s: %s", host.folders, &host.process.Err)
	}
	return status
}

// start starts a process of a host, in a new folder.
func (h *history) start(t *testing.T, i int) {
	host := h.hosts[i]
	out := filepath.Join(h.folder, fmt.Sprintf("host-%d-%d", i, len(host.folders)))
	args := slices.Concat(h.args, []string{"--out", out, "--join",
		fmt.Sprintf("nats://%s/%s", host.Address(), h.folder)})
	if len(host.folders) == 0 { // a later process may find that all others are done
		args = append(args, "--hosts", fmt.Sprint(faultyHosts))
	}
	host.folders = append(host.folders, out)
	host.process, host.ended = h.s.Command(args...), make(chan int, 1)
	require.NoError(t, host.process.Start())
	go func(p *shelltest.Process, ended chan int) { ended <- p.Ended() }(host.process, host.ended)
}

// fault lets something happen and returns what it was.
func (h *history) fault(t *testing.T) string {
	i := 1 + h.random.IntN(len(h.hosts)-1)
	host := h.hosts[i]
	switch h.random.IntN(5) {
	case 0:
		_ = host.process.Process.Kill()
		if status := <-host.ended; status >= 0 { // it was done
			host.ended <- status
			return fmt.Sprintf("host %d was done", i)
		}
		require.NoError(t, host.Up()) // it must reach the server
		h.start(t, i)
		return fmt.Sprintf("host %d is killed and joins anew", i)
	case 1:
		i = h.random.IntN(len(h.hosts))
		_ = h.hosts[i].process.Process.Signal(syscall.SIGSTOP)
		return fmt.Sprintf("host %d is suspended", i)
	case 2:
		for _, host := range h.hosts {
			_ = host.process.Process.Signal(syscall.SIGCONT)
			require.NoError(t, host.Up())
		}
		return "all go on"
	case 3:
		i = h.random.IntN(len(h.hosts))
		h.hosts[i].Down()
		return fmt.Sprintf("host %d is cut off", i)
	default:
		h.server.stop()
		away := time.Duration(h.random.Int64N(int64(h.life / 4)))
		time.Sleep(away)
		h.server.start(t)
		return fmt.Sprintf("the server was away for %v", away)
	}
}
