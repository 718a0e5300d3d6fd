package graph

import (
	"fmt"
	"sync"
)

// Array is the value that ops work on: an n-dimensional array of one element type. It is one of
//
//   - traced: made by an op, or a parameter, inside a function that is being traced;
//   - concrete: it has Data, on the host or on a device;
//   - lazy: made by ops from concrete arrays outside of any trace (graph.Iota(5), a key split on the host). It becomes
//     part of the trace that first uses it, or is computed by the reference interpreter when its data is read;
//   - abstract: only a shape (see Abstract), to trace a function before there is data.
//
// The same tree types serve for all of them. An Array is immutable.
type Array struct {
	shape Shape
	node  *Node  // the op call that makes it; nil for parameters, concrete and abstract arrays
	index int    // which result of node
	scope *scope // where it was made; nil outside of traces

	mu    sync.Mutex
	data  Data
	depth int // longest chain of lazy nodes above it
}

// Data is the content of a concrete array. Package xlabridge implements it with device buffers, this package with host
// bytes.
type Data interface {
	// HostBytes returns the elements, row-major, little-endian, one byte for a bool. The caller does not change them.
	HostBytes() ([]byte, error)
}

// Viewer is Data that may lie in memory that the host reads.
type Viewer interface {
	// View calls read with the elements as HostBytes returns them, without a copy where that is possible. read must not
	// change them, nor keep them after it has returned.
	View(read func(elements []byte) error) error
}

// View calls read with an array's elements: those of a Viewer where they are, others as Data.HostBytes returns them.
func View(a *Array, read func(elements []byte) error) error {
	data, err := a.Data()
	if err != nil {
		return err
	}
	if v, ok := data.(Viewer); ok {
		return v.View(read)
	}
	b, err := data.HostBytes()
	if err != nil {
		return err
	}
	return read(b)
}

// hostBytes is Data on the host.
type hostBytes []byte

func (h hostBytes) HostBytes() ([]byte, error) { return h, nil }

// Shape of the array. The other accessors ask it, so that it alone refuses a nil: that of a missing key of a map, say.
//
//go:noinline
func (a *Array) Shape() Shape {
	if a == nil {
		throw("", "got a nil *Array")
	}
	return a.shape
}

// DType of the elements.
func (a *Array) DType() DType { return a.Shape().DType }

// Dims are the sizes of the axes; not to be changed.
func (a *Array) Dims() []int { return a.Shape().Dims }

// Dim is the size of one axis; negative axes count from the end.
//
//go:noinline
func (a *Array) Dim(axis int) int { return a.Dims()[checkAxis("Dim", axis, a.Rank())] }

// Rank is the number of axes.
func (a *Array) Rank() int { return len(a.Shape().Dims) }

// Size is the number of elements.
func (a *Array) Size() int { return a.Shape().Size() }

// FromData makes a concrete array over existing Data, which must hold shape's elements.
func FromData(shape Shape, data Data) *Array { return &Array{shape: shape, data: data} }

// FromBytes makes a concrete array over host bytes (row-major, little-endian), which it keeps.
func FromBytes(shape Shape, b []byte) *Array {
	if len(b) != shape.Bytes() {
		throw("FromBytes", "got %d bytes for %s, want %d", len(b), shape, shape.Bytes())
	}
	return FromData(shape, hostBytes(b))
}

// Abstract makes an array that has only a shape, to trace functions with.
func Abstract(shape Shape) *Array { return &Array{shape: shape} }

// Data returns the content of a concrete or lazy array; a lazy one is computed by the reference interpreter and kept.
// For traced and abstract arrays it is an error.
func (a *Array) Data() (data Data, err error) {
	defer catch(&err)
	return a.force(map[*Array]*Tensor{}), nil
}

// where is the user's line that made the array (for a parameter, the one that had its function traced), or "".
func (a *Array) where() string {
	switch {
	case a.node != nil:
		return a.node.Where()
	case a.scope != nil:
		return a.scope.pos.String()
	}
	return ""
}

// IsTraced reports whether the array belongs to a function that is being traced.
func (a *Array) IsTraced() bool { return a.scope != nil }

// Concrete reports whether the array holds data already: neither traced, nor lazy, nor abstract.
func (a *Array) Concrete() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.data != nil
}

// force returns the numbers of an array that is not traced. memo holds what has been computed for others.
func (a *Array) force(memo map[*Array]*Tensor) Data {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.data != nil {
		return a.data
	}
	if a.scope != nil {
		throw("Data", "a traced %s has no value yet: return it from the function, or run with the reference backend "+
			"to look inside", a.shape)
	}
	if a.node == nil {
		throw("Data", "an abstract %s has no value", a.shape)
	}
	a.data = evalLazy(a, memo)
	return a.data
}

// String describes the array, with its values where it is concrete and small.
func (a *Array) String() string {
	if a == nil {
		return "nil"
	}
	if a.scope != nil {
		return "traced " + a.shape.String()
	}
	if a.data == nil && a.node == nil {
		return "abstract " + a.shape.String()
	}
	if a.Size() > 64 {
		return a.shape.String()
	}
	t, err := ToTensor(a)
	if err != nil {
		return fmt.Sprintf("%s (%v)", a.shape, err)
	}
	return fmt.Sprintf("%s %s", a.shape, t.format())
}
