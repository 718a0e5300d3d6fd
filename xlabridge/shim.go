package xlabridge

/*
#cgo CFLAGS: -O3 -g0 -Wall -Wno-psabi
#cgo linux LDFLAGS: -ldl -lm
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	_ "xlarun/third_party/pjrt" // the C files include its headers
	"xlarun/xlabridge/cache"
)

// takeError turns the plugin's error into a Go error and frees it; nil stays nil.
func (l *library) takeError(e *C.xp_error) error {
	if e == nil {
		return nil
	}
	var text *C.char
	var size C.size_t
	var code C.int
	C.xb_error_message(l.slot, e, &text, &size, &code)
	err := &PluginError{Code: int(code), Message: C.GoStringN(text, C.int(size))}
	C.xb_error_free(l.slot, e)
	return err
}

// clientText returns a text of a client: the name or the version of its platform.
func (l *library) clientText(which C.int, client *C.xp_client) (string, error) {
	var text *C.char
	var size C.size_t
	if err := l.takeError(C.xb_client_text(l.slot, which, client, &text, &size)); err != nil {
		return "", err
	}
	return C.GoStringN(text, C.int(size)), nil
}

// devices returns the client's addressable devices. The client owns them.
func (l *library) devices(client *C.xp_client) ([]*C.xp_device, error) {
	var first **C.xp_device
	var count C.size_t
	if err := l.takeError(C.xb_client_devices(l.slot, client, &first, &count)); err != nil {
		return nil, err
	}
	return append([]*C.xp_device(nil), unsafe.Slice(first, int(count))...), nil
}

// deviceKind returns the vendor's name of the kind of device, "cpu" or "NVIDIA H100 80GB HBM3".
func (l *library) deviceKind(device *C.xp_device) (string, error) {
	var text *C.char
	var size C.size_t
	if err := l.takeError(C.xb_device_kind(l.slot, device, &text, &size)); err != nil {
		return "", err
	}
	return C.GoStringN(text, C.int(size)), nil
}

// platform describes what a compiled program depends on apart from the plugin: the platform's name and the kind of the
// first device, and on CPU the platform's version.
func (l *library) platform(client *C.xp_client) (string, error) {
	name, err := l.clientText(C.XP_CLIENT_PLATFORM_NAME, client)
	if err != nil {
		return "", err
	}
	devices, err := l.devices(client)
	kind := ""
	if err == nil && len(devices) > 0 {
		kind, err = l.deviceKind(devices[0])
	}
	if name != "cpu" || err != nil {
		return cache.AcceleratorPlatform(name, kind), err
	}
	version, err := l.clientText(C.XP_CLIENT_PLATFORM_VERSION, client)
	return fmt.Sprintf("%s\n%s\n%s", name, version, kind), err
}
