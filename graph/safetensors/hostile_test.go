package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// file is a header of any text in front of n bytes of data.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, n)...)
}

func withLength(n uint64, rest string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, n), rest...)
}

const a4 = `"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`

func TestHostileFiles(t *testing.T) {
	cases := []struct {
		name string
		b    []byte
		want string
	}{
		{"nothing", nil, "it has 0 bytes"},
		{"short length", []byte{1, 2, 3}, "it has 3 bytes"},
		{"huge length", withLength(math.MaxUint64, "{}"), "want at most 100000000"},
		{"negative length", withLength(1<<63, "{}"), "want at most 100000000"},
		{"length over the limit", withLength(maxHeader+1, "{}"), "want at most 100000000"},
		{"length over the file", withLength(maxHeader, "{}"), "the file is cut off"},
		{"empty header", withLength(0, ""), "does not begin with '{'"},
		{"space first", file(" {}", 0), "does not begin with '{'"},
		{"list", file("[]", 0), "does not begin with '{'"},
		{"cut JSON", file(`{"a":{"dtype"`, 0), "not JSON"},
		{"no JSON", file("{]", 0), "not JSON"},
		{"garbage after", file("{} x", 0), "1 bytes follow"},
		{"second object", file("{}{}", 0), "2 bytes follow"},
		{"not UTF-8", file("{\"\xff\":{}}", 0), "not UTF-8"},
		{"deep", file(`{"a":`+strings.Repeat("[", 100000), 0), `want "{"`},
		{"name twice", file("{"+a4+","+a4+"}", 4), `the name "a" twice`},
		{"name twice, escaped", file("{"+a4+`,"\u0061":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}}`, 4),
			`the name "a" twice`},
		{"key twice", file(`{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4),
			`the name "dtype" twice`},
		{"other key", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}}`, 4), `has "more"`},
		{"key in capitals", file(`{"a":{"DType":"F32","shape":[1],"data_offsets":[0,4]}}`, 4), `has "DType"`},
		{"tensor is a number", file(`{"a":4}`, 4), `want "{"`},
		{"no dtype", file(`{"a":{"shape":[1],"data_offsets":[0,4]}}`, 4), "lacks"},
		{"no shape", file(`{"a":{"dtype":"F32","data_offsets":[0,4]}}`, 4), "lacks"},
		{"no offsets", file(`{"a":{"dtype":"F32","shape":[1]}}`, 4), "lacks"},
		{"one offset", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4]}}`, 4), "lacks"},
		{"three offsets", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}}`, 4), "more than 2 numbers"},
		{"unknown dtype", file(`{"a":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}}`, 4), "dtype F8_E4M3"},
		{"dtype is a number", file(`{"a":{"dtype":4,"shape":[4],"data_offsets":[0,4]}}`, 4), "dtype 4"},
		{"negative dim", file(`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, 4), "whole numbers"},
		{"fractional dim", file(`{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}`, 4), "whole numbers"},
		{"exponent", file(`{"a":{"dtype":"F32","shape":[1e0],"data_offsets":[0,4]}}`, 4), "whole numbers"},
		{"dim is a string", file(`{"a":{"dtype":"F32","shape":["1"],"data_offsets":[0,4]}}`, 4), "whole numbers"},
		{"dim is a list", file(`{"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}}`, 4), "whole numbers"},
		{"dim over 64 bits", file(`{"a":{"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,4]}}`, 4),
			"whole numbers"},
		{"overflow to the right size", file(`{"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}}`,
			4), "too large"},
		{"overflow of two dims", file(`{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0),
			"too large"},
		{"overflow, then 0",
			file(`{"a":{"dtype":"U8","shape":[9223372036854775807,9223372036854775807,0],"data_offsets":[0,0]}}`, 0),
			"too large"},
		{"many axes", file(`{"a":{"dtype":"U8","shape":[`+strings.Repeat("1,", 64)+`1],"data_offsets":[0,1]}}`, 1),
			"more than 64 numbers"},
		{"huge tensor, no data", file(`{"a":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4000000000000]}}`,
			4), "the data is too short"},
		{"negative offset", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}`, 4), "whole numbers"},
		{"offsets backwards", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`, 4), "bytes 4 to 0"},
		{"wrong size", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4), "has 4 bytes, want 8"},
		{"overlap", file("{"+a4+`,"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}}`, 6), "an overlap"},
		{"the same place", file("{"+a4+`,"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4), "an overlap"},
		{"hole", file("{"+a4+`,"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}`, 12), "a hole"},
		{"hole at the start", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8), "a hole"},
		{"data left over", file("{"+a4+"}", 5), "the tensors take 4 bytes, the data has 5"},
		{"no tensors, data", file("{}", 1), "the tensors take 0 bytes, the data has 1"},
		{"metadata is a list", file(`{"__metadata__":["a"]}`, 0), `want "{"`},
		{"metadata of numbers", file(`{"__metadata__":{"a":1}}`, 0), "want a string"},
		{"metadata of null", file(`{"__metadata__":{"a":null}}`, 0), "want a string"},
		{"metadata twice", file(`{"__metadata__":{},"__metadata__":{}}`, 0), "twice"},
		{"metadata key twice", file(`{"__metadata__":{"a":"","a":""}}`, 0), "twice"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f, err := New(bytes.NewReader(c.b), int64(len(c.b)))
			require.ErrorContains(t, err, c.want)
			require.Nil(t, f)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestHostileBool(t *testing.T) {
	b := append(file(`{"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}`, 0), 1, 2)
	f, err := New(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	_, err = f.Array("a")
	require.ErrorContains(t, err, "byte 1 is 2, want 0 or 1")
}

// A file that lies about sizes is refused before anything of those sizes is allocated.
func TestHostileAllocation(t *testing.T) {
	for _, b := range [][]byte{
		withLength(maxHeader, "{}"),
		file(`{"a":{"dtype":"F64","shape":[1000000000],"data_offsets":[0,8000000000]}}`, 8),
		file(`{"a":{"dtype":"U8","shape":[9223372036854775807],"data_offsets":[0,9223372036854775807]}}`, 8),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := New(bytes.NewReader(b), int64(len(b)))
		runtime.ReadMemStats(&after)
		require.Error(t, err)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
	}
}

// A file that was cut off after its header had been read gives an error, not zeros.
func TestTruncatedData(t *testing.T) {
	b := file("{"+a4+"}", 4)
	f, err := New(bytes.NewReader(b[:len(b)-1]), int64(len(b)))
	require.NoError(t, err)
	_, err = f.Array("a")
	require.ErrorContains(t, err, "unexpected EOF")
}

// Any bytes are refused, or read as arrays that fill the data and that a second file holds too.
func FuzzRead(f *testing.F) {
	f.Add(file("{"+a4+"}", 4))
	f.Add(file(`{"__metadata__":{"a":"b"},`+a4+`,"b":{"dtype":"BOOL","shape":[],"data_offsets":[4,5]}}  `, 5))
	f.Add(file("{}", 0))
	f.Add(withLength(maxHeader, "{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := New(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			require.Nil(t, in)
			return
		}
		total := 0
		tree := map[string]*graph.Array{}
		for _, name := range in.Names() {
			s, ok := in.Shape(name)
			require.True(t, ok)
			total += s.Bytes()
			a, err := in.Array(name)
			if err != nil {
				require.Equal(t, graph.Bool, s.DType, fmt.Sprint(err))
				return
			}
			tree[name] = a
		}
		require.Equal(t, len(b)-int(in.data), total)
		var out bytes.Buffer
		require.NoError(t, Write(&out, tree, in.Metadata()))
		again, err := New(bytes.NewReader(out.Bytes()), int64(out.Len()))
		require.NoError(t, err)
		require.Equal(t, in.Names(), again.Names())
		_, err = ReadTree(again, tree)
		require.NoError(t, err)
	})
}
