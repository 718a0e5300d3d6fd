package population

import (
	"fmt"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// ToHost copies the Rows of single items (Lanes is 1) from the devices that hold them to the host: the whole list,
// [Items, dims...].
func (t Tiles) ToHost(rows *graph.Array) (*graph.Array, error) {
	row := rows.Shape().Bytes() / (t.RowCount())
	// The next device's first row overwrites a device's spare row. The last spare row lies after the list.
	all := make([]byte, (t.Total()+1)*row)
	for d := range t.Devices {
		first := d * t.PerDevice * row
		if err := xlabridge.PartToHost(rows, d, all[first:first+rows.Shape().Bytes()]); err != nil {
			return nil, err
		}
	}
	return graph.FromBytes(t.Whole(rows), all[:t.Items*row]), nil
}

// Whole returns the shape of the whole list, given one device's rows.
func (t Tiles) Whole(rows *graph.Array) graph.Shape {
	return graph.ShapeOf(rows.DType(), append([]int{t.Items}, rows.Dims()[1:]...)...)
}

// FromHost puts a list from ToHost on the devices of a backend: each device's own items, as Rows of a shape. The number
// of devices may differ.
func (t Tiles) FromHost(b xlabridge.Backend, list *graph.Array, rows graph.Shape) (*graph.Array, error) {
	if len(rows.Dims) == 0 || rows.Dims[0] != t.RowCount() {
		return nil, fmt.Errorf("population: FromHost: rows of %s, want an axis 0 of %d", rows, t.RowCount())
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
		items := part[:len(part)-len(part)/(t.RowCount())]
		mine = mine[copy(items, mine):]
		return part
	})
}
