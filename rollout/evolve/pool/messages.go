package pool

import (
	"bytes"
	"context"
	"crypto/rand"
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
// and a key in a bucket, which ends when the island is silent. Each island looks there after each beat. A server that
// has lost them gets them again.
type messages struct {
	server messaging.Server
	island string
	conn   *nats.Conn
	quick  nats.JetStreamContext // for beats
	slow   nats.JetStreamContext // for entries
	alive  time.Duration         // how long an island may be silent
	left   chan struct{}         // has a value when members have left
	end    chan struct{}
	beats  sync.WaitGroup
	found  int // other islands, when this one joined

	process  string      // in the island's key: this one has the name
	revision uint64      // of that key at the last beat; 0: this process has not had the name
	written  *hosts.Note // that the server has

	mu     sync.Mutex
	own    object            // the newest entry of this island
	others map[string]object // those of islands that are there; none while the server is away
	err    error             // of the last exchange
	lost   error             // another process has the name now
	note   *hosts.Note       // that the server shall have; nil: none
}

// object is an entry at the server.
type object struct {
	id   string // "": it is not there yet
	data []byte // safetensors
}

// beatEvery is shorter in tests.
var beatEvery = hosts.BeatEvery

const (
	// beatTime is how long the server may take for an answer, patience for a part of an entry.
	beatTime, patience = 2 * time.Second, 20 * time.Second
	// keepFor is how long the server keeps an entry that no newer one replaces.
	keepFor = 24 * time.Hour
)

// Join returns the pool of islands that exchange members by a message server, those of the run with its name.
func Join(server messaging.Server, island string) *Pool {
	return newPool(&messages{server: server, island: island, alive: hosts.AliveFor,
		process: rand.Text()}, island)
}

// open joins the others. The error is a *settings.Error if the server keeps nothing.
func (m *messages) open(ctx context.Context) (err error) {
	m.left, m.end = make(chan struct{}, 1), make(chan struct{})
	m.conn, err = m.server.Connect(ctx, m.island, nats.ReconnectWait(200*time.Millisecond),
		nats.IgnoreAuthErrorAbort()) // a server that restarts may refuse for a moment
	if err != nil {
		return err
	}
	if m.quick, err = m.conn.JetStream(nats.MaxWait(beatTime)); err != nil {
		return err
	}
	if m.slow, err = m.conn.JetStream(nats.MaxWait(patience)); err != nil {
		return err
	}
	if err := m.take(ctx); err != nil {
		return err
	}
	m.beats.Go(func() {
		for m.wait(nil) {
			if _, err := m.beat(); errors.Is(err, errTaken) {
				m.mu.Lock()
				m.lost = taken(m.island, m.server.Address)
				m.mu.Unlock()
				return
			}
			m.writeNote()
		}
	})
	go func() { // close does not wait for entries on their way
		for m.wait(m.left) {
			others, err := m.exchange()
			m.mu.Lock()
			if m.err = err; err == nil || errors.Is(err, nats.ErrDisconnected) {
				m.others = others
			}
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

// name returns the name of the bucket and of the store.
func (m *messages) name() string { return "xlarun-pool-" + m.server.Name }

// key returns the key of an island, whose name may have dots.
func key(island string) string { return "i" + hex.EncodeToString([]byte(island)) }

// errTaken is the error of an island whose name another process has.
var errTaken = errors.New("another process has the name")

// take takes the island's name. That of an island that was killed ends when it was silent for long enough.
func (m *messages) take(ctx context.Context) error {
	for began := time.Now(); ; {
		keys, err := m.beat()
		if err == nil {
			var islands []string
			islands, err = messaging.Keys(keys)
			m.found = len(islands) - 1
		}
		since := time.Since(began)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrJetStreamNotEnabled),
			errors.Is(err, nats.ErrJetStreamNotEnabledForAccount):
			return settings.Wrong("join", m.server.Address.String(), "a server that keeps members, xlarun serve or "+
				"nats-server -js: %v", err)
		case errors.Is(err, errTaken):
			if since > m.alive+beatEvery {
				return taken(m.island, m.server.Address)
			}
		case since >= m.server.Wait:
			return m.server.Unreachable(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(beatEvery / 4):
		}
	}
}

// beat writes the island's key, or makes it. The error is errTaken if another process has the name.
func (m *messages) beat() (nats.KeyValue, error) {
	keys, err := messaging.Bucket(m.quick, nats.KeyValueConfig{Bucket: m.name(), TTL: m.alive,
		Storage: nats.MemoryStorage})
	if err != nil {
		return nil, err
	}
	var revision uint64
	e, err := keys.Get(key(m.island))
	switch {
	case errors.Is(err, nats.ErrKeyNotFound): // it is new, this island was silent for long, or the server has lost it
		m.written = nil
		if revision, err = keys.Create(key(m.island), []byte(m.process)); errors.Is(err, nats.ErrKeyExists) {
			err = errTaken
		}
	case err == nil && string(e.Value()) != m.process:
		err = errTaken
	case err == nil:
		revision, err = keys.Update(key(m.island), []byte(m.process), e.Revision())
	}
	if err == nil {
		m.revision = revision
	}
	return keys, err
}

// writeNote writes the note, if the server does not have it.
func (m *messages) writeNote() {
	m.mu.Lock()
	note := m.note
	m.mu.Unlock()
	if note != nil && note != m.written && note.Write(m.conn, m.server.Name+".islands."+key(m.island)) == nil {
		m.written = note
	}
}

// exchange brings the island's entry to the server, if it is not there, and returns those of others.
func (m *messages) exchange() (map[string]object, error) {
	if !m.conn.IsConnected() {
		return nil, nats.ErrDisconnected
	}
	m.mu.Lock()
	own, known, lost := m.own, m.others, m.lost
	m.mu.Unlock()
	if lost != nil {
		return nil, lost
	}
	keys, err := m.quick.KeyValue(m.name())
	if err != nil {
		return nil, err
	}
	alive, err := messaging.Keys(keys)
	if err != nil {
		return nil, err
	}
	store, err := messaging.Objects(m.slow, nats.ObjectStoreConfig{Bucket: m.name(), TTL: keepFor,
		Storage: nats.MemoryStorage})
	if err != nil {
		return nil, err
	}
	there, err := list(store)
	if err != nil && !errors.Is(err, nats.ErrNoObjectsFound) {
		return nil, err
	}
	if own.data != nil && !slices.ContainsFunc(there, func(o *nats.ObjectInfo) bool { return o.NUID == own.id }) {
		info, err := store.PutBytes(m.island, own.data)
		if err != nil {
			return nil, err
		}
		m.mu.Lock()
		if m.own.id == own.id { // else a newer one has left
			m.own.id = info.NUID
		}
		m.mu.Unlock()
	}
	others := map[string]object{}
	for _, o := range there {
		if o.Name == m.island || !slices.Contains(alive, key(o.Name)) {
			continue
		}
		x := known[o.Name]
		if x.id != o.NUID {
			if x.data, err = get(store, o); err != nil {
				continue // a newer one has replaced it: the next look finds that
			}
			x.id = o.NUID
		}
		others[o.Name] = x
	}
	return others, nil
}

// list lists a store. Without a limit it would wait for ever for an object that is replaced meanwhile.
func list(store nats.ObjectStore) ([]*nats.ObjectInfo, error) {
	ctx, cancel := context.WithTimeout(context.Background(), beatTime)
	defer cancel()
	return store.List(nats.Context(ctx))
}

// get reads an object. One that is replaced meanwhile never comes, so a small one is waited for shortly.
func get(store nats.ObjectStore, o *nats.ObjectInfo) ([]byte, error) {
	const slowest = 50_000 // bytes a second
	ctx, cancel := context.WithTimeout(context.Background(), beatTime+time.Duration(o.Size/slowest)*time.Second)
	defer cancel()
	return store.GetBytes(o.Name, nats.Context(ctx))
}

// close gives the name back, if this process has it.
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
	if m.revision > 0 && m.lost == nil {
		if keys, err := m.beat(); err == nil { // else the key is another's, or ends by itself
			m.writeNote()
			_ = keys.Delete(key(m.island), nats.LastRevision(m.revision))
		}
	}
	m.conn.Close()
	return nil
}

func (*messages) vacant() error { return nil }

func (m *messages) present() int { return m.found }

func (m *messages) connected() bool { return m.conn.IsConnected() }

func (m *messages) tell(done bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note = &hosts.Note{Done: done}
}

func (m *messages) leave(_ int64, tree any, metadata map[string]string) error {
	var b bytes.Buffer
	if err := safetensors.Write(&b, tree, metadata); err != nil {
		return err
	}
	m.mu.Lock()
	m.own = object{data: b.Bytes()}
	err := m.lost
	m.mu.Unlock()
	select {
	case m.left <- struct{}{}:
	default:
	}
	return err
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
