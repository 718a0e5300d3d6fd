package pool

import (
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/messaging"
	"xlarun/rollout/settings"
)

// serve starts a message server; port -1: any.
func serve(t *testing.T, port int, keeps bool) (*natsserver.Server, messaging.Server) {
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: port, NoLog: true, NoSigs: true,
		JetStream: keeps, StoreDir: t.TempDir()})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(s.Shutdown)
	require.True(t, s.ReadyForConnections(10*time.Second))
	address, err := messaging.Parse("nats://" + s.Addr().String())
	require.NoError(t, err)
	return s, messaging.Server{Address: address}
}

// joined opens an island.
func joined(t *testing.T, s messaging.Server, island string) *Pool {
	p := Join(s, "x", island)
	p.Members = "one network"
	require.NoError(t, p.Open(t.Context()))
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// left lets an island leave members, with the given returns.
func left(t *testing.T, p *Pool, generation int64, size int, fitness ...float32) {
	k := len(fitness)
	require.NoError(t, p.Leave(generation, Entry{Genomes: graph.Float32s(make([]float32, k*size), k, size),
		Fitness: graph.Float32s(fitness), Descent: graph.Float32s(make([]float32, k), k, 1)}, []string{p.island}))
}

// come waits until members have arrived, and returns where they are from.
func come(t *testing.T, p *Pool, count, size int) (from []string) {
	draw := rand.New(rand.NewPCG(1, 2))
	require.Eventually(t, func() bool {
		for _, m := range p.Arrive(10, size, draw) {
			from = append(from, m.id())
		}
		return len(from) >= count
	}, time.Minute, 10*time.Millisecond, "%v of %s", from, p.island)
	return from
}

func init() { beatEvery, aliveFor = 200*time.Millisecond, 1500*time.Millisecond }

// Members travel by messages, each once, and an island that comes late gets those that are there: it got none until
// the others left new ones. Those of islands that have left or are silent are not taken. A name belongs to one run.
func TestIslandsExchangeMessages(t *testing.T) {
	t.Parallel()
	_, server := serve(t, -1, true)
	a, b := joined(t, server, "a"), joined(t, server, "b.") // no key of NATS
	left(t, b, 10, 3, 1, 2)
	require.ElementsMatch(t, []string{"b./10/0", "b./10/1"}, come(t, a, 2, 3))
	late := joined(t, server, "late")
	require.ElementsMatch(t, []string{"b./10/0", "b./10/1"}, come(t, late, 2, 3))
	left(t, b, 20, 1<<20, 3) // more than a message holds
	require.Equal(t, []string{"b./20/0"}, come(t, a, 1, 1<<20), "they arrive once")

	twin := Join(server, "x", "b.")
	var refused *messaging.CodedError
	require.ErrorAs(t, twin.Open(t.Context()), &refused)
	require.Equal(t, messaging.CodeRefused, refused.Code)
	require.ErrorContains(t, refused, `another run, which is under way, is island "b." at nats://127.0.0.1`)
	require.NoError(t, twin.Close())
	again := Join(server, "another", "b.")
	require.NoError(t, again.Open(t.Context()), "of another pool")
	require.NoError(t, again.Close())

	// One of another network, an island that has ended, and one that is lost, whose name is free then.
	late.Members = "another network"
	left(t, late, 10, 3, 7)
	require.Eventually(t, func() bool {
		require.Empty(t, a.Arrive(1, 1<<20, nil))
		return strings.Contains(strings.Join(a.Skipped, "\n"), "generation 10 of island late is skipped: its members "+
			"are of")
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, late.Close())
	b.medium.(*messages).conn.Close()
	require.Eventually(t, func() bool { return len(a.medium.entries()) == 0 }, time.Minute, 10*time.Millisecond)
	joined(t, server, "b.")
}

// A server that comes back has lost what it held: islands, which were alone meanwhile, bring it again, also those that
// leave no new members.
func TestIslandsOutliveTheirServer(t *testing.T) {
	t.Parallel()
	s, server := serve(t, -1, true)
	a, b := joined(t, server, "a"), joined(t, server, "b")
	left(t, a, 10, 3, 1)
	come(t, b, 1, 3)
	port := s.Addr().(*net.TCPAddr).Port
	s.Shutdown()
	s.WaitForShutdown()
	require.Eventually(t, func() bool { return len(b.medium.entries()) == 0 }, time.Minute, 10*time.Millisecond)
	left(t, b, 10, 3, 2)
	serve(t, port, true)
	require.Equal(t, []string{"b/10/0"}, come(t, a, 1, 3))
	late := joined(t, server, "late")
	require.ElementsMatch(t, []string{"a/10/0", "b/10/0"}, come(t, late, 2, 3))
}

// A server that keeps nothing, or too little, says so.
func TestServersThatKeepTooLittle(t *testing.T) {
	t.Parallel()
	_, server := serve(t, -1, false)
	p := Join(server, "x", "a")
	var wrong *settings.Error
	require.ErrorAs(t, p.Open(t.Context()), &wrong)
	require.ErrorContains(t, wrong, "a server that keeps members, xlarun serve or nats-server -js: ")
	require.NoError(t, p.Close())

	s, server := serve(t, -1, true)
	require.NoError(t, s.GlobalAccount().UpdateJetStreamLimits(map[string]natsserver.JetStreamAccountLimits{
		"": {MaxMemory: 100, MaxStore: 100, MaxStreams: 10, MaxConsumers: 100}}))
	p = joined(t, server, "a")
	left(t, p, 10, 3, 1)
	require.Eventually(t, func() bool { p.Arrive(1, 3, nil); return len(p.Skipped) > 0 }, time.Minute,
		10*time.Millisecond)
	require.Contains(t, p.Skipped[0], "what this island has left is skipped: nats://127.0.0.1")
}
