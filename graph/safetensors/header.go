// Package safetensors writes the arrays of a tree to a file in the safetensors format and reads them back, for exchange
// of parameters with Python. The paths in the tree are the names in the file.
//
//	err := safetensors.Save("net.safetensors", net, map[string]string{"steps": "1000"})
//	net, err = safetensors.Load("net.safetensors", net) // of the same structure and shapes
//
// A file is an 8-byte little-endian length, a JSON header of that length (each tensor's dtype, shape and offsets;
// strings under "__metadata__"), and the tensors' bytes, without gaps. Files are untrusted: every number is checked
// against the file's size before an allocation of its size.
package safetensors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"

	"xlarun/graph"
)

const (
	// maxHeader is the format's limit on the header's length.
	maxHeader = 100_000_000
	// maxRank is the maximum number of axes of a tensor, NumPy's limit.
	maxRank = 64
	// metadataKey is the header entry that is not a tensor.
	metadataKey = "__metadata__"
)

// dtypes are the format's names of the element types.
var dtypes = map[string]graph.DType{
	"BOOL": graph.Bool, "U8": graph.Uint8, "U16": graph.Uint16, "U32": graph.Uint32, "U64": graph.Uint64,
	"I8": graph.Int8, "I16": graph.Int16, "I32": graph.Int32, "I64": graph.Int64,
	"F16": graph.Float16, "BF16": graph.BFloat16, "F32": graph.Float32, "F64": graph.Float64,
	"C64": graph.Complex64,
}

func dtypeName(d graph.DType) string {
	for name, known := range dtypes {
		if known == d {
			return name
		}
	}
	return ""
}

// tensor is one entry of the header.
type tensor struct {
	shape      graph.Shape
	begin, end int64 // byte offsets after the header
}

// header is a parsed and checked header: it describes exactly the bytes after it.
type header struct {
	tensors  map[string]tensor
	metadata map[string]string
}

// parseHeader reads and checks a header before size bytes of data.
func parseHeader(text []byte, size int64) (*header, error) {
	if len(text) == 0 || text[0] != '{' {
		return nil, fmt.Errorf("the header does not begin with '{'")
	}
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("the header is not UTF-8")
	}
	d := decoder{json.NewDecoder(bytes.NewReader(text))}
	d.UseNumber()
	h := &header{tensors: map[string]tensor{}}
	err := d.object("the header", func(name string) (err error) {
		if name == metadataKey {
			h.metadata, err = d.strings()
			return err
		}
		h.tensors[name], err = d.tensor(name, size)
		return err
	})
	if err != nil {
		return nil, err
	}
	if rest := bytes.Trim(text[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, fmt.Errorf("%d bytes follow the header's JSON object", len(rest))
	}
	return h, h.checkOffsets(size)
}

// checkOffsets checks that the tensors follow each other from the first byte of the data to the last, without gaps.
func (h *header) checkOffsets(size int64) error {
	names := make([]string, 0, len(h.tensors))
	for name := range h.tensors {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		x, y := h.tensors[a], h.tensors[b]
		if x.begin != y.begin {
			return int(max(-1, min(1, x.begin-y.begin)))
		}
		return int(max(-1, min(1, x.end-y.end)))
	})
	at := int64(0)
	for _, name := range names {
		t := h.tensors[name]
		if t.begin != at {
			what := "a hole before it"
			if t.begin < at {
				what = "an overlap with another tensor"
			}
			return fmt.Errorf("tensor %q begins at byte %d of the data, want %d: there is %s", name, t.begin, at, what)
		}
		at = t.end
	}
	if at != size {
		return fmt.Errorf("the tensors take %d bytes, the data has %d", at, size)
	}
	return nil
}

// decoder reads JSON token by token. It accepts only the format's entries, and no name twice.
type decoder struct{ *json.Decoder }

func (d decoder) delim(want json.Delim, where string) error {
	got, err := d.Token()
	if err != nil {
		return fmt.Errorf("%s is not JSON: %w", where, err)
	}
	if got != want {
		return fmt.Errorf("%s has %v, want %q", where, got, want)
	}
	return nil
}

