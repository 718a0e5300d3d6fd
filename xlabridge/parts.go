package xlabridge

import (
	"fmt"
	"slices"

	"xlarun/graph"
)

// ToHost returns a copy of an array in the host's memory. For an array on several devices it copies the first device's
// value, or the whole array if ShardMap split it.
func ToHost(a *graph.Array) (*graph.Array, error) {
	data, err := a.Data()
	if err != nil {
		return nil, err
	}
	b, err := data.HostBytes()
	if err != nil {
		return nil, err
	}
	if deviceDataOf(data) == nil {
		b = slices.Clone(b)
	}
	return graph.FromBytes(a.Shape(), b), nil
}

// PartToHost copies one device's value of an array to dst, which must have exactly the array's bytes. The devices'
// values may differ in a result of a program with several replicas. If ShardMap split the array, it copies the device's
// part, and dst must have exactly the part's bytes. The reference backend has only device 0.
func PartToHost(a *graph.Array, device int, dst []byte) error {
	data, err := a.Data()
	if err != nil {
		return err
	}
	if d := deviceDataOf(data); d != nil {
		if device < 0 || device >= len(d.buffers) {
			return fmt.Errorf("xlabridge: PartToHost: the array is on %d devices, got device %d", len(d.buffers),
				device)
		}
		return d.buffers[device].ToHost(dst)
	}
	host, err := data.HostBytes()
	if err != nil {
		return err
	}
	if device != 0 || len(dst) != len(host) {
		return fmt.Errorf("xlabridge: PartToHost: the array is on the host and has %d bytes, got device %d and "+
			"room for %d", len(host), device, len(dst))
	}
	copy(dst, host)
	return nil
}

// PutParts makes an array on n devices. Its value on device d is part(d), row-major bytes of the shape. A part may
// reuse the memory of the previous part. On the reference backend, n is 1.
func PutParts(b Backend, n int, shape graph.Shape, part func(device int) []byte) (*graph.Array, error) {
	c, ok := b.(*Client)
	if !ok {
		if n != 1 {
			return nil, fmt.Errorf("xlabridge: PutParts: the %s backend has 1 device, got %d parts", b.Backend(), n)
		}
		bytes := part(0)
		if len(bytes) != shape.Bytes() {
			return nil, fmt.Errorf("xlabridge: PutParts: a part has %d bytes, want %d for %s", len(bytes),
				shape.Bytes(), shape)
		}
		return graph.FromBytes(shape, bytes), nil
	}
	if err := c.checkDevices("PutParts", n); err != nil {
		return nil, err
	}
	d := &deviceData{client: c}
	for i := range n {
		buffer, err := c.toDevice(part(i), shape.DType, shape.Dims, i)
		if err != nil {
			d.close()
			return nil, err
		}
		d.buffers = append(d.buffers, buffer)
	}
	return graph.FromData(shape, d), nil
}
