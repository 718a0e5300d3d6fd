package hdf5

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// internalK is half of the maximum number of children of a node in a group's tree. Groups have one leaf, so it only
// determines the size of nodes.
const internalK = 16

type writer struct {
	b     []byte
	leafK int
}

// Write encodes a file with the given root.
func Write(root *Group) ([]byte, error) {
	w := &writer{b: make([]byte, 96), leafK: 4}
	if err := w.measure(root, 0); err != nil {
		return nil, err
	}
	header, tree, heap, err := w.group(root)
	if err != nil {
		return nil, err
	}
	var s []byte
	s = append(s, signature...)
	s = append(s, 0, 0, 0, 0, 0, 8, 8, 0)
	s = le.AppendUint16(s, uint16(w.leafK))
	s = le.AppendUint16(s, internalK)
	s = le.AppendUint32(s, 0)
	for _, v := range []uint64{0, nowhere, uint64(len(w.b)), nowhere, 0, header} {
		s = le.AppendUint64(s, v)
	}
	s = le.AppendUint32(s, 1) // the scratch space has the addresses of a group's tree and heap
	s = le.AppendUint32(s, 0)
	s = le.AppendUint64(s, tree)
	s = le.AppendUint64(s, heap)
	copy(w.b, s)
	return w.b, nil
}

var le = binary.LittleEndian

// measure finds the largest group. The leaves have its size, so that each tree has one leaf.
func (w *writer) measure(g *Group, depth int) error {
	if depth > deepest {
		return fmt.Errorf("hdf5: groups lie more than %d deep", deepest)
	}
	w.leafK = max(w.leafK, (len(g.Items)+1)/2)
	if w.leafK > math.MaxUint16 {
		return fmt.Errorf("hdf5: a group has %d items, want at most %d", len(g.Items), 2*math.MaxUint16)
	}
	for name, item := range g.Items {
		if name == "" || strings.ContainsAny(name, "/\x00") {
			return fmt.Errorf("hdf5: got the name %q, want one without / and the zero byte", name)
		}
		if sub, ok := item.(*Group); ok {
			if err := w.measure(sub, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// put appends bytes, aligned to 8 bytes, and returns their address.
func (w *writer) put(b []byte) uint64 {
	at := len(w.b)
	w.b = append(w.b, b...)
	w.b = append(w.b, make([]byte, pad8(len(w.b)))...)
	return uint64(at)
}

// pad8 is the number of padding bytes to a multiple of 8.
func pad8(n int) int { return -n & 7 }

func (w *writer) group(g *Group) (header, tree, heap uint64, err error) {
	names := slices.Sorted(maps.Keys(g.Items))
	texts := make([]byte, 8)
	var leaf []byte
	leaf = append(leaf, "SNOD\x01\x00"...)
	leaf = le.AppendUint16(leaf, uint16(len(names)))
	last := uint64(0)
	for _, name := range names {
		var address uint64
		switch item := g.Items[name].(type) {
		case *Group:
			address, _, _, err = w.group(item)
		case *Set:
			address, err = w.set(item)
		default:
			err = fmt.Errorf("got %T, want a *Group or a *Set", item)
		}
		if err != nil {
			return 0, 0, 0, fmt.Errorf("%s: %w", name, err)
		}
		last = uint64(len(texts))
		texts = append(append(texts, name...), 0)
		texts = append(texts, make([]byte, pad8(len(texts)))...)
		leaf = le.AppendUint64(le.AppendUint64(leaf, last), address)
		leaf = append(leaf, make([]byte, 24)...)
	}
	leaf = append(leaf, make([]byte, 8+2*w.leafK*40-len(leaf))...)
	leafAt := w.put(leaf)

	node := []byte("TREE\x00\x00")
	node = le.AppendUint16(node, uint16(min(1, len(names))))
	for _, v := range []uint64{nowhere, nowhere, 0, leafAt, last} {
		node = le.AppendUint64(node, v)
	}
	node = append(node, make([]byte, 24+(4*internalK+1)*8-len(node))...)
	tree = w.put(node)

	segment := w.put(texts)
	top := []byte("HEAP\x00\x00\x00\x00")
	for _, v := range []uint64{uint64(len(texts)), 1, segment} { // 1: no free list
		top = le.AppendUint64(top, v)
	}
	heap = w.put(top)
	symbols := le.AppendUint64(le.AppendUint64(nil, tree), heap)
	return w.header([]message{{msgSymbols, symbols}}), tree, heap, nil
}

// message is a message of an object header.
type message struct {
	kind uint16
	data []byte
}

func (w *writer) header(messages []message) uint64 {
	var body []byte
	for _, m := range messages {
		n := len(m.data) + pad8(len(m.data))
		body = le.AppendUint16(body, m.kind)
		body = le.AppendUint16(body, uint16(n))
		body = append(body, 0, 0, 0, 0)
		body = append(body, m.data...)
		body = append(body, make([]byte, n-len(m.data))...)
	}
	head := le.AppendUint16([]byte{1, 0}, uint16(len(messages)))
	head = le.AppendUint32(head, 1)
	head = le.AppendUint32(head, uint32(len(body)))
	head = append(head, 0, 0, 0, 0)
	return w.put(append(head, body...))
}

func (w *writer) set(s *Set) (uint64, error) {
	var kind, data []byte
	n := 0
	switch v := s.Data.(type) {
	case []float32:
		n = len(v)
		kind = typeOf(classFloat, 0x1f20, 4, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0)
		for _, x := range v {
			data = le.AppendUint32(data, math.Float32bits(x))
		}
	case []float64:
		n = len(v)
		kind = typeOf(classFloat, 0x3f20, 8, 0, 0, 64, 0, 52, 11, 0, 52, 0xff, 3, 0, 0)
		for _, x := range v {
			data = le.AppendUint64(data, math.Float64bits(x))
		}
	case []int64:
		n = len(v)
		kind = typeOf(classInt, 0x08, 8, 0, 0, 64, 0)
		for _, x := range v {
			data = le.AppendUint64(data, uint64(x))
		}
	case []string:
		n = len(v)
		most := 1
		for _, x := range v {
			most = max(most, len(x))
			if strings.ContainsRune(x, 0) {
				return 0, fmt.Errorf("got the string %q, want one without the zero byte", x)
			}
		}
		kind = typeOf(classString, 0x11, most) // padded with zeros, UTF-8
		for _, x := range v {
			data = append(append(data, x...), make([]byte, most-len(x))...)
		}
	default:
		return 0, fmt.Errorf("got data of type %T, want []float32, []float64, []int64 or []string", v)
	}
	if n != s.Len() || len(s.Dims) > mostDims {
		return 0, fmt.Errorf("got %d elements for dims %v", n, s.Dims)
	}
	space := []byte{1, byte(len(s.Dims)), 0, 0, 0, 0, 0, 0}
	for _, d := range s.Dims {
		space = le.AppendUint64(space, uint64(d))
	}
	at := nowhere
	if len(data) > 0 {
		at = w.put(data)
	}
	layout := le.AppendUint64(le.AppendUint64([]byte{3, 1}, at), uint64(len(data)))
	return w.header([]message{{msgSpace, space}, {msgType, kind}, {msgFill, []byte{2, 2, 2, 0}}, {msgLayout, layout}}),
		nil
}

// typeOf is a type's message: its class, class bits, element size and properties.
func typeOf(class byte, bits, size int, properties ...byte) []byte {
	b := []byte{1<<4 | class, byte(bits), byte(bits >> 8), byte(bits >> 16)}
	return append(le.AppendUint32(b, uint32(size)), properties...)
}