// object reads an object; value reads the value of each key.
func (d decoder) object(where string, value func(key string) error) error {
	if err := d.delim('{', where); err != nil {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return fmt.Errorf("%s is not JSON: %w", where, err)
		}
		key, ok := token.(string)
		if !ok || seen[key] {
			return fmt.Errorf("%s has the name %q twice", where, key)
		}
		seen[key] = true
		if err := value(key); err != nil {
			return err
		}
	}
	return d.delim('}', where)
}

// strings reads an object whose values are strings.
func (d decoder) strings() (map[string]string, error) {
	out := map[string]string{}
	err := d.object(metadataKey, func(key string) error {
		token, err := d.Token()
		if err != nil {
			return fmt.Errorf("%s is not JSON: %w", metadataKey, err)
		}
		s, ok := token.(string)
		if !ok {
			return fmt.Errorf("%s: %q is %v, want a string", metadataKey, key, token)
		}
		out[key] = s
		return nil
	})
	return out, err
}

// numbers reads a list of at most limit whole numbers from 0 to 2^63-1.
func (d decoder) numbers(where string, limit int) ([]int64, error) {
	if err := d.delim('[', where); err != nil {
		return nil, err
	}
	out := []int64{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("%s is not JSON: %w", where, err)
		}
		text, ok := token.(json.Number)
		n, err := strconv.ParseUint(string(text), 10, 63)
		if !ok || err != nil {
			return nil, fmt.Errorf("%s has %v, want whole numbers from 0 on", where, token)
		}
		if len(out) == limit {
			return nil, fmt.Errorf("%s has more than %d numbers", where, limit)
		}
		out = append(out, int64(n))
	}
	return out, d.delim(']', where)
}

// tensor reads and checks one entry before size bytes of data.
func (d decoder) tensor(name string, size int64) (tensor, error) {
	where := fmt.Sprintf("tensor %q", name)
	var dtype graph.DType
	var dims, offsets []int64
	err := d.object(where, func(key string) (err error) {
		switch key {
		case "dtype":
			var token json.Token
			if token, err = d.Token(); err != nil {
				return fmt.Errorf("%s is not JSON: %w", where, err)
			}
			text, _ := token.(string)
			if dtype = dtypes[text]; dtype == 0 {
				return fmt.Errorf("%s has the dtype %v, want one of BOOL, U8 to U64, I8 to I64, F16, BF16, F32, F64, "+
					"C64",
					where, token)
			}
		case "shape":
			dims, err = d.numbers(where+": shape", maxRank)
		case "data_offsets":
			offsets, err = d.numbers(where+": data_offsets", 2)
		default:
			err = fmt.Errorf("%s has %q, want dtype, shape and data_offsets only", where, key)
		}
		return err
	})
	if err != nil {
		return tensor{}, err
	}
	if dtype == 0 || dims == nil || len(offsets) != 2 {
		return tensor{}, fmt.Errorf("%s lacks its dtype, its shape or one of its two data_offsets", where)
	}
	t := tensor{shape: graph.Shape{DType: dtype, Dims: make([]int, len(dims))}, begin: offsets[0], end: offsets[1]}
	if t.begin > t.end || t.end > size {
		return tensor{}, fmt.Errorf("%s is at bytes %d to %d of %d: the data is too short, or the offsets are wrong",
			where, t.begin, t.end, size)
	}
	want := uint64(graph.ItemSize(dtype))
	for i, n := range dims {
		hi, lo := bits.Mul64(want, uint64(n))
		if hi != 0 || lo > 1<<62 || int64(int(n)) != n {
			return tensor{}, fmt.Errorf("%s has the shape %v, which is too large", where, dims)
		}
		want, t.shape.Dims[i] = lo, int(n)
	}
	if int64(want) != t.end-t.begin {
		return tensor{}, fmt.Errorf("%s is %s and has %d bytes, want %d", where, t.shape, t.end-t.begin, want)
	}
	return t, nil
}
