package pjrt

/*
#include "pjrt.h"
*/
import "C"

import (
	"errors"
	"runtime/cgo"
	"slices"
	"time"
	"unsafe"
)

// Store is where the clients of several processes find each other. The plugin calls it on its threads: it must neither
// panic nor end its goroutine. Errors are an *Error: NotFound of TryGet says that the key has no value.
type Store interface {
	Get(key string, timeout time.Duration) ([]byte, error) // waits for the value
	TryGet(key string) ([]byte, error)
	Put(key string, value []byte) error
}

// storeOf returns the store of a callback.
func storeOf(user C.uintptr_t) Store { return cgo.Handle(user).Value().(Store) }

// storeError makes the plugin's error.
func storeError(make *C.xp_callback_error, err error) *C.xp_error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Unavailable, err.Error()}
	}
	text := C.CString(e.Message)
	defer C.pj_free(text)
	return C.pj_store_error(make, C.int(e.Code), text, C.size_t(len(e.Message)))
}

// copyForPlugin copies a value into memory that the plugin frees with pj_free.
func copyForPlugin(value []byte) (*C.char, C.size_t, *[0]byte) {
	return (*C.char)(C.CBytes(value)), C.size_t(len(value)), (*[0]byte)(C.pj_free)
}

//export pjStoreGet
func pjStoreGet(a *C.xp_kv_get_args) *C.xp_error {
	value, err := storeOf(a.user_arg).Get(text(a.key, a.key_size), time.Duration(a.timeout_in_ms)*time.Millisecond)
	if err != nil {
		return storeError(a.callback_error, err)
	}
	a.value, a.value_size, a.value_deleter_callback = copyForPlugin(value)
	return nil
}

//export pjStoreTryGet
func pjStoreTryGet(a *C.xp_kv_try_get_args) *C.xp_error {
	value, err := storeOf(a.user_arg).TryGet(text(a.key, a.key_size))
	if err != nil {
		return storeError(a.callback_error, err)
	}
	a.value, a.value_size, a.value_deleter_callback = copyForPlugin(value)
	return nil
}

//export pjStorePut
func pjStorePut(a *C.xp_kv_put_args) *C.xp_error {
	value := slices.Clone(unsafe.Slice((*byte)(unsafe.Pointer(a.value)), a.value_size))
	if err := storeOf(a.user_arg).Put(text(a.key, a.key_size), value); err != nil {
		return storeError(a.callback_error, err)
	}
	return nil
}
