package xlabridge

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"unsafe"

	"xlarun/xlabridge/hlo"
	"xlarun/xlabridge/target"
)

// topology describes devices that need not be there, and compiles for them.
type topology struct {
	target.Target
	lib      *library
	raw      *C.xp_topology
	platform string
	version  string
	kinds    []string // the kind of each device
	zeros    bool     // results read as zeros
}

// Topology returns the devices that the client compiles for without having them, or nil.
func (c *Client) Topology() *target.Target {
	if c.topology == nil {
		return nil
	}
	return &c.topology.Target
}

// withoutTPU tells the plugin for TPUs, before it is loaded, that there is none: it need not wait for a server that
// only a machine with a TPU has, and other processes may load it at the same time.
func withoutTPU(o Options) error {
	if o.Topology == nil || o.Backend != "tpu" {
		return nil
	}
	for _, name := range []string{"TPU_SKIP_MDS_QUERY", "ALLOW_MULTIPLE_LIBTPU_LOAD"} {
		if err := os.Setenv(name, "1"); err != nil {
			return err
		}
	}
	return nil
}

// createTopology makes the plugin's topology in place of a client.
func (c *Client) createTopology(ctx context.Context, o Options) error {
	t := &topology{Target: *o.Topology, lib: c.lib, zeros: o.Zeros}
	made := make(chan *C.xp_topology, 1)
	text, err := quietly(ctx, o.Backend, func() error {
		raw, err := c.lib.newTopology(t.Target)
		if err == nil {
			made <- raw
		}
		return err
	})
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return ctx.Err()
	case errors.Is(err, errStuck):
		return withChatter(stuck(o.Backend, c.lib.path), text)
	case err != nil:
		return withChatter(fmt.Errorf("backend %s: the plugin makes no topology %s: %w", o.Backend, t.Name, err), text)
	}
	t.raw = <-made
	if err := t.read(); err != nil {
		t.destroy()
		return fmt.Errorf("backend %s: topology %s: %w", o.Backend, t.Name, err)
	}
	c.topology = t
	return nil
}

// newTopology makes a topology of the plugin.
func (l *library) newTopology(t target.Target) (*C.xp_topology, error) {
	name, options := t.Topology()
	var texts []*C.char
	for _, key := range slices.Sorted(maps.Keys(options)) {
		texts = append(texts, C.CString(key), C.CString(options[key]))
	}
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	defer func() {
		for _, text := range texts {
			C.free(unsafe.Pointer(text))
		}
	}()
	var raw *C.xp_topology
	err := l.takeError(C.xb_topology(l.slot, cname, unsafe.SliceData(texts), C.size_t(len(texts)/2), &raw))
	return raw, err
}

// read asks the plugin what the topology is.
func (t *topology) read() (err error) {
	if t.platform, err = t.text(C.XP_TOPOLOGY_PLATFORM_NAME); err != nil {
		return err
	}
	if t.version, err = t.text(C.XP_TOPOLOGY_PLATFORM_VERSION); err != nil {
		return err
	}
	var first **C.xp_description
	var count C.size_t
	if err := t.lib.takeError(C.xb_topology_devices(t.lib.slot, t.raw, &first, &count)); err != nil {
		return err
	}
	for _, d := range unsafe.Slice(first, int(count)) {
		var text *C.char
		var size C.size_t
		if err := t.lib.takeError(C.xb_description_kind(t.lib.slot, d, &text, &size)); err != nil {
			return err
		}
		t.kinds = append(t.kinds, C.GoStringN(text, C.int(size)))
	}
	if len(t.kinds) != t.Devices {
		return fmt.Errorf("the plugin gives it %d devices, wanted %d", len(t.kinds), t.Devices)
	}
	return nil
}

func (t *topology) text(which C.int) (string, error) {
	var text *C.char
	var size C.size_t
	if err := t.lib.takeError(C.xb_topology_text(t.lib.slot, which, t.raw, &text, &size)); err != nil {
		return "", err
	}
	return C.GoStringN(text, C.int(size)), nil
}

// Launch is the time that a device needs to start a kernel, for estimates: some 2 µs on a GPU and half as much on a
// TPU, whose loop runs on the device.
func (t *topology) launch() float64 {
	if t.Backend == "tpu" {
		return 1e-6
	}
	return 2e-6
}

// Estimate returns a time in seconds for a run of a program of a topology, from its kernels and the memory that they
// pass (hlo.Estimate).
func (e *Executable) Estimate() (float64, error) {
	t := e.client.topology
	if t == nil {
		return 0, fmt.Errorf("xlabridge: program %s is on its device: measure it", e.name)
	}
	loops, err := e.Loops()
	return hlo.Estimate(loops, float64(t.Bandwidth), t.launch()), err
}

func (t *topology) destroy() { C.xb_topology_destroy(t.lib.slot, t.raw) }

// descriptions describes each device.
func (t *topology) descriptions() []string {
	lines := make([]string, len(t.kinds))
	for i, kind := range t.kinds {
		lines[i] = fmt.Sprintf("%s, not on this machine", kind)
	}
	return lines
}
