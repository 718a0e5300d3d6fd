package pool

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/messaging"
	"xlarun/rollout/evolve/hosts"
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
	address, err := messaging.Parse("nats://" + s.Addr().String() + "/x")
	require.NoError(t, err)
	return s, messaging.Server{Address: address, Wait: time.Minute} // the machine may be busy
}

// joining returns an island that is not open. One that is silent is lost after the given time.
func joining(s messaging.Server, island string, alive time.Duration) *Pool {
	p := Join(s, island)
	p.Members = "one network"
	p.medium.(*messages).alive = alive
	return p
}

// joined opens an island. No beat is so late that it is lost.
func joined(t *testing.T, s messaging.Server, island string) *Pool {
	return opened(t, joining(s, island, time.Minute))
}

func opened(t *testing.T, p *Pool) *Pool {
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

func init() { beatEvery = 200 * time.Millisecond }

// Members travel by messages, each once, and an island that comes late gets those that are there: it got none until
// the others left new ones. Those of islands that have left are not taken. A name belongs to one run.
func TestIslandsExchangeMessages(t *testing.T) {
	t.Parallel()
	_, server := serve(t, -1, true)
	a, b := joined(t, server, "a"), joined(t, server, "b.") // no key of NATS
	left(t, b, 10, 3, 1, 2)
	require.ElementsMatch(t, []string{"b./10/0", "b./10/1"}, come(t, a, 2, 3))
	late := joined(t, server, "late")
	require.Equal(t, [3]int{0, 1, 2}, [3]int{a.Others(), b.Others(), late.Others()})
	require.ElementsMatch(t, []string{"b./10/0", "b./10/1"}, come(t, late, 2, 3))
	left(t, b, 20, 1<<20, 3) // more than a message holds
	require.Equal(t, []string{"b./20/0"}, come(t, a, 1, 1<<20), "they arrive once")

	twin := joining(server, "b.", time.Second/2) // how long it waits
	var refused *messaging.CodedError
	require.ErrorAs(t, twin.Open(t.Context()), &refused)
	require.Equal(t, messaging.CodeRefused, refused.Code)
	require.ErrorContains(t, refused, `another run, which is under way, is island "b." at nats://127.0.0.1`)
	require.NoError(t, twin.Close())
	another := server
	another.Name = "another"
	again := Join(another, "b.")
	require.NoError(t, again.Open(t.Context()), "of another pool")
	require.NoError(t, again.Close())

	// One of another network, and an island that has ended.
	late.Members = "another network"
	left(t, late, 10, 3, 7)
	require.Eventually(t, func() bool {
		require.Empty(t, a.Arrive(1, 1<<20, nil))
		return strings.Contains(strings.Join(a.Skipped, "\n"), "generation 10 of island late is skipped: its members "+
			"are of")
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, late.Close())
	require.Eventually(t, func() bool { return len(a.medium.entries()) == 1 }, time.Minute, 10*time.Millisecond)
}

// An island that is lost is not taken, and its name is free.
func TestIslandIsLost(t *testing.T) {
	t.Parallel()
	_, server := serve(t, -1, true)
	const alive = 1500 * time.Millisecond
	a, b := opened(t, joining(server, "a", alive)), opened(t, joining(server, "b", alive))
	left(t, b, 10, 3, 1)
	come(t, a, 1, 3)
	b.medium.(*messages).conn.Close()
	require.Eventually(t, func() bool { return len(a.medium.entries()) == 0 }, time.Minute, 10*time.Millisecond)
	opened(t, joining(server, "b", alive))
}

// bucket opens a bucket that there is.
func bucket(t *testing.T, server messaging.Server, name string) nats.KeyValue {
	conn, err := server.Connect(t.Context(), "test")
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := conn.JetStream()
	require.NoError(t, err)
	kv, err := js.KeyValue(name)
	require.NoError(t, err)
	return kv
}

// An island that was suspended for long leaves its name to the process that has it now: it took it back, and both had
// it. An island whose key has ended meanwhile, or whose beat had no answer, keeps its name. An island without its name
// writes nothing at its end, even if the name is free by then: its note hid that the other process was done.
func TestSuspendedIslandLosesItsName(t *testing.T) {
	t.Parallel()
	_, server := serve(t, -1, true)
	a := joined(t, server, "a")
	m, keys := a.medium.(*messages), bucket(t, server, "xlarun-pool-x")
	revision := func() uint64 {
		e, err := keys.Get(key("a"))
		if err != nil {
			return 0
		}
		return e.Revision()
	}
	last, err := keys.Put(key("a"), []byte(m.process))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return revision() > last }, time.Minute, 10*time.Millisecond)
	require.NoError(t, keys.Purge(key("a")))
	require.Eventually(t, func() bool { return revision() > 0 }, time.Minute, 10*time.Millisecond)
	left(t, a, 10, 3, 1)

	last, err = keys.PutString(key("a"), "another process")
	require.NoError(t, err)
	var refused *messaging.CodedError
	require.Eventually(t, func() bool {
		return errors.As(a.medium.leave(20, [1]*graph.Array{graph.Float32s([]float32{1})},
			nil), &refused)
	}, time.Minute, 10*time.Millisecond)
	require.ErrorContains(t, refused, "a name of its own")
	twin := joining(server, "a", 0)
	require.ErrorAs(t, twin.Open(t.Context()), &refused)
	require.NoError(t, keys.Purge(key("a")))
	require.NoError(t, a.Close())
	require.NoError(t, twin.Close())
	next, err := keys.PutString(key("a"), "a third process")
	require.NoError(t, err)
	require.Equal(t, last+2, next, "the purge came between")
}

