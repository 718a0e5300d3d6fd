package safetensors

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"xlarun/graph"
)

// File is an open safetensors file. Open reads and checks the header; Array reads an array.
type File struct {
	name   string
	from   io.ReaderAt
	data   int64 // where the tensors' bytes begin
	header *header
	close  func() error
}

// Open opens a file and checks its header. Close it when its arrays have been read.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	out, err := newFile(path, f, info.Size())
	if err != nil {
		f.Close()
		return nil, err
	}
	out.close = f.Close
	return out, nil
}

// New reads the header of a file of size bytes.
func New(r io.ReaderAt, size int64) (*File, error) { return newFile("file", r, size) }

func newFile(name string, r io.ReaderAt, size int64) (*File, error) {
	fail := func(format string, args ...any) (*File, error) {
		return nil, fmt.Errorf("safetensors: %s: %w", name, fmt.Errorf(format, args...))
	}
	if size < 8 {
		return fail("it has %d bytes, want the header's length in the first 8", size)
	}
	var first [8]byte
	if _, err := r.ReadAt(first[:], 0); err != nil {
		return fail("reading the header's length: %w", err)
	}
	n := binary.LittleEndian.Uint64(first[:])
	if n > maxHeader {
		return fail("the header's length is %d, want at most %d: this is no safetensors file, or it is damaged", n,
			maxHeader)
	}
	if n > uint64(size-8) {
		return fail("the header's length is %d, but only %d bytes follow: the file is cut off", n, size-8)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(r, 8, int64(n)), text); err != nil {
		return fail("reading the header: %w", err)
	}
	h, err := parseHeader(text, size-8-int64(n))
	if err != nil {
		return fail("%w", err)
	}
	return &File{name: name, from: r, data: 8 + int64(n), header: h, close: func() error { return nil }}, nil
}

// Close closes the file.
func (f *File) Close() error { return f.close() }

// Names lists the tensors, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.header.tensors)) }

// Metadata is the strings under "__metadata__"; nil if there are none.
func (f *File) Metadata() map[string]string { return maps.Clone(f.header.metadata) }

// Shape is the shape of a tensor, and whether there is one of that name.
func (f *File) Shape(name string) (graph.Shape, bool) {
	t, ok := f.header.tensors[name]
	return t.shape, ok
}

// Array reads one tensor, as a concrete array on the host.
func (f *File) Array(name string) (*graph.Array, error) {
	t, ok := f.header.tensors[name]
	if !ok {
		return nil, fmt.Errorf("safetensors: %s: there is no tensor %q", f.name, name)
	}
	b := make([]byte, t.end-t.begin)
	if _, err := io.ReadFull(io.NewSectionReader(f.from, f.data+t.begin, int64(len(b))), b); err != nil {
		return nil, fmt.Errorf("safetensors: %s: reading tensor %q: %w", f.name, name, err)
	}
	if t.shape.DType == graph.Bool {
		for i, x := range b {
			if x > 1 {
				return nil, fmt.Errorf("safetensors: %s: tensor %q: byte %d is %d, want 0 or 1 for a bool", f.name,
					name, i, x)
			}
		}
	}
	return graph.FromBytes(t.shape, b), nil
}

// Load reads a file into a tree of example's structure. The file must have exactly the arrays that Save writes for
// example, with the same shapes and dtypes. Arrays of example may be abstract (graph.Abstract); static values are
// copied from example.
func Load[T any](path string, example T) (tree T, err error) {
	f, err := Open(path)
	if err != nil {
		return tree, err
	}
	defer f.Close()
	return ReadTree(f, example)
}

// ReadTree is Load from an open file.
func ReadTree[T any](f *File, example T) (tree T, err error) {
	fail := func(format string, args ...any) (T, error) {
		return tree, fmt.Errorf("safetensors: %s: %w", f.name, fmt.Errorf(format, args...))
	}
	leaves, t, names, err := flatten(example)
	if err != nil {
		return fail("%w", err)
	}
	known := map[string]bool{}
	var missing, extra []string
	for _, name := range names {
		known[name] = true
		if _, ok := f.header.tensors[name]; !ok {
			missing = append(missing, name)
		}
	}
	for _, name := range f.Names() {
		if !known[name] {
			extra = append(extra, name)
		}
	}
	if len(missing)+len(extra) > 0 {
		return fail("the file does not fit the tree: it lacks %s, and has besides %s", firstNames(missing),
			firstNames(extra))
	}
	arrays := make([]*graph.Array, len(leaves))
	for i, name := range names {
		if got, want := f.header.tensors[name].shape, leaves[i].Shape(); !got.Equal(want) {
			return fail("tensor %q is %s, the tree wants %s", name, got, want)
		}
		if arrays[i], err = f.Array(name); err != nil {
			return tree, err
		}
	}
	err = graph.Try(func() { tree, _ = t.Unflatten(arrays).(T) })
	return tree, err
}

// firstNames formats the first names of a list.
func firstNames(names []string) string {
	const shown = 3
	switch {
	case len(names) == 0:
		return "nothing"
	case len(names) > shown:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}
