package pool

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"xlarun/graph/safetensors"
	"xlarun/rollout/evolve/hosts"
	"xlarun/rollout/settings"
)

// messages carry entries between islands of different machines. Each island keeps the newest entry of each other one.
// The entry of an island that has left, or that has been silent for hosts.AliveFor, is not taken.
type messages struct {
	island string
	server string     // for errors
	to     hosts.Open // how to reach the others
	bus    hosts.Bus
	id     string // of this process: the island's name, a slash, a random number
	end    chan struct{}
	ended  sync.WaitGroup

	mu        sync.Mutex
	others    map[string]*neighbor // by their processes
	fragments hosts.Fragments
	twin      bool // another process has the island's name
	passed    []string
}

// neighbor is a process of another island.
type neighbor struct {
	heard      time.Time
	generation int64 // of the entry
	entry      []byte
}

// settle is how long an island that joins waits for the others to answer.
const settle = 300 * time.Millisecond

// Join returns the pool of islands that exchange messages.
func Join(server string, open hosts.Open, island string) *Pool {
	return newPool(&messages{island: island, server: server, to: open}, island)
}

// open joins the others. The error is a *settings.Error if another process has the island's name.
func (m *messages) open(ctx context.Context) (err error) {
	m.id = fmt.Sprintf("%s/%08x", m.island, rand.Uint32())
	m.end, m.others, m.fragments, m.twin = make(chan struct{}), map[string]*neighbor{}, hosts.Fragments{}, false
	early := make(chan struct{})
	if m.bus, err = m.to(ctx, m.id, func(x hosts.Message) {
		<-early // m.bus is set
		m.receive(x)
	}); err != nil {
		return err
	}
	close(early)
	greet, greeted := context.WithTimeout(ctx, settle)
	defer greeted()
	m.bus.Greet(greet, hosts.Message{Kind: hosts.Hello, From: m.id})
	if err := ctx.Err(); err != nil {
		return err
	}
	m.ended.Go(m.beat)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.twin {
		return settings.Wrong("island", m.island, "a name of its own: another run, which is under way, is this island "+
			"at %s", m.server)
	}
	return nil
}

// beat says that the island is alive, until close.
func (m *messages) beat() {
	every := time.NewTicker(hosts.BeatEvery)
	defer every.Stop()
	for {
		select {
		case <-m.end:
			return
		case <-every.C:
			m.bus.Send(hosts.Message{Kind: hosts.Beat, From: m.id})
		}
	}
}

func (m *messages) close() error {
	if m.bus == nil { // it was never open
		return nil
	}
	close(m.end)
	m.ended.Wait()
	m.bus.Send(hosts.Message{Kind: hosts.Leave, From: m.id})
	m.bus.Close()
	return nil
}

// receive takes a message of another process.
func (m *messages) receive(x hosts.Message) {
	if x.From == m.id || x.To != "" && x.To != m.id {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if islandOf(x.From) == m.island {
		switch x.Kind {
		case hosts.Hello:
			m.bus.Send(hosts.Message{Kind: hosts.Welcome, From: m.id, To: x.From})
		case hosts.Welcome:
			m.twin = true
		}
		return
	}
	if x.Kind == hosts.Leave {
		delete(m.others, x.From)
		delete(m.fragments, x.From)
		return
	}
	n := m.others[x.From]
	if n == nil {
		n = &neighbor{}
		m.others[x.From] = n
	}
	n.heard = time.Now()
	if x.Kind != hosts.Members {
		return
	}
	if x.Generation <= n.generation {
		if x.Fragment == 0 {
			m.passed = append(m.passed, fmt.Sprintf("members of generation %d of island %s are refused: those of "+
				"generation %d are here", x.Generation, islandOf(x.From), n.generation))
		}
		return
	}
	if data := m.fragments.Add(x); data != nil {
		n.generation, n.entry = x.Generation, data
	}
}

// islandOf returns the island of a process.
func islandOf(id string) string {
	island, _, _ := strings.Cut(id, "/")
	return island
}

func (*messages) vacant() error { return nil }

func (m *messages) leave(generation int64, tree any, metadata map[string]string) error {
	var b bytes.Buffer
	if err := safetensors.Write(&b, tree, metadata); err != nil {
		return err
	}
	x := hosts.Message{Kind: hosts.Members, From: m.id, Generation: generation}
	for _, part := range hosts.Split(x, b.Bytes(), m.bus.Largest()) {
		m.bus.Send(part)
	}
	return nil
}

func (m *messages) entries() (all []found) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(m.others)) {
		n := m.others[id]
		if time.Since(n.heard) > hosts.AliveFor {
			delete(m.others, id)
			delete(m.fragments, id)
			continue
		}
		if data := n.entry; data != nil {
			name := fmt.Sprintf("generation %d of island %s", n.generation, islandOf(id))
			all = append(all, found{islandOf(id), n.generation, name, func() (*safetensors.File, error) {
				return safetensors.New(bytes.NewReader(data), int64(len(data)))
			}})
		}
	}
	return all
}

func (m *messages) refused() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	passed := m.passed
	m.passed = nil
	return passed
}
