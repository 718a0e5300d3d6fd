package population

import (
	"fmt"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// ToHost copies a leaf of Rows of single items (Lanes is 1) to the host, straight from the devices that hold them: the
// whole list, [Items, dims...].
func (t Tiles) ToHost(rows *graph.Array) (*graph.Array, error) {
	row := rows.Shape().Bytes() / (t.PerDevice + 1)
	// A device's spare row is written over by the next device's first, or is behind the last.
	all := make([]byte, (t.Total()+1)*row)
	for d := range t.Devices {
		first := d * t.PerDevice * row
		if err := xlabridge.PartToHost(rows, d, all[first:first+rows.Shape().Bytes()]); err != nil {
			return nil, err
		}
	}
	return graph.FromBytes(t.Whole(rows), all[:t.Items*row]), nil
}

// Whole is the shape of the whole list of which rows is what a device has.
func (t Tiles) Whole(rows *graph.Array) graph.Shape {
	return graph.ShapeOf(rows.DType(), append([]int{t.Items}, rows.Dims()[1:]...)...)
}

// FromHost puts a list that ToHost copied on the devices of a backend, each device's own items, as Rows of the given
// shape. The list may come from another number of devices.
func (t Tiles) FromHost(b xlabridge.Backend, list *graph.Array, rows graph.Shape) (*graph.Array, error) {
	if len(rows.Dims) == 0 || rows.Dims[0] != t.PerDevice+1 {
		return nil, fmt.Errorf("population: FromHost: rows of %s, want an axis 0 of %d", rows, t.PerDevice+1)
	}
	if want := t.Whole(graph.Abstract(rows)); !list.Shape().Equal(want) {
		return nil, fmt.Errorf("population: FromHost: got a list of %s, want %s", list.Shape(), want)
	}
	data, err := list.Data()
	if err != nil {
		return nil, err
	}
	mine, err := data.HostBytes()
	if err != nil {
		return nil, err
	}
	return xlabridge.PutParts(b, t.Devices, rows, func(int) []byte {
		part := make([]byte, rows.Bytes())
		own := part[:len(part)-len(part)/(t.PerDevice+1)]
		mine = mine[copy(own, mine):]
		return part
	})
}
