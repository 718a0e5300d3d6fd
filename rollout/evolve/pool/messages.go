package pool

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"xlarun/graph/safetensors"
	"xlarun/internal/messaging"
	"xlarun/rollout/evolve/hosts"
	"xlarun/rollout/settings"
)

// messages keep the newest entry of each island at a message server: an object in a store, as it may exceed a message,
// and a key in a bucket, which ends when the island is silent. Each island looks there after each beat and opens both
// anew, so that a server that has lost them gets them again.
type messages struct {
	server messaging.Server
	name   string // of the bucket and of the store
	island string
	conn   *nats.Conn
	taken  bool          // the name is this process's
	left   chan struct{} // has a value when members have left
	end    chan struct{}
	beats  sync.WaitGroup

	mu     sync.Mutex
	own    object            // the newest entry of this island
	others map[string]object // those of islands that are there; none while the server is away
	err    error             // of the last exchange
}

// object is an entry at the server.
type object struct {
	id   string // "": it is not there yet
	data []byte // safetensors
}

// Times, which tests shorten.
var beatEvery, aliveFor = hosts.BeatEvery, hosts.AliveFor

const (
	// beatTime is how long the server may take for an answer, patience for a part of an entry.
	beatTime, patience = 2 * time.Second, 20 * time.Second
	// keepFor is how long the server keeps an entry that no newer one replaces.
	keepFor = 24 * time.Hour
)

// Join returns the pool of islands that exchange members by a message server, under a name.
func Join(server messaging.Server, name, island string) *Pool {
	return newPool(&messages{server: server, name: "xlarun-pool-" + name, island: island}, island)
}

// open joins the others. The error is a *settings.Error if the server keeps nothing.
func (m *messages) open(ctx context.Context) (err error) {
	m.left, m.end = make(chan struct{}, 1), make(chan struct{})
	m.conn, err = m.server.Connect(ctx, m.island, nats.ReconnectWait(200*time.Millisecond),
		nats.IgnoreAuthErrorAbort()) // a server that restarts may refuse for a moment
	if err != nil {
		return err
	}
	bucket, err := m.bucket()
	if err != nil {
		return settings.Wrong("join", m.server.Address.String(), "a server that keeps members, xlarun serve or "+
			"nats-server -js: %v", err)
	}
	if err := m.take(ctx, bucket); err != nil {
		return err
	}
	m.taken = true
	m.beats.Go(func() {
		for m.wait(nil) {
			if bucket, err := m.bucket(); err == nil {
				_, _ = bucket.Put(key(m.island), nil) // the next beat tries again
			}
		}
	})
	go func() { // close does not wait for entries on their way
		for m.wait(m.left) {
			others, err := m.exchange()
			m.mu.Lock()
			m.others, m.err = others, err
			m.mu.Unlock()
		}
	}()
	m.left <- struct{}{}
	return nil
}

// wait waits for a beat, or for a value of a channel. It returns false at the end.
func (m *messages) wait(early <-chan struct{}) bool {
	select {
	case <-m.end:
		return false
	case <-early:
	case <-time.After(beatEvery):
	}
	return true
}

// bucket opens the bucket, or makes it.
func (m *messages) bucket() (nats.KeyValue, error) {
	js, err := m.conn.JetStream(nats.MaxWait(beatTime))
	if err != nil {
		return nil, err
	}
	return messaging.Bucket(js, nats.KeyValueConfig{Bucket: m.name, TTL: aliveFor, Storage: nats.MemoryStorage})
}

// key returns the key of an island, whose name may have dots.
func key(island string) string { return "i" + hex.EncodeToString([]byte(island)) }

// take takes the island's name. That of an island that was killed ends after aliveFor.
func (m *messages) take(ctx context.Context, bucket nats.KeyValue) error {
	for began := time.Now(); ; {
		_, err := bucket.Create(key(m.island), nil)
		switch {
		case !errors.Is(err, nats.ErrKeyExists):
			return err
		case time.Since(began) > aliveFor+beatEvery:
			return taken(m.island, m.server.Address)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(beatEvery / 4):
		}
	}
}

// exchange brings the island's entry to the server, if it is not there, and returns those of others.
func (m *messages) exchange() (map[string]object, error) {
	if !m.conn.IsConnected() {
		return nil, nats.ErrDisconnected
	}
	js, err := m.conn.JetStream(nats.MaxWait(beatTime))
	if err != nil {
		return nil, err
	}
	list, err := messaging.Objects(js, nats.ObjectStoreConfig{Bucket: m.name, TTL: keepFor,
		Storage: nats.MemoryStorage})
	if err != nil {
		return nil, err
	}
	there, err := list.List()
	if err != nil && !errors.Is(err, nats.ErrNoObjectsFound) {
		return nil, err
	}
	slow, err := m.conn.JetStream(nats.MaxWait(patience))
	if err != nil {
		return nil, err
	}
	store, err := slow.ObjectStore(m.name)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	own, known := m.own, m.others
	m.mu.Unlock()
	if own.data != nil && !slices.ContainsFunc(there, func(o *nats.ObjectInfo) bool { return o.NUID == own.id }) {
		info, err := store.PutBytes(m.island, own.data)
		if err != nil {
			return known, err
		}
		m.mu.Lock()
		if m.own.id == own.id { // else a newer one has left
			m.own.id = info.NUID
		}
		m.mu.Unlock()
	}
	bucket, err := js.KeyValue(m.name)
	if err != nil {
		return nil, err
	}
	alive, err := bucket.Keys()
	if err != nil {
		return nil, err
	}
	others := map[string]object{}
	for _, o := range there {
		if o.Name == m.island || !slices.Contains(alive, key(o.Name)) {
			continue
		}
		x := known[o.Name]
		if x.id != o.NUID {
			if x.data, err = store.GetBytes(o.Name); err != nil {
				continue // a newer one has replaced it: the next look finds that
			}
			x.id = o.NUID
		}
		others[o.Name] = x
	}
	return others, nil
}

// close gives the name back.
func (m *messages) close() error {
	if m.conn == nil { // it was never open
		return nil
	}
	select {
	case <-m.end:
		return nil
	default:
		close(m.end)
	}
	m.beats.Wait()
	if bucket, err := m.bucket(); err == nil && m.taken {
		_ = bucket.Delete(key(m.island)) // else the key ends by itself
	}
	m.conn.Close()
	return nil
}

func (*messages) vacant() error { return nil }

func (m *messages) leave(_ int64, tree any, metadata map[string]string) error {
	var b bytes.Buffer
	if err := safetensors.Write(&b, tree, metadata); err != nil {
		return err
	}
	m.mu.Lock()
	m.own = object{data: b.Bytes()}
	m.mu.Unlock()
	select {
	case m.left <- struct{}{}:
	default:
	}
	return nil
}

func (m *messages) entries() (all []found) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, island := range slices.Sorted(maps.Keys(m.others)) {
		f, err := safetensors.New(bytes.NewReader(m.others[island].data), int64(len(m.others[island].data)))
		x := found{island: island, open: func() (*safetensors.File, error) { return f, err }}
		if err == nil {
			x.generation, _ = strconv.ParseInt(f.Metadata()["generation"], 10, 64)
		}
		x.name = fmt.Sprintf("generation %d of island %s", x.generation, island)
		all = append(all, x)
	}
	if refusal, ok := errors.AsType[*nats.APIError](m.err); ok {
		all = append(all, found{island: m.island, name: "what this island has left", open: func() (*safetensors.File,
			error) {
			return nil, fmt.Errorf("%s does not take it (%w)", m.server.Address, refusal)
		}})
	}
	return all
}
