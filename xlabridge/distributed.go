//go:build cgo

package xlabridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"xlarun/xlabridge/internal/callback"
	"xlarun/xlabridge/internal/pjrt"
)

// NumGlobalDevices returns the number of devices of all processes. Without Options.Distributed it is NumDevices.
func (c *Client) NumGlobalDevices() (int, error) {
	if c.topology != nil {
		return c.NumDevices(), nil
	}
	done, err := c.busy()
	if err != nil {
		return 0, err
	}
	defer done()
	return c.inner.NumGlobalDevices()
}

// sharedStore is a KeyValueStore that the plugin calls.
type sharedStore struct{ KeyValueStore }

// call calls f, and gives its error the code that the plugin knows.
func (s sharedStore) call(f func() error) error {
	err := callback.InGoroutine("a key-value store ended its goroutine", f)
	if err == nil {
		return nil
	}
	e := &pjrt.Error{Code: pjrt.Unavailable, Message: err.Error()}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Code = pjrt.DeadlineExceeded
	}
	return e
}

func (s sharedStore) Get(key string, timeout time.Duration) (value []byte, err error) {
	err = s.call(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if value, err = s.KeyValueStore.Get(ctx, key); err != nil {
			err = fmt.Errorf("key %q, after %d ms: %w", key, timeout.Milliseconds(), err)
		}
		return err
	})
	return value, err
}

func (s sharedStore) TryGet(key string) (value []byte, err error) {
	found := false
	err = s.call(func() error {
		if value, found, err = s.KeyValueStore.TryGet(key); err != nil {
			err = fmt.Errorf("key %q: %w", key, err)
		}
		return err
	})
	if err == nil && !found {
		err = &pjrt.Error{Code: pjrt.NotFound, Message: fmt.Sprintf("key %q: the key has no value", key)}
	}
	return value, err
}

func (s sharedStore) Put(key string, value []byte) error {
	return s.call(func() error { return s.KeyValueStore.Put(key, value) })
}
