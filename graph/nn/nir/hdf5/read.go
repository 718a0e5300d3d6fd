package hdf5

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Limits for untrusted files.
const (
	deepest      = 32
	mostDims     = 16
	mostBytes    = 1 << 31 // of one data set
	mostNodes    = 1 << 20 // visited trees, headers and heaps
	mostMessages = 1 << 12
	// What all data sets together may take: these bytes, and so many for each byte of the file. Compressed weights of
	// real files take at most some thirty times the file.
	freeBytes  = 64 << 20
	mostGrowth = 64
)

var errShort = errors.New("it ends before its contents do, or points outside of itself")

type reader struct {
	b      []byte
	left   int // remaining number of nodes to visit
	budget int // bytes that data may still take
}

// charge takes bytes from the budget.
func (r *reader) charge(n int) error {
	if r.budget -= n; r.budget < 0 {
		return fmt.Errorf("its data take more than %d MB, %d times its %d bytes and %d MB: it is damaged, or made to "+
			"fill the memory", (freeBytes+mostGrowth*len(r.b))>>20, mostGrowth, len(r.b), freeBytes>>20)
	}
	return nil
}

// Read parses a file and returns its root.
func Read(file []byte) (g *Group, err error) {
	defer func() { // cursor.take panics at the end of the file
		if p := recover(); p != nil {
			if e, ok := p.(error); !ok || !errors.Is(e, errShort) {
				panic(p)
			}
			g, err = nil, fmt.Errorf("hdf5: %w", errShort)
		}
	}()
	if !bytes.HasPrefix(file, []byte(signature)) {
		return nil, errors.New("hdf5: the file does not begin as one of HDF5 does")
	}
	r := &reader{file, mostNodes, freeBytes + mostGrowth*len(file)}
	first := uint64(24) // of the addresses
	switch version := r.at(8).u8(); version {
	case 0:
	case 1:
		first = 28
	default:
		return nil, fmt.Errorf("hdf5: the file has superblock %d, want 0 or 1: write it with h5py's "+
			"libver=\"earliest\", its default", version)
	}
	if widths := r.at(13).take(2); widths[0] != 8 || widths[1] != 8 {
		return nil, errors.New("hdf5: addresses and lengths are not of 8 bytes")
	}
	c := r.at(first)
	c.skip(4*8 + 8) // four addresses, and the name of the root
	item, err := r.object(c.u64(), 0)
	if err != nil {
		return nil, fmt.Errorf("hdf5: %w", err)
	}
	g, ok := item.(*Group)
	if !ok {
		return nil, errors.New("hdf5: the root is no group")
	}
	return g, nil
}

// cursor reads bytes in order; it panics with errShort at the end.
type cursor struct {
	b  []byte
	at int
}

func (r *reader) at(address uint64) *cursor {
	if r.left--; address > uint64(len(r.b)) || r.left < 0 {
		panic(errShort)
	}
	return &cursor{r.b, int(address)}
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.b)-c.at {
		panic(errShort)
	}
	c.at += n
	return c.b[c.at-n : c.at]
}

func (c *cursor) skip(n int)  { c.take(n) }
func (c *cursor) u8() int     { return int(c.take(1)[0]) }
func (c *cursor) u16() int    { return int(le.Uint16(c.take(2))) }
func (c *cursor) u32() int    { return int(le.Uint32(c.take(4))) }
func (c *cursor) u64() uint64 { return le.Uint64(c.take(8)) }

// length reads a number of bytes and checks it against the file's size.
func (c *cursor) length() int {
	n := c.u64()
	if n > mostBytes {
		panic(errShort)
	}
	return int(n)
}

func (c *cursor) begins(with string) bool { return string(c.take(len(with))) == with }

