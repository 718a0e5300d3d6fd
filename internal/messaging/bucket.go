package messaging

import (
	"errors"

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
