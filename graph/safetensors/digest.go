package safetensors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"maps"
	"slices"

	"xlarun/graph"
)

// digestKey is the metadata's key for the file's digest: "crc32c:" and the CRC-32C, in hexadecimal, of all other
// metadata and of all tensors by name, with their dtypes and shapes. It does not depend on their order in the file.
const digestKey = "digest"

const digestMethod = "crc32c:"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// WithDigest adds a digest of the tree and the metadata to the metadata for Save or Write. File.CheckDigest uses it to
// detect damaged files.
func WithDigest(tree any, metadata map[string]string) (map[string]string, error) {
	leaves, _, names, err := flatten(tree)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(names[i], names[j]) })
	sum := newDigest(metadata)
	for _, i := range order {
		sum.tensor(names[i], leaves[i].Shape())
		err := graph.View(leaves[i], func(b []byte) error {
			_, err := sum.Write(b)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("safetensors: tensor %q: %w", names[i], err)
		}
	}
	all := maps.Clone(metadata)
	if all == nil {
		all = map[string]string{}
	}
	all[digestKey] = sum.text()
	return all, nil
}

// CheckDigest reads the whole file and compares it with its digest. A file without a digest passes, because other
// programs do not write one.
func (f *File) CheckDigest() error {
	want, ok := f.header.metadata[digestKey]
	if !ok {
		return nil
	}
	sum := newDigest(f.header.metadata)
	for _, name := range f.Names() {
		t := f.header.tensors[name]
		sum.tensor(name, t.shape)
		if _, err := io.Copy(sum, io.NewSectionReader(f.from, f.data+t.begin, t.end-t.begin)); err != nil {
			return fmt.Errorf("safetensors: %s: reading tensor %q: %w", f.name, name, err)
		}
	}
	if got := sum.text(); got != want {
		return fmt.Errorf("safetensors: %s is damaged: its digest is %s, the file says %q; take it from a copy", f.name,
			got, want)
	}
	return nil
}

type digest struct{ hash.Hash32 }

func newDigest(metadata map[string]string) digest {
	d := digest{crc32.New(castagnoli)}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if key != digestKey {
			d.str(key)
			d.str(metadata[key])
		}
	}
	return d
}

// str adds a string and its length, so that different lists of strings are different bytes.
func (d digest) str(s string) {
	d.number(len(s))
	_, _ = io.WriteString(d, s) // a hash never returns an error
}

func (d digest) number(n int) { _, _ = d.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }

func (d digest) tensor(name string, s graph.Shape) {
	d.str(name)
	d.str(s.DType.String())
	d.number(len(s.Dims))
	for _, n := range s.Dims {
		d.number(n)
	}
}

func (d digest) text() string { return fmt.Sprintf("%s%08x", digestMethod, d.Sum32()) }
