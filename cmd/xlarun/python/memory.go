package python

import (
	"fmt"

	"xlarun/graph"
)

// field is an array in each slot of a memory.
type field struct {
	Name   string `json:"name"`
	Leaf   string `json:"leaf,omitempty"` // of a member, as files name it
	DType  string `json:"dtype"`
	Shape  []int  `json:"shape"`
	Offset int    `json:"offset"` // in the slot, in bytes
	array  graph.Shape
}

// memory is shared with Python. It has slots of the same fields: a result goes into a slot whose arrays Python does not
// use any more, so that no array changes that somebody holds.
type memory struct {
	fields []field
	stride int // bytes of a slot
	slots  int
	bytes  []byte
	file   int // of the memory; Python opens it as /proc/PID/fd/FILE
}

// align is what arrays begin at multiples of, as vector units want.
const align = 64

// types are NumPy's names of element types.
var types = map[graph.DType]string{graph.Float32: "float32", graph.Int32: "int32", graph.Uint32: "uint32",
	graph.Uint8: "uint8", graph.Int8: "int8", graph.Bool: "bool", graph.Float64: "float64", graph.Int64: "int64"}

// add adds a field, and returns its number.
func (m *memory) add(name string, shape graph.Shape) (int, error) {
	dtype, ok := types[shape.DType]
	if !ok {
		return 0, fmt.Errorf("%s is a %s, of which NumPy has no arrays", name, shape)
	}
	dims := append([]int{}, shape.Dims...)
	m.fields = append(m.fields, field{name, "", dtype, dims, m.stride, shape})
	m.stride += (shape.Bytes() + align - 1) / align * align
	return len(m.fields) - 1, nil
}

// at returns the bytes of a field.
func (m *memory) at(slot, field int) []byte {
	f := m.fields[field]
	start := slot*m.stride + f.Offset
	return m.bytes[start : start+f.array.Bytes()]
}

// read returns the array in a field, without a copy.
func (m *memory) read(slot, field int) *graph.Array {
	return graph.FromBytes(m.fields[field].array, m.at(slot, field))
}

// write copies arrays of a device into fields, from the first on.
func (m *memory) write(slot, first int, arrays []*graph.Array) error {
	for i, a := range arrays {
		if err := graph.View(a, func(elements []byte) error {
			copy(m.at(slot, first+i), elements)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// describe says where the fields are.
func (m *memory) describe() map[string]any {
	return map[string]any{"file": m.file, "bytes": len(m.bytes), "stride": m.stride, "slots": m.slots,
		"fields": m.fields}
}
