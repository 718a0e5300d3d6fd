package pool

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/evolve/hosts"
	"xlarun/rollout/settings"
)

// wire carries messages between the islands of a test, at once.
type wire struct {
	mu    sync.Mutex
	takes map[string]func(hosts.Message) // by process
	cut   string                         // the island that is cut off
}

func (w *wire) open(_ context.Context, id string, receive func(hosts.Message)) (hosts.Bus, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.takes == nil {
		w.takes = map[string]func(hosts.Message){}
	}
	w.takes[id] = receive
	return &end{w, id}, nil
}

type end struct {
	*wire
	id string
}

func (e *end) Send(m hosts.Message) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	data := m.Encode()
	for id, take := range e.takes {
		if id != e.id && islandOf(id) != e.cut && islandOf(e.id) != e.cut {
			m, err := hosts.Decode(data)
			if err != nil {
				panic(err)
			}
			go take(m)
		}
	}
	return len(data)
}

func (e *end) Greet(ctx context.Context, m hosts.Message) {
	e.Send(m)
	<-ctx.Done()
}

func (*end) Largest() int { return 100 } // an entry has several parts

func (*end) Connected() (uint64, bool) { return 0, true }

func (*end) IsOver() bool { return false }

func (e *end) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.takes, e.id)
}

// onWire opens an island.
func onWire(t *testing.T, w *wire, island string) *Pool {
	p := Join("nats://here/x", w.open, island)
	p.Members = "one network"
	require.NoError(t, p.Open(t.Context()))
	return p
}

// left lets an island leave two members, with the given returns.
func left(t *testing.T, p *Pool, generation int64, fitness ...float32) {
	k := len(fitness)
	require.NoError(t, p.Leave(generation, Entry{Genomes: graph.Float32s(make([]float32, k*3), k, 3),
		Fitness: graph.Float32s(fitness), Descent: graph.Float32s(make([]float32, k), k, 1)}, []string{p.island}))
	synctest.Wait()
}

// came returns the returns of the members that arrive, and where they are from.
func came(p *Pool) (text []string) {
	for _, m := range p.Arrive(10, 3, rand.New(rand.NewPCG(1, 2))) {
		text = append(text, m.id())
	}
	return text
}

// Members travel by messages, each once. Those of a past generation are refused, and those of islands that have
// left or that are silent are not taken. A name belongs to one run.
func TestIslandsExchangeMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		a, b := onWire(t, w, "a"), onWire(t, w, "b")
		left(t, b, 10, 1, 2)
		require.ElementsMatch(t, []string{"b/10/0", "b/10/1"}, came(a))
		require.Empty(t, came(a), "they arrive once")
		left(t, b, 20, 3)
		left(t, b, 10, 4)
		require.Equal(t, []string{"b/20/0"}, came(a))
		require.Len(t, a.Skipped, 1)
		require.Contains(t, a.Skipped[0], "members of generation 10 of island b are refused")

		twin := Join("nats://here/x", w.open, "b")
		var wrong *settings.Error
		require.ErrorAs(t, twin.Open(t.Context()), &wrong)
		require.ErrorContains(t, wrong, "a name of its own")
		require.NoError(t, twin.Close())

		// An island that is lost.
		left(t, b, 30, 5)
		w.mu.Lock()
		w.cut = "b"
		w.mu.Unlock()
		time.Sleep(hosts.AliveFor + time.Second)
		require.Empty(t, came(a))
		require.NoError(t, b.Close())

		// One that has left, and one of another network.
		c, d := onWire(t, w, "c"), onWire(t, w, "d")
		left(t, c, 10, 6)
		require.NoError(t, c.Close())
		d.Members = "another network"
		left(t, d, 10, 7)
		require.Empty(t, came(a))
		require.Len(t, a.Skipped, 2)
		require.Contains(t, a.Skipped[1], "generation 10 of island d is skipped: its members are of")
		require.NoError(t, d.Close())
		require.NoError(t, a.Close())
	})
}
