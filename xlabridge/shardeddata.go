package xlabridge

import (
	"slices"

	"xlarun/graph"
)

// shardedData is an array whose parts are on the devices of a mesh.
type shardedData struct {
	deviceData
	mesh        graph.Mesh
	spec        graph.Spec
	part, shape graph.Shape
}

// View reads the joined parts.
func (d *shardedData) View(read func(elements []byte) error) error {
	b, err := d.HostBytes()
	if err != nil {
		return err
	}
	return read(b)
}

// HostBytes joins the parts on the host.
func (d *shardedData) HostBytes() ([]byte, error) {
	out := make([]byte, d.shape.Bytes())
	for device, b := range d.buffers {
		if !isFirst(device, d.mesh, d.spec) {
			continue // equal to another part
		}
		bytes, err := b.Bytes()
		if err != nil {
			return nil, err
		}
		copyBlock(out, bytes, d.shape, d.part, origin(device, d.mesh, d.spec, d.part), true)
	}
	return out, nil
}

// shard splits an array over the mesh. moved reports whether the parts are new: then the caller closes them.
func (c *Client) shard(a *graph.Array, m graph.Mesh, spec graph.Spec) (d *deviceData, moved bool, err error) {
	data, err := a.Data()
	if err != nil {
		return nil, false, err
	}
	if s, ok := data.(*shardedData); ok && s.client == c && slices.Equal(s.mesh, m) && slices.Equal(s.spec, spec) {
		return &s.deviceData, false, nil
	}
	host, err := data.HostBytes()
	if err != nil {
		return nil, false, err
	}
	part := spec.Cut(m, a.Shape())
	d = &deviceData{client: c}
	for device := range m.Devices() {
		block := make([]byte, part.Bytes())
		copyBlock(host, block, a.Shape(), part, origin(device, m, spec, part), false)
		b, err := c.toDevice(block, part.DType, part.Dims, device)
		if err != nil {
			d.close()
			return nil, false, err
		}
		d.buffers = append(d.buffers, b)
	}
	return d, true, nil
}

// coordinate returns the position of a device along a mesh axis.
func coordinate(device int, m graph.Mesh, axis int) int {
	for i := len(m) - 1; i > axis; i-- {
		device /= m[i].Size
	}
	return device % m[axis].Size
}

// origin returns the index of a device's first element in the global array.
func origin(device int, m graph.Mesh, spec graph.Spec, part graph.Shape) []int {
	start := make([]int, part.Rank())
	for i, name := range spec {
		if k := slices.IndexFunc(m, func(a graph.MeshAxis) bool { return a.Name == name }); name != "" {
			start[i] = coordinate(device, m, k) * part.Dims[i]
		}
	}
	return start
}

// isFirst reports whether no earlier device has the same part: the device is 0 along all axes that are not in spec.
func isFirst(device int, m graph.Mesh, spec graph.Spec) bool {
	for i, a := range m {
		if !slices.Contains(spec, a.Name) && coordinate(device, m, i) != 0 {
			return false
		}
	}
	return true
}

// copyBlock copies a block between a global array and a part whose first element is at the given index.
func copyBlock(global, block []byte, shape, part graph.Shape, start []int, intoGlobal bool) {
	size := graph.ItemSize(shape.DType)
	if part.Rank() == 0 {
		if intoGlobal {
			copy(global, block)
		} else {
			copy(block, global)
		}
		return
	}
	last := part.Rank() - 1
	row := part.Dims[last] * size
	if row == 0 {
		return
	}
	idx := make([]int, last)
	for from := 0; from < len(block); from += row {
		flat := 0
		for i := range last {
			flat = flat*shape.Dims[i] + start[i] + idx[i]
		}
		flat = (flat*shape.Dims[last] + start[last]) * size
		if intoGlobal {
			copy(global[flat:flat+row], block[from:])
		} else {
			copy(block[from:from+row], global[flat:])
		}
		for i := last - 1; i >= 0; i-- {
			if idx[i]++; idx[i] < part.Dims[i] {
				break
			}
			idx[i] = 0
		}
	}
}