// messages are the messages of an object header, by number.
func (r *reader) messages(address uint64) (map[int][]byte, error) {
	c := r.at(address)
	if version := c.u8(); version != 1 {
		return nil, errors.New("an object has a header of a newer layout: write the file with h5py's " +
			"libver=\"earliest\", its default")
	}
	c.skip(1)
	left := c.u16()
	c.skip(4)
	if left > mostMessages {
		return nil, errShort
	}
	size := c.u32()
	c.skip(4)
	blocks := [][]byte{c.take(size)}
	found := map[int][]byte{}
	for len(blocks) > 0 && left > 0 {
		c := &cursor{b: blocks[0]}
		blocks = blocks[1:]
		for ; left > 0 && len(c.b)-c.at >= 8; left-- {
			kind, n := c.u16(), c.u16()
			flags := c.u8()
			c.skip(3)
			data := c.take(n)
			if kind == msgContinued {
				m := &cursor{b: data}
				from, length := m.u64(), m.length()
				blocks = append(blocks, r.at(from).take(length))
				continue
			}
			if flags&2 != 0 && (kind == msgType || kind == msgSpace) {
				return nil, errors.New("a data set shares its type with others, which is not read here")
			}
			if _, twice := found[kind]; !twice {
				found[kind] = data
			}
		}
	}
	return found, nil
}

func (r *reader) object(address uint64, depth int) (any, error) {
	if depth > deepest {
		return nil, fmt.Errorf("groups lie more than %d deep", deepest)
	}
	m, err := r.messages(address)
	if err != nil {
		return nil, err
	}
	if symbols, ok := m[msgSymbols]; ok {
		c := &cursor{b: symbols}
		return r.group(c.u64(), c.u64(), depth)
	}
	if m[msgSpace] == nil || m[msgType] == nil || m[msgLayout] == nil {
		return nil, errors.New("an object is neither a group with a symbol table nor a data set")
	}
	return r.set(m)
}

func (r *reader) group(tree, heap uint64, depth int) (*Group, error) {
	c := r.at(heap)
	if !c.begins("HEAP") {
		return nil, errors.New("a group has no heap of names")
	}
	c.skip(4)
	size := c.length()
	c.skip(8)
	names := r.at(c.u64()).take(size)
	g := NewGroup()
	err := r.walk(tree, 0, 0, func(_ []byte, leaf uint64) error {
		c := r.at(leaf)
		if !c.begins("SNOD") {
			return errors.New("a group's tree leads to no names")
		}
		c.skip(2)
		for range c.u16() {
			at, address := c.length(), c.u64()
			c.skip(24)
			text := &cursor{b: names, at: min(at, len(names))}
			end := bytes.IndexByte(names[text.at:], 0)
			name := string(text.take(end))
			item, err := r.object(address, depth+1)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			g.Items[name] = item
		}
		return nil
	})
	return g, err
}

