package xlabridge

import (
	"fmt"

	"xlarun/graph"
)

// deviceData holds an array on devices, usually with the same elements on each.
type deviceData struct {
	client  *Client
	buffers []*buffer // one for each device from device 0
}

// HostBytes copies device 0's elements to the host.
func (d *deviceData) HostBytes() ([]byte, error) { return d.buffers[0].Bytes() }

// View reads device 0's elements where they are, on CPU.
func (d *deviceData) View(read func(elements []byte) error) error { return d.buffers[0].view(read) }

func (d *deviceData) close() {
	for _, b := range d.buffers {
		_ = b.Close()
	}
}

// onDevice returns a's device data if it is already on enough devices of c.
func (c *Client) onDevice(a *graph.Array, devices int) (*deviceData, bool) {
	if !a.Concrete() {
		return nil, false
	}
	data, err := a.Data()
	if s, ok := data.(*shardedData); ok && !s.part.Equal(s.shape) {
		return nil, false // no device has the whole
	}
	d := deviceDataOf(data)
	return d, err == nil && d != nil && d.client == c && len(d.buffers) >= devices
}

// deviceDataOf returns an array's data on devices, or nil if the data is on the host. Each device of a *shardedData has
// a part, else each has the whole array.
func deviceDataOf(data graph.Data) *deviceData {
	switch d := data.(type) {
	case *deviceData:
		return d
	case *shardedData:
		return &d.deviceData
	}
	return nil
}

// put transfers a to the first devices.
func (c *Client) put(a *graph.Array, devices int) (*deviceData, error) {
	d := &deviceData{client: c, buffers: make([]*buffer, devices)}
	return d, graph.View(a, func(elements []byte) (err error) {
		for i := range d.buffers {
			if d.buffers[i], err = c.toDevice(elements, a.DType(), a.Dims(), i); err != nil {
				d.close()
				return err
			}
		}
		return nil
	})
}

// Put transfers all leaves of a tree to the first n devices of a backend, so that calls need no transfer. On the
// reference backend it only computes lazy leaves.
func Put[T any](b Backend, n int, v T) (out T, err error) {
	c, ok := b.(*Client)
	if !ok {
		return graph.Eval(v)
	}
	if err := c.checkDevices("Put", n); err != nil {
		return out, err
	}
	var leaves []*graph.Array
	var tree *graph.Tree
	if err := graph.Try(func() { leaves, tree = graph.Flatten(v) }); err != nil {
		return out, err
	}
	moved := make([]*graph.Array, len(leaves))
	for i, a := range leaves {
		d, err := c.put(a, n)
		if err != nil {
			Free(moved[:i])
			return out, err
		}
		moved[i] = graph.FromData(a.Shape(), d)
	}
	out, _ = tree.Unflatten(moved).(T)
	return out, nil
}

// checkDevices returns an error if the backend does not have n devices, or n is below 1.
func (c *Client) checkDevices(name string, n int) error {
	if n < 1 || n > c.NumDevices() {
		return fmt.Errorf("xlabridge: %s: got %d devices, want 1 to %d, as many as the backend has", name, n,
			c.NumDevices())
	}
	return nil
}

// Free frees the device memory of all leaves of a tree now, without waiting for the garbage collector.
func Free(v any) {
	for _, a := range graph.Leaves(v) {
		if a.IsTraced() || !a.Concrete() {
			continue
		}
		if data, err := a.Data(); err == nil {
			if d := deviceDataOf(data); d != nil {
				d.close()
			}
		}
	}
}
