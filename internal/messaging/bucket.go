package messaging

import (
	"cmp"
	"errors"
	"slices"

	"github.com/nats-io/nats.go"
)

// Codes of a server that cannot have as many replicas: it is no cluster, or one with too few nodes at present.
const (
	codeNoCluster nats.ErrorCode = 10074
	codeNoPeers   nats.ErrorCode = 10005
)

// Bucket opens a key-value bucket, or makes it. Several processes may do so at once.
func Bucket(js nats.JetStreamContext, config nats.KeyValueConfig) (kv nats.KeyValue, err error) {
	if kv, err = js.KeyValue(config.Bucket); errors.Is(err, nats.ErrBucketNotFound) {
		err = replicated(&config.Replicas, func() error {
			kv, err = js.CreateKeyValue(&config)
			return err
		})
	}
	return kv, err
}

// Objects is Bucket for a store of objects, which may exceed a message.
func Objects(js nats.JetStreamContext, config nats.ObjectStoreConfig) (store nats.ObjectStore, err error) {
	if store, err = js.ObjectStore(config.Bucket); errors.Is(err, nats.ErrStreamNotFound) {
		err = replicated(&config.Replicas, func() error {
			store, err = js.CreateObjectStore(&config)
			return err
		})
	}
	return store, err
}

// replicated calls create with three replicas, so that what they hold survives the loss of a node; with one where the
// server can have no more.
func replicated(replicas *int, create func() error) error {
	*replicas = 3
	err := create()
	if api, ok := errors.AsType[nats.JetStreamError](err); ok && api.APIError() != nil &&
		(api.APIError().ErrorCode == codeNoCluster || api.APIError().ErrorCode == codeNoPeers) {
		*replicas = 1
		err = create()
	}
	return err
}

// Keys is KeyValue.Keys, which returns a part of the keys, and no error, if the server is slow or goes away. So it does
// if a key that has come is written again before the last one comes; Keys then looks again.
func Keys(kv nats.KeyValue) (keys []string, err error) {
	for {
		w, err := kv.WatchAll(nats.IgnoreDeletes(), nats.MetaOnly())
		if err != nil {
			return nil, err
		}
		keys, err = nil, nats.ErrConnectionClosed // unless the mark comes that all are there
		for e := range w.Updates() {
			if e == nil {
				err = nil
				break
			}
			keys = append(keys, e.Key())
		}
		select {
		case late := <-w.Error():
			err = cmp.Or(late, err)
		default:
		}
		_ = w.Stop()
		slices.Sort(keys)
		switch n := len(keys); {
		case err != nil:
			return nil, err
		case n == 0:
			return nil, nats.ErrNoKeysFound
		case len(slices.Compact(keys)) == n:
			return keys, nil
		}
	}
}
