package xlabridge

/*
#include <stdlib.h>
#include "distributed.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime/cgo"
	"time"
	"unsafe"
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
	all, err := c.inner.AllDevices()
	return len(all), err
}

// Codes of the errors of a store.
const (
	storeDeadline    = 4
	storeNoKey       = 5
	storeUnavailable = 14
)

// inStore calls f with the store of a callback. It returns the plugin's error for an error of f.
func inStore(store unsafe.Pointer, makeError *C.xp_callback_error, f func(KeyValueStore) error) *C.xp_error {
	err := inGoroutine("a key-value store ended its goroutine", func() error {
		return f(cgo.Handle(uintptr(store)).Value().(KeyValueStore))
	})
	code := C.int(storeUnavailable)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNoKey):
		code = storeNoKey
	case errors.Is(err, context.DeadlineExceeded):
		code = storeDeadline
	}
	text := C.CString(err.Error())
	defer C.free(unsafe.Pointer(text))
	return C.xb_store_error(makeError, code, text, C.size_t(len(err.Error())))
}

// xlarun_store_get is called on threads of the plugin.
//
//export xlarun_store_get
func xlarun_store_get(args *C.xp_kv_get_args) *C.xp_error {
	key := C.GoStringN(args.key, C.int(args.key_size))
	return inStore(args.user_arg, args.callback_error, func(s KeyValueStore) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(args.timeout_in_ms)*time.Millisecond)
		defer cancel()
		value, err := s.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("key %q, after %d ms: %w", key, args.timeout_in_ms, err)
		}
		C.xb_set_value(args, (*C.char)(C.CBytes(value)), C.size_t(len(value)))
		return nil
	})
}

// xlarun_store_try_get is called on threads of the plugin.
//
//export xlarun_store_try_get
func xlarun_store_try_get(args *C.xp_kv_try_get_args) *C.xp_error {
	key := C.GoStringN(args.key, C.int(args.key_size))
	return inStore(args.user_arg, args.callback_error, func(s KeyValueStore) error {
		value, err := s.TryGet(key)
		if err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
		C.xb_set_optional_value(args, (*C.char)(C.CBytes(value)), C.size_t(len(value)))
		return nil
	})
}

// xlarun_store_put is called on threads of the plugin.
//
//export xlarun_store_put
func xlarun_store_put(args *C.xp_kv_put_args) *C.xp_error {
	key := C.GoStringN(args.key, C.int(args.key_size))
	value := C.GoBytes(unsafe.Pointer(args.value), C.int(args.value_size))
	return inStore(args.user_arg, args.callback_error, func(s KeyValueStore) error { return s.Put(key, value) })
}
