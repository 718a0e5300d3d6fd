package pjrt

/*
#include "pjrt.h"
*/
import "C"

import (
	"errors"
	"runtime"
	"runtime/cgo"
	"unsafe"
)

// Client is a client of a plugin.
type Client struct {
	Plugin            *Plugin
	Platform, Version string
	Devices           []*Device // those of this process
	raw               *C.xp_client
}

// Device is a device of a client.
type Device struct {
	Kind        string // the vendor's name: "cpu", "NVIDIA H100 80GB HBM3"
	plugin      *Plugin
	raw         *C.xp_device
	description unsafe.Pointer
}

// NewClient makes a client with options by the plugin's names: string, bool, int, int64, []int64 or float32. store may
// be nil.
func (p *Plugin) NewClient(options map[string]any, store Store) (*Client, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	first, n, err := namedValues(&pin, options)
	if err != nil {
		return nil, err
	}
	args := &C.xp_client_create_args{create_options: first, num_options: n}
	if store != nil { // for ever: a program of the client may still use it
		C.pj_use_store(args, C.uintptr_t(cgo.NewHandle(store)))
	}
	if err := call(p, C.XP_CLIENT_CREATE, args); err != nil {
		return nil, err
	}
	c := &Client{Plugin: p, raw: args.client}
	alive[C.XP_CLIENT_DESTROY].Add(1)
	if err := c.describe(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// describe asks for the platform and the devices.
func (c *Client) describe() (err error) {
	p := c.Plugin
	if c.Platform, c.Version, err = p.platform(C.XP_CLIENT_PLATFORM_NAME, C.XP_CLIENT_PLATFORM_VERSION,
		c.Raw()); err != nil {
		return err
	}
	devices, err := p.list(C.XP_CLIENT_ADDRESSABLE_DEVICES, c.Raw())
	for _, raw := range devices {
		args := &C.xp_device_description_args{device: (*C.xp_device)(raw)}
		if err := call(p, C.XP_DEVICE_DESCRIPTION, args); err != nil {
			return err
		}
		d := &Device{plugin: p, raw: args.device, description: unsafe.Pointer(args.description)}
		if d.Kind, err = p.text(C.XP_DESCRIPTION_KIND, d.description); err != nil {
			return err
		}
		c.Devices = append(c.Devices, d)
	}
	return err
}

// Describe returns the plugin's description of the device.
func (d *Device) Describe() (string, error) {
	return d.plugin.text(C.XP_DESCRIPTION_DEBUG, d.description)
}

// NumGlobalDevices returns the number of devices of all processes.
func (c *Client) NumGlobalDevices() (int, error) {
	all, err := c.Plugin.list(C.XP_CLIENT_DEVICES, c.Raw())
	return len(all), err
}

// Assignment returns the numbers of the devices that the plugin gives to the replicas of a program.
func (c *Client) Assignment(replicas int) ([]int, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	numbers := make([]C.int, replicas)
	args := &C.xp_client_assignment_args{client: c.raw, num_replicas: C.int(replicas), num_partitions: 1,
		size: C.size_t(replicas), assignment: pinned(&pin, numbers)}
	if err := call(c.Plugin, C.XP_CLIENT_DEFAULT_ASSIGNMENT, args); err != nil {
		return nil, err
	}
	out := make([]int, replicas)
	for i, n := range numbers {
		out[i] = int(n)
	}
	return out, nil
}

// DeviceMemory is the use of a device's memory in bytes; 0: the plugin does not say.
type DeviceMemory struct{ InUse, Peak, Limit int64 }

// Memory returns the use of the device's memory.
func (d *Device) Memory() (m DeviceMemory, err error) {
	args := &C.xp_device_memory_args{device: d.raw}
	if err := call(d.plugin, C.XP_DEVICE_MEMORY_STATS, args); err != nil {
		return m, err
	}
	m.InUse = int64(args.bytes_in_use)
	if args.peak_bytes_in_use_is_set {
		m.Peak = int64(args.peak_bytes_in_use)
	}
	if args.bytes_limit_is_set {
		m.Limit = int64(args.bytes_limit)
	}
	return m, nil
}

// Raw returns the address of the plugin's client.
func (c *Client) Raw() unsafe.Pointer { return unsafe.Pointer(c.raw) }

// Close destroys the client. Its buffers and programs are closed before.
func (c *Client) Close() error {
	return c.Plugin.destroy(C.XP_CLIENT_DESTROY, c.Raw())
}