// walk visits the leaves of a B-tree, of groups (0) or of chunks (1) with the given number of dimensions. It calls the
// function with each leaf's key and address.
func (r *reader) walk(address uint64, kind, dims int, leaf func(key []byte, child uint64) error) error {
	c := r.at(address)
	if !c.begins("TREE") || c.u8() != kind {
		return errors.New("a tree of groups or chunks is damaged")
	}
	level, n := c.u8(), c.u16()
	if level > deepest {
		return errShort
	}
	c.skip(16)
	wide := 8
	if kind == 1 {
		wide = 8 + 8*dims
	}
	for range n {
		key, child := c.take(wide), c.u64()
		var err error
		if level == 0 {
			err = leaf(key, child)
		} else {
			if next := r.at(child); !next.begins("TREE") || next.u8() != kind || next.u8() >= level {
				return errors.New("a tree of groups or chunks is damaged")
			}
			err = r.walk(child, kind, dims, leaf)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// elementType is the storage type of elements.
type elementType struct {
	class, size    int
	signed, string bool
}

func readType(data []byte) (t elementType, err error) {
	c := &cursor{b: data}
	t.class = c.u8() & 15
	bits := c.take(3)
	t.size = c.u32()
	if t.class == classEnum { // an integer enum: h5py's booleans
		return readType(c.b[c.at:])
	}
	switch {
	case (t.class == classInt || t.class == classFloat) && bits[0]&1 != 0:
		return t, errors.New("numbers have their highest byte first, which is not read here")
	case t.class == classInt && slices.Contains([]int{1, 2, 4, 8}, t.size):
		t.signed = bits[0]&8 != 0
	case t.class == classFloat && (t.size == 4 || t.size == 8), t.class == classString && t.size > 0:
	case t.class == classVariable && bits[0]&15 == 1 && t.size == 16:
		t.string = true
	default:
		return t, fmt.Errorf("elements are of class %d and %d bytes, want integers, float32, float64 or strings",
			t.class, t.size)
	}
	return t, nil
}

func readSpace(data []byte) ([]int, error) {
	c := &cursor{b: data}
	version, rank := c.u8(), c.u8()
	c.skip(1) // a flag for maximum sizes, which are not needed
	switch {
	case version == 1:
		c.skip(5)
	case version == 2:
		if c.u8() == 2 {
			return nil, errors.New("a data set is empty")
		}
	default:
		return nil, fmt.Errorf("a data space has version %d, want 1 or 2", version)
	}
	if rank > mostDims {
		return nil, fmt.Errorf("a data set has %d dims, want at most %d", rank, mostDims)
	}
	var dims []int
	n := 1
	for range rank {
		d := c.length()
		if n *= max(1, d); n > mostBytes {
			return nil, errShort
		}
		dims = append(dims, d)
	}
	return dims, nil
}

func (r *reader) set(m map[int][]byte) (*Set, error) {
	t, err := readType(m[msgType])
	if err != nil {
		return nil, err
	}
	dims, err := readSpace(m[msgSpace])
	if err != nil {
		return nil, err
	}
	s := &Set{Dims: dims}
	if s.Len() > mostBytes/t.size {
		return nil, errShort
	}
	if err := r.charge(s.Len() * (t.size + 8)); err != nil { // the bytes, and the numbers made of them
		return nil, err
	}
	raw, err := r.raw(m, s, t.size)
	if err != nil {
		return nil, err
	}
	s.Data, err = r.elements(raw, t, s.Len())
	return s, err
}

// raw is a set's bytes.
func (r *reader) raw(m map[int][]byte, s *Set, size int) ([]byte, error) {
	c := &cursor{b: m[msgLayout]}
	if version := c.u8(); version != 3 {
		return nil, fmt.Errorf("a data set has layout version %d, want 3: write the file with h5py's "+
			"libver=\"earliest\", its default", version)
	}
	want := s.Len() * size
	switch c.u8() {
	case 0:
		c.skip(2)
		return c.take(want), nil
	case 1:
		at := c.u64()
		if at == nowhere { // no data was written
			return r.zeros(want)
		}
		return r.at(at).take(want), nil
	}
	filters, err := readFilters(m[msgFilters])
	if err != nil {
		return nil, err
	}
	rank := c.u8() - 1
	tree := c.u64()
	if rank != len(s.Dims) || rank < 1 {
		return nil, errors.New("a data set's chunks have other dims than itself")
	}
	chunk, n := make([]int, rank), size
	for i := range chunk {
		chunk[i] = c.u32()
		if n *= max(1, chunk[i]); chunk[i] < 1 || n > mostBytes {
			return nil, errShort
		}
	}
	out, err := r.zeros(want)
	if err != nil || tree == nowhere {
		return out, err
	}
	return out, r.walk(tree, 1, rank+1, func(key []byte, child uint64) error {
		k := &cursor{b: key}
		stored, skipped := k.u32(), k.u32()
		at := make([]int, rank)
		for i := range at {
			if at[i] = k.length(); at[i] >= s.Dims[i] {
				return errShort
			}
		}
		data := r.at(child).take(stored)
		for i := len(filters) - 1; i >= 0; i-- {
			if skipped>>i&1 != 0 {
				continue
			}
			var err error
			if data, err = filters[i].undo(data, n); err == nil {
				err = r.charge(len(data))
			}
			if err != nil {
				return err
			}
		}
		if len(data) < n {
			return errShort
		}
		place(out, data, s.Dims, chunk, at, size)
		return nil
	})
}

// zeros allocates n bytes. It refuses more than a thousand times the file's size, the limit of compression.
func (r *reader) zeros(n int) ([]byte, error) {
	if n > 1100*len(r.b) {
		return nil, errShort
	}
	return make([]byte, n), nil
}

// place copies a chunk to its position in the set, without the part beyond the end.
func place(out, data []byte, dims, chunk, at []int, size int) {
	last := len(dims) - 1
	run := min(chunk[last], dims[last]-at[last]) * size
	index := make([]int, last)
	for {
		from, to := 0, 0
		for i := range dims {
			inside := 0
			if i < last {
				inside = index[i]
			}
			from, to = from*chunk[i]+inside, to*dims[i]+at[i]+inside
		}
		copy(out[to*size:to*size+run], data[from*size:])
		i := last - 1
		for ; i >= 0; i-- {
			if index[i]++; index[i] < min(chunk[i], dims[i]-at[i]) {
				break
			}
			index[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// filter is a step of a chunk's encoding.
type filter struct {
	id     int
	values []int
}

func readFilters(data []byte) (filters []filter, err error) {
	if data == nil {
		return nil, nil
	}
	c := &cursor{b: data}
	version, n := c.u8(), c.u8()
	if version == 1 {
		c.skip(6)
	}
	for range n {
		f := filter{id: c.u16()}
		name := 0
		if version == 1 || f.id >= 256 {
			name = c.u16()
		}
		c.skip(2)
		values := c.u16()
		if version == 1 {
			name += pad8(name)
		}
		c.skip(name)
		for range values {
			f.values = append(f.values, c.u32())
		}
		if version == 1 && values%2 == 1 {
			c.skip(4)
		}
		if f.id < 1 || f.id > 3 {
			return nil, fmt.Errorf("a data set is compressed by filter %d, want deflate (gzip): write it so, as nir "+
				"does by default", f.id)
		}
		filters = append(filters, f)
	}
	return filters, nil
}

// undo decodes one filter; the result has at most the given number of bytes.
func (f filter) undo(data []byte, most int) ([]byte, error) {
	switch f.id {
	case 1: // deflate
		z, err := zlib.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("a chunk cannot be unpacked: %w", err)
		}
		out, err := io.ReadAll(io.LimitReader(z, int64(most)+8))
		if err != nil {
			return nil, fmt.Errorf("a chunk cannot be unpacked: %w", err)
		}
		return out, nil
	case 2: // shuffle: the first bytes of all elements, then the second bytes, …
		if len(f.values) == 0 || f.values[0] < 1 {
			return nil, errShort
		}
		size := f.values[0]
		n := len(data) / size
		out := slices.Clone(data)
		for i := range n {
			for k := range size {
				out[i*size+k] = data[k*n+i]
			}
		}
		return out, nil
	}
	return data[:max(0, len(data)-4)], nil // without the Fletcher checksum
}

// elements decodes raw bytes to numbers or strings.
func (r *reader) elements(raw []byte, t elementType, n int) (any, error) {
	c := &cursor{b: raw}
	switch {
	case t.string:
		out := make([]string, n)
		for i := range out {
			length := c.u32()
			heap := c.u64()
			index := c.u32()
			if length == 0 {
				continue
			}
			text, err := r.shared(heap, index)
			if err == nil {
				err = r.charge(length)
			}
			if err != nil {
				return nil, err
			}
			out[i] = string((&cursor{b: text}).take(length))
		}
		return out, nil
	case t.class == classString:
		out := make([]string, n)
		for i := range out {
			text, _, _ := bytes.Cut(c.take(t.size), []byte{0})
			out[i] = string(text)
		}
		return out, nil
	case t.class == classFloat && t.size == 4:
		out := make([]float32, n)
		for i := range out {
			out[i] = math.Float32frombits(uint32(c.u32()))
		}
		return out, nil
	case t.class == classFloat:
		out := make([]float64, n)
		for i := range out {
			out[i] = math.Float64frombits(c.u64())
		}
		return out, nil
	}
	out := make([]int64, n)
	for i := range out {
		var wide [8]byte
		b := c.take(t.size)
		if t.signed && b[t.size-1]&0x80 != 0 {
			for k := range wide {
				wide[k] = 0xff
			}
		}
		copy(wide[:], b)
		out[i] = int64(le.Uint64(wide[:]))
	}
	return out, nil
}

// shared is an object of a global heap, which stores strings of variable length.
func (r *reader) shared(heap uint64, index int) ([]byte, error) {
	c := r.at(heap)
	if !c.begins("GCOL") {
		return nil, errors.New("a string lies in no heap")
	}
	c.skip(4)
	size := c.length()
	c = &cursor{b: r.at(heap).take(size), at: 16}
	for len(c.b)-c.at >= 16 {
		at := c.u16()
		c.skip(6)
		n := c.length()
		if r.left--; at == 0 || r.left < 0 {
			break
		}
		data := c.take(n)
		c.skip(min(pad8(n), len(c.b)-c.at))
		if at == index {
			return data, nil
		}
	}
	return nil, errors.New("a string is not in its heap")
}
