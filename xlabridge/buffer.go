//go:build cgo

package xlabridge

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/gomlx/compute/dtypes"

	"xlarun/xlabridge/internal/hostmemory"
	"xlarun/xlabridge/internal/pjrt"
)

// buffer is an array in a device's memory. It is freed by Close, by being donated to a program, by
// its client's Close, or by the garbage collector after nobody refers to it any more (see pace).
type buffer struct {
	h      *handle
	inner  *pjrt.Buffer // nil on a topology, which has no elements
	device int

	shape sync.Once // fills the two below for results of programs
	dtype dtypes.DType
	dims  []int
	err   error
}

// newBuffer wraps a buffer of a number of bytes, which the caller counts in hostmemory.Buffers.
func (c *Client) newBuffer(inner *pjrt.Buffer, device int, bytes int64) (*buffer, error) {
	h := &handle{client: c, free: inner.Close, bytes: bytes}
	if err := c.remember(h); err != nil {
		_ = inner.Close()
		return nil, err
	}
	b := &buffer{h: h, inner: inner, device: device}
	runtime.AddCleanup(b, func(h *handle) { h.lose() }, h)
	return b, nil
}

// toDevice copies an array to a device's memory. data holds the elements in row-major order, in the host's byte order.
// Its length must fit dims and dtype. The copy is complete when toDevice returns.
func (c *Client) toDevice(data []byte, dtype dtypes.DType, dims []int, device int) (*buffer, error) {
	if device < 0 || device >= c.NumDevices() {
		return nil, fmt.Errorf("xlabridge: transfer to device %d, but there are %d (numbered from 0)", device,
			c.NumDevices())
	}
	if !dtype.IsSupported() {
		return nil, fmt.Errorf("xlabridge: transfer of a %s, which is no element type of a device array", dtype)
	}
	for _, dim := range dims {
		if dim < 0 {
			return nil, fmt.Errorf("xlabridge: transfer of a %s%v, whose dimensions must not be negative", dtype, dims)
		}
	}
	if want := dtype.SizeForDimensions(dims...); len(data) != want {
		return nil, fmt.Errorf("xlabridge: transfer of a %s%v got %d bytes, wanted %d", dtype, dims, len(data), want)
	}
	done, err := c.busy()
	if err != nil {
		return nil, err
	}
	defer done()
	if c.topology != nil {
		return c.absent(dtype, slices.Clone(dims), device)
	}
	if len(data) == 0 {
		data = make([]byte, 1) // the plugin needs an address even for no bytes
	}
	inner, err := c.inner.FromHost(c.inner.Devices[device], data, int(dtype), dims)
	if err != nil {
		return nil, fmt.Errorf("xlabridge: transfer of a %s%v to device %d: %w", dtype, dims, device, err)
	}
	b, err := c.newBuffer(inner, device, int64(len(data)))
	if err != nil {
		return nil, err
	}
	hostmemory.Buffers.Add(int64(len(data)))
	b.shape.Do(func() { b.dtype, b.dims = dtype, slices.Clone(dims) })
	return b, nil
}

// use marks a use of the buffer. The caller releases it.
func (b *buffer) use() error {
	if b == nil {
		return fmt.Errorf("xlabridge: the buffer is nil")
	}
	if gone := b.h.hold(); gone != "" {
		return fmt.Errorf("xlabridge: the buffer %s", gone)
	}
	return nil
}

// Shape returns the element type and the dimensions. The caller must not change dims.
func (b *buffer) Shape() (dtype dtypes.DType, dims []int, err error) {
	if b == nil {
		return dtypes.InvalidDType, nil, b.use()
	}
	b.shape.Do(func() {
		if b.err = b.use(); b.err != nil {
			return
		}
		defer b.h.release()
		var dtype int
		dtype, b.dims, b.err = b.inner.Shape()
		b.dtype = dtypes.DType(dtype)
	})
	return b.dtype, b.dims, b.err
}

// Size returns the number of bytes that ToHost writes.
func (b *buffer) Size() (int, error) {
	dtype, dims, err := b.Shape()
	if err != nil {
		return 0, err
	}
	return dtype.SizeForDimensions(dims...), nil
}

// ToHost waits for the buffer's value and copies its elements to dst in row-major order. dst must
// have exactly Size bytes.
func (b *buffer) ToHost(dst []byte) error {
	size, err := b.Size()
	if err != nil {
		return err
	}
	if err := b.use(); err != nil {
		return err
	}
	defer b.h.release()
	if len(dst) != size {
		return fmt.Errorf("xlabridge: transfer of a %s%v to the host got room for %d bytes, wanted %d", b.dtype, b.dims,
			len(dst), size)
	}
	if size == 0 {
		return nil
	}
	if b.inner == nil {
		return b.absentValue(dst)
	}
	if err := b.inner.ToHost(dst, len(b.dims)); err != nil {
		return fmt.Errorf("xlabridge: transfer of a %s%v to the host: %w", b.dtype, b.dims, err)
	}
	return nil
}

// Bytes returns a copy of the buffer's elements on the host, in row-major order.
func (b *buffer) Bytes() ([]byte, error) {
	size, err := b.Size()
	if err != nil {
		return nil, err
	}
	dst := make([]byte, size)
	return dst, b.ToHost(dst)
}

// view calls read with the buffer's elements, in row-major order. On CPU they are not copied: the buffer cannot be
// donated or freed until read has returned.
func (b *buffer) view(read func(elements []byte) error) error {
	size, err := b.Size()
	if err != nil {
		return err
	}
	if err := b.use(); err != nil {
		return err
	}
	defer b.h.release()
	if size > 0 && b.h.client.Platform() == "cpu" {
		if p, err := b.inner.UnsafePointer(); err == nil && p != nil {
			return read(unsafe.Slice((*byte)(p), size))
		}
	}
	elements, err := b.Bytes()
	if err != nil {
		return err
	}
	return read(elements)
}

// Close frees the device's memory after the calls that use it. A second Close, or a Close after a donation, does
// nothing.
func (b *buffer) Close() error {
	if b == nil {
		return nil
	}
	return b.h.close()
}
