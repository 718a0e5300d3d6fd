package xlabridge

import (
	"fmt"
	"slices"

	"xlarun/graph"
)

// ShardMap is graph.ShardMap on a mesh of real devices. It splits each leaf of the argument over the mesh by the spec
// in, runs f on all devices at the same time, and returns global arrays whose parts have the spec out. A leaf that is
// already split in this way, such as an earlier result, is not moved. f is traced and compiled once for each structure
// and set of shapes. The call runs immediately, so it cannot be traced, mapped or differentiated. Use transforms inside
// f (see graph.ShardMap for their gradients), or around graph.ShardMap.
func ShardMap[A, R any](c *Client, f func(A) R, m graph.Mesh, in, out graph.Spec,
	options ...JitOptions) func(A) (R, error) {
	var o JitOptions
	if len(options) > 0 {
		o = options[0]
	}
	o.Trace.Mesh = m
	j := newJit(c, []JitOptions{o}, func(args []any) any { return f(as[A](args[0])) })
	return func(a A) (r R, err error) {
		leaves, tree := graph.Flatten(a)
		for i, x := range leaves {
			if x.IsTraced() {
				return r, fmt.Errorf("xlabridge: ShardMap: leaf %s of the argument is a %s, but the call runs at "+
					"once and cannot be compiled, mapped or differentiated: "+
					"transform the function inside, or use graph.ShardMap here", tree.Path(i), x)
			}
		}
		parts := make([]*graph.Array, len(leaves))
		key := tree.Key()
		err = graph.Try(func() {
			for i, x := range leaves {
				parts[i] = graph.Abstract(in.Cut(m, x.Shape()))
				key += parts[i].Shape().String()
			}
		})
		if err != nil {
			return r, err
		}
		x, err := j.program(key, []any{tree.Unflatten(parts)})
		if err != nil {
			return r, err
		}
		defer x.release()
		data := make([]*deviceData, len(leaves))
		for i, leaf := range leaves {
			moved := false
			if data[i], moved, err = c.shard(leaf, m, in); err != nil {
				return r, err
			}
			if moved {
				defer data[i].close()
			}
		}
		outs, err := x.run(data)
		if err != nil {
			return r, err
		}
		results := make([]*graph.Array, len(outs))
		for i, d := range outs {
			part := x.Program.Outputs[i]
			shape, err := whole(out, m, part)
			if err != nil {
				return r, err
			}
			results[i] = graph.FromData(shape, &shardedData{deviceData: *d, mesh: m, spec: out, part: part,
				shape: shape})
		}
		return as[R](x.Program.OutTree().Unflatten(results)), nil
	}
}

// whole returns the global shape of an array whose parts have a spec.
func whole(spec graph.Spec, m graph.Mesh, part graph.Shape) (graph.Shape, error) {
	if len(spec) > part.Rank() {
		return part, fmt.Errorf("xlabridge: ShardMap: the result spec %v names %d axes of a result %s", []string(spec),
			len(spec), part)
	}
	dims := slices.Clone(part.Dims)
	for i, name := range spec {
		if name == "" {
			continue
		}
		k := slices.IndexFunc(m, func(a graph.MeshAxis) bool { return a.Name == name })
		if k < 0 {
			return part, fmt.Errorf("xlabridge: ShardMap: the result spec names axis %q, the mesh has %v", name,
				[]graph.MeshAxis(m))
		}
		dims[i] *= m[k].Size
	}
	return graph.ShapeOf(part.DType, dims...), nil
}

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
		if !first(device, d.mesh, d.spec) {
			continue // equal to another part
		}
		bytes, err := b.Bytes()
		if err != nil {
			return nil, err
		}
		copyBlock(out, bytes, d.shape, d.part, corner(device, d.mesh, d.spec, d.part), true)
	}
	return out, nil
}

// shard splits an array over the mesh. moved reports whether the parts are new.
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
		copyBlock(host, block, a.Shape(), part, corner(device, m, spec, part), false)
		b, err := c.ToDevice(block, part.DType, part.Dims, device)
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

// corner returns the index of a device's first element in the global array.
func corner(device int, m graph.Mesh, spec graph.Spec, part graph.Shape) []int {
	at := make([]int, part.Rank())
	for i, name := range spec {
		if k := slices.IndexFunc(m, func(a graph.MeshAxis) bool { return a.Name == name }); name != "" {
			at[i] = coordinate(device, m, k) * part.Dims[i]
		}
	}
	return at
}

// first reports whether no earlier device has the same part: the device is 0 along all axes that are not in spec.
func first(device int, m graph.Mesh, spec graph.Spec) bool {
	for i, a := range m {
		if !slices.Contains(spec, a.Name) && coordinate(device, m, i) != 0 {
			return false
		}
	}
	return true
}

// copyBlock copies a block between a global array and a part whose first element is at the given index.
func copyBlock(global, block []byte, shape, part graph.Shape, at []int, intoGlobal bool) {
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
			flat = flat*shape.Dims[i] + at[i] + idx[i]
		}
		flat = (flat*shape.Dims[last] + at[last]) * size
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