// The server knows how far an island is, whatever its name, and when the server comes too late for the first try.
func TestNotes(t *testing.T) {
	t.Parallel()
	s, server := serve(t, -1, true)
	b := joined(t, server, "b.") // no key of NATS
	b.Note(false)
	port, name := s.Addr().(*net.TCPAddr).Port, "x.islands."+key("b.")
	wrote := func(done bool) func() bool {
		return func() bool {
			conn, err := nats.Connect(server.Address.URLs[0])
			if err != nil {
				return false
			}
			defer conn.Close()
			js, err := conn.JetStream()
			require.NoError(t, err)
			kv, err := js.KeyValue(messaging.Runs)
			if err != nil {
				return false
			}
			var n hosts.Note
			e, err := kv.Get(name)
			return err == nil && json.Unmarshal(e.Value(), &n) == nil && n.Done == done
		}
	}
	require.Eventually(t, wrote(false), time.Minute, 20*time.Millisecond)
	s.Shutdown()
	s.WaitForShutdown()
	serve(t, port, true) // it has lost all
	require.Eventually(t, wrote(false), time.Minute, 20*time.Millisecond)
	b.Note(true)
	require.NoError(t, b.Close())
	require.True(t, wrote(true)())
}

// Members stay known while the server, which is there, does not answer: they were loaded again.
func TestMembersStayKnown(t *testing.T) {
	t.Parallel()
	s, server := serve(t, -1, true)
	a, b := joined(t, server, "a"), joined(t, server, "b")
	left(t, b, 10, 3, 1)
	come(t, a, 1, 3)
	require.NoError(t, s.DisableJetStream())
	m := a.medium.(*messages)
	require.Eventually(t, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.err != nil
	}, time.Minute, 10*time.Millisecond)
	m.mu.Lock()
	defer m.mu.Unlock()
	require.Contains(t, m.others, "b")
	for _, p := range []*Pool{a, b} { // which would wait for answers when they close
		p.medium.(*messages).conn.Close()
	}
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
	server.Wait = 0
	p := Join(server, "a")
	var wrong *settings.Error
	require.ErrorAs(t, p.Open(t.Context()), &wrong)
	require.ErrorContains(t, wrong, "a server that keeps members, xlarun serve or nats-server -js: ")
	require.NoError(t, p.Close())

	// A cluster without a leader is no wrong setting: an island tries again.
	conn, err := server.Connect(t.Context(), "cluster")
	require.NoError(t, err)
	defer conn.Close()
	var asked atomic.Int32
	_, err = conn.Subscribe("$JS.API.>", func(m *nats.Msg) {
		if asked.Add(1) == 3 {
			_ = m.Sub.Unsubscribe()
		}
		_ = m.Respond([]byte(`{"error": {"code": 503, "err_code": 10008, "description": "no leader"}}`))
	})
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	p = Join(server, "a")
	var away *messaging.ConnectError
	require.ErrorAs(t, p.Open(t.Context()), &away)
	require.Equal(t, messaging.CodeNoServer, away.ErrorCode())
	require.NoError(t, p.Close())
	server.Wait = time.Minute
	p = Join(server, "a")
	require.ErrorContains(t, p.Open(t.Context()), "a server that keeps members", "after it has tried again")
	require.EqualValues(t, 3, asked.Load())
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

// slow is a store in which objects are replaced while they are listed or read.
type slow struct {
	nats.ObjectStore
	t *testing.T
}

func (s slow) waits(option any, most time.Duration) error {
	end, ok := option.(nats.ContextOpt).Deadline()
	require.True(s.t, ok)
	require.Less(s.t, time.Until(end), most)
	return context.DeadlineExceeded
}

func (s slow) List(o ...nats.ListObjectsOpt) ([]*nats.ObjectInfo, error) {
	return nil, s.waits(o[0], 3*time.Second)
}

func (s slow) GetBytes(_ string, o ...nats.GetObjectOpt) ([]byte, error) {
	return nil, s.waits(o[0], 13*time.Second)
}

// Islands waited for ever for an object that was replaced while they listed it, and exchanged no members any more.
func TestReplacedObjectsAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	_, err := list(slow{t: t})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = get(slow{t: t}, &nats.ObjectInfo{Size: 500_000})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
