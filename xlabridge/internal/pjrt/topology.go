package pjrt

/*
#include "pjrt.h"
*/
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// Topology describes devices that need not be there.
type Topology struct {
	Platform, Version string
	Kinds             []string // of each device
	plugin            *Plugin
	raw               *C.xp_topology
}

// NewTopology makes a topology of the plugin by its name and options.
func (p *Plugin) NewTopology(name string, options map[string]any) (*Topology, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	first, n, err := namedValues(&pin, options)
	if err != nil {
		return nil, err
	}
	args := &C.xp_topology_create_args{name: terminated(&pin, name), name_size: C.size_t(len(name)),
		create_options: first, num_options: n}
	if err := call(p, C.XP_TOPOLOGY_CREATE, args); err != nil {
		return nil, err
	}
	t := &Topology{plugin: p, raw: args.topology}
	alive[C.XP_TOPOLOGY_DESTROY].Add(1)
	if err := t.describe(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// describe asks for the platform and the devices.
func (t *Topology) describe() (err error) {
	raw := unsafe.Pointer(t.raw)
	if t.Platform, t.Version, err = t.plugin.platform(C.XP_TOPOLOGY_PLATFORM_NAME, C.XP_TOPOLOGY_PLATFORM_VERSION,
		raw); err != nil {
		return err
	}
	devices, err := t.plugin.list(C.XP_TOPOLOGY_DESCRIPTIONS, raw)
	for _, d := range devices {
		kind, err := t.plugin.text(C.XP_DESCRIPTION_KIND, d)
		if err != nil {
			return err
		}
		t.Kinds = append(t.Kinds, kind)
	}
	return err
}

// Compile compiles a program for the devices, as Client.Compile does. It cannot run.
func (t *Topology) Compile(code, options []byte) (*Program, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	args := &C.xp_topology_compile_args{topology: t.raw, program: program(&pin, code),
		compile_options: chars(&pin, options), compile_options_size: C.size_t(len(options))}
	if err := call(t.plugin, C.XP_COMPILE, args); err != nil {
		return nil, err
	}
	alive[C.XP_EXECUTABLE_DESTROY].Add(1)
	return (&Program{plugin: t.plugin, executable: args.executable}).readOutputs()
}

// Close destroys the topology.
func (t *Topology) Close() error {
	return t.plugin.destroy(C.XP_TOPOLOGY_DESTROY, unsafe.Pointer(t.raw))
}
