package pjrt

/*
#include "pjrt.h"
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// Buffer is an array on a device.
type Buffer struct {
	plugin *Plugin
	raw    *C.xp_buffer
}

// FromHost copies elements, in row-major order, to a device. dtype is XLA's number of their type. data must not be
// empty, even of an array without elements.
func (c *Client) FromHost(d *Device, data []byte, dtype int, dims []int) (*Buffer, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	sizes := make([]C.int64_t, len(dims))
	for i, n := range dims {
		sizes[i] = C.int64_t(n)
	}
	args := &C.xp_from_host_args{client: c.raw, data: unsafe.Pointer(pinned(&pin, data)), _type: C.int(dtype),
		dims: pinned(&pin, sizes), num_dims: C.size_t(len(sizes)), semantics: C.XP_UNTIL_TRANSFERRED, device: d.raw}
	if err := call(c.Plugin, C.XP_BUFFER_FROM_HOST, args); err != nil {
		return nil, err
	}
	b := &Buffer{c.Plugin, args.buffer}
	alive[C.XP_BUFFER_DESTROY].Add(1)
	if err := c.Plugin.wait(args.done); err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

// Shape returns XLA's number of the element type, and the dimensions.
func (b *Buffer) Shape() (dtype int, dims []int, err error) {
	kind, sizes := &C.xp_buffer_type_args{buffer: b.raw}, &C.xp_buffer_dims_args{buffer: b.raw}
	if err := call(b.plugin, C.XP_BUFFER_TYPE, kind); err != nil {
		return 0, nil, err
	}
	err = call(b.plugin, C.XP_BUFFER_DIMS, sizes)
	for _, n := range unsafe.Slice(sizes.dims, sizes.num_dims) {
		dims = append(dims, int(n))
	}
	return int(kind._type), dims, err
}

// ToHost copies the elements, in row-major order, to memory of their size. The array has so many axes.
func (b *Buffer) ToHost(dst []byte, rank int) error {
	if len(dst) == 0 {
		return nil // without an address, the plugin would only tell the size
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	axes := make([]C.int64_t, rank)
	for i := range axes {
		axes[i] = C.int64_t(rank - 1 - i)
	}
	var layout C.xp_layout // a TPU has another one on the device
	layout.struct_size = C.sizeof_xp_layout
	layout.tiled.minor_to_major, layout.tiled.minor_to_major_size = pinned(&pin, axes), C.size_t(rank)
	pin.Pin(&layout)
	args := &C.xp_to_host_args{buffer: b.raw, layout: &layout, dst: unsafe.Pointer(pinned(&pin, dst)),
		size: C.size_t(len(dst))}
	if err := call(b.plugin, C.XP_BUFFER_TO_HOST, args); err != nil {
		return err
	}
	return b.plugin.wait(args.event)
}

// UnsafePointer returns the address of the elements in the memory of the device, which on CPU is that of the process.
// It is valid until Close.
func (b *Buffer) UnsafePointer() (unsafe.Pointer, error) {
	args := &C.xp_buffer_pointer_args{buffer: b.raw}
	err := call(b.plugin, C.XP_BUFFER_POINTER, args)
	return *(*unsafe.Pointer)(unsafe.Pointer(&args.pointer)), err
}

// Close destroys the buffer.
func (b *Buffer) Close() error {
	return b.plugin.destroy(C.XP_BUFFER_DESTROY, unsafe.Pointer(b.raw))
}
