// Package coordination is a place where the processes of a mesh find each other: a key-value bucket of a NATS server,
// as JAX's coordination service is for its processes.
package coordination

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"xlarun/internal/messaging"
)

// Server says how to reach a NATS server with JetStream: its URL, its token and its TLS configuration.
type Server = messaging.Server

const (
	// storeTimeout is how long the server may take to open a store.
	storeTimeout = 5 * time.Second
	// keepFor is how long the server keeps the keys of a mesh.
	keepFor = 24 * time.Hour
)

// Store is the store of a mesh, an xlabridge.KeyValueStore.
type Store struct {
	conn   *nats.Conn
	bucket nats.KeyValue
	name   string
}

// Join returns the store of the mesh with a name. Each start of a mesh needs a new name, of letters, digits, dashes and
// underscores: a plugin would take the keys of an earlier start for those of this one.
func Join(ctx context.Context, s Server, name string) (*Store, error) {
	conn, err := s.Connect(ctx, "xlarun-mesh-"+name)
	if err != nil {
		return nil, err
	}
	var bucket nats.KeyValue
	js, err := conn.JetStream(nats.MaxWait(storeTimeout))
	if err == nil {
		bucket, err = messaging.Bucket(js, nats.KeyValueConfig{Bucket: "xlarun-mesh-" + name, TTL: keepFor,
			Storage: nats.MemoryStorage})
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s keeps nothing (%w): start xlarun serve there, or nats-server -js", s.Address, err)
	}
	return &Store{conn, bucket, name}, nil
}

// key returns a key as the server takes it: plugins have others.
func key(text string) string { return "k" + hex.EncodeToString([]byte(text)) }

// Get implements xlabridge.KeyValueStore.
func (s *Store) Get(ctx context.Context, text string) ([]byte, error) {
	w, err := s.bucket.Watch(key(text), nats.Context(ctx), nats.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case entry, ok := <-w.Updates():
			if !ok {
				return nil, fmt.Errorf("the mesh %s has lost its server: start its processes again, with another name",
					s.name)
			}
			if entry != nil { // nil: there were no more values when the watch began
				return entry.Value(), nil
			}
		}
	}
}

// TryGet implements xlabridge.KeyValueStore.
func (s *Store) TryGet(text string) (value []byte, ok bool, err error) {
	entry, err := s.bucket.Get(key(text))
	if errors.Is(err, nats.ErrKeyNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return entry.Value(), true, nil
}

// Put implements xlabridge.KeyValueStore. A key has one value: another one is of an earlier start.
func (s *Store) Put(text string, value []byte) error {
	_, err := s.bucket.Create(key(text), value)
	if errors.Is(err, nats.ErrKeyExists) {
		return fmt.Errorf("the mesh %s was started before: give it another name", s.name)
	}
	return err
}

// Close leaves the server. The clients of the mesh must be closed.
func (s *Store) Close() { s.conn.Close() }
